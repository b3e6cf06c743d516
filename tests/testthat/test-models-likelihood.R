# Families of one function: derivatives against differences, fits against mgcv, mistakes.

families <- setdiff(names(kernweave:::likelihood_rows), "ordinal")
e <- c(-1.3, -0.2, 0, 0.4, 1, 2)
responses <- list(student = c(-3, 0.2, 5, 0, 1, 2), beta = c(0.02, 0.3, 0.5, 0.7, 0.99, 0.4),
                  nbinom1 = c(0, 1, 2, 5, 0, 9), lognormal = c(0.1, 0.5, 1, 2, 5, 1), weibull = c(0.1, 0.5, 1, 2, 5, 1),
                  exponential = c(0, 0.5, 1, 2, 5, 1), tweedie = c(0, 0.5, 1e-3, 10, 0, 3), zip = c(0, 1, 2, 5, 0, 9),
                  truncated_poisson = c(1, 3, 2, 5, 1, 9), loglogistic = c(0.1, 0.5, 1, 2, 5, 1))
responses[c("nbinom2", "gamma")] <- responses[c("nbinom1", "weibull")]
responses[c("zinb", "tobit", "normal")] <- responses[c("zip", "student", "student")]
responses[c("hurdle_poisson", "hurdle_negbin", "truncated_negbin")] <- responses[c("zip", "zip", "truncated_poisson")]
with_parameters <- function(k, theta, family) {
  stats::setNames(vapply(seq_along(k), function(j) {
    kernweave:::unlink_parameter(theta[j], family$links[[j]])
  }, 0), names(k))
}

test_that("derivatives by the linear predictor and by each parameter are limits of differences", {
  by <- 1e-5
  for (name in families) {
    family <- gp_family(name)
    y <- responses[[name]]
    k <- family$value
    a <- c(1, 2, 0.5, 1, 3, 1)
    slope <- function(f) (f(e + by) - f(e - by)) / (2 * by)
    found <- family$slopes(y, e, k, a)
    expect_equal(found$g, slope(function(e) family$log_density(y, e, k, a)), tolerance = 1e-7, label = name)
    expect_equal(-found$W, slope(function(e) family$slopes(y, e, k, a)$g), tolerance = 1e-7, label = name)
    expect_equal(found$W_e, slope(function(e) family$slopes(y, e, k, a)$W), tolerance = 1e-7, label = name)
    of_phi <- if (length(k)) family$of_phi(y, e, k, a)
    theta <- kernweave:::in_link(k, data.frame(link = family$links))
    for (j in seq_along(k)) {
      moved <- function(f) {
        at <- function(by) f(with_parameters(k, replace(theta, j, theta[j] + by), family))
        (at(by) - at(-by)) / (2 * by)
      }
      expect_equal(unname(of_phi$l[, j]), moved(function(k) family$log_density(y, e, k, a)), tolerance = 1e-6)
      expect_equal(unname(of_phi$g[, j]), moved(function(k) family$slopes(y, e, k, a)$g), tolerance = 1e-6)
      expect_equal(unname(of_phi$W[, j]), moved(function(k) family$slopes(y, e, k, a)$W), tolerance = 1e-6)
    }
  }
})

test_that("densities, distribution functions and draws of a family are of one distribution", {
  at <- c(0.05, 0.3, 0.6, 0.9)
  for (name in families) {
    family <- gp_family(name)
    eta <- 0.3
    known <- as.list(family$value)
    below <- function(q) do.call(family$below, c(list(q, eta), known))
    density <- function(y) exp(family$log_density(y, rep(eta, length(y)), family$value, 1))
    if (family$whole) {
      expect_equal(below(3) - below(2), density(3), tolerance = 1e-10, label = name)
    } else {
      area <- stats::integrate(density, 0.3, 0.6)$value
      expect_equal(below(0.6) - below(0.3), area, tolerance = 1e-6, label = name)
    }
    set.seed(1)
    draws <- do.call(family$draw, c(list(20000, eta), known))
    expect_lt(max(abs(vapply(at, function(q) mean(draws <= q), 0) - below(at))), 0.015, label = name)
    mean <- family$base(family$value)$linkinv(eta)
    expect_lt(abs(mean(draws) - mean), 5 * sd(draws) / sqrt(20000), label = name)
    variance <- do.call(family$variance, c(list(eta), known))
    if (name != "loglogistic") expect_equal(var(draws), variance, tolerance = 0.1, label = name)
  }
})

test_that("Tweedie's density is mgcv's", {
  skip_if_not_installed("mgcv")
  y <- c(0, 0.5, 3, 10, 1e-3, 200)
  eta <- c(1, 1, 0, 2, 0, 5)
  for (p in c(1.05, 1.4, 1.9)) for (phi in c(0.3, 4)) {
    expect_equal(kernweave:::tweedie_density(y, eta, phi, p), mgcv::ldTweedie(y, exp(eta), p = p, phi = phi)[, 1],
                 tolerance = 1e-9)
  }
})

q <- quakes[seq(1, 1000, by = 5), ]
q$share <- pmin(pmax((q$depth - 40) / 645, 0.01), 0.99)
q$wild <- replace(q$depth / 100, c(7, 50, 120), (q$depth / 100)[c(7, 50, 120)] + c(8, -7, 9))
q$catch <- pmax(q$stations - 25, 0) / 10
kernel <- kernel_spec("matern32", scale = 4)

test_that("restricted likelihoods of student, beta and tweedie are those of mgcv at their top", {
  known <- list(
    list(share ~ long + lat, "beta", -176.1568, c(precision = 14.24203)),
    list(wild ~ long + lat, gp_family("student", df = 3), 237.9069, c(sigma = 0.3332692)),
    list(catch ~ long + lat, "tweedie", 321.5439, c(phi = 2.846628, p = 1.472039))
  )
  for (row in known) {
    fit <- gp_fit(row[[1]], q, kernel = kernel, family = row[[2]])
    expect_equal(-as.numeric(logLik(fit)), row[[3]], tolerance = 1e-6)
    expect_equal(coef(fit, "covariance")[names(row[[4]])], row[[4]], tolerance = 1e-3)
  }
})

test_that("a family written by hand is the ready one", {
  own <- gp_family(function(y, eta, sigma, df) dt((y - eta) / sigma, df, log = TRUE) - log(sigma),
                   parameters = c(sigma = 1, df = 5), lower = c(df = 2.01), upper = c(df = 200))
  expect_warning(by_hand <- gp_fit(wild ~ long + lat, q, kernel = kernel, family = own), "df")
  expect_warning(ready <- gp_fit(wild ~ long + lat, q, kernel = kernel, family = "student"), "df")
  expect_equal(as.numeric(logLik(by_hand)), as.numeric(logLik(ready)), tolerance = 1e-6)
  expect_equal(coef(by_hand, "covariance"), coef(ready, "covariance"), tolerance = 1e-4)
  expect_error(residuals(by_hand, "pearson"), "deviance", class = "kernweave_error_unsupported")
  expect_equal(residuals(by_hand, "deviance"), residuals(ready, "deviance"), tolerance = 1e-3)
  poisson <- gp_family(function(y, eta) dpois(y, exp(eta), log = TRUE), start = function(y) log(y + 0.1),
                       mean = function(eta) exp(eta))
  by_hand <- gp_fit(stations ~ long + lat, q, kernel = kernel, family = poisson)
  known <- gp_fit(stations ~ long + lat, q, kernel = kernel, family = "poisson")
  expect_equal(as.numeric(logLik(by_hand)), as.numeric(logLik(known)), tolerance = 1e-7)
  expect_equal(predict(by_hand, q[1:5, ], type = "mean"), predict(known, q[1:5, ], type = "mean"), tolerance = 1e-5)
})

# The score of all parameters is that of the whole approximate likelihood, where the mode is found anew at each point.
test_that("the gradient of the restricted likelihood is a limit of differences, for each family", {
  set.seed(3)
  d <- data.frame(x = sort(runif(40, 0, 4)))
  eta <- sin(2 * d$x)
  control <- fit_control(start = c(variance = 0.8, scale = 0.6), max_iter = 1)
  own <- gp_family(function(y, eta, sigma) dlogis(y, eta, sigma, log = TRUE), parameters = c(sigma = 0.5))
  for (name in c(families, "ordinal", "own")) {
    family <- if (name != "own") gp_family(name)
    known <- if (length(family$draw)) as.list(family$value)
    y <- if (length(family$draw)) do.call(family$draw, c(list(40, eta), known)) else round(eta + rlogis(40) / 2)
    if (name == "ordinal") y <- factor(pmin(pmax(y, -1), 1), ordered = TRUE)
    if (name == "beta") y <- pmin(pmax(y, 0.01), 0.99)
    if (name %in% c("weibull", "tobit")) y <- cbind(pmin(y, 1), ifelse(y > 1, Inf, y))
    fit <- suppressWarnings(gp_fit(d, y, kernel = "matern32", family = if (name == "own") own else name,
                                   control = control))
    expect_score(fit$data, by = 2e-4, tolerance = 1e-5, label = name)
  }
})

test_that("deviances are twice what log-densities are below their largest", {
  set.seed(2)
  d <- data.frame(x = runif(60), y = rexp(60))
  fit <- gp_fit(y ~ x, d, kernel = kernel_spec("matern32", scale = 0.5), variance = 0.3, family = "exponential")
  mean <- fitted(fit)
  expect_equal(deviance(fit), 2 * sum(d$y / mean - 1 - log(d$y / mean)), tolerance = 1e-8)
  expect_equal(sum(residuals(fit, "deviance")^2), deviance(fit), tolerance = 1e-12)
  expect_equal(sign(residuals(fit, "deviance")), sign(residuals(fit)))
  expect_equal(residuals(fit, "pearson"), residuals(fit) / mean, tolerance = 1e-10)
  normal <- gp_fit(y ~ x, d, kernel = kernel_spec("matern32", scale = 0.5), variance = 0.3, family = "normal")
  sigma <- coef(normal, "covariance")[["sigma"]]
  expect_equal(deviance(normal), sum(residuals(normal)^2) / sigma^2, tolerance = 1e-8)
})

test_that("a process behind normal noise of a family is kriging", {
  normal <- gp_fit(mag ~ long + lat, q, kernel = kernel, family = "normal")
  kriged <- gp_fit(mag ~ long + lat, q, kernel = kernel)
  expect_equal(as.numeric(logLik(normal)), as.numeric(logLik(kriged)), tolerance = 1e-8)
})

test_that("families of glm() have the same likelihood as log-densities", {
  q$size <- q$depth / 100
  for (row in list(list("nbinom2", "negbin", stations ~ long + lat), list("gamma", Gamma("log"), size ~ long + lat))) {
    fit <- gp_fit(row[[3]], q, kernel = kernel, variance = 0.1, family = row[[1]])
    known <- gp_fit(row[[3]], q, kernel = kernel, variance = 0.1, family = row[[2]])
    expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(known)), tolerance = 1e-7)
  }
})

test_that("counts with no more zeros than Poisson's have the likelihood of Poisson", {
  set.seed(4)
  q$count <- rpois(200, exp(1.5 + sin(q$lat / 4)))
  fit <- gp_fit(count ~ long + lat, q, kernel = kernel, variance = 0.5, family = gp_family("zip", zero = 1e-9))
  known <- gp_fit(count ~ long + lat, q, kernel = kernel, variance = 0.5, family = "poisson")
  expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(known)), tolerance = 1e-6)
  expect_equal(fitted(fit), fitted(known), tolerance = 1e-6)
})

test_that("intervals of parameters are symmetric in their links", {
  fit <- gp_fit(catch ~ long + lat, q, kernel = kernel, family = "tweedie")
  found <- confint(fit)[c("p", "phi"), ]
  k <- coef(fit, "covariance")
  half <- qnorm(0.975) * sqrt(diag(vcov(fit, "covariance")))
  expect_equal(unname(found["p", ]), k[["p"]] + c(-1, 1) * half[["p"]], tolerance = 1e-10)
  expect_equal(unname(found["phi", ]), k[["phi"]] * exp(c(-1, 1) * half[["phi"]]), tolerance = 1e-10)
})

test_that("family objects of mgcv and glmmTMB are read by their names", {
  skip_if_not_installed("mgcv")
  read <- function(family) kernweave:::as_family(family)
  known <- list(list(mgcv::tw(), "tweedie"), list(mgcv::scat, "student"), list(mgcv::betar(), "beta"),
                list(mgcv::ocat(R = 4), "ordinal"), list(mgcv::nb(), "negative binomial"))
  of_peer <- function(name, link) structure(list(family = name, link = link), class = "family")
  known <- c(known, list(list(of_peer("nbinom1", "log"), "nbinom1"), list(of_peer("t", "identity"), "student"),
                         list(of_peer("nbinom2", "log"), "negative binomial"), list(of_peer("beta", "logit"), "beta"),
                         list(of_peer("tweedie", "log"), "tweedie"),
                         list(of_peer("truncated_poisson", "log"), "truncated_poisson")))
  for (row in known) expect_identical(read(row[[1]])$title, row[[2]])
  expect_equal(read(mgcv::tw(1.4))$value[["p"]], 1.4)
  expect_identical(read(mgcv::scat(theta = c(4, 0.5)))$value, c(sigma = 0.5, df = 4))
  expect_true(all(read(mgcv::nb(theta = 3))$given))
  expect_error(read(mgcv::ocat(theta = c(1, 2))), "R = ", class = "kernweave_error_unsupported")
  expect_error(read(mgcv::ziP()), "zip", class = "kernweave_error_unsupported")
  expect_error(read(of_peer("compois", "log")), "negbin", class = "kernweave_error_unsupported")
})

test_that("means, errors, intervals, draws and scores of new rows are on the response's scale", {
  fit <- gp_fit(share ~ long + lat, q[1:120, ], kernel = kernel, family = "beta")
  new <- q[121:130, ]
  link <- predict(fit, new, type = "link", se.fit = TRUE)
  found <- predict(fit, new, se.fit = TRUE)
  expect_equal(found$fit, plogis(link$fit))
  expect_equal(found$se.fit, plogis(link$fit) * plogis(-link$fit) * link$se.fit, tolerance = 1e-8)
  ends <- predict(fit, new, interval = "prediction", level = 0.9)
  k <- coef(fit, "covariance")[["precision"]]
  set.seed(1)
  eta <- link$fit[3] + link$se.fit[3] * rnorm(1e5)
  draws <- rbeta(1e5, k * plogis(eta), k * plogis(-eta))
  expect_equal(unname(ends[3, 2:3]), unname(quantile(draws, c(0.05, 0.95))), tolerance = 0.02)
  scores <- predictive_scores(fit, new)
  expect_true(all(is.finite(unlist(as.data.frame(scores)[c("logs", "crps", "rmse")]))))
  crps <- predictive_scores(fit, new[3, ])$crps
  expect_equal(crps, mean(abs(draws - new$share[3])) - mean(abs(draws - sample(draws))) / 2, tolerance = 0.02)
  expect_true(all(simulate(fit, 3, seed = 1, newdata = new) < 1))
})

test_that("mistakes in families are told with the remedy", {
  expect_error(gp_family("studnet"), "student", class = "kernweave_error_unsupported")
  expect_error(gp_family("student", dff = 4), "df", class = "kernweave_error_input")
  expect_error(gp_family(function(y, eta, sigma) 0), "parameters = c(sigma = 1)", fixed = TRUE,
               class = "kernweave_error_input")
  expect_error(gp_fit(depth ~ long + lat, q, family = "beta"), "between 0 and 1", class = "kernweave_error_data")
  short <- gp_family(function(y, eta) sum(y - eta))
  expect_error(gp_fit(depth ~ long + lat, q, family = short), "returned 1 number", class = "kernweave_error_value")
  nan <- gp_family(function(y, eta) 0 * eta + NaN)
  expect_error(gp_fit(depth ~ long + lat, q, family = nan), "row", class = "kernweave_error_value")
})
