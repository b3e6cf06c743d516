# The operation and the reduction of vignettes/articles/extending.Rmd, added as it says, to a copy of the headers.

source_root <- function() {
  root <- Sys.getenv("KERNWEAVE_SOURCE")
  if (!file.exists(file.path(root, "vignettes/articles/extending.Rmd"))) skip("not in the source tree")
  normalizePath(root)
}

# The block of the article's code that begins with such a line.
block <- function(begins) {
  lines <- readLines(file.path(source_root(), "vignettes/articles/extending.Rmd"))
  fence <- grep("^```", lines)
  blocks <- Map(function(from, to) lines[seq(from + 1, to - 1)], fence[c(TRUE, FALSE)], fence[c(FALSE, TRUE)])
  found <- Filter(function(code) grepl(begins, code[1]), blocks)
  expect_length(found, 1L)
  found[[1]]
}

row_of <- function(begins) {
  tools <- new.env()
  sys.source(file.path(source_root(), "tools/rows.R"), envir = tools)
  tools$as_row(parse(text = block(begins), keep.source = FALSE)[[1]])
}
oracle_of <- function(begins) eval(parse(text = sub(",$", "", block(begins))))

insert_after <- function(file, last, new) {
  lines <- readLines(file)
  writeLines(append(lines, new, after = max(grep(last, lines))), file)
}

# A copy of the headers with both examples in it, and what is generated from the tables. `says`: the state also says
# what the article adds to it. `more`: other rows.
extended <- function(says = TRUE, more = character()) {
  root <- source_root()
  tree <- tempfile("extended")
  dir.create(file.path(tree, "inst"), recursive = TRUE)
  file.copy(file.path(root, "inst/include"), file.path(tree, "inst"), recursive = TRUE)
  headers <- file.path(tree, "inst/include/kernweave")
  insert_after(file.path(headers, "ops.def"), "^UNARY[(]", c(block("^UNARY[(]Lorentz"), more))
  insert_after(file.path(headers, "reductions.def"), "^REDUCTION[(]", block("^REDUCTION[(]Energy"))
  state <- file.path(headers, "red/energy.hpp")
  writeLines(block("^// Energy"), state)
  if (says) insert_after(state, "^  L total;", block("kAdds"))
  generator <- new.env()
  sys.source(file.path(root, "tools/ops.R"), envir = generator)
  rendered <- generator$render_all(tree)
  for (file in grep("^inst", names(rendered), value = TRUE)) writeLines(unlist(rendered[[file]]), file.path(tree, file))
  list(root = tree, include = file.path(tree, "inst/include"), r = unlist(rendered[grepl("^R/", names(rendered))]))
}

test_that("the article's operation and reduction give on a lane what its oracle says", {
  oracles <- list(oracle_of("^Lorentz = "), oracle_of("^Energy = "))
  for (says in c(FALSE, TRUE)) {
    program <- tempfile("extending")
    warnings <- c("-Wall", "-Wextra", "-Wpedantic")
    built <- run_cxx(c(warnings, paste0("-I", extended(says)$include), test_path("cpu/extending.cpp"), "-o", program))
    expect_identical(built$output, "")
    for (x in list(c(-3, -0.5, 0, 1e-3, 2, 7), c(1, Inf), c(NaN, 1), 1e200, numeric())) {
      found <- as.numeric(strsplit(run_tool(program, sprintf("%.17g", x))$output, "\n")[[1]])
      expect_close(found, c(oracles[[1]](x), oracles[[2]](x)$value), 1e-15)
    }
  }
})

test_that("the gradients in the article's rows are those of their values", {
  x <- c(-3, -0.5, 0, 0.1, 2)
  square <- function(x) x^2
  slope <- function(f) (f(x + 1e-5) - f(x - 1e-5)) / 2e-5
  lorentz <- oracle_of("^Lorentz = ")
  expect_close(eval(row_of("^UNARY[(]Lorentz")$adjoint_x, list(x = x, r = lorentz(x), g = 1)), slope(lorentz), 1e-8)
  energy <- Vectorize(function(x) oracle_of("^Energy = ")(c(x, 1))$value)
  expect_close(eval(row_of("^REDUCTION[(]Energy")$gradient_x, list(x = x, g = 1)), slope(energy), 1e-8)
})

test_that("the article's rows keep to the grammar, and R functions with help are made of them", {
  tree <- extended()
  house <- new.env()
  sys.source(file.path(source_root(), "tools/house.R"), envir = house)
  house$root <- tree$root
  expect_null(house$gate_row_grammar())
  expect_true(any(grepl("^lorentz <- function[(]x[)]", tree$r)))
  expect_true(any(grepl("^energy <- function[(]F, ", tree$r)))
  expect_true(any(grepl("Bell of Lorentz.", tree$r, fixed = TRUE)))
  expect_true(any(grepl("Sum of squares.", tree$r, fixed = TRUE)))
})

test_that("the engine takes the article's examples: its tables, and the lanes of a CPU", {
  skip_below("usual")
  root <- source_root()
  for (says in if (reaches("all")) c(FALSE, TRUE) else TRUE)
  for (file in c("src/expr/table.cpp", "src/cpu/tile_base_float.cpp")) {
    folders <- c(extended(says)$include, file.path(root, "src"))
    built <- run_cxx(c("-fsyntax-only", paste0("-I", folders), file.path(root, file)))
    expect_identical(built$output, "")
  }
})

test_that("nvcc and NVRTC take the article's examples", {
  skip_below("usual")
  include <- extended()$include
  tool <- with_nvcc(NULL, include)
  expect_true(tool$ok && !grepl("warning", tool$output), label = tool$output)
  tool <- nvrtc_compiler()("-DKW_TEST_FLOAT", include)
  expect_true(tool$ok, label = tool$output)
})

test_that("the derived row that the article shows is one of the table", {
  tools <- new.env()
  sys.source(file.path(source_root(), "tools/rows.R"), envir = tools)
  rows <- tools$read_rows(file.path(source_root(), "inst/include/kernweave/reductions.def"))
  shown <- parse(text = block("^DERIVED"), keep.source = FALSE)[[1]]
  expect_true(any(vapply(rows, identical, NA, shown)))
})

# --- traits --------------------------------------------------------------------------------------------------------

# Each operation's traits, as the engine finds them in its row.
traits_in <- function(include) {
  root <- source_root()
  program <- tempfile("traits")
  built <- run_cxx(c("-O0", "-pthread", paste0("-I", c(include, file.path(root, "src"))), test_path("cpu/traits.cpp"),
                     file.path(root, "src/rooms", c("expr.cpp", "base.cpp")), "-o", program))
  expect_true(built$ok, label = built$output)
  lines <- strsplit(run_tool(program, character())$output, "\n")[[1]]
  eval(parse(text = paste0("list(", paste(lines, collapse = ","), ")")))
}

random_args <- function(shape) {
  Map(function(width, kind) if (kind == "logical") stats::runif(width) < 0.5 else stats::rnorm(width),
      shape$widths, shape$kinds)
}

# Expects the oracle's value of a sum of arguments to be the sum of the values.
expect_linear <- function(row, trait) {
  for (shape in accepted_shapes(row, 3)) {
    value <- function(args) do.call(oracle_ops[[row$name]], c(args, as.list(shape$attributes)))
    one <- random_args(shape)
    other <- replace(one, trait$linear, random_args(shape)[trait$linear])
    both <- one
    both[trait$linear] <- Map(function(x, y) 0.3 * x - 7.1 * y, one, other)[trait$linear]
    expect_close(value(both), 0.3 * value(one) - 7.1 * value(other), 1e-14, scale = 20, label = row$fn)
  }
}

expect_law <- function(row, trait) {
  args <- replicate(row$arity, stats::rnorm(1), simplify = FALSE)
  bases <- if (trait$differences) args[[1]] - args[[2]] else unlist(args)
  wanted <- trait$number * prod(abs(bases)^trait$powers * ifelse(trait$turns, sign(bases), 1))
  expect_close(do.call(oracle_ops[[row$name]], args), wanted, 1e-14, scale = abs(wanted), label = row$fn)
}

expect_sum <- function(row) {
  args <- replicate(row$arity, stats::rnorm(3), simplify = FALSE)
  term <- function(k) do.call(oracle_ops[[row$name]], lapply(args, `[`, k))
  expect_close(do.call(oracle_ops[[row$name]], args), sum(vapply(1:3, term, 0)), 1e-14, scale = 10, label = row$fn)
}

test_that("what an operation is linear in, and the powers that it is a product of, is so of its oracle", {
  skip_below("all")
  with_local_seed(1, {
    rows <- c('BINARY(Midpoint, midpoint, real, 0.5 * (x + y), 0.5 * g, 0.5 * g, export, "Middle of two values.")',
              'UNARY(Cube, cube, real, x * square(x), 3 * g * square(x), export, "Third power.")')
    traits <- traits_in(extended(more = rows)$include)
    operations <- kernweave_operations()
    for (name in intersect(names(traits), operations$name)) {
      row <- operations[operations$name == name, ]
      trait <- traits[[name]]
      for (linear in trait$linear) expect_linear(row, linear)
      if (trait$number != 0) for (k in 1:10) expect_law(row, trait)
      if (trait$adds_up) expect_sum(row)
      if (trait$log_base != 0) expect_close(oracle_ops[[name]](0:3), exp(trait$log_base * 0:3), 1e-14, scale = 20)
    }
    found <- function(has) names(Filter(has, traits))
    expect_true(all(c("Add", "Concat", "MatVecMult", "Pick", "Select", "Sum") %in% found(function(t) length(t$linear))))
    expect_true(all(c("Mult", "Divide", "Abs", "Subtract", "SqDist") %in% found(function(t) t$number != 0)))
    expect_setequal(found(function(t) t$log_base != 0), c("Exp", "Exp2", "Exp2Minus"))
  })
  expect_identical(traits$Midpoint$linear[[1]], list(fixed = c(FALSE, FALSE), linear = c(TRUE, TRUE)))
  expect_identical(traits$Cube[c("number", "powers", "turns")], list(number = 1, powers = 3, turns = TRUE))
})
