# Several responses of a Gaussian process: gstat's cokriging, a dense formula, single fits, derivatives, mistakes.

set.seed(4)
n <- 60
of_kernel <- kernel_spec("matern32", scale = 0.3)
places <- matrix(runif(2 * n), n)
drawn <- crossprod(chol(as.matrix(of_kernel(places))), matrix(rnorm(3 * n), n)) %*%
  cbind(c(1, 0, 0), c(0.7, 0.6, 0), c(-0.5, 0.2, 0.5))
data <- data.frame(u = places[, 1], v = places[, 2],
                   a = drawn[, 1] + rnorm(n, sd = 0.2), b = 100 * drawn[, 2] + rnorm(n, sd = 20),
                   c = 0.01 * drawn[, 3] + rnorm(n, sd = 0.002))
data$b[1:15] <- NA
data$c[seq(2, n, by = 3)] <- NA
B <- matrix(c(1, 60, 60, 8000), 2)
fit <- gp_fit(cbind(a, b) ~ u + v, data, trend = ~ u, kernel = of_kernel)
new <- data.frame(u = c(0.2, 0.5, 0.9), v = c(0.8, 0.5, 0.1), row.names = c("p", "q", "r"))

# Cokriging in base R: F = diag of regressors, A = B[v, w] k + nugget[v] / w.
dense_cokriging <- function(y, F, K, B, nugget, F_at, k_at, w = rep(1, length(y))) {
  row <- row(y)[!is.na(y)]
  v <- col(y)[!is.na(y)]
  p <- ncol(y)
  blocks <- function(F, v) do.call(cbind, lapply(seq_len(p), function(k) F * (v == k)))
  A <- B[v, v] * K[row, row] + diag(nugget[v] / w[row])
  X <- blocks(F[row, , drop = FALSE], v)
  inner <- crossprod(X, solve(A, X))
  beta <- solve(inner, crossprod(X, solve(A, y[!is.na(y)])))
  left <- y[!is.na(y)] - X %*% beta
  to <- rep(seq_len(p), each = nrow(k_at))
  k <- B[to, v] * k_at[rep(seq_len(nrow(k_at)), p), row]
  own <- blocks(F_at[rep(seq_len(nrow(k_at)), p), , drop = FALSE], to)
  off <- own - k %*% solve(A, X)
  list(beta = beta, mean = own %*% beta + k %*% solve(A, left),
       variance = diag(B)[to] - rowSums(k * t(solve(A, t(k)))) + rowSums(off * t(solve(inner, t(off)))),
       logLik = -(sum(!is.na(y)) * log(2 * pi) + determinant(A)$modulus + sum(left * solve(A, left))) / 2)
}

test_that("cokriging of zinc and cadmium has gstat's numbers", {
  skip_without_peer("gstat")
  skip_without_peer("sp")
  utils::data("meuse", package = "sp", envir = environment())
  meuse$zn <- log(meuse$zinc)
  meuse$cd <- ifelse(seq_len(155) %% 2 == 1, log(meuse$cadmium), NA)
  ours <- gp_fit(cbind(zn, cd) ~ x + y, meuse, kernel = kernel_spec("matern12", scale = 300),
                 variance = matrix(c(0.5, 0.4, 0.4, 0.6), 2), nugget = c(0.05, 0.08))
  found <- predict(ours, data.frame(x = 180000, y = 331000), se.fit = TRUE)
  expect_equal(as.vector(found$fit), c(5.08915156, -0.55336880), tolerance = 1e-7)
  expect_equal(as.vector(found$se.fit^2), c(0.16698112, 0.21453528), tolerance = 1e-7)
  expect_equal(as.numeric(logLik(ours)), -235.6206657, tolerance = 1e-9)
})

test_that("given parameters give the numbers of a dense formula, with weights, trends and missing cells", {
  w <- rep(c(1, 2, 0.5), 20)
  ours <- gp_fit(cbind(a, b) ~ u + v, data, trend = ~ v, kernel = of_kernel, variance = B, nugget = c(0.04, 300),
                 weights = w, method = "ML")
  y <- as.matrix(data[c("a", "b")])
  theirs <- dense_cokriging(y, cbind(1, data$v), as.matrix(of_kernel(places)), B, c(0.04, 300), cbind(1, new$v),
                            as.matrix(of_kernel(as.matrix(new), places)), w)
  found <- predict(ours, new, se.fit = TRUE)
  expect_equal(as.vector(found$fit), as.vector(theirs$mean), tolerance = 1e-9)
  expect_equal(as.vector(found$se.fit^2), unname(theirs$variance), tolerance = 1e-8)
  expect_equal(unname(coef(ours)), as.vector(theirs$beta), tolerance = 1e-9)
  expect_equal(as.numeric(logLik(ours)), as.numeric(theirs$logLik), tolerance = 1e-10)
  expect_identical(names(coef(ours)), c("a:(Intercept)", "a:v", "b:(Intercept)", "b:v"))
  expect_equal(ours$variance, B, ignore_attr = TRUE)
})

test_that("one response is the plain fit, and uncorrelated responses are two fits", {
  one <- gp_fit(cbind(a) ~ u + v, data, kernel = of_kernel)
  plain <- gp_fit(a ~ u + v, data, kernel = of_kernel)
  expect_equal(coef(one, "covariance"), coef(plain, "covariance"), tolerance = 1e-8)
  both <- gp_fit(cbind(a, b) ~ u + v, data, kernel = of_kernel, variance = diag(diag(B)))
  each <- list(gp_fit(a ~ u + v, data, kernel = of_kernel, variance = B[1, 1]),
               gp_fit(b ~ u + v, data, kernel = of_kernel, variance = B[2, 2]))
  expect_equal(as.numeric(logLik(both)), sum(vapply(each, logLik, 0)), tolerance = 1e-7)
  expect_equal(unname(both$nugget), vapply(each, `[[`, 0, "nugget"), tolerance = 1e-3)
  found <- predict(both, new, se.fit = TRUE)
  alone <- lapply(each, predict, new, se.fit = TRUE)
  expect_equal(found$fit, sapply(alone, `[[`, "fit"), tolerance = 1e-3, ignore_attr = TRUE)
  expect_equal(found$se.fit, sapply(alone, `[[`, "se.fit"), tolerance = 1e-3, ignore_attr = TRUE)
  expect_equal(elpd(both)$elpd, elpd(each[[1]])$elpd + elpd(each[[2]])$elpd, tolerance = 1e-4)
  expect_equal(residuals(both, "loo")[-(1:15), 2], residuals(each[[2]], "loo"), tolerance = 1e-3, ignore_attr = TRUE)
  expect_equal(hatvalues(both)[, 1], hatvalues(each[[1]]), tolerance = 1e-3, ignore_attr = TRUE)
})

test_that("scores are the differences of likelihoods, for restricted ones and others", {
  state <- getFromNamespace("gp_state", "kernweave")
  theta <- getFromNamespace("gp_theta", "kernweave")
  for (method in c("REML", "ML")) {
    model <- gp_fit(cbind(a, b, c) ~ u + v, data, kernel = "matern32", method = method)$data
    at <- theta(model$values, model$layout) + 0.3 * cos(seq_len(nrow(model$layout)))
    found <- state(model, at)
    differences <- vapply(seq_along(at), function(k) {
      moved <- 1e-4 * (seq_along(at) == k)
      (state(model, at + moved)$value - state(model, at - moved)$value) / 2e-4
    }, 0)
    expect_equal(unname(found$score), differences, tolerance = 1e-6)
  }
})

test_that("estimates by products are within a tenth of a standard error of those by a factor", {
  links <- getFromNamespace("told_links", "kernweave")(fit)
  in_link <- function(fit) getFromNamespace("in_link", "kernweave")(coef(fit, "covariance")[links$label], links)
  errors <- sqrt(diag(vcov(fit, "covariance")))
  for (approximate in list(FALSE, 1e-6)) {
    other <- update(fit, control = fit_control(dense_n = 0, approximate = approximate))
    expect_lt(max(abs(in_link(other) - in_link(fit)) / errors), 0.1)
    expect_lt(abs(as.numeric(logLik(other)) - as.numeric(logLik(fit))), 4 * attr(logLik(other), "std.error") + 0.01)
    expect_equal(predict(other, new), predict(fit, new), tolerance = 0.02)
    expect_equal(suppressMessages(predict(other, new, se.fit = TRUE))$se.fit, predict(fit, new, se.fit = TRUE)$se.fit,
                 tolerance = 0.05)
  }
})

test_that("the order of the responses and their units change nothing else", {
  turned <- gp_fit(cbind(b, a) ~ u + v, data, trend = ~ u, kernel = of_kernel)
  expect_equal(turned$variance[2:1, 2:1], fit$variance, tolerance = 1e-3)
  expect_equal(as.numeric(logLik(turned)), as.numeric(logLik(fit)), tolerance = 1e-6)
  expect_equal(predict(turned, new)[, 2:1], predict(fit, new), tolerance = 1e-3)
  scaled <- gp_fit(cbind(a, b = 1000 * b) ~ u + v, data, trend = ~ u, kernel = of_kernel)
  by <- c(1, 1000)
  expect_equal(scaled$variance, fit$variance * outer(by, by), tolerance = 1e-8)
  expect_equal(confint(scaled)["nugget.b", ], 1e6 * confint(fit)["nugget.b", ], tolerance = 1e-6)
  expect_equal(predict(scaled, new, se.fit = TRUE)$se.fit[, 2], 1000 * predict(fit, new, se.fit = TRUE)$se.fit[, 2],
               tolerance = 1e-8)
  expect_equal(elpd(scaled)$elpd, elpd(fit)$elpd - 45 * log(1000), tolerance = 1e-7)
})

test_that("starts, bounds and a given matrix are in the user's units", {
  started <- update(fit, control = fit_control(start = coef(fit, "covariance")[c("variance.b", "nugget.a")]))
  expect_equal(as.numeric(logLik(started)), as.numeric(logLik(fit)), tolerance = 1e-6)
  expect_warning(bounded <- update(fit, control = fit_control(upper = c(variance.b = 2000))),
                 "`variance.b` is at its bound, 2000", class = "kernweave_warning_boundary")
  expect_equal(bounded$variance["b", "b"], 2000)
  names <- list(c("b", "a"), c("b", "a"))
  by_name <- gp_fit(cbind(a, b) ~ u + v, data, kernel = of_kernel, nugget = c(b = 300, a = 0.04),
                    variance = matrix(c(8000, 60, 60, 1), 2, dimnames = names))
  expect_equal(by_name$variance, B, ignore_attr = TRUE)
  expect_equal(by_name$nugget, c(a = 0.04, b = 300))
  singular <- gp_fit(cbind(a, b, c) ~ u + v, data, kernel = of_kernel, nugget = c(0.04, 300, 1e-5),
                     variance = tcrossprod(c(1, 80, 0.01)))
  expect_equal(singular$variance, tcrossprod(c(1, 80, 0.01)), ignore_attr = TRUE, tolerance = 1e-6)
})

test_that("methods have a column for each response, and NA where a cell is missing", {
  excluded <- data
  excluded[3, c("a", "b")] <- NA
  excluded$u[7] <- NA
  out <- update(fit, data = excluded, na.action = na.exclude)
  for (values in list(fitted(out), residuals(out), residuals(out, "pearson"), rstandard(out), cooks.distance(out))) {
    expect_identical(dim(values), c(60L, 2L))
    expect_identical(unname(is.na(values)), unname(is.na(excluded[c("a", "b")])) | seq_len(60) %in% c(3, 7))
  }
  expect_identical(which(is.na(predict(out)[, 2])), c(`3` = 3L, `7` = 7L))
  expect_identical(nobs(out), sum(!is.na(fitted(out))))
  interval <- predict(fit, new, interval = "prediction", se.fit = TRUE)
  wide <- sqrt(interval$se.fit[, "b"]^2 + fit$nugget[["b"]]) * stats::qnorm(0.975)
  expect_equal(interval$fit$b[, "upr"], interval$fit$b[, "fit"] + wide)
  expect_identical(dimnames(interval$fit$a), list(row.names(new), c("fit", "lwr", "upr")))
  expect_identical(dim(predict(fit, new[0, ])), c(0L, 2L))
  expect_identical(is.na(predict(fit, transform(new, u = c(NA, 1, 1)))[, "b"]), c(p = TRUE, q = FALSE, r = FALSE))
  draws <- simulate(fit, 400, seed = 1, newdata = new)
  drawn <- sapply(draws, function(draw) draw["q", ])
  expect_equal(rowMeans(drawn), predict(fit, new)["q", ], tolerance = 0.2)
  expect_equal(apply(drawn, 1, sd), predict(fit, new, se.fit = TRUE)$se.fit["q", ], tolerance = 0.15)
  expect_gt(cor(drawn[1, ], drawn[2, ]), 0.2)
  if (requireNamespace("posterior", quietly = TRUE)) {
    expect_equal(posterior::as_draws_matrix(draws)[, "sim[2,1]"], drawn["a", ], ignore_attr = TRUE)
  }
  noisy <- simulate(fit, 400, seed = 1, newdata = new, noise = TRUE)
  expect_equal(var(sapply(noisy, function(draw) draw["q", "b"])), wide[["q"]]^2 / qnorm(0.975)^2, tolerance = 0.25)
  expect_output(print(fit), "105 numbers of 2 responses")
  expect_output(print(summary(fit)), "b:(Intercept)", fixed = TRUE)
  expect_identical(attr(logLik(fit), "df"), 9L)
})

test_that("kernels of some inputs, points without a formula and rasters of places work", {
  some <- gp_fit(cbind(a, b) ~ u + v, data, kernel = kernel_spec("matern32", scale = 0.3, of = c("u", "v")) *
                   kernel_spec("matern12", scale = 2, of = "v"), variance = B, nugget = c(0.04, 300))
  K <- as.matrix(of_kernel(places)) * exp(-abs(outer(data$v, data$v, "-")) / 2)
  k <- as.matrix(of_kernel(as.matrix(new), places)) * exp(-abs(outer(new$v, data$v, "-")) / 2)
  theirs <- dense_cokriging(as.matrix(data[c("a", "b")]), matrix(1, n), K, B, c(0.04, 300), matrix(1, 3), k)
  expect_equal(as.vector(predict(some, new)), as.vector(theirs$mean), tolerance = 1e-9)
  points <- gp_fit(places, as.matrix(data[c("a", "b")]), trend = ~ x1, kernel = of_kernel)
  expect_equal(coef(points, "covariance"), coef(fit, "covariance"))
  expect_equal(predict(points, unname(as.matrix(new))), predict(fit, new), ignore_attr = TRUE)
})

test_that("mistakes are told with a remedy", {
  refused <- function(class, text, ...) expect_error(gp_fit(...), text, class = paste0("kernweave_error_", class))
  data$none <- NA_real_
  data$text <- rep(c("x", "y"), 30)
  refused("data", "`none` has no number", cbind(a, none) ~ u, data)
  refused("input", "must be numbers", cbind(a, text) ~ u, data)
  refused("unsupported", "at most 10", matrix(rnorm(11 * n), n) ~ u, data)
  refused("data", "`k` is constant", cbind(a, k = 3) ~ u, data)
  refused("data", "too few for a trend", cbind(a, b = c(1, 2, rep(NA, n - 2))) ~ u, data, trend = ~ v)
  refused("value", "infinite in row 1", cbind(a, b = c(Inf, data$b[-1])) ~ u, data)
  refused("shape", "a matrix of 2 rows", cbind(a, b) ~ u, data, variance = 1)
  refused("value", "no negative eigenvalue", cbind(a, b) ~ u, data, variance = matrix(c(1, 2, 2, 1), 2))
  refused("shape", "2 numbers", cbind(a, b) ~ u, data, nugget = 1:3)
  refused("data", "rows 20 and 21 coincide, and the nugget of `b`", cbind(a, b) ~ u, nugget = c(0.1, 0),
          transform(data, u = replace(u, 21, u[20])))
  refused("shape", "one response", a ~ u, data, nugget = 1:2)
  refused("unsupported", "grouped effects", cbind(a, b) ~ u, data, trend = ~ (1 | text))
  expect_error(plot(fit), "for each", class = "kernweave_error_unsupported")
  expect_error(cross_validate(fit), "elpd", class = "kernweave_error_unsupported")
  expect_error(profile(fit), "confint", class = "kernweave_error_unsupported")
  expect_error(gp_posterior(fit), "vcov", class = "kernweave_error_unsupported")
  expect_error(predict(fit, new, block = 0.1), "blocks", class = "kernweave_error_unsupported")
})

test_that("rows that coincide are those of one response, by their number in the data", {
  d <- data.frame(x = c(1:12, 4) / 3, a = NA, b = NA)
  d$a <- sin(d$x)
  d$b <- d$a + cos(7 * d$x) / 5
  d$a[2] <- NA
  told <- function(d) {
    found <- capture_messages(suppressWarnings(gp_fit(cbind(a, b) ~ x, d, kernel = "matern12")))
    grep("no noise", found, value = TRUE)
  }
  of_all <- told(d)
  expect_gt(length(of_all), 0)
  expect_match(of_all, "rows 4 and 13 coincide")
  expect_no_match(told(d[-13, ]), "coincide")
})
