# Families: derivatives of log-densities against differences, densities against those of R, responses that are refused.

rows <- kernweave:::family_rows
e <- c(-30, -4, -1.3, 0, 0.4, 2, 5)
shares <- c(0, 1, 0.25, 1, 0, 0.5, 1)
counts <- c(0, 0, 1, 2, 3, 5, 150)
responses <- list(logit = shares, probit = shares, poisson = counts, Gamma = c(1e-13, 0.01, 0.3, 1, 2, 5, 150),
                  negbin = counts)

test_that("derivatives by the linear predictor, and by the further parameter, are limits of differences", {
  skip_if_not_installed("numDeriv")
  slope <- function(f, at) vapply(seq_along(at), function(i) numDeriv::grad(function(v) f(v, i), at[i]), 0)
  for (name in names(rows)) {
    row <- rows[[name]]
    y <- responses[[name]]
    a <- 1:7 / 2
    found <- row$slopes(y, e, 2.5, a)
    expect_equal(found$g, slope(function(v, i) row$log_density(y[i], v, 2.5, a[i]), e), tolerance = 1e-7, label = name)
    expect_equal(-found$W, slope(function(v, i) row$slopes(y[i], v, 2.5, a[i])$g, e), tolerance = 1e-7, label = name)
    expect_equal(found$W_e, slope(function(v, i) row$slopes(y[i], v, 2.5, a[i])$W, e), tolerance = 1e-7, label = name)
    if (is.null(row$phi)) next
    by_phi <- row$of_phi(y, e, 2.5, a)
    at <- rep(log(2.5), length(y))
    expect_equal(by_phi$l, slope(function(v, i) row$log_density(y[i], e[i], exp(v), a[i]), at), tolerance = 1e-7)
    expect_equal(by_phi$g, slope(function(v, i) row$slopes(y[i], e[i], exp(v), a[i])$g, at), tolerance = 1e-7)
    expect_equal(by_phi$W, slope(function(v, i) row$slopes(y[i], e[i], exp(v), a[i])$W, at), tolerance = 1e-7)
  }
})

test_that("log-densities are those of R, deviances those of its families", {
  trials <- 4
  m <- exp(e)
  of <- function(name, a = 1) rows[[name]]$log_density(responses[[name]], e, 2.5, a)
  count <- responses$logit * trials
  expect_equal(of("logit", trials), dbinom(count, trials, plogis(e), log = TRUE))
  expect_equal(of("probit", trials), dbinom(count, trials, pnorm(e), log = TRUE))
  expect_equal(of("poisson"), dpois(responses$poisson, m, log = TRUE))
  expect_equal(of("Gamma"), dgamma(responses$Gamma, shape = 2.5, scale = m / 2.5, log = TRUE))
  expect_equal(of("negbin"), dnbinom(responses$negbin, size = 2.5, mu = m, log = TRUE))
  skip_if_not_installed("MASS")
  peer <- MASS::negative.binomial(2.5)
  own <- rows$negbin$base(2.5)
  expect_equal(own$dev.resids(responses$negbin, m, 2), peer$dev.resids(responses$negbin, m, 2))
  expect_equal(own$variance(m), peer$variance(m))
})

test_that("log-densities are concave and finite wherever linear predictors may go", {
  far <- c(-700, -100, -39, 39, 100, 700)
  for (name in names(rows)) for (y in if (name == "Gamma") c(0.5, 1) else c(0, 1)) {
    found <- rows[[name]]$slopes(y, far, 2, 1)
    expect_true(all(is.finite(unlist(found))) && all(found$W >= 0), label = name)
    expect_true(all(rows[[name]]$log_density(y, far, 2, 1) < 1), label = name)
  }
})

test_that("families are known by what R calls them, and others are refused by name", {
  found <- kernweave:::as_family
  expect_s3_class(found(gaussian()), "gp_gaussian")
  expect_s3_class(found("gaussian"), "gp_gaussian")
  for (one in list(binomial, binomial(), "binomial")) expect_identical(found(one)$link, "logit")
  expect_identical(found(binomial("probit"))$link, "probit")
  expect_identical(found(Gamma("log"))$phi, "shape")
  expect_false(found("negbin")$given)
  for (one in list(Gamma(), gaussian("log"), poisson("sqrt"), binomial("cloglog"), quasipoisson(), "cauchy", 3)) {
    expect_error(found(one), "that \\?gp_family lists, not .*(did you mean|There are)",
                 class = "kernweave_error_unsupported")
  }
  skip_if_not_installed("MASS")
  expect_identical(found(MASS::negative.binomial(3.123456))[c("value", "given")], list(value = 3.123456, given = TRUE))
})

test_that("responses that no family has are errors that name the row", {
  response <- function(family, y, weights = NULL, n = NROW(y)) {
    kernweave:::family_response(kernweave:::as_family(family), y, weights, n)
  }
  refused <- function(..., because) expect_error(response(...), because, class = "kernweave_error_data")
  refused("poisson", c(1, 2, -3), because = "row 3 is -3")
  refused("negbin", c(1, 2.5, 3), because = "row 2 is 2.5")
  refused("poisson", c(0, 0), because = "all counts are 0")
  refused(Gamma("log"), c(1, 0, 3), because = "row 2 is 0")
  refused("binomial", c(1, 1, 1), because = "same class")
  refused("binomial", factor(c("a", "a"), levels = c("a", "b")), because = "same class")
  refused("binomial", factor(c("a", "b", "c")), because = "row 3: multinomial is not built; one against the rest")
  refused("binomial", c(0, 1, 2), because = "row 3 is 2")
  refused("binomial", c(0.5, 1, 0), c(3, 1, 1), because = "row 1 is 0.5 of 3")
  refused("binomial", cbind(c(1, 2), c(1, -1)), because = "row 2 is 2 and -1")
  expect_error(response("poisson", 1:3, n = 4), class = "kernweave_error_shape")
  expect_identical(response("binomial", c(TRUE, FALSE))$y, c(1, 0))
  expect_identical(response("binomial", factor(c("no", "yes")))$y, c(0, 1))
  expect_identical(response("binomial", cbind(c(1, 0), c(3, 2))), list(y = c(0.25, 0), a = c(4, 2)))
  expect_identical(response("binomial", c(0.25, 0), c(4, 2)), list(y = c(0.25, 0), a = c(4, 2)))
})

test_that("means and quantiles over a normal linear predictor are integrals, and of no variance the family's own", {
  family <- function(name, value = 2.5) c(rows[[name]], list(value = value))
  m <- c(-1, 0.5, 2)
  v <- c(0.04, 0.5, 1)
  for (name in names(rows)) {
    link <- rows[[name]]$base(1)$linkinv
    by <- function(f) mapply(function(m, v) {
      integrate(function(z) f(link(m + sqrt(v) * z)) * dnorm(z), -12, 12, rel.tol = 1e-9)$value
    }, m, v)
    found <- kernweave:::mean_over_link(family(name), m, v)
    expect_equal(found$mean, by(identity), tolerance = 1e-6, label = name)
    expect_equal(found$sd, sqrt(by(function(x) x^2) - by(identity)^2), tolerance = 1e-6, label = name)
  }
  q <- function(name, p, v) kernweave:::mixture_quantile(family(name), p, m, v)
  for (p in c(0.03, 0.5, 0.95)) {
    expect_equal(q("poisson", p, 0 * m), qpois(p, exp(m)))
    expect_equal(q("negbin", p, 0 * m), qnbinom(p, size = 2.5, mu = exp(m)))
    expect_equal(q("Gamma", p, 0 * m), qgamma(p, shape = 2.5, scale = exp(m) / 2.5))
  }
  expect_true(all(q("poisson", 0.95, v) >= q("poisson", 0.95, 0 * m)))
})
