# Every rewrite rule keeps the value, is idempotent, and does not lengthen the formula; random formulas agree
# before and after rewriting, on every device, with the oracle and with their gradients.

rules <- kernweave_rules()

# A side of a rule with its letters as operands: s and t of one component, p a parameter, u a square, w more than 1, m
# and n numbers, k an attribute.
rule_side <- function(side, widths = c(3, 3), axes = c("i", "j", "i", "j"), k = widths[1], m = "3") {
  axes <- c(axes, axes[4])
  declared <- c(paste0(c("a", "b", "s", "t", "c"), " = V", axes, "(", c(widths, 1, 1, widths[1]), ")"), "p = Pm(1)")
  text <- gsub("\\bw\\b", "(1 + square(a))",
               gsub("\\bu\\b", "square(a)", gsub("\\bm\\b", m, gsub("\\bn\\b", "0.7", gsub("\\bk\\b", k, side)))))
  lazy <- declared_as(declared)
  list(lazy = lazy, axes = c(axes, "param"), widths = c(widths, 1, 1, widths[1], 1), formula = read_text(text, lazy))
}

summed <- function(side, device = NULL) {
  text_sum(side$formula, side$lazy, settings = if (!is.null(device)) list(device = device))
}

value_of <- function(side, data, device) {
  f <- as.function(summed(side, device))
  do.call(f, stats::setNames(data, names(side$lazy))[names(formals(f))])
}

rule_data <- function(side) {
  Map(function(axis, width) numbers_between(c(i = 4, j = 5, param = 1)[[axis]], width, -2, 2), side$axes, side$widths)
}

# NULL where the letters' widths do not suit the rule.
try_side <- function(...) tryCatch(rule_side(...), kernweave_error_shape = function(e) NULL)

fired_in <- function(R) {
  outcome <- explain(R)$passes
  last <- sub(".*\\[(.*)\\]$", "\\1", outcome$outcome[outcome$pass == "rewrite"])
  setdiff(strsplit(last, ", ")[[1]], "no rule fired")
}

# Widths and axes of the letters, the most unlike ones one after the other.
axes_of_letters <- list(c("i", "j", "i", "j"), c("i", "i", "j", "i"), c("j", "i", "j", "j"))
ways <- expand.grid(wa = c(3, 1), wb = c(3, 1), repeats = c(3, 1), axes = 1:3)
ways <- ways[with_local_seed(1, sample(nrow(ways))), ]

for (k in seq_len(nrow(rules))) {
  rule <- rules[k, ]
  test_that(paste0("rule ", rule$name, ": ", rule$from, " -> ", rule$to), {
    set.seed(k)
    fired <- 0
    m <- if (rule$when == "m is negative") "(-3)" else "3"
    for (case in seq_len(nrow(ways))) {
      if (fired >= by_tier(4, 4, Inf, cran = 1)) break
      wa <- ways$wa[case]
      wb <- ways$wb[case]
      repeats <- ways$repeats[case]
      from <- try_side(rule$from, c(wa, wb), axes_of_letters[[ways$axes[case]]], repeats, m)
      if (is.null(from)) next
      data <- rule_data(from)
      expected <- value_of(from, data, "reference")
      expect_close(value_of(from, data, "auto"), expected, 1e-13, scale = 1000,
                   label = paste(rule$name, wa, wb, repeats))
      names <- fired_in(summed(from))
      fired <- fired + rule$name %in% names
      if (!length(windows)) next
      once <- through("simplify", from$formula)
      expect_identical(shown_text(through("simplify", once)), shown_text(once))
      spared <- through("work", from$formula) - through("work", once)
      expect_gte(c(spared[spared != 0], 0)[1], 0, label = paste("the work that", rule$name, "spares"))
      exact <- rules$exactness[match(names, rules$name)] %in% "exact"
      rewritten <- from
      rewritten$formula <- once
      if (all(exact)) {
        expect_identical(value_of(rewritten, data, "reference") + 0, expected + 0, label = paste(rule$name, "is exact"))
      }
    }
    expect_gt(fired, 0)
  })
}

test_that("no rule moves work to where it is done more often", {
  expect_identical(fired_in(summed(rule_side("exp(a) * exp(b)"))), character())
  expect_identical(fired_in(summed(rule_side("(-a) * b"))), character())
  expect_identical(fired_in(summed(rule_side("exp(a) * exp(b)", axes = c("i", "i", "i", "i")))), "exp-product")
})

test_that("rules see the numbers that are written in R", {
  D <- abs(Vi(1:3 / 7) - Vj(1:4 / 9))
  fired_by <- function(F) fired_in(reduction(F, "sum", index = "j", call = FALSE))
  expect_true("inverse" %in% fired_by(1 / (1 + D)))
  expect_true("power-one-and-a-half" %in% fired_by(D^1.5))
  expect_true("numbers-together" %in% fired_by(2 * (3 * D)))
  expect_true(all(c("exp2-minus-root", "power-half") %in% fired_by(exp(-2 * sqrt(D))^0.5)))
  # of a negative number there is no such power
  expect_identical(fired_by((Vi(1:3 / 7) - Vj(1:4 / 9))^1.5), character())
  expect_equal(sum(D^NA_real_, index = "j"), matrix(NA_real_, 3))
  expect_equal(sum(D + Inf, index = "j"), matrix(Inf, 3))
})

test_that("what is not negative is found by trying, and so are sums and products of it", {
  D <- sqdist(Vi(1:3 / 7), Vj(1:4 / 9))
  v <- Vi(1:3 / 7) - Vj(1:4 / 9)
  power_of <- function(F) {
    step <- explain(reduction(F^0.5, "sum", index = "j", call = FALSE))$steps
    any(grepl("sqrt", unlist(step)))
  }
  not_negative <- list(D, exp(v), cosh(v), softplus(v), sigmoid(v), v^2, D + softplus(v), relu(D), D / (1 + D),
                       D * cosh(v))
  for (F in not_negative) expect_true(power_of(F), label = format(F)[2])
  for (F in list(v, sin(v), log(D), D - 1, -D, tanh(v), xlogx(D))) expect_false(power_of(F), label = format(F)[2])
})

test_that("a power of -0 keeps its sign through the rules", {
  zero <- Vi(c(-0, 0), name = "z") + 0 * Vj(c(-1, -1))
  for (n in c(-1.5, -0.5, 0.5, 1.5)) {
    values <- function(F, device) sum(F, index = "j", device = device)
    expect_identical(1 / values(sqrt(zero)^n, "auto"), 1 / values(sqrt(zero)^n, "reference"), label = n)
  }
})

test_that("a rule that looks into a formula is soon done with one that is deep or shared", {
  skip_below("usual")
  shared <- deep <- abs(Vi(1:3 / 7) - Vj(1:4 / 9))
  for (k in 1:60) shared <- shared + shared
  for (k in 1:20000) deep <- deep + abs(Vi(1:3 / k))
  expect_type(through("simplify", (shared^0.5)$formula), "list")
  expect_type(through("simplify", (deep^0.5)$formula), "list")
})

test_that("no rule drops a NaN", {
  x <- matrix(c(1, NaN, Inf))
  y <- matrix(c(1, 2))
  expect_identical(is.nan(sum(0 * Vi(x) + 0 * Vj(y), index = "j")), is.nan(0 * x))
  expect_identical(is.nan(sum((Vi(x) - Vi(x)) + 0 * Vj(y), index = "j")), is.nan(x - x))
})

# --- random formulas -----------------------------------------------------------------------------------

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
    if (!identical(is.nan(actual), is.nan(expected)) && device == "reference") return(TRUE)
  }
  FALSE
}

test_that("random formulas agree with the oracle, as written and rewritten", {
  skip_below("quick")
  for (seed in seq_len(by_tier(50, 100, 2000))) {
    formula <- random_formula(seed)
    if (disagrees(formula, seed)) {
      small <- shrink_formula(formula$tree, function(f) disagrees(f, seed))
      fail(sprintf("random_formula(%d) disagrees; shrunk: %s", seed, small$text))
    }
  }
  succeed()
})

test_that("random formulas have gradients that agree with differences, reverse and forward", {
  for (seed in seq_len(by_tier(10, 20, 120))) {
    formula <- random_formula(seed, size = 6)
    if (formula$kind == "logical" || grepl("<|==|!=|less|equal", formula$text)) next
    operands <- random_operands(seed, 2, 3)
    scale <- size_of_terms(formula, operands, 2, 3)
    if (scale > 1e3 || !all(is.finite(by_oracle(formula, operands, 2, 3)))) next
    check_random_gradient(formula, operands, seed)
  }
})
