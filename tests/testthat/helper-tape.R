# The cases that a tape must get right: functions as R users write them, with arguments and the gradient in closed form.

library(stats)  # processes that run test files side by side start without it

tape_data <- local({
  set.seed(53)
  n <- 6
  X <- matrix(stats::rnorm(18), n, 3)
  D2 <- as.matrix(stats::dist(X))^2
  dimnames(D2) <- NULL
  A <- crossprod(matrix(stats::rnorm(25), 5)) + diag(5)
  list(n = n, X = X, D2 = D2, A = A, y = stats::rnorm(n), tt = stats::rgamma(n, 2), k = as.numeric(stats::rpois(n, 3)),
       d = c(0, 1, 1, 0, 1, 0), z = stats::rnorm(5), M = matrix(stats::rnorm(18), n, 3))
})

# A case: the function, its arguments, and what the gradient must be, shaped like them.
snippet <- function(f, ..., gradient) list(f = f, arguments = list(...), gradient = gradient)

tape_snippets <- with(tape_data, {
  I5 <- diag(5)
  K <- function(th) exp(th[1]) * exp(-D2 / (2 * exp(2 * th[2]))) + exp(th[3]) * diag(n)
  th <- c(0.2, 0.1, -1)
  E <- exp(-D2 / (2 * exp(2 * th[2])))
  Ki <- solve(K(th))
  a <- as.vector(Ki %*% y)
  W <- (Ki - tcrossprod(a)) / 2
  of_K <- c(sum(W * exp(th[1]) * E), sum(W * exp(th[1]) * E * D2) / exp(2 * th[2]), exp(th[3]) * sum(diag(W)))
  b <- c(0.3, -0.5, 0.8)
  r <- as.vector(y - X %*% b)
  x3 <- c(0.7, -1.3, 2.1)
  p3 <- abs(x3)
  x5 <- c(0.5, 1.5, -0.2, 2, 0.9)
  ar <- c(0.2, 0.6)
  e <- c(0, y[-1] - ar[1] - ar[2] * y[-n])
  q <- exp(x3) / sum(exp(x3))
  x4 <- c(1, 2, 3, 5)
  B5 <- A + diag(abs(x5))
  Bs <- A + exp(0.3) * I5
  Bx <- A + 0.7 * I5
  Md <- `diag<-`(A, x5)
  dx <- diff(x5)
  dd <- outer(x5, x5, "-")
  list(
    snippet(function(x) sum(x^2), x3, gradient = 2 * x3),
    snippet(function(b) mean((y - X %*% b)^2), b, gradient = -2 * as.vector(crossprod(X, r)) / n),
    snippet(function(b) crossprod(y - X %*% b), b, gradient = -2 * as.vector(crossprod(X, r))),
    snippet(function(th) -sum(dnorm(y, th[1], exp(th[2]), log = TRUE)), c(0.3, 0.2),
            gradient = c(-sum(y - 0.3) / exp(0.4), n - sum((y - 0.3)^2) / exp(0.4))),
    snippet(function(b) sum(log1p(exp(X %*% b)) - d * (X %*% b)), b,
            gradient = as.vector(crossprod(X, plogis(X %*% b) - d))),
    snippet(function(b) -sum(dpois(k, exp(X %*% b), log = TRUE)), b,
            gradient = as.vector(crossprod(X, exp(X %*% b) - k))),
    snippet(function(th) -sum(dgamma(tt, shape = th[1], scale = th[2], log = TRUE)), c(1.5, 0.8),
            gradient = c(n * (digamma(1.5) + log(0.8)) - sum(log(tt)), n * 1.5 / 0.8 - sum(tt) / 0.64)),
    snippet(function(b) -sum(pnorm(X %*% b, log.p = TRUE)), b,
            gradient = -as.vector(crossprod(X, dnorm(X %*% b) / pnorm(X %*% b)))),
    snippet(function(par) par["a"]^2 * par[["b"]], c(a = 2, b = 3), gradient = c(a = 12, b = 4)),
    snippet(function(x) (1 - x[1])^2 + 100 * (x[2] - x[1]^2)^2, c(-1.2, 1),
            gradient = c(2 * (-1.2 - 1) - 400 * -1.2 * (1 - 1.44), 200 * (1 - 1.44))),
    snippet(function(x) sum(c(1, x) * c(2, 3, 4)), c(1, 2), gradient = c(3, 4)),
    snippet(function(x) {
      m <- numeric(3)
      m[2:3] <- x
      sum(m^3)
    }, c(1, 2), gradient = c(3, 12)),
    snippet(function(x) {
      x[2] <- 0
      sum(x^2)
    }, x3, gradient = c(2 * x3[1], 0, 2 * x3[3])),
    snippet(function(a) {
      e <- numeric(n)
      for (t in 2:n) e[t] <- y[t] - a[1] - a[2] * y[t - 1]
      sum(e^2)
    }, ar, gradient = -2 * c(sum(e), sum(e[-1] * y[-n]))),
    snippet(function(x) {
      while (x < 10) x <- x * 1.5
      x
    }, 1, gradient = 1.5^6),
    snippet(function(x) if (x > 0) x^2 else -x, 2, gradient = 4),
    snippet(function(x) sum(ifelse(abs(x) < 1, x^2 / 2, abs(x) - 0.5)), x3, gradient = c(0.7, -1, 1)),
    snippet(function(x) sum(pmax(x, 0)^2), x3, gradient = 2 * pmax(x3, 0)),
    snippet(function(x) max(x)^2, x3, gradient = c(0, 0, 4.2)),
    snippet(function(x) {
      m <- max(x)
      m + log(sum(exp(x - m)))
    }, x3, gradient = q),
    snippet(function(x) (exp(x) / sum(exp(x)))[2], x3, gradient = q[2] * (c(0, 1, 0) - q)),
    snippet(function(x) sum(sort(x) * 1:3), x3, gradient = c(2, 1, 3)),
    snippet(function(x) median(x), x5, gradient = c(0, 0, 0, 0, 1)),
    snippet(function(x) sum(diff(x)^2), x5, gradient = 2 * (c(0, dx) - c(dx, 0))),
    snippet(function(x) sum(cumsum(x)^2), x5, gradient = rev(cumsum(rev(2 * cumsum(x5))))),
    snippet(function(x) var(x) + sd(x), x5, gradient = (x5 - mean(x5)) * (2 / 4 + 1 / (4 * sd(x5)))),
    snippet(function(x) prod(x), x3, gradient = prod(x3) / x3),
    snippet(function(x) det(matrix(x, 2)), x4, gradient = c(5, -3, -2, 1)),
    snippet(function(x) sum(solve(A + diag(x), z)), abs(x5), gradient = -rowSums(solve(B5)) * as.vector(solve(B5, z))),
    snippet(function(x) {
      M <- A
      diag(M) <- x
      sum(M %*% M)
    }, x5, gradient = rowSums(Md) + colSums(Md)),
    snippet(function(s) determinant(A + exp(s) * diag(5))$modulus, 0.3, gradient = exp(0.3) * sum(diag(solve(Bs)))),
    snippet(function(x) sum(chol2inv(chol(A + x * diag(5)))), 0.7, gradient = -sum(solve(Bx) %*% solve(Bx))),
    snippet(function(x) drop(x %*% A %*% x), x5, gradient = 2 * as.vector(A %*% x5)),
    snippet(function(th) {
      R <- chol(K(th))
      a <- backsolve(R, y, transpose = TRUE)
      sum(log(diag(R))) + sum(a^2) / 2
    }, th, gradient = of_K),
    snippet(function(th) determinant(K(th))$modulus / 2 + drop(crossprod(y, solve(K(th), y))) / 2, th, gradient = of_K),
    snippet(function(x) sum(exp(-outer(x, x, "-")^2)), x5, gradient = -4 * rowSums(dd * exp(-dd^2))),
    snippet(function(M) sum(rowSums(M)^2), M, gradient = array(2 * rowSums(M), dim(M))),
    snippet(function(M) sum(sweep(M, 2, colMeans(M))^2), M, gradient = 2 * scale(M, scale = FALSE)[, ]),
    snippet(function(M) sum(apply(M, 1, function(r) sqrt(sum(r^2)))), M, gradient = M / sqrt(rowSums(M^2))),
    snippet(function(M) norm(M, "F"), M, gradient = M / norm(M, "F")),
    snippet(function(M) sum(as.numeric(M)^2), M, gradient = 2 * M),
    snippet(function(M) sum(M[M > 0]^2), M, gradient = 2 * pmax(M, 0)),
    snippet(function(M) sum(diag(M %*% A)), A + 1, gradient = t(A)),
    snippet(function(M) sum(M[cbind(1:3, 1:3)]^2), M, gradient = 2 * M * (row(M) == col(M))),
    snippet(function(x) sum((x * X)^2), y, gradient = 2 * y * rowSums(X^2)),
    snippet(function(x) sum(sapply(1:3, function(i) x[i]^i)), x3, gradient = 1:3 * x3^(0:2)),
    snippet(function(x) sum(sapply(x, function(u) exp(u) / (1 + u))), p3, gradient = p3 * exp(p3) / (1 + p3)^2),
    snippet(function(x) Reduce(function(a, b) a * b + 1, as.list(x)), x3,
            gradient = c(x3[2] * x3[3], x3[1] * x3[3], x3[1] * x3[2] + 1)),
    snippet(function(x) sum(do.call(rbind, lapply(1:3, function(i) x * i))^2), x3, gradient = 28 * x3),
    snippet(function(x) sum(crossprod(cbind(1, x))), x3, gradient = 2 + 2 * x3),
    snippet(function(x) sum(rep(x, each = 2) * 1:6), x3, gradient = c(3, 7, 11)),
    snippet(function(x) sum(kronecker(matrix(x, 2), diag(2))), x4, gradient = rep(2, 4)),
    snippet(function(x) sum(x %% 2) + sum(1 - x) + log(x[1], 3), c(2.5, 3.5), gradient = c(1 / (2.5 * log(3)), 0))
  )
})

# --- the tape itself ------------------------------------------------------------------------------------

traced_at <- function(..., level = 1L) {
  tape <- kernweave:::new_tape(level)
  lapply(list(...), kernweave:::watch, tape)
}
is_traced <- function(x) inherits(x, "kernweave_traced")
plain <- function(x) kernweave:::plain_value(x)

# Functions of base R that know traced values.
overlay <- as.list(kernweave:::overlay)
overlay <- overlay[setdiff(names(overlay), kernweave:::of_numbers)]
