# ridge_path() against eigenvalues.

spectra <- list(
  gaussian = function(x) kernel_gaussian(x, x, 0.2),
  matern12 = function(x) kernel_matern(x, x, 0.3, 0.5),
  matern52 = function(x) kernel_matern(x, x, 0.3, 2.5)
)

noisy <- function(n, D = 2) {
  set.seed(1)
  x <- matrix(stats::runif(n * D), n)
  list(x = x, y = sin(5 * x[, 1]) + stats::rnorm(n))
}

along <- 10^seq(-5, 2)

by_eigenvalues <- function(A, y, ridge) {
  e <- eigen(A, symmetric = TRUE)
  weights <- crossprod(e$vectors, y)^2
  one <- function(f) vapply(ridge, function(r) f(e$values + r), 0)
  data.frame(form = one(function(v) sum(weights / v)), square = one(function(v) sum(weights / v^2)),
             logdet = one(function(v) sum(log(v))), trace = one(function(v) sum(1 / v)),
             df = one(function(v) sum((v - v[1] + e$values[1]) / v)))
}

test_that("few points have it from eigenvalues, exactly", {
  data <- noisy(120)
  for (name in names(spectra)) {
    K <- spectra[[name]](data$x)
    path <- ridge_path(K, data$y, along)
    expected <- by_eigenvalues(as.matrix(K), data$y, along)
    expect_equal(as.list(path[names(expected)]), as.list(expected), tolerance = 1e-8, label = name)
    errors <- path[grepl("_(error|se)$", names(path))]
    expect_identical(unique(unlist(errors, use.names = FALSE)), 0)
  }
})

test_that("one process has all ridges, within the errors it reports", {
  skip_below("quick")
  data <- noisy(500)
  for (name in names(spectra)) {
    K <- spectra[[name]](data$x)
    truth <- by_eigenvalues(as.matrix(K), data$y, along)
    path <- ridge_path(K, data$y, along, method = "lanczos", refine = FALSE, seed = 1)
    expect_false(any(path$refined))
    for (of in c("form", "square")) {
      allowed <- path[[paste0(of, "_error")]] + 1e-9 * truth[[of]]
      expect_lte(max(abs(path[[of]] - truth[[of]]) / allowed), 1, label = paste(name, of))
    }
    for (of in c("logdet", "trace", "df")) {
      expect_lt(max(abs(path[[of]] - truth[[of]]) / path[[paste0(of, "_se")]]), 4, label = paste(name, of))
    }
    large <- along >= 1e-2
    expect_lt(max(path$form_error[large] / truth$form[large]), 1e-8)
    expect_lt(max(path$logdet_se[large]), 15)
  }
})

test_that("small ridges are refined, to the tolerance", {
  skip_below("quick")
  data <- noisy(500)
  for (name in names(spectra)) {
    K <- spectra[[name]](data$x)
    truth <- by_eigenvalues(as.matrix(K), data$y, along)
    path <- ridge_path(K, data$y, along, method = "lanczos", seed = 1)
    expect_true(all(path$refined[1:2]) && !all(path$refined), label = name)
    expect_lt(max(abs(path$form / truth$form - 1)), 1e-4)
    expect_lt(max(abs(path$square / truth$square - 1)), 1e-3)
    at <- path$refined
    for (of in c("logdet", "trace", "df")) {
      expect_lt(max(abs(path[[of]] - truth[[of]])[at] / path[[paste0(of, "_se")]][at]), 4.5, label = paste(name, of))
    }
    expect_lt(max(path$logdet_se[at]), 0.5)
    expect_lt(max(path$df_se[at]), 0.5)
  }
})

test_that("a few refined ridges make the others more exact", {
  skip_below("quick")
  data <- noisy(400)
  ridge <- 10^seq(-2, 2, by = 0.5)
  for (name in names(spectra)) {
    K <- spectra[[name]](data$x)
    truth <- by_eigenvalues(as.matrix(K), data$y, ridge)
    path_of <- function(refine) ridge_path(K, data$y, ridge, method = "lanczos", seed = 1, refine = refine)
    path <- path_of(TRUE)
    plain <- path_of(FALSE)
    rest <- !path$refined
    expect_gte(sum(rest), 5)
    expect_gt(stats::median(plain$logdet_se[rest] / path$logdet_se[rest]), 5, label = name)
    expect_gt(stats::median(plain$df_se[rest] / path$df_se[rest]), 2, label = name)
    for (of in c("logdet", "trace", "df")) {
      expect_lt(max(abs(path[[of]] - truth[[of]]) / path[[paste0(of, "_se")]]), 4, label = paste(name, of))
    }
    few <- ridge_path(K, NULL, ridge, method = "lanczos", seed = 1, probes = 6)
    expect_lt(max(abs(few$logdet - truth$logdet) / few$logdet_se), 8)
  }
})

test_that("a standard error may be asked for everywhere", {
  skip_below("quick")
  data <- noisy(400)
  K <- spectra$matern52(data$x)
  truth <- by_eigenvalues(as.matrix(K), data$y, along)
  path <- ridge_path(K, data$y, along, method = "lanczos", seed = 1, se_tol = 0.5)
  expect_lt(max(path$logdet_se), 0.6)
  expect_lt(max(abs(path$logdet - truth$logdet) / path$logdet_se), 4)
  likelihood <- function(found) -found$form / 2 - found$logdet / 2
  expect_identical(which.max(likelihood(path)), which.max(likelihood(truth)))
})

test_that("a single ridge is refined at once, to the same numbers", {
  skip_below("quick")
  data <- noisy(700)
  for (name in names(spectra)) for (ridge in c(0.01, 1)) {
    K <- spectra[[name]](data$x)
    exact <- by_eigenvalues(as.matrix(K), data$y, ridge)
    found <- ridge_path(K, data$y, ridge, method = "lanczos", seed = 1)
    expect_true(found$refined)
    expect_equal(c(found$form, found$square), c(exact$form, exact$square), tolerance = 1e-4)
    expect_lt(abs(found$df - exact$df), 4 * found$df_se + 1e-3)
    expect_lt(abs(found$logdet - exact$logdet), 4 * found$logdet_se + 1e-3)
    expect_lt(found$df_se, 0.02 * exact$df)
  }
})

test_that("several columns, none, and operators with a diagonal of their own", {
  skip_below("quick")
  data <- noisy(300)
  K <- spectra$matern12(data$x)
  y <- cbind(data$y, 1, data$y + 1)
  ridge <- c(0.01, 1)
  path <- ridge_path(K, y, ridge, method = "lanczos", seed = 1)
  A <- as.matrix(K)
  for (k in 1:2) {
    inverse <- solve(A + diag(ridge[k], 300))
    expect_equal(path$form[k, ], diag(t(y) %*% inverse %*% y), tolerance = 1e-4)
  }
  expect_identical(names(ridge_path(K, NULL, ridge)),
                   c("ridge", "logdet", "logdet_se", "trace", "trace_se", "df", "df_se", "refined"))
  diagonal <- stats::runif(300)
  for (method in c("dense", "lanczos")) {
    path <- ridge_path(K + diagonal_op(diagonal), data$y, c(0, 1), method = method, seed = 1)
    expect_equal(path$form, by_eigenvalues(A + diag(diagonal), data$y, c(0, 1))$form, tolerance = 1e-4)
  }
  S <- crossprod(matrix(stats::rnorm(9e4), 300))
  path <- ridge_path(as_op(S), data$y, c(1, 100), method = "lanczos", seed = 1)
  expect_equal(path$form, by_eigenvalues(S, data$y, c(1, 100))$form, tolerance = 1e-4)
})

test_that("a seed, or set.seed(), gives the same numbers, and a default path has its scale from the matrix", {
  skip_below("quick")
  K <- 4 * spectra$matern12(noisy(50)$x)
  expect_equal(range(ridge_path(K)$ridge), 4 * c(1e-6, 100))
  one <- ridge_path(K, method = "lanczos", seed = 3)
  expect_identical(ridge_path(K, method = "lanczos", seed = 3), one)
  set.seed(4)
  two <- ridge_path(K, method = "lanczos")
  set.seed(4)
  expect_identical(ridge_path(K, method = "lanczos"), two)
})

test_that("sizes of none are answered, and mistakes are named", {
  data <- noisy(20)
  K <- spectra$matern12(data$x)
  expect_identical(nrow(ridge_path(K, data$y, numeric())), 0L)
  none <- ridge_path(spectra$matern12(data$x[0, , drop = FALSE]), numeric(), c(1, 2))
  expect_identical(none$logdet, c(0, 0))
  expect_identical(none$df, c(0, 0))
  one <- ridge_path(spectra$matern12(data$x[1, , drop = FALSE]), 3, 1, method = "lanczos")
  expect_equal(c(one$form, one$logdet, one$trace), c(9 / 2, log(2), 1 / 2))
  expect_error(ridge_path(K, 1:3), "`y` has 3 rows", class = "kernweave_error_shape")
  expect_error(ridge_path(K, data$y, -1), "negative", class = "kernweave_error_value")
  expect_error(ridge_path(K, data$y, "a"), class = "kernweave_error_input")
  expect_error(ridge_path(K, data$y, 1, probes = 1), "probes", class = "kernweave_error_input")
  expect_error(ridge_path(K[, 1:3], data$y), class = "kernweave_error_shape")
  distances <- sqrt(sqdist(Vi(data$x), Vj(data$x)))
  for (method in c("dense", "lanczos")) {
    expect_error(ridge_path(distances, data$y, 0.1, method = method), class = "kernweave_error_indefinite")
  }
})
