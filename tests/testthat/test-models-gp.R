# Gaussian processes against dense formulas, generalised least squares of nlme, and the numbers of other packages.

skip_if_not_installed("MASS")
curve <- gp_fit(accel ~ times, MASS::mcycle, method = "ML")
few <- quakes[1:300, ]
map <- gp_fit(depth ~ long + lat, few, trend = ~ long + lat, kernel = "matern32", method = "ML")
products <- function(fit, ...) update(fit, control = fit_control(dense_n = 0, ...))

test_that("the motorcycles' likelihood, predictions and errors are those of DiceKriging", {
  expect_equal(as.numeric(logLik(curve)), -622.4861528, tolerance = 1e-9)
  expect_equal(coef(curve, "covariance"), c(variance = 1918.498, scale = 6.36148, nugget = 509.5998), tolerance = 1e-3)
  expect_equal(coef(curve), c("(Intercept)" = -10.87204), tolerance = 1e-4)
  expect_equal(unname(sqrt(diag(vcov(curve, "covariance")))), c(0.704, 0.371, 0.130), tolerance = 2e-3)
  k <- kernel_spec("matern52", scale = 6.36148)
  given <- gp_fit(accel ~ times, MASS::mcycle, kernel = k, variance = 1918.498, nugget = 509.5998, method = "ML")
  found <- predict(given, data.frame(times = seq(10, 50, by = 10)), se.fit = TRUE)
  expect_equal(unname(found$fit), c(-0.6684738, -112.5067034, 29.8514770, 3.0766981, -7.5497740), tolerance = 1e-5)
  expect_equal(unname(found$se.fit), c(7.3919, 6.5181, 7.6623, 8.0670, 10.9920), tolerance = 1e-5)
  restricted <- update(curve, method = "REML")
  expect_equal(as.numeric(logLik(restricted)), -618.44697, tolerance = 1e-8)
  expect_equal(unname(coef(restricted, "covariance")), c(2488.9, 7.0014, 509.615), tolerance = 1e-3)
})

test_that("the earthquakes' likelihood, predictions and errors are those of fields and GpGp", {
  skip_below("quick")
  expect_gt(as.numeric(logLik(map)), -1761.385382 - 1e-5)
  expect_lt(as.numeric(logLik(map)), -1761.385382 + 1e-5)
  expect_equal(unname(coef(map, "covariance")), c(39317.6, 2.674425, 3798.027), tolerance = 1e-3)
  k <- kernel_spec("matern32", scale = 2.674425)
  given <- update(map, kernel = k, variance = 39317.6, nugget = 3798.027)
  at <- few[1:3, c("long", "lat")] + 0.5
  found <- predict(given, at, se.fit = TRUE)
  expect_equal(unname(found$fit), c(480.0762582, 535.5553351, 34.8848976), tolerance = 1e-7)
  expect_equal(unname(found$se.fit), c(20.04471, 22.75460, 73.88659), tolerance = 1e-6)
  expect_equal(as.numeric(logLik(update(map, method = "REML"))), -1750.05, tolerance = 1e-5)
  skip_without_peer("fields")
  peer <- suppressWarnings(fields::mKrig(
    as.matrix(few[, c("long", "lat")]), few$depth, m = 2, cov.function = fields::stationary.cov, Covariance = "Matern",
    smoothness = 1.5, aRange = 2.674425 / sqrt(3), lambda = 3798.027 / 39317.6
  ))
  expect_equal(unname(found$fit), as.vector(stats::predict(peer, as.matrix(at))), tolerance = 1e-7)
})

test_that("standard errors grow with the distance from the data", {
  beyond <- predict(curve, data.frame(times = max(MASS::mcycle$times) + c(0, 2, 5, 10, 20, 40)), se.fit = TRUE)$se.fit
  expect_true(all(diff(beyond) > 0))
})

test_that("likelihoods, coefficients and their errors are those of gls() of nlme", {
  skip_without_peer("nlme")
  some <- quakes[seq(3, 1000, by = 9), ]
  n <- nrow(some)
  form <- ~ long + lat
  for (method in c("ML", "REML")) for (kernel in c("matern12", "gaussian")) {
    make <- if (kernel == "matern12") nlme::corExp else nlme::corGaus
    range <- if (kernel == "matern12") 3 else 3 * sqrt(2)
    peer <- nlme::gls(depth ~ long + lat, some, make(c(range, 0.2), form = form, nugget = TRUE, fixed = TRUE),
                      method = method)
    fit <- gp_fit(depth ~ long + lat, some, trend = ~ long + lat, kernel = kernel_spec(kernel, scale = 3),
                  variance = 0.8 * peer$sigma^2, nugget = 0.2 * peer$sigma^2, method = method)
    expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(peer)), tolerance = 1e-10)
    expect_equal(coef(fit), coef(peer), tolerance = 1e-8)
    by <- if (method == "ML") n / (n - 3) else 1  # its errors have the unbiased variance by either method
    expect_equal(vcov(fit) * by, unclass(vcov(peer)), tolerance = 1e-8, ignore_attr = TRUE)
    expect_identical(attr(logLik(fit), "nobs"), attr(logLik(peer), "nobs"), label = method)
  }
})

# The likelihood, the coefficients and predictions with errors, by matrices.
dense_gp <- function(K, y, F, noise, reml, k0 = NULL, f0 = NULL, own = 0) {
  A <- K + diag(noise, length(y))
  Ai <- solve(A)
  B <- t(F) %*% Ai %*% F
  b <- if (ncol(F)) solve(B, t(F) %*% Ai %*% y) else matrix(0, 0, 1)
  left <- y - F %*% b
  log_det <- function(M) if (length(M)) as.numeric(determinant(M)$modulus) else 0
  m <- length(y) - reml * ncol(F)
  out <- list(value = -(m * log(2 * pi) + log_det(A) + reml * log_det(B) + sum(left * (Ai %*% left))) / 2, b = b)
  if (is.null(k0)) return(out)
  u <- f0 - t(k0) %*% Ai %*% F
  variance <- own - colSums(k0 * (Ai %*% k0)) + if (ncol(F)) rowSums((u %*% solve(B)) * u) else 0
  c(out, list(fit = as.vector(f0 %*% b + t(k0) %*% Ai %*% left), se = sqrt(variance), Ai = Ai, B = B))
}

test_that("weighed fits of factors, offsets and every trend are dense formulas, as are residuals", {
  skip_below("quick")
  set.seed(1)
  n <- 40
  data <- data.frame(a = stats::runif(n), b = stats::rnorm(n), g = factor(sample(c("u", "v"), n, TRUE)))
  data$y <- sin(5 * data$a) + data$b + stats::rnorm(n) / 5
  w <- stats::runif(n, 0.5, 2)
  X <- cbind(data$a, sapply(levels(data$g), function(l) (data$g == l) / sqrt(2)))
  new <- data.frame(a = c(0.2, 2), b = c(-1, 1), g = "v")
  X0 <- cbind(new$a, 0, 1 / sqrt(2))
  off <- list(`~ b` = 0, `~ 0` = 0, `~ g + offset(b)` = 1)
  for (trend in names(off)) for (method in c("REML", "ML")) {
    fit <- gp_fit(y ~ a + g, data, trend = stats::as.formula(trend), kernel = kernel_spec("gaussian", scale = 0.7),
                  variance = 2, nugget = 0.3, weights = w, method = method)
    matrix_of <- function(d) stats::model.matrix(stats::as.formula(trend), transform(d, g = factor(g, c("u", "v"))))
    found <- dense_gp(2 * dense_gaussian(X, 0.7), data$y - off[[trend]] * data$b, matrix_of(data), 0.3 / w,
                      method == "REML", 2 * dense_gaussian(X, 0.7, X0), matrix_of(new), 2)
    expect_equal(as.numeric(logLik(fit)), found$value, tolerance = 1e-10)
    expect_equal(unname(coef(fit)), as.vector(found$b), tolerance = 1e-9)
    at <- predict(fit, new, se.fit = TRUE)
    expect_equal(unname(at$fit), found$fit + off[[trend]] * new$b, tolerance = 1e-9)
    expect_equal(unname(at$se.fit), unname(found$se), tolerance = 1e-8)
    expect_equal(unname(predict(fit, data)), unname(fitted(fit)), tolerance = 1e-9)
  }
  line <- predict(fit, new, interval = "prediction")
  expect_equal(unname(line[, 3] - line[, 1]), stats::qnorm(0.975) * unname(sqrt(at$se.fit^2 + 0.3)))
  expect_equal(unname(predict(fit, new, type = "trend")), as.vector(matrix_of(new) %*% coef(fit)) + new$b)
  expect_equal(residuals(fit, "pearson"), residuals(fit) / sqrt(0.3 / w))
  left <- vapply(1:5, function(i) {
    data$y[i] - predict(update(fit, data = data[-i, ], weights = w[-i]), data[i, ])
  }, 0)
  expect_equal(unname(residuals(fit, "loo")[1:5]), unname(left), tolerance = 1e-8)
  light <- update(fit, weights = replace(w, 1:5, 0))
  expect_equal(predict(light, new), predict(update(fit, data = data[-(1:5), ], weights = w[-(1:5)]), new))
})

test_that("the score is the slope of the likelihood, is nought at its top, and products agree with it", {
  skip_below("quick")
  set.seed(2)
  x <- matrix(stats::runif(160), 80)
  y <- sin(6 * x[, 1]) + x[, 2]^2 + stats::rnorm(80) / 10
  wavy <- kernel_spec("rational_quadratic", alpha = 2, estimate = "alpha") + kernel_spec("linear", variance = NULL)
  kernels <- list(kernel_spec("matern52", ard = TRUE), "gaussian", wavy)
  cases <- combinations(kernel = seq_along(kernels), method = c("REML", "ML"))
  for (case in seq_len(by_tier(1, nrow(cases), nrow(cases)))) {
    k <- kernels[[cases$kernel[case]]]
    method <- cases$method[case]
    fit <- suppressWarnings(gp_fit(x, y, trend = ~ x1, kernel = k, method = method))
    model <- fit$data
    theta <- gp_theta_of(model)
    inner <- !names(theta) %in% fit$at_bound
    expect_lt(max(abs(gp_state_at(model, theta)$score[inner])), 1e-2)
    at <- theta + 0.2
    here <- gp_state_at(model, at)
    slope <- vapply(seq_along(at), function(k) {
      h <- replace(0 * at, k, 1e-4)
      (gp_state_at(model, at + h)$value - gp_state_at(model, at - h)$value) / 2e-4
    }, 0)
    expect_equal(unname(here$score), slope, tolerance = 1e-5)
    model$dense <- FALSE
    by_products <- gp_state_at(model, at)
    spread <- sqrt(diag(here$information))
    expect_lt(max(abs(by_products$score - here$score) / spread), 0.1)
    expect_equal(by_products$information, here$information, tolerance = 1e-3)
    expect_equal(by_products$value, here$value, tolerance = 1e-3)
  }
})

test_that("units, the order of rows, rotations and far origins change nothing else", {
  skip_below("quick")
  there <- coef(curve, "covariance")
  units <- gp_fit(I(1000 * accel) ~ I(times / 1e4), MASS::mcycle, method = "ML")
  expect_equal(coef(units, "covariance") * c(1e-6, 1e4, 1e-6), there, tolerance = 1e-4)
  expect_equal(as.numeric(logLik(units)) + 133 * log(1000), as.numeric(logLik(curve)), tolerance = 1e-8)
  mixed <- update(curve, data = MASS::mcycle[(50 * 1:133) %% 133 + 1, ], weights = rep(1, 133))
  expect_equal(coef(mixed, "covariance"), there, tolerance = 1e-4)
  x <- as.matrix(few[1:60, c("long", "lat")])
  turned <- x %*% matrix(c(0.6, 0.8, -0.8, 0.6), 2) * 1000 + 1e6
  one <- gp_fit(x, few$depth[1:60], kernel = "matern32")
  other <- gp_fit(turned, few$depth[1:60] + 1e4, kernel = "matern32")
  expect_equal(coef(other, "covariance") / c(1, 1000, 1), coef(one, "covariance"), tolerance = 1e-3)
})

test_that("fits by products are those of the factor, within their error", {
  skip_below("quick")
  for (fit in if (reaches("usual")) list(curve, update(map, method = "REML")) else list(curve)) {
    other <- products(fit)
    value <- logLik(other)
    expect_lt(abs(as.numeric(value) - as.numeric(logLik(fit))), 4 * attr(value, "std.error") + 1e-3)
    errors <- sqrt(diag(vcov(fit, "covariance")))
    expect_lt(max(abs(log(coef(other, "covariance") / coef(fit, "covariance"))) / errors), 0.1)
    expect_equal(vcov(other), vcov(fit), tolerance = 0.02)
  }
  numbers <- list(kernel = kernel_spec("matern32", scale = 2.7), variance = 39000, nugget = 3800)
  exact <- do.call(update, c(list(map), numbers))
  iterated <- do.call(update, c(list(map), numbers, list(control = fit_control(dense_n = 0, tol = 1e-8))))
  expect_equal(coef(iterated), coef(exact), tolerance = 1e-6)
  expect_equal(fitted(iterated), fitted(exact), tolerance = 1e-6)
  at <- few[1:20, ] + 0.3
  expect_equal(predict(iterated, at, se.fit = TRUE), predict(exact, at, se.fit = TRUE), tolerance = 1e-6)
  expect_output(print(iterated), "300 points, by products")
  expect_message(left <- residuals(iterated, "loo"), "nearest")
  expect_equal(as.vector(left), as.vector(residuals(exact, "loo")), tolerance = 0.01)
})

test_that("many rows start from some of them, take few steps, and find landmarks once", {
  skip_below("usual")
  set.seed(4)
  x <- matrix(stats::runif(7800), 2600)
  y <- simulate(kernel_matern(x, scale = 0.25, nu = 1.5), seed = 1)[, 1] + stats::rnorm(2600) / 2
  counts <- c(gp_state = 0, found_support = 0)
  where <- asNamespace("kernweave")
  for (what in names(counts)) local({
    name <- what
    suppressMessages(trace(name, function() counts[name] <<- counts[name] + 1, where = where, print = FALSE))
  })
  on.exit(for (what in names(counts)) suppressMessages(untrace(what, where = where)))
  fit <- gp_fit(x, y, kernel = "matern32")
  expect_lte(fit$convergence$iterations, 4)
  few <- counts
  at <- coef(fit, "covariance")
  again <- gp_fit(x, y, kernel = "matern32", control = fit_control(start = at))
  expect_lte(again$convergence$iterations, 2)
  expect_lt(max(abs(log(coef(again, "covariance") / at)) / sqrt(diag(vcov(fit, "covariance")))), 0.15)
  expect_lte(few[["found_support"]], 2)
  expect_gte(few[["gp_state"]], 4)
})

test_that("the noise of a score by products is small along the ridge of variance and scale, and fits say it", {
  skip_below("all")
  set.seed(6)
  x <- matrix(stats::runif(3000), 1500)
  y <- simulate(kernel_matern(x, scale = 0.3, nu = 1.5), seed = 2)[, 1] + stats::rnorm(1500) / 3
  fit <- function(...) {
    gp_fit(x, y, kernel = "matern32", method = "ML", control = fit_control(start = c(scale = 0.3), ...))
  }
  exact <- fit(dense_n = 1500)
  expect_identical(exact$convergence$noise, 0)
  at <- gp_theta_of(exact$data)
  model <- fit(dense_n = 0)$data
  scores <- vapply(1:12, function(seed) {
    model$control$seed <- seed
    gp_state_at(model, at)$score
  }, at)
  moved <- solve(exact$information, scores) / sqrt(diag(solve(exact$information)))
  said <- fit(dense_n = 0)$convergence$noise
  expect_lt(said, 0.1)
  spread <- max(apply(moved, 1, stats::sd))
  expect_lt(abs(log(spread / said)), log(2.5))
  for (seed in 1:3) {
    found <- fit(dense_n = 0, seed = seed)
    apart <- log(coef(found, "covariance") / coef(exact, "covariance"))
    expect_lt(max(abs(apart) / sqrt(diag(vcov(exact, "covariance")))), 0.05 + 4 * said)
  }
  rough <- as.numeric(attr(logLik(found), "std.error"))
  fine <- logLik(found, se_tol = rough / 2)
  expect_lt(attr(fine, "std.error"), rough / 2)
  expect_lt(abs(fine - logLik(exact)), 4 * rough + 0.1)
  expect_identical(logLik(found, se_tol = 10), logLik(found))
})

test_that("a score that random vectors tell badly is told with twice as many, and then with a warning", {
  skip_below("usual")
  set.seed(7)
  x <- matrix(stats::runif(1200), 600)
  y <- sin(6 * x[, 1]) + stats::rnorm(600) / 3
  held("most_noise", function(model) 1e-6, environment())
  control <- fit_control(dense_n = 0, probes = 4, start = c(scale = 0.5), verbose = TRUE)
  said <- capture_messages(
    expect_warning(fit <- gp_fit(x, y, kernel = "matern32", control = control), "by 8 random vectors.*`probes`",
                   class = "kernweave_warning_convergence")
  )
  expect_gt(fit$convergence$noise, 1e-6)
  expect_gte(sum(grepl("standard errors from the maximum", said)), 3)
})
