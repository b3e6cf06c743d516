# Every rewrite rule keeps the value, is idempotent, and does not lengthen the formula; random formulas agree
# before and after rewriting, on every device, with the oracle and with their gradients.

rules <- kernweave_rules()

# A side of a rule with its letters as operands: s and t of one component, m and n numbers, k an attribute.
rule_side <- function(side, wide) {
  args <- c(paste0("a = Vi(", wide, ")"), paste0("b = Vj(", wide, ")"), "s = Vi(1)", "t = Vj(1)")
  text <- gsub("\\bm\\b", "3", gsub("\\bn\\b", "0.7", gsub("\\bk\\b", wide, side)))
  lazy <- kernweave:::declared_operands(args)
  list(lazy = lazy, formula = kernweave:::r_parse(text, names(lazy), lapply(lazy, `[[`, "formula"))$formula)
}

summed <- function(side, device = NULL) {
  kernweave:::new_reduction(list(kernweave:::sum_output(side$formula, "i")), c(NA, NA), list(device = device),
                            extents = lapply(side$lazy, `[[`, "formula"))
}

value_of <- function(side, wide, data, device) {
  side <- rule_side(side, wide)
  kernweave:::caller_of(summed(side, device), lapply(side$lazy, function(x) x$formula$args))(data)
}

fired_in <- function(R) {
  outcome <- explain(R)$passes
  last <- sub(".*\\[(.*)\\]$", "\\1", outcome$outcome[outcome$pass == "rewrite"])
  strsplit(last, ", ")[[1]]
}

for (k in seq_len(nrow(rules))) {
  rule <- rules[k, ]
  test_that(paste0("rule ", rule$name, ": ", rule$from, " -> ", rule$to), {
    set.seed(k)
    for (wide in c(1, 3)) {
      from <- rule_side(rule$from, wide)$formula
      data <- list(numbers_between(4, wide, -2, 2), numbers_between(5, wide, -2, 2), numbers_between(4, 1, -2, 2), numbers_between(5, 1, -2, 2))
      expected <- value_of(rule$from, wide, data, "reference")
      expect_close(value_of(rule$from, wide, data, "auto"), expected, 1e-13, scale = 1000)
      if (wide > 1 || !grepl("\\bk\\b", rule$from)) expect_close(value_of(rule$to, wide, data, "reference"), expected, 1e-13, scale = 1000)
      once <- kernweave:::r_simplify(from)
      expect_identical(kernweave:::r_show(kernweave:::r_simplify(once), 2000L), kernweave:::r_show(once, 2000L))
      expect_lte(kernweave:::r_size(once), kernweave:::r_size(from))
    }
  })
}

test_that("every rule fires where its left side stands", {
  for (k in seq_len(nrow(rules))) {
    wide <- if (rules$name[k] == "repeat-one") 1 else 3
    expect_true(rules$name[k] %in% fired_in(summed(rule_side(rules$from[k], wide))), label = rules$name[k])
  }
})

test_that("no rule drops a NaN", {
  x <- matrix(c(1, NaN, Inf))
  y <- matrix(c(1, 2))
  expect_identical(is.nan(sum(0 * Vi(x) + 0 * Vj(y), index = "j")), is.nan(0 * x))
  expect_identical(is.nan(sum((Vi(x) - Vi(x)) + 0 * Vj(y), index = "j")), is.nan(x - x))
})

# --- random formulas -----------------------------------------------------------------------------------

as_kernel <- function(formula, device) {
  axis <- c(i = "Vi", j = "Vj", param = "Pm")
  args <- vapply(formula$operands, function(o) paste0(o$name, " = ", axis[[o$axis]], "(", o$width, ")"), "")
  kernel_op(formula$text, args, index = "j", device = device)
}

by_engine <- function(formula, operands, device) {
  as_kernel(formula, device)(operands[vapply(formula$operands, `[[`, "", "name")])
}

size_of_terms <- function(formula, operands, M, N) {
  terms <- oracle_array(function(i, j) abs(oracle_eval(formula, operands_at(operands, i, j))), M, N, formula$width)
  max(1, terms[is.finite(terms)])
}

disagrees <- function(formula, seed, tolerance = 1e-10) {
  operands <- random_operands(seed, 3, 4)
  expected <- by_oracle(formula, operands, 3, 4)
  scale <- size_of_terms(formula, operands, 3, 4)
  finite <- is.finite(expected)
  for (device in test_devices()) {
    actual <- by_engine(formula, operands, device)
    if (!identical(dim(actual), dim(expected)) || any(!is.finite(actual[finite])) ||
        any(abs(actual - expected)[finite] > tolerance * scale)) return(TRUE)
    if (device == "reference" && !identical(is.nan(actual), is.nan(expected))) return(TRUE)
  }
  FALSE
}

test_that("random formulas agree with the oracle, as written and rewritten", {
  for (seed in seq_len(400)) {
    formula <- random_formula(seed)
    if (disagrees(formula, seed)) {
      small <- shrink_formula(formula$tree, function(f) disagrees(f, seed))
      fail(sprintf("random_formula(%d) disagrees; shrunk: %s", seed, small$text))
    }
  }
  succeed()
})

test_that("random formulas have gradients that agree with differences, reverse and forward", {
  for (seed in seq_len(120)) {
    formula <- random_formula(seed, size = 6)
    if (formula$kind == "logical" || grepl("<|==|!=|less|equal", formula$text)) next
    operands <- random_operands(seed, 2, 3)
    scale <- size_of_terms(formula, operands, 2, 3)
    if (scale > 1e3 || !all(is.finite(by_oracle(formula, operands, 2, 3)))) next
    check_random_gradient(formula, operands, seed)
  }
})
