# Trends of gp_fit() whose columns depend on each other, as lm() has them.

test_that("interactions of levels that no row has together are left out as lm() leaves them out", {
  set.seed(4)
  d <- data.frame(x = stats::runif(60), g = gl(3, 20), h = gl(2, 1, 60))
  d <- d[!(d$g == 3 & d$h == 1), ]
  d$z <- stats::rnorm(nrow(d)) + as.numeric(d$g)
  fit <- function(trend) gp_fit(z ~ x, d, trend = trend, kernel = kernel_spec(scale = 0.3), variance = 0)
  expect_message(found <- fit(~ g * h), "without `g3:h2`")
  by_lm <- stats::lm(z ~ g * h, d)
  expect_equal(unname(fitted(found)), unname(stats::fitted(by_lm)))
  expect_equal(coef(found), stats::coef(by_lm)[!is.na(stats::coef(by_lm))])
  expect_warning(predict(found, data.frame(x = 0.5, g = "3", h = "1")), "levels together that no row")
  expect_silent(at <- predict(found, data.frame(x = 0.5, g = "3", h = "2")))
  expect_equal(unname(at), unname(suppressWarnings(stats::predict(by_lm, data.frame(g = "3", h = "2")))))
  expect_error(fit(~ h + I(2 * as.numeric(h))), "not independent", class = "kernweave_error_singular")
})

test_that("a linear model has the tests, intervals and formula that lm() has, with weights, too", {
  d <- transform(mtcars[1:7, ], w = c(1, 2, 1, 3, 1, 2, 0))
  same <- function(a, b) expect_equal(unname(unclass(a)), unname(unclass(b)), tolerance = 1e-8, ignore_attr = TRUE)
  for (weights in list(NULL, d$w)) {
    ours <- gp_fit(mpg ~ 1, d, trend = ~ wt, variance = 0, weights = weights)
    by_lm <- stats::lm(mpg ~ wt, d, weights = weights)
    same(coef(summary(ours)), coef(summary(by_lm)))
    expect_identical(dimnames(coef(summary(ours))), dimnames(coef(summary(by_lm))))
    same(confint(ours)[names(coef(by_lm)), ], stats::confint(by_lm))
    expect_equal(df.residual(ours), stats::df.residual(by_lm))
    for (interval in c("confidence", "prediction")) {
      at <- data.frame(wt = c(2, 5))
      same(predict(ours, at, interval = interval, level = 0.8),
           suppressWarnings(stats::predict(by_lm, at, interval = interval, level = 0.8)))
    }
    expect_identical(deparse1(formula(ours)), "mpg ~ 1")
    expect_output(print(ours), "mpg ~ 1, trend ~ wt")
  }
  # whose variance is not estimated, or whose groups are, keep the normal distribution
  others <- list(update(ours, nugget = 3), update(ours, trend = ~ wt + (1 | gear)), update(ours, method = "ML"))
  for (other in others) expect_identical(colnames(coef(summary(other)))[3:4], c("z value", "Pr(>|z|)"))
})

test_that("a model of an intercept alone is that of lm() and glm()", {
  d <- transform(airquality, rain = stats::qpois((1:153 - 0.5) / 153, 3))
  peers <- list(stats::lm(log(Ozone) ~ 1, d, weights = Day), stats::glm(rain ~ 1, stats::poisson, d))
  fits <- list(gp_fit(log(Ozone) ~ 1, d, trend = ~ 1, variance = 0, weights = Day),
               gp_fit(rain ~ 1, d, variance = 0, family = poisson))
  for (k in 1:2) {
    expect_equal(coef(fits[[k]]), coef(peers[[k]]), tolerance = 1e-6)
    by_ml <- logLik(update(fits[[k]], method = "ML"))
    expect_equal(as.numeric(by_ml), as.numeric(logLik(peers[[k]])), tolerance = 1e-9)
    new <- data.frame(row.names = c("a", "b"))
    expect_equal(predict(fits[[k]], new, type = "link"), stats::predict(peers[[k]], new), tolerance = 1e-6)
    expect_identical(names(model.frame(fits[[k]])), names(stats::model.frame(peers[[k]])))
  }
  expect_equal(as.numeric(logLik(fits[[1]])), as.numeric(logLik(peers[[1]], REML = TRUE)))
  large <- update(fits[[2]], trend = ~ Temp, method = "ML")
  for (table in list(anova(update(large, trend = ~ 1), large), anova(update(fits[[2]], method = "ML"), large))) {
    theirs <- stats::anova(peers[[2]], stats::update(peers[[2]], ~ Temp), test = "Chisq")
    expect_equal(table$L.Ratio[2], theirs$Deviance[2], tolerance = 1e-6)
  }
  expect_equal(stats::drop1(large)["Temp", "LRT"], table$L.Ratio[2], tolerance = 1e-6)
})

test_that("terms and frames of a fit without a process are those of lm(), whatever the formula has as its inputs", {
  d <- transform(airquality, month = factor(Month))
  trends <- c("1", "Temp + Wind", "month * log(Wind)", "0 + poly(Temp, 2)", "Temp + offset(Wind)")
  for (trend in trends) for (input in c("1", "Wind")) {
    by <- stats::as.formula(paste("sqrt(Ozone) ~", trend))
    ours <- gp_fit(stats::reformulate(input, "sqrt(Ozone)"), d, trend = by[-2], variance = 0, weights = Day)
    peer <- stats::lm(by, d, weights = Day)
    expect_equal(attributes(terms(ours)), attributes(terms(peer)), ignore_formula_env = TRUE, label = trend)
    expect_equal(attributes(attr(model.frame(ours), "terms")), attributes(terms(ours)))
    expect_identical(formula(ours)[[3]], parse(text = input)[[1]])
    if (input == "1") expect_setequal(names(model.frame(ours)), names(stats::model.frame(peer)))
    if (trend != "1") next
    process <- gp_fit(sqrt(Ozone) ~ Wind, d, kernel = "gaussian")
    expect_equal(formula(terms(process)), formula(process))
  }
  mixed <- suppressWarnings(gp_fit(Ozone ~ 1, d, trend = ~ Temp + (1 | month), variance = 0))
  expect_equal(attributes(terms(mixed)), attributes(terms(stats::lm(Ozone ~ Temp, d))), ignore_formula_env = TRUE)
  expect_setequal(names(model.frame(mixed)), c("Ozone", "Temp", "month"))
  skip_without_peer("emmeans")
  of <- function(fit) as.data.frame(emmeans::emmeans(fit, "month", data = d))$emmean
  expect_equal(of(gp_fit(Ozone ~ 1, d, trend = ~ Temp + month, variance = 0)),
               of(stats::lm(Ozone ~ Temp + month, d)))
})
