# Parameters of families with a trend of their own, and hurdle families: against dense matrices, optim() and glm().

set.seed(1)
d <- data.frame(x = runif(50, 0, 4), z = runif(50), g = gl(2, 25, labels = c("a", "b")))
d$y <- sin(2 * d$x) + exp(-1.5 + 1.2 * d$z) * rnorm(50)
d$count <- rbinom(50, 1, plogis(0.5 + d$z)) * rpois(50, exp(1 + sin(2 * d$x) / 2))
kernel <- kernel_spec("matern32", scale = 1)
sigma_of <- function(fit, z) {
  k <- coef(fit, "covariance")
  exp(k[["sigma.(Intercept)"]] + k[["sigma.z"]] * z)
}
normal <- gp_fit(y ~ x, d, kernel = kernel, family = gp_family("normal", sigma = ~ z))

test_that("normal noise whose deviation has a trend has the likelihood of a matrix with these variances", {
  r <- sqrt(3) * as.matrix(dist(d$x))
  A <- coef(normal, "covariance")[["variance"]] * (1 + r) * exp(-r) + diag(sigma_of(normal, d$z)^2)
  F <- matrix(1, 50, 1)
  inverse <- solve(A)
  C <- crossprod(F, inverse %*% F)
  left <- d$y - F %*% solve(C, crossprod(F, inverse %*% d$y))
  dense <- -(determinant(A)$modulus + determinant(C)$modulus + sum(left * (inverse %*% left)) + 49 * log(2 * pi)) / 2
  expect_equal(as.numeric(logLik(normal)), as.numeric(dense), tolerance = 1e-8)
  expect_named(coef(normal, "covariance"), c("variance", "scale", "sigma.(Intercept)", "sigma.z"))
})

test_that("without a process the fit is that of gls() with a variance function, also where the regressor is a year", {
  skip_if_not_installed("nlme")
  d$year <- 1990 + 30 * d$z
  for (family in list(gp_family("normal", sigma = ~ z), gp_family("normal", sigma = ~ year))) {
    fit <- gp_fit(y ~ x, d, kernel = kernel, variance = 0, method = "ML", family = family)
    form <- family$formulas$sigma
    known <- nlme::gls(y ~ 1, d, weights = nlme::varExp(form = form), method = "ML")
    expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(known)), tolerance = 1e-8)
    slope <- known$modelStruct$varStruct[[1]]
    expect_equal(unname(coef(fit, "covariance")[3]), slope, tolerance = 1e-3)
  }
})

test_that("a formula of a constant is the parameter without a formula", {
  for (name in c("normal", "student")) {
    known <- suppressWarnings(gp_fit(y ~ x, d, kernel = kernel, family = name))
    fit <- suppressWarnings(gp_fit(y ~ x, d, kernel = kernel, family = gp_family(name, sigma = ~ 1)))
    expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(known)), tolerance = 1e-11)
    expect_equal(exp(coef(fit, "covariance")[["sigma.(Intercept)"]]), coef(known, "covariance")[["sigma"]],
                 tolerance = 1e-9)
    expect_equal(predict(fit, d[1:4, ], interval = "prediction"), predict(known, d[1:4, ], interval = "prediction"),
                 tolerance = 1e-9)
  }
})

test_that("rows in another order, rows of weight 0, a subset and missing values change nothing", {
  known <- coef(normal, "covariance")
  again <- gp_fit(y ~ x, d[50:1, ], kernel = kernel, family = gp_family("normal", sigma = ~ z))
  expect_equal(coef(again, "covariance"), known, tolerance = 1e-10)
  more <- rbind(d[1:5, ], d)
  more$y[1:5] <- 1
  more$use <- rep(0:1, c(5, 50))
  again <- update(again, data = more, weights = use)
  expect_equal(coef(again, "covariance"), known, tolerance = 1e-10)
  expect_equal(unname(residuals(again, "pearson")[-(1:5)]), unname(residuals(normal, "pearson")), tolerance = 1e-8)
  again <- gp_fit(y ~ x, more, kernel = kernel, family = gp_family("normal", sigma = ~ z), subset = use == 1)
  expect_equal(coef(again, "covariance"), known, tolerance = 1e-10)
  more$z[1:5] <- NA
  again <- update(again, subset = NULL, na.action = na.exclude)
  expect_equal(coef(again, "covariance"), known, tolerance = 1e-10)
  ends <- predict(again, interval = "prediction")
  expect_true(all(is.na(ends[1:5, ])))
  expect_equal(unname(ends[-(1:5), ]), unname(predict(normal, d, interval = "prediction")), tolerance = 1e-8)
  expect_true(all(is.na(simulate(again, 1, seed = 1, noise = TRUE)[1:5, ])))
})

# Rows of each family, by its own draws.
test_that("the score by coefficients is a limit of differences, for each parameter of each family", {
  set.seed(3)
  rows <- data.frame(x = sort(runif(30, 0, 4)), z = runif(30) - 0.5)
  for (name in setdiff(names(kernweave:::likelihood_rows), "ordinal")) {
    ready <- gp_family(name)
    if (!length(ready$value)) next
    formulas <- stats::setNames(rep(list(~ z), length(ready$value)), names(ready$value))
    control <- fit_control(max_iter = 1, start = stats::setNames(0.3, paste0(names(ready$value)[1], ".z")))
    rows$y <- do.call(ready$draw, c(list(30, sin(2 * rows$x)), as.list(ready$value)))
    if (name == "beta") rows$y <- pmin(pmax(rows$y, 0.01), 0.99)
    model <- suppressWarnings(gp_fit(y ~ x, rows, kernel = kernel, variance = 0.8, control = control,
                                     family = do.call(gp_family, c(list(name), formulas))))$data
    expect_score(model, by = 5e-5, tolerance = 1e-6, label = name)
  }
})

test_that("zeros of a zero-inflated count may depend on a variable: the likelihood is that of optim()", {
  fit <- gp_fit(count ~ x, d, trend = ~ x, kernel = kernel, variance = 0, method = "ML",
                family = gp_family("zip", zero = ~ z))
  minus <- function(b) {
    zero <- plogis(b[3] + b[4] * d$z)
    -sum(log((d$count == 0) * zero + (1 - zero) * dpois(d$count, exp(b[1] + b[2] * d$x))))
  }
  known <- optim(c(1, 0, -1, 0), minus, method = "BFGS", control = list(reltol = 1e-13, maxit = 500))
  expect_equal(as.numeric(logLik(fit)), -known$value, tolerance = 1e-8)
  expect_equal(unname(c(coef(fit), coef(fit, "covariance")[-1])), known$par, tolerance = 1e-3)
  fit <- gp_fit(count ~ x, d, kernel = kernel, variance = 0.2, family = gp_family("zip", zero = ~ z))
  k <- coef(fit, "covariance")
  zero <- plogis(k[["zero.(Intercept)"]] + k[["zero.z"]] * d$z[1:3])
  expect_equal(unname(predict(fit, d[1:3, ])), unname((1 - zero) * exp(predict(fit, d[1:3, ], type = "link"))))
})

test_that("a hurdle model is a logistic regression of zeros and a fit of the counts above 0", {
  some <- d[d$count > 0, ]
  zeros <- as.numeric(logLik(glm((count == 0) ~ z, binomial, d)))
  for (name in c("poisson", "negbin")) {
    fit <- gp_fit(count ~ x, d, kernel = kernel, variance = 0.3,
                  family = gp_family(paste0("hurdle_", name), zero = ~ z))
    counts <- gp_fit(count ~ x, some, kernel = kernel, variance = 0.3, family = paste0("truncated_", name))
    expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(counts)) + zeros, tolerance = 1e-5)
    expect_equal(predict(fit, d[1:9, ], type = "link"), predict(counts, d[1:9, ], type = "link"), tolerance = 1e-3)
  }
  expect_error(gp_fit(y ~ x, transform(d, y = 0 * y), family = "hurdle_poisson"), "nothing to estimate",
               class = "kernweave_error_data")
})

test_that("shapes of two groups of censored times are those of survreg() with strata", {
  skip_if_not_installed("survival")
  d$time <- rweibull(50, c(1, 3)[d$g], exp(d$z))
  d$high <- ifelse(d$time > 2, Inf, d$time)
  fit <- gp_fit(cbind(pmin(time, 2), high) ~ x, d, trend = ~ z, kernel = kernel, variance = 0, method = "ML",
                family = gp_family("weibull", shape = ~ 0 + g))
  strata <- survival::strata
  known <- survival::survreg(survival::Surv(pmin(time, 2), time <= 2) ~ z + strata(g), d)
  expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(known)), tolerance = 1e-7)
  expect_equal(unname(exp(coef(fit, "covariance")[c("shape.ga", "shape.gb")])), unname(1 / known$scale),
               tolerance = 1e-3)
})

test_that("a parameter of a log-density written by hand has a trend, too", {
  own <- gp_family(function(y, eta, sigma) dnorm(y, eta, sigma, log = TRUE), parameters = c(sigma = 0.5),
                   sigma = ~ z, draw = function(n, eta, sigma) rnorm(n, eta, sigma))
  fit <- gp_fit(y ~ x, d, kernel = kernel, family = own)
  expect_equal(coef(fit, "covariance"), coef(normal, "covariance"), tolerance = 1e-3)
  expect_length(simulate(fit, 2, seed = 1, newdata = d[1:3, ], noise = TRUE)[[1]], 3)
})

test_that("predictions of new rows have the parameter of each row, and ask for its variables", {
  new <- data.frame(x = c(1, 2, 3), z = c(0.2, NA, 0.9))
  link <- predict(normal, new, type = "link", se.fit = TRUE)
  ends <- predict(normal, new, interval = "prediction")
  half <- qnorm(0.975) * sqrt(link$se.fit^2 + sigma_of(normal, new$z)^2)
  expect_equal(unname(ends[, 3]), unname(link$fit + half), tolerance = 1e-6)
  expect_identical(unname(is.na(ends[, 3])), c(FALSE, TRUE, FALSE))
  expect_equal(predict(normal, new["x"], type = "link"), link$fit)
  expect_error(predict(normal, new["x"]), "`z`", class = "kernweave_error_input")
  expect_error(simulate(normal, 1, newdata = new["x"]), "`z`", class = "kernweave_error_input")
  draws <- simulate(normal, 4000, seed = 1, newdata = new, noise = TRUE)
  expect_equal(unname(apply(draws[c(1, 3), ], 1, sd)), half[c(1, 3)] / qnorm(0.975), tolerance = 0.05,
               ignore_attr = TRUE)
  new$y <- c(0.5, 0, 1)
  scores <- attr(predictive_scores(normal, new), "rows")
  sd <- sqrt(link$se.fit^2 + sigma_of(normal, new$z)^2)[c(1, 3)]
  expect_equal(scores$logs, unname(-dnorm(new$y[c(1, 3)], link$fit[c(1, 3)], sd, log = TRUE)), tolerance = 1e-6)
})

test_that("rows that are left out are predicted with their own parameter", {
  folds <- rep(1:5, 10)
  found <- cross_validate(normal, folds)
  part <- kernweave:::refit_to(normal, which(folds != 2), FALSE)
  link <- predict(part, d[folds == 2, ], type = "link", se.fit = TRUE)
  sd <- sqrt(link$se.fit^2 + sigma_of(normal, d$z[folds == 2])^2)
  expect_equal(found$.lpd[folds == 2], unname(dnorm(d$y[folds == 2], link$fit, sd, log = TRUE)), tolerance = 1e-6)
  expect_equal(coef(part, "covariance"), coef(normal, "covariance"))
  again <- kernweave:::refit_to(normal, which(folds != 2), TRUE)
  known <- gp_fit(y ~ x, d[folds != 2, ], kernel = kernel, family = gp_family("normal", sigma = ~ z))
  expect_equal(coef(again, "covariance"), coef(known, "covariance"), tolerance = 1e-6)
  given <- gp_fit(y ~ x, d, kernel = kernel, variance = 0.5, family = gp_family("student", df = 4))
  expect_equal(coef(kernweave:::refit_to(given, 1:40, TRUE), "covariance")[["df"]], 4)
})

test_that("products find the estimates of a factor", {
  set.seed(4)
  many <- data.frame(x = runif(200), z = runif(200))
  many$y <- sin(6 * many$x) + exp(-1 + many$z) * rnorm(200)
  fit <- function(dense_n) gp_fit(y ~ x, many, kernel = kernel_spec("matern32", scale = 0.3), variance = 0.5,
                                  family = gp_family("normal", sigma = ~ z), control = fit_control(dense_n = dense_n))
  dense <- fit(1000)
  se <- sqrt(diag(vcov(dense, "covariance")))
  expect_lt(max(abs(coef(fit(0), "covariance") - coef(dense, "covariance"))[names(se)] / se), 0.1)
})

test_that("mistakes in formulas of parameters are told with the remedy", {
  fit <- function(...) gp_fit(y ~ x, d, kernel = kernel, family = gp_family(...))
  expect_error(fit("normal", sigma = ~ zz), "`sigma`", class = "kernweave_error_input")
  expect_error(fit("normal", sigma = y ~ z), "one side", class = "kernweave_error_input")
  expect_error(fit("normal", sigma = ~ z + I(2 * z)), "linear combination", class = "kernweave_error_singular")
  expect_error(fit("student", df = 4, df = ~ z), "given twice", class = "kernweave_error_input")
  expect_error(fit("normal", sd = ~ z), "no parameter `sd`", class = "kernweave_error_input")
  expect_error(fit("normal", sigma = ~ (1 | g)), "grouped", class = "kernweave_error_unsupported")
  expect_error(fit("normal", sigma = ~ offset(z)), "offset", class = "kernweave_error_unsupported")
  expect_error(fit("normal", sigma = "z"), "number or a formula", class = "kernweave_error_input")
})
