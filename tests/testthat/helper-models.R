# Dense formulas of models and tests, in base R, and the numbers that other packages gave.

dense_gaussian <- function(x, scale = 1, y = x) exp(-dense_distance(x, y)^2 / (2 * scale^2))
dense_distance <- function(x, y = x) {
  x <- as.matrix(x)
  y <- as.matrix(y)
  sqrt(Reduce(`+`, lapply(seq_len(ncol(x)), function(k) outer(x[, k], y[, k], "-")^2)))
}
# The kernel of Gneiting, pair by pair; the last column is time.
dense_gneiting <- function(x, y = x, nu = 1 / 2, scale, time.scale, alpha, beta) {
  last <- ncol(x)
  matern <- function(u) {
    exp(-u) * switch(format(nu), "0.5" = 1, "1.5" = 1 + u, "2.5" = 1 + u + u^2 / 3)
  }
  out <- matrix(0, nrow(x), nrow(y))
  for (i in seq_len(nrow(x))) for (j in seq_len(nrow(y))) {
    psi <- (abs(x[i, last] - y[j, last]) / time.scale)^(2 * alpha) + 1
    h <- sqrt(sum((x[i, -last] - y[j, -last])^2))
    out[i, j] <- matern(sqrt(2 * nu) * h / (scale * psi^(beta / 2))) / psi^max(1, (last - 1) / 2)
  }
  out
}
centred <- function(K) sweep(sweep(K, 1, rowMeans(K)), 2, colMeans(K)) + mean(K)

# The statistic of groups by a kernel matrix, group by group.
dense_groups_statistic <- function(K, labels) {
  levels <- unique(labels)
  total <- 0
  for (a in seq_along(levels)) for (b in seq_along(levels)) {
    if (a >= b) next
    i <- labels == levels[a]
    j <- labels == levels[b]
    apart <- mean(K[i, i]) + mean(K[j, j]) - 2 * mean(K[i, j])
    total <- total + sum(i) * sum(j) / (sum(i) + sum(j)) * apart
  }
  total
}

# All orders of 1 to n, a column each.
all_orders <- function(n) {
  if (n == 1) return(matrix(1L))
  rest <- all_orders(n - 1)
  do.call(cbind, lapply(1:n, function(k) rbind(k, rest + (rest >= k), deparse.level = 0)))
}

moments3 <- function(x) {
  v <- mean((x - mean(x))^2)
  c(mean = mean(x), variance = v, skewness = mean((x - mean(x))^3) / v^1.5)
}

# Expects that the share of data sets which a test of level 5 % rejects differs from 5 % by chance alone.
expect_level <- function(p, label = "level") {
  n <- length(p)
  testthat::expect_lt(abs(mean(p <= 0.05) - 0.05), 3.3 * sqrt(0.05 * 0.95 / n), label = label)
}
null_sets <- function() by_tier(40, 120, 1000)

# Finds where generalised cross-validation itself is least along a fit's curve.
least_of_gcv <- function(fit) {
  at <- log(fit$gcv$lambda)
  k <- which.min(fit$gcv$gcv)
  found <- stats::optimize(stats::splinefun(at, log(fit$gcv$gcv)), at[k + c(-1, 1)], tol = 1e-6)
  c(lambda = exp(found$minimum), gcv = exp(found$objective),
    edf = stats::splinefun(at, fit$gcv$edf)(found$minimum))
}

# A Gaussian process at other parameters: the model of a fit, and theta, the parameters on their scale.
gp_theta_of <- function(model) kernweave:::gp_theta(model$values, model$layout)
gp_state_at <- function(model, theta = gp_theta_of(model)) kernweave:::gp_state(model, theta)

# Expects that the score of a model is that of central differences of its likelihood, by steps `by`.
expect_score <- function(model, by, tolerance, label) {
  theta <- gp_theta_of(model)
  value <- function(j, by) gp_state_at(model, replace(theta, j, theta[[j]] + by))$value
  known <- vapply(seq_along(theta), function(j) (value(j, by) - value(j, -by)) / (2 * by), 0)
  expect_lt(max(abs(gp_state_at(model, theta)$score - known)), tolerance * (1 + max(abs(known))), label = label)
}

# Something of the package held at a value as long as a test runs.
held <- function(name, value, frame) {
  package <- asNamespace("kernweave")
  put <- function(value) {
    unlockBinding(name, package)
    assign(name, value, package)
    lockBinding(name, package)
  }
  before <- get(name, package)
  if (is.function(value)) environment(value) <- package
  put(value)
  do.call(on.exit, list(bquote(.(put)(.(before))), add = TRUE), envir = frame)
}
