# Kernel sums of fixed points, and derivatives of functions against differences.

tape_points <- local({
  set.seed(11)
  n <- 7
  list(n = n, x = matrix(stats::rnorm(3 * n), n), y = matrix(stats::rnorm(3 * (n + 2)), n + 2), b = stats::rnorm(n + 2),
       w = stats::rnorm(n), u = matrix(stats::rnorm(3 * n), n))
})

# All gradients of f at once, against differences.
expect_gradient <- function(f, ..., tolerance = 1e-6) {
  at <- list(...)
  got <- unname(gradient(f)(...))
  for (k in seq_along(at)) {
    value <- function(v) as.vector(do.call(f, replace(at, k, list(v))))
    expect_equal(got[[k]], differences(value, at[[k]]), tolerance = tolerance, label = paste("argument", k))
  }
}

# hvp() with the first argument moving and the others at rest, against differences of gradients in all.
expect_hvp <- function(f, ..., v, tolerance = 1e-6, h = 1e-5, label = NULL) {
  at <- list(...)
  moved <- function(step) do.call(gradient(f), replace(at, 1, list(at[[1]] + step * v)))
  slope <- Map(function(up, down) (up - down) / (2 * h), moved(h), moved(-h))
  along <- c(list(v), lapply(at[-1], function(other) 0 * other))
  expect_equal(do.call(hvp(f), c(at, list(v = along))), slope, tolerance = tolerance, label = label)
}
