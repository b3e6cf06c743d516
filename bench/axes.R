# Index formulas beside base R, one thread: Rscript bench/axes.R

source("bench/clock.R")
options(kernweave.threads = 1)
set.seed(1)
draw <- function(...) array(stats::rnorm(prod(...)), c(...))
each <- function(n, f, size) vapply(seq_len(n), f, array(0, size))
beside <- function(what, ours, base) say(what, clock(list(kernweave = ours, "base R" = base)))

begin("index formulas, and what base R takes for the same")
A <- draw(1024, 1024)
B <- draw(1024, 1024)
beside("product of 1024", function() reduction(C[i, j] ~ A[i, k] * B[k, j], "sum"), function() A %*% B)
for (size in list(c(8, 1e4), c(128, 100))) {
  P <- draw(size[1], size[1], size[2])
  beside(sprintf("%g products of %g", size[2], size[1]), function() {
    reduction(C[i, j, b] ~ P[i, k, b] * P[k, j, b], "sum")
  }, function() each(size[2], function(b) P[, , b] %*% P[, , b], size[c(1, 1)]))
}
x <- draw(1e5, 8)
mu <- draw(50, 8)
W <- draw(8, 8, 50)
g <- rep(1:50, 2000)
form <- function(rows, k) {
  z <- sweep(x[rows, ], 2, mu[k, ])
  rowSums((z %*% W[, , k]) * z)
}
beside("forms to 50 centres", function() {
  reduction(q[i, k] ~ (x[i, a] - mu[k, a]) * W[a, b, k] * (x[i, b] - mu[k, b]), "sum")
}, function() vapply(1:50, function(k) form(TRUE, k), numeric(1e5)))
beside("forms to each one's own", function() {
  reduction(q[i] ~ (x[i, a] - mu[g[i], a]) * W[a, b, g[i]] * (x[i, b] - mu[g[i], b]), "sum")
}, function() unsplit(lapply(1:50, function(k) form(g == k, k)), g))
X <- draw(200, 200, 200)
U <- draw(200, 16)
V <- draw(200, 16)
khatri_rao <- function() vapply(1:16, function(r) V[, r] %x% U[, r], numeric(4e4))
beside("MTTKRP, first mode", function() reduction(M[i, r] ~ X[i, j, k] * U[j, r] * V[k, r], "sum"),
       function() matrix(X, 200) %*% khatri_rao())
beside("MTTKRP, second mode", function() reduction(M[j, r] ~ X[i, j, k] * U[i, r] * V[k, r], "sum"),
       function() matrix(aperm(X, c(2, 1, 3)), 200) %*% khatri_rao())
p <- draw(400, 2)
beside("triples of 400", function() {
  reduction(s ~ abs((p[j, 1] - p[i, 1]) * (p[k, 2] - p[i, 2]) - (p[j, 2] - p[i, 2]) * (p[k, 1] - p[i, 1])), "sum")
}, function() {
  sum(vapply(1:400, function(i) {
    a <- p[, 1] - p[i, 1]
    b <- p[, 2] - p[i, 2]
    sum(abs(outer(a, b) - outer(b, a)))
  }, 0))
})
v <- stats::rnorm(1024)
beside("a path of three", function() reduction(w[i] ~ A[i, j] * B[j, k] * v[k], "sum"), function() A %*% (B %*% v))
y <- stats::rnorm(1e6)
w <- stats::runif(25)
beside("moving sums of 25", function() reduction(m[t] ~ y[t + s - 1] * w[s], "sum"),
       function() stats::filter(y, rev(w)))
