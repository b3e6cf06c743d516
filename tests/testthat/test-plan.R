# Plans and schedules: each step where it runs least often, one plan for all parameters, facts before data.

x <- matrix(stats::runif(12), 4)
y <- matrix(stats::runif(15), 5)

steps_of <- function(F, ...) explain(reduction(F, "sum", call = FALSE, ...))$steps
key_of <- function(F, ...) explain(reduction(F, "sum", call = FALSE, ...))$key
when <- function(steps, call) steps$when[startsWith(steps$step, call)]

test_that("steps run once, once a row, once a column, or once a pair, by what they vary along", {
  steps <- steps_of(exp(Pm(c(1, 2, 3))) * sqrt(Vi(x)) + log(Vj(y)) * 2)
  expect_identical(when(steps, "exp("), "once")
  expect_identical(when(steps, "sqrt("), "each i")
  expect_identical(when(steps, "log("), "each j")
  expect_identical(when(steps, "add("), "each pair")
})

test_that("a fold takes along the element-wise steps that only it reads, and no step that runs less often", {
  steps <- steps_of(sum(exp(Vi(x) * Vj(y)) * sqrt(Vi(x) + 1)))
  expect_identical(when(steps, "exp("), "each component")
  expect_identical(when(steps, "sqrt("), "each i")
  d <- Vi(x) - Vj(y)
  twice_read <- steps_of(sum(exp(d)) * d)
  expect_identical(when(twice_read, "subtract("), "each pair")
})

test_that("shared parts are computed once", {
  shared <- norm2(Vi(x) - Vj(y))
  steps <- steps_of(shared * exp(-shared) + norm2(Vi(x) - Vj(y)))
  expect_length(when(steps, "exp2_minus("), 1)
  same <- Vi(x)
  expect_length(when(steps_of(exp(same) * Vj(y) + exp(same)), "exp("), 1)
})

test_that("the plan knows no parameter's value and no number of points; precision is part of its key", {
  gauss <- function(s, x) exp(-sqdist(Vi(x), Vj(y)) / s)
  expect_identical(key_of(gauss(2, x)), key_of(gauss(3, x[1:2, ])))
  expect_false(key_of(gauss(2, x)) == key_of(gauss(2, x), precision = "float32"))
  expect_false(key_of(gauss(2, x)) == key_of(gauss(2, x) + Vi(x[, 1])))
  text <- function(s) {
    lazy <- list(x = Vi(x), y = Vj(y))
    explain(text_sum(read_text(sprintf("exp(-%s * x) * y", s), lazy), lazy, extent = c(4, 5)))$key
  }
  expect_identical(text(0.5), text(0.6))
})

test_that("the reference device computes as written, others rewrite", {
  F <- sum((Vi(x) - Vj(y)) * (Vi(x) - Vj(y)))
  written <- explain(reduction(F, "sum", call = FALSE, device = "reference"))
  expect_false("rewrite" %in% written$passes$pass)
  X <- Vi(x)
  Y <- Vj(y)
  rewritten <- explain(reduction(sum((X - Y) * (X - Y)), "sum", call = FALSE))
  expect_match(rewritten$passes$outcome[rewritten$passes$pass == "rewrite"], "sqdist(x, y)", fixed = TRUE)
})

test_that("facts see extremes, the middle, the reach and what is not finite", {
  facts <- through("facts", matrix(c(1, 5, NaN, -2, Inf, 0), 3))
  expect_identical(facts[c("rows", "least", "largest", "finite")],
                   list(rows = 3, least = -2, largest = 5, finite = FALSE))
  expect_equal(facts$centre, c(3, -1))
  expect_identical(facts$reach, NaN)
  expect_equal(through("facts", cbind(c(0, 2, 1), c(5, 5, 8)))$reach, 4)
  expect_identical(through("facts", matrix(0, 0, 2))$reach, 0)
  expect_identical(through("facts", matrix(0, 0, 2))$least, Inf)
})

test_that("row numbers are checked against the facts of who holds them, before anything is read", {
  X <- Vi(dim = 1, name = "x")
  f <- as.function(sum(X[c(3, 1), ] * Vj(1:2), index = "j"))
  expect_equal(f(c(10, 20, 30)), matrix(c(90, 30)))
  expect_error(f(c(10, 20)), "2 rows", class = "kernweave_error_index")
})

test_that("explain() shows what a GPU is given where that is asked for", {
  K <- exp(-sqdist(Vi(matrix(0, 5, 3)), Vj(matrix(0, 4, 3))))
  expect_null(explain(K)$cuda)
  for (R in list(K, reduction(K, "argKmin", K = 2, call = FALSE),
                 sum(Vi(dim = 2) * Vj(dim = 2), index = "j", call = FALSE))) {
    expect_match(explain(R, cuda = TRUE)$cuda, "(?s)struct Formula .*extern \"C\" __global__ void", perl = TRUE)
    expect_true("CUDA" %in% utils::capture.output(print(explain(R, cuda = TRUE))))
  }
})

test_that("options say what they are, and explain and summary cost nothing", {
  skip_below("quick")
  expect_setequal(kernweave_options()$option,
                  paste0("kernweave.", c("device", "precision", "threads", "workers", "max_dense_mb", "cache",
                                         "cache_mb", "gpu_mb", "progress", "check")))
  big <- exp(-sqdist(Vi(matrix(0, 1e5, 3)), Vj(matrix(0, 1e5, 3))))
  took <- system.time({
    shown <- utils::capture.output(print(big), print(summary(big)), print(explain(big)))
  })[["elapsed"]]
  expect_lt(took, 2)
  expect_match(paste(shown, collapse = " "), "100,000 x 100,000 pairs")
  expect_output(print(kernweave_sitrep()), "cpu.*reference.*threads")
})

test_that("one job holds outputs that keep i, j and both; that of a parameter joins the sweep of another", {
  o <- list(X = Vi(x, name = "x"), Y = Vj(y, name = "y"), p = Pm(2, name = "p"), A = Vij(matrix(1, 4, 5), name = "A"))
  G <- vjp(reduction(sqdist(o$X, o$Y) * o$p * o$A, "sum", index = "ij", call = FALSE), unname(o), call = FALSE,
           cotangent = 1)
  expect_identical(vapply(G$outputs, `[[`, "", "keep"), c("i", "j", "j", "both"))
  expect_identical(vapply(as.function(G)(), length, 0L), c(x = 12L, y = 15L, p = 1L, A = 20L))
  expect_output(print(G), "at each pair")
})

plan_text <- function(F, op = "sum") {
  R <- reduction(F, op, index = "j", call = FALSE)
  options <- list(precision = "float64", rewrite = TRUE, checks = TRUE, pairs = FALSE)
  strsplit(through("replay", R$outputs, R$extents, options, 1000)[["plan"]], "\n", fixed = TRUE)[[1]]
}

test_that("a short sum over components starts with what its only reader adds to it, which is computed before", {
  X <- Vi(x)
  Y <- Vj(y)
  starts <- function(F) sum(grepl("starts with", plan_text(F)))
  expect_identical(starts(1 / (1 + sqdist(X, Y))), 1L)
  expect_identical(starts(sum(abs(X - Y)) + sin(elem(X, 1) * elem(Y, 1))), 1L)
  expect_identical(starts((1 + sqdist(X, Y)) * sqdist(X, Y)), 0L)
  expect_identical(starts(2 * sqdist(X, Y)), 0L)
  wide <- function(n) Vi(matrix(0, 4, n)) * Vj(matrix(0, 5, n))
  expect_identical(c(starts(1 + sum(wide(8))), starts(1 + sum(wide(9)))), 1:0)
  steps <- grep("each pair|each component", plan_text(sum(abs(X - Y)) + sin(elem(X, 1) * elem(Y, 1))), value = TRUE)
  expect_lt(grep(" Sin ", steps), grep(" Manhattan ", steps))
})

test_that("tensor cores start with nothing: what is added to their products is added to each pair", {
  D <- sqdist(Vi(matrix(0, 4, 6)), Vj(matrix(0, 5, 6)))
  R <- reduction(exp(sin(Vi(x[, 1]) * Vj(y[, 1])) + Pm(-0.5) * D), "sum", index = "j", call = FALSE)
  options <- list(precision = "float32", rewrite = TRUE, checks = TRUE, pairs = FALSE)
  text <- through("replay", R$outputs, R$extents, options, 1e5)
  expect_match(text[["plan"]], "starts with")
  contracted <- sub("\ndirect\n.*", "", text[["cuda"]])
  expect_match(contracted, "product[c][k]", fixed = TRUE)
  expect_match(contracted, "op::Add::eval")
})

test_that("the sum of a product knows the factor that does not vary along the folded axis", {
  K <- 1 / (1 + sqdist(Vi(x), Vj(y)))
  a <- Vi(x[, 1])
  b <- Vj(y[, 1])
  factors <- function(F, op = "sum") sum(grepl(" as .* times ", plan_text(F, op)))
  expect_gt(factors(a * K * b), 0)
  expect_identical(factors(b * K) + factors(a * K, "min") + factors(Vi(x) * K), 0L)
})

test_that("a distance in an exponent has a coefficient, be it a sign or 1, and loops of its own", {
  D <- sqdist(Vi(x), Vj(y))
  fused <- function(F) {
    R <- reduction(F, "logsumexp", index = "j", call = FALSE)
    loops <- through("cpu_loops", plan_behind(R), 1000)
    loops$whole[loops$form != "expanded"]
  }
  b <- Vj(y[, 1])
  expect_true(all(fused(-D)) && all(fused(b - D)) && all(fused(b - Pm(2) * D)))
  expect_false(any(grepl("Minus", plan_text(-D, "logsumexp"))))
  expect_true(any(grepl("Minus", plan_text(-D, "min"))))
})
