# Integrals over a normal linear predictor: densities, means, quantiles and draws against fine grids and refits.

rows <- kernweave:::family_rows
of_family <- function(name, value = 2.5) c(rows[[name]], list(value = value))
density_of <- kernweave:::mixture_density

# The logarithm of the integral, on 20001 nodes where the integrand is more than e^-40 of its largest value.
on_a_grid <- function(family, y, a, m, s) {
  h <- function(z) family$log_density(y, m + s * z, family$value, a) + stats::dnorm(z, log = TRUE)
  wide <- sinh(seq(-8, 8, length.out = 4001))
  best <- which.max(h(wide))
  top <- stats::optimize(h, wide[best + c(-1, 1)], maximum = TRUE, tol = 1e-12)
  ends <- top$maximum + c(-10, 10)
  for (k in 1:2) while (isTRUE(h((ends[k] + top$maximum) / 2) < top$objective - 40)) {
    ends[k] <- (ends[k] + top$maximum) / 2
  }
  z <- seq(ends[1], ends[2], length.out = 20001)
  top$objective + log(sum(exp(h(z) - top$objective)) * (z[2] - z[1]))
}

test_that("densities are those of a fine grid, of counts from 0 to 10 000, at the edges and far from the mean", {
  responses <- list(logit = c(0, 0.25, 1), probit = c(0, 0.25, 1), poisson = c(0, 1, 10, 100, 1e4),
                    Gamma = c(1e-3, 1, 100), negbin = c(0, 1, 100, 1e4))
  for (name in names(rows)) for (s in c(0, 0.03, 1, 3, 24)) for (m in c(-3, 0, log(100), log(1e4))) {
    family <- of_family(name)
    y <- responses[[name]]
    a <- if (name %in% c("logit", "probit")) 400 else if (name == "Gamma") 8 else 1
    grid <- vapply(y, function(y) on_a_grid(family, y, a, m, s), 0)
    found <- density_of(family, y, a, rep(m, length(y)), rep(s^2, length(y)))
    near <- is.finite(grid) & grid > -1e3  # the grid loses others
    expect_lt(max(0, abs(found - grid)[near]), if (name == "probit") 3e-5 else 1e-6, label = paste(name, s, m))
    expect_true(all(is.finite(found)), label = paste(name, s, m))
  }
})

test_that("an observation of weight 0 says nothing, and one that is missing has no density", {
  skip_below("quick")
  for (name in names(rows)) {
    found <- density_of(of_family(name), c(1, 1, 1), c(0, 2, 2), c(0, NA, 0.5), c(1, 1, 1))
    expect_identical(found[1:2], c(0, NA))
    expect_true(is.finite(found[3]))
  }
  expect_identical(density_of(of_family("poisson"), 3, 7, 1, 0.5), density_of(of_family("poisson"), 3, 1, 1, 0.5))
})

test_that("mean probabilities are right where linear predictors have standard deviations from 0 to 1000", {
  skip_below("quick")
  m <- c(-30, -8, -1, 0, 3)
  for (name in c("logit", "probit")) for (s in c(0, 1e-3, 1, 10, 15, 24, 1000)) {
    inverse <- rows[[name]]$base(1)$linkinv
    z <- seq(-9, 9, length.out = 2e5 + 1)
    w <- stats::dnorm(z) * (z[2] - z[1])
    exact <- vapply(m, function(m) {
      mean <- sum(w * inverse(m + s * z))
      c(mean, sqrt(sum(w * (inverse(m + s * z) - mean)^2)))
    }, numeric(2))
    found <- kernweave:::mean_over_link(of_family(name), m, rep(s^2, 5))
    expect_equal(found$mean, exact[1, ], tolerance = 1e-5, label = paste(name, s))
    expect_equal(found$sd, exact[2, ], tolerance = 1e-5, label = paste(name, s))
  }
})

test_that("quantiles are those of the mixture of 8001 nodes, of counts within one or a thousandth", {
  skip_below("quick")
  z <- seq(-9, 9, length.out = 8001)
  w <- stats::dnorm(z) * (z[2] - z[1])
  for (name in c("poisson", "negbin", "Gamma")) for (size in if (name == "poisson") 1 else c(0.05, 2.5, 1e4)) {
    below <- function(q, m, s, a) {
      mean <- exp(m + s * z)
      sum(w * switch(name, poisson = stats::ppois(q, mean), negbin = stats::pnbinom(q, size = size, mu = mean),
                     Gamma = stats::pgamma(q, size * a, scale = mean / (size * a))))
    }
    for (s in c(0, 0.1, 1, 2)) for (p in c(0.001, 0.025, 0.5, 0.975)) for (a in if (name == "Gamma") c(1, 9) else 1) {
      m <- c(-5, 1, 4, 7, 9)
      q <- kernweave:::mixture_quantile(of_family(name, size), p, m, rep(s^2, 5), a)
      least <- if (name == "Gamma") 0.999 * q else pmin(q - 1, ceiling(0.999 * q))
      most <- if (name == "Gamma") 1.001 * q else pmax(q, floor(1.001 * q))
      label <- paste(name, size, s, p, a)
      expect_true(all(mapply(below, most, m, s, a) > p - 1e-7), label = label)
      expect_true(all(mapply(below, least, m, s, a) < p + 1e-7), label = label)
    }
  }
})

test_that("quantiles of counts are exact at the edges: no variance, no counts, huge means", {
  skip_below("quick")
  q <- function(name, p, m, v) kernweave:::mixture_quantile(of_family(name), p, m, v)
  m <- c(-50, -1, 3, 13)
  for (p in c(1e-4, 0.025, 0.5, 0.975, 0.9999)) {
    expect_equal(q("poisson", p, m, 0 * m), stats::qpois(p, exp(m)))
    expect_equal(q("negbin", p, m, 0 * m), stats::qnbinom(p, size = 2.5, mu = exp(m)))
  }
  huge <- q("poisson", 0.975, c(30, 60), c(1, 1))
  expect_equal(log(huge), c(30, 60) + stats::qnorm(0.975), tolerance = 1e-6)
  expect_identical(q("poisson", 0.5, numeric(), numeric()), numeric())
})

test_that("draws have the mean and the standard deviation of the density, with weights", {
  skip_below("quick")
  set.seed(1)
  m <- 1.3
  for (name in names(rows)) for (a in c(1, 6)) {
    family <- of_family(name)
    y <- switch(name, logit = , probit = 0:a / a, Gamma = seq(0.001, 60, by = 0.002), 0:400)
    of_one <- if (isTRUE(family$copies)) 1 else a
    f <- exp(family$log_density(y, m, family$value, of_one)) * if (name == "Gamma") 0.002 else 1
    expect_equal(sum(f), 1, tolerance = 1e-3, label = name)
    mean <- sum(f * y)
    sd <- sqrt(sum(f * (y - mean)^2))
    object <- list(data = list(family = family), family = family$base(family$value))
    draws <- kernweave:::family_draws(object, matrix(m, 1, 40000), TRUE, a)
    expect_equal(mean(draws), mean, tolerance = 0.03, label = paste(name, a))
    expect_equal(stats::sd(draws), sd, tolerance = 0.03, label = paste(name, a))
    expect_equal(kernweave:::observation_sd(family, mean, 0, a), sd, tolerance = 1e-2, label = paste(name, a))
    # of a normal linear predictor, too
    eta <- matrix(stats::rnorm(40000, m, 0.4), 1)
    draws <- kernweave:::family_draws(object, eta, TRUE, a)
    over <- kernweave:::mean_over_link(family, m, 0.16)
    expect_equal(mean(draws), over$mean, tolerance = 0.03, label = paste(name, a))
    expect_equal(stats::sd(draws), kernweave:::observation_sd(family, over$mean, over$sd, a), tolerance = 0.05)
  }
})
