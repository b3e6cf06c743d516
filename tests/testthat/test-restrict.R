# Restricted pairs: everything equals what base R finds of the pairs that exist.

# Numbers that both precisions have exactly, with ties.
grid_points <- function(n) matrix(sample(0:3, 2 * n, TRUE), n)

expect_found <- function(found, expected, precision, label) {
  if (is.list(expected)) {
    expect_found(found$value, expected$value, precision, label)
    return(expect_found(found$index, expected$index, precision, paste(label, "index")))
  }
  if (is.integer(expected)) return(expect_identical(as.vector(found) + 0, as.vector(expected) + 0, label = label))
  expect_close(found, expected, 4 * tolerance_of(precision), 30, label)
}

test_that("every reduction of restricted pairs is that of the pairs that exist", {
  skip_below("quick")
  set.seed(1)
  rows <- kernweave_reductions()
  sizes <- list(c(1, 1), c(5, 3), c(23, 31), c(150, 17))
  cases <- expand.grid(size = seq_along(sizes), device = c("cpu", "reference"), precision = test_precisions(),
                       stringsAsFactors = FALSE)
  for (case in which(cases$device == "cpu" | cases$precision == "float64" & cases$size < 4)) {
    M <- sizes[[cases$size[case]]][1]
    N <- sizes[[cases$size[case]]][2]
    x <- grid_points(M)
    y <- grid_points(N)
    w <- sample(1:3, N, TRUE) / 2
    values <- 1.5 - outer(x[, 1], y[, 1], "-")^2 / 8 - outer(x[, 2], y[, 2], "-")^2 / 8
    F <- lazy_set(1.5 - sqdist(Vi(x), Vj(y)) / 8, device = cases$device[case], precision = cases$precision[case])
    layouts <- random_pairs(F, M, N)
    some <- by_tier(2, 3, 7)
    for (layout in names(layouts)) for (row in sample(nrow(rows), some)) for (index in c("i", "j", "ij")) {
      op <- rows$name[row]
      logical <- rows$fn[row] %in% c("any", "all", "count")
      K <- if (op %in% oracle_lists) 3L
      weighed <- rows$inputs[row] == "value_weight"
      G <- layouts[[layout]][[1]]
      found <- reduction(if (logical) G > 1 else G, op, index = index, K = K, weight = if (weighed) Vj(w))
      expected <- masked_reduction(if (logical) values > 1 else values, layouts[[layout]][[2]], op, index,
                                   if (weighed) matrix(w, M, N, byrow = TRUE), if (is.null(K)) 1L else K)
      label <- paste(layout, op, index, M, N, cases$device[case], cases$precision[case])
      expect_found(found, expected, cases$precision[case], label)
    }
  }
})

# Points of a system, groups of both sides, and values of exp(-s |x - y|^2) at the pairs that exist.
set.seed(2)
x <- matrix(runif(60), 30)
y <- matrix(runif(50), 25)
g <- sample(4, 30, TRUE)
h <- sample(4, 25, TRUE)
within <- outer(g, h, "==") & outer(1:30, 1:25, "!=")

test_that("gradients of restricted reductions are those of the pairs that exist", {
  skip_below("quick")
  o <- list(x = Vi(x), y = Vj(y), s = Pm(0.7))
  K <- restrict(exp(-sqdist(o$x, o$y) * o$s), by = list(g, h), exclude_diag = TRUE)
  value <- function(x, y, s) exp(-s * (outer(x[, 1], y[, 1], "-")^2 + outer(x[, 2], y[, 2], "-")^2))
  folds <- list(sum = sum, mean = mean, variance = stats::var, logsumexp = function(v) log(sum(exp(v))), prod = prod,
                min = min, max = max)
  for (op in names(folds)) for (index in c("j", "i", "ij")) {
    mask <- if (index == "i") t(within) else within
    rows <- if (index == "ij") list(which(within)) else lapply(seq_len(nrow(mask)), function(k) which(mask[k, ]))
    total <- function(x, y, s, along = NULL) {
      D <- value(x, y, s)
      if (index == "ij") return(folds[[op]](D[within]))
      if (index == "i") D <- t(D)
      vapply(seq_along(rows), function(k) folds[[op]](D[k, rows[[k]]]), 0)
    }
    weights <- seq_along(rows) / length(rows)
    R <- reduction(K, op, index = index, call = FALSE)
    found <- vjp(R, o, cotangent = if (index == "ij") 1 else weights)
    slope <- function(f, at) {
      vapply(seq_along(at), function(k) {
        step <- replace(0 * at, k, 1e-5)
        sum(weights * (f(at + step) - f(at - step))) / 2e-5
      }, 0)
    }
    expect_close(found$x, slope(function(x) total(x, y, 0.7), x), 1e-7, label = paste(op, index, "x"))
    expect_close(found$y, slope(function(y) total(x, y, 0.7), y), 1e-7, label = paste(op, index, "y"))
    expect_close(found$s, slope(function(s) total(x, y, s), 0.7), 1e-7, label = paste(op, index, "s"))
    along <- matrix(cos(seq_len(60)), 30)
    moved <- (total(x + 1e-5 * along, y, 0.7) - total(x - 1e-5 * along, y, 0.7)) / 2e-5
    expect_close(jvp(R, o$x, tangent = along), moved, 1e-7, label = paste(op, index, "along"))
  }
})

test_that("complex formulas are restricted, and so are derivatives of derivatives and of matrices of pairs", {
  E <- exp(2i * Vi(x[, 1]) * Vj(y[, 1]))
  dense <- exp(2i * outer(x[, 1], y[, 1])) * within
  K <- exclude_diag(restrict(E, by = list(g, h)))
  expect_equal(as.matrix(K), dense)
  expect_equal(K %*% y[, 2], dense %*% y[, 2])
  expect_equal(mean(K, index = "j")[, 1], rowSums(dense) / rowSums(within))
  X <- Vi(x)
  A <- Vij(matrix(runif(750), 30))
  R <- reduction(restrict(exp(-sqdist(X, Vj(y))) * A, by = list(g, h)), "sum", call = FALSE)
  expect_equal(vjp(R, A, cotangent = 1), exp(-as.matrix(sqdist(X, Vj(y)))) * outer(g, h, "=="))
  second <- jvp(vjp(R, X, cotangent = 1, call = FALSE), X, tangent = matrix(1, 30, 2))
  slope <- function(e) {
    moved <- Vi(x + e)
    K <- restrict(exp(-sqdist(moved, Vj(y))) * A, by = list(g, h))
    vjp(reduction(K, "sum", call = FALSE), moved, cotangent = 1)
  }
  expect_close(second, (slope(1e-5) - slope(-1e-5)) / 2e-5, 1e-7)
})

test_that("each batch has the pairs of a restriction", {
  z <- array(runif(60), c(10, 2, 3))
  of <- g[1:10]
  found <- reduction(exclude_diag(restrict(exp(-sqdist(Vi(z), Vj(z))), by = of)), "sum")
  mask <- outer(of, of, "==") & !diag(10)
  for (b in 1:3) {
    D <- exp(-as.matrix(sqdist(Vi(z[, , b]), Vj(z[, , b]))))
    expect_equal(found[, , b], rowSums(D * mask))
  }
})

test_that("restricted sums have the same bits for any number of threads", {
  skip_below("quick")
  set.seed(3)
  n <- 3000
  z <- matrix(runif(3 * n), n)
  groups <- sample(c(rep(1, 20), 2:40), n, TRUE)
  far <- ranges(rep(n / 10, 10), rep(n / 10, 10), matrix(runif(100) < 0.3, 10))
  for (precision in test_precisions()) {
    F <- lazy_set(exp(-sqdist(Vi(z), Vj(z))), precision = precision, device = "cpu")
    kept <- list(restrict(F, by = groups, exclude_diag = TRUE), restrict(F, ranges = far), exclude_diag(F))
    for (K in kept) for (index in c("i", "j", "ij")) {
      runs <- lapply(c(1, 2, 3, 5), function(threads) reduction(K, "sum", index = index, threads = threads))
      for (run in runs[-1]) expect_identical(run, runs[[1]])
    }
  }
})

test_that("products, operators and solvers have the restriction", {
  F <- kernel_gaussian(x, scale = 0.4)
  K <- restrict(F, by = g)
  A <- as.matrix(F) * outer(g, g, "==")
  b <- cbind(sin(1:30), cos(1:30))
  expect_equal(as.matrix(K), A)
  expect_equal(K %*% b, A %*% b)
  expect_equal(b[, 1] %*% K, b[, 1] %*% A)
  expect_equal(crossprod(exclude_diag(K), b), (A - diag(diag(A))) %*% b)
  expect_equal(as.matrix(t(restrict(F, where = row_index() < col_index()))), t(as.matrix(F) * upper.tri(A)))
  expect_equal(diag(K), diag(A))
  expect_equal(diag(exclude_diag(K)), rep(0, 30))
  expect_equal(as.matrix(K[c(7, 2, 9), -1]), A[c(7, 2, 9), -1])
  expect_equal(as.matrix(exclude_diag(K)[5:1, ]), (A - diag(diag(A)))[5:1, ])
  expect_equal(rowMeans(K), rowMeans(A))
  expect_equal((2 * as_op(K) + diagonal_op(rep(1, 30))) %*% b, 2 * A %*% b + b)
  expect_equal(as.vector(solve(K, b[, 1], ridge = 0.1)), solve(A + diag(0.1, 30), b[, 1]))
  for (method in c("cg", "dense")) for (precondition in c(TRUE, FALSE)) {
    found <- solve(K, b[, 1], ridge = 0.1, method = method, precondition = precondition, tol = 1e-10)
    expect_equal(as.vector(found), solve(A + diag(0.1, 30), b[, 1]), tolerance = 1e-7)
  }
  expect_equal(as.numeric(logdet(K, ridge = 0.1)), as.numeric(determinant(A + diag(0.1, 30))$modulus))
  at <- order(g)
  sorted <- restrict(kernel_gaussian(x[at, ], scale = 0.4),
                     ranges = ranges(cluster_ranges(g[at]), cluster_ranges(g[at]), diag(4) == 1))
  expect_message(found <- solve(sorted, b[at, 1], ridge = 0.1, method = "cg"), "without a preconditioner")
  expect_equal(as.vector(found), solve(A + diag(0.1, 30), b[, 1])[at], tolerance = 1e-5)
})

test_that("models within groups are those of the groups", {
  A <- as.matrix(kernel_matern(x, scale = 0.4, nu = 1.5)) * outer(g, g, "==")
  b <- sin(1:30)
  K <- function(scale) restrict(kernel_matern(x, scale = scale, nu = 1.5), by = g)
  expected <- A[21:30, 1:20] %*% solve(A[1:20, 1:20] + diag(0.1, 20), b[1:20])
  expect_equal(as.vector(conditional(K(0.4), b[1:20], seen = 1:20, ridge = 0.1)$mean), as.vector(expected))
  M <- root_op(K(0.4), ridge = 0.1)
  expect_equal(M %*% crossprod(as.matrix(M), b), A %*% b + 0.1 * b, ignore_attr = TRUE)
  for (f in list(function(s) logdet(K(s), ridge = 0.1), function(s) sum(b * solve(K(s), b, ridge = 0.1)))) {
    expect_equal(gradient(f)(0.4)[[1]], (f(0.4 + 1e-4) - f(0.4 - 1e-4)) / 2e-4, tolerance = 1e-5, ignore_attr = TRUE)
  }
})

test_that("groups may come with operands, and placeholders and traced data have restrictions", {
  A <- exp(-as.matrix(sqdist(Vi(x), Vj(y)))) * outer(g, h, "==")
  K <- exp(-sqdist(Vi(x, by = g), Vj(y, by = h)))
  expect_equal(as.matrix(K), A)
  expect_equal(as.matrix(t(K) * 2), 2 * t(A))
  expect_equal(sum(K * Vj(y[, 1]), index = "j"), A %*% y[, 1, drop = FALSE])
  f <- as.function(reduction(exclude_diag(exp(-sqdist(Vi(dim = 2, name = "x"), Vj(dim = 2, name = "y")))), "mean"))
  D <- exp(-as.matrix(sqdist(Vi(x), Vj(y))))
  expect_equal(f(x, y)[, 1], vapply(1:30, function(i) mean(D[i, setdiff(1:25, i)]), 0))
  expect_equal(f(y, x[1:4, ])[, 1], vapply(1:25, function(i) mean(t(D)[i, setdiff(1:4, i)]), 0))
  before <- Vi(dim = 1, name = "t") < 3
  waits <- reduction(restrict(Vj(dim = 1, name = "v") * Vi(dim = 1, name = "u"), where = before), "sum")
  expect_equal(as.function(waits)(1:2, 1:4, 1:4)[, 1], c(3, 6, 0, 0))
  total <- function(s) {
    sum(reduction(restrict(exp(-sqdist(Vi(x), Vj(y)) * Pm(s)), by = list(g, h)), "sum", index = "ij"))
  }
  slope <- -sum(as.matrix(sqdist(Vi(x), Vj(y))) * A)
  expect_equal(gradient(total)(1)[[1]], slope)
  saved <- unserialize(serialize(K, NULL))
  expect_equal(sum(saved, index = "j"), sum(K, index = "j"))
})

test_that("print and explain() say which pairs exist", {
  K <- restrict(kernel_gaussian(x), by = g)
  expect_output(print(K), "pairs: within 4 groups")
  expect_output(print(summary(K)), "pairs +within 4 groups")
  share <- sum(outer(g, g, "==")) / 900 * 100
  expect_output(print(explain(K)), paste0(format(share, digits = 3), " % of all pairs in full spans, 0 %"))
  expect_output(print(exclude_diag(kernel_gaussian(x))), "where row_index\\(\\) != col_index\\(\\)")
})

test_that("of no pairs at all there is no least one, whatever the order of their groups", {
  F <- restrict(sqdist(Vi(matrix(0, 0, 2)), Vj(matrix(1, 6, 2))), by = list(integer(0), c(1, 2, 1, 2, 1, 2)))
  expect_identical(as.vector(reduction(F, "argmin", index = "ij")), NA_integer_)
  expect_identical(as.vector(reduction(F, "min_argmin", index = "ij")$value), Inf)
})

test_that("ranges that reach beyond the points are refused, at once or when the data come", {
  beyond <- ranges(cbind(1, 9), cbind(1, 2), matrix(TRUE))
  K <- sqdist(Vi(1:4), Vj(1:3))
  expect_error(restrict(K, ranges = beyond), "4 points along i.*reach 9", class = "kernweave_error_shape")
  expect_error(restrict(t(K), ranges = ranges(cbind(1, 2), cbind(1, 9), matrix(TRUE))), "4 points along j.*reach 9",
               class = "kernweave_error_shape")
  prepared <- as.function(sum(restrict(sqdist(Vi(dim = 1), Vj(dim = 1)), ranges = beyond), index = "j"))
  expect_error(prepared(1:4, 1:3), "reach 9", class = "kernweave_error_shape")
})
