# Arguments of Gaussian processes are obeyed, or refused by name.

shakes <- quakes[seq(1, 1000, by = 12), ]
rough <- kernel_spec("matern32", scale = 4)
fit <- gp_fit(stations ~ long + lat, shakes, trend = ~ mag + offset(depth / 100), kernel = rough, variance = 300,
              nugget = 200)
error <- function(code, says, class = "input") {
  expect_error(code, says, fixed = TRUE, class = paste0("kernweave_error_", class))
}

test_that("a dot in the trend of update() is the old trend with its offset, whoever calls", {
  longer <- update(fit, trend = ~ . + depth)
  expect_identical(names(coef(longer)), c("(Intercept)", "mag", "depth"))
  expect_identical(longer$regressors$offset, fit$regressors$offset)
  expect_identical(coef(update(longer, trend = . ~ . - depth)), coef(fit))
  inner <- function(data, change) {
    own <- gp_fit(stations ~ long + lat, data, kernel = rough, variance = 300, nugget = 200)
    update(own, trend = change)
  }
  expect_identical(names(coef(inner(shakes, ~ . + mag))), c("(Intercept)", "mag"))
  expect_length(coef(update(fit, trend = ~ 0)), 0)
})

test_that("as many parameters as rows are refused, with both counts", {
  error(gp_fit(mpg ~ wt, mtcars[1:3, ]), "3 rows are too few: the covariance has 3 parameters", "data")
  error(gp_fit(mpg ~ wt, mtcars[1:5, ], trend = ~ hp + disp), "7 rows are needed", "data")
  expect_silent(gp_fit(mpg ~ wt, mtcars[1:3, ], kernel = kernel_spec("matern32", scale = 1), variance = 30, nugget = 1))
})

test_that("logLik() and confint() refuse what they do not know", {
  for (tol in list("a", -1, 1:2)) error(logLik(fit, se_tol = tol), "`se_tol` must be a positive number", "value")
  error(logLik(fit, REML = TRUE), "no argument `REML`")
  error(confint(fit, 9), "no parameter `9`; there are `(Intercept)`, `mag`")
  expect_identical(rownames(confint(fit, 2)), "mag")
})

test_that("likelihood ratios of nested fits are not below 0 for rounding", {
  d <- data.frame(x = seq(0, 1, length.out = 40), y = rep(c(-1, 1), 20))
  larger <- suppressWarnings(gp_fit(y ~ x, d, kernel = kernel_spec("matern32", scale = 0.3), method = "ML"))
  expect_gte(anova(update(larger, variance = 0), larger)$L.Ratio[2], 0)
})

test_that("what is wanted is said where something else is given", {
  error(par_reduce(1:3, mean), "say op = \"mean\"")
  error(par_reduce(1:3, stats::var), "say op = \"var\"")
  error(caret_model(gp_fit), "caret_model(\"gp_fit\")")
  error(caret_model("gp_fit", family = binomial), "regression of numbers alone", "unsupported")
  error(add1(fit, ~depth), "say ~ . + depth")
  error(gp_fit(am ~ wt, transform(mtcars, am = factor(am))), "family = binomial is for two classes")
  error(kernel_ridge(Species ~ Sepal.Width, iris), "two classes, not 3")
  error(gp_fit(mpg ~ wt, mtcars, control = fit_control(start = c(range = 2))),
        "a start of `range`, which is not estimated; did you mean `scale`")
  error(gp_fit(mpg ~ wt, mtcars, control = fit_control(start = c(foo = 2))), "there are `variance`, `scale`, `nugget`")
  skip_if_not_installed("MASS")
  error(gp_fit(carb ~ wt, mtcars, family = MASS::negative.binomial), "\"negbin\"")
})

test_that("inputs with scales of their own are dropped by name, beside terms of the trend", {
  own <- suppressWarnings(gp_fit(stations ~ long + lat, shakes, trend = ~mag, method = "ML", nugget = 200,
                                 kernel = kernel_spec("matern32", ard = TRUE)))
  all <- suppressWarnings(drop1(own))
  expect_identical(rownames(all), c("<none>", "mag", "scale.long", "scale.lat"))
  for (scope in list("lat", "scale.lat", ~ scale.lat, ~ lat)) {
    expect_equal(suppressWarnings(drop1(own, scope))["scale.lat", "AIC"], all["scale.lat", "AIC"])
  }
  expect_identical(rownames(suppressWarnings(drop1(own, c("mag", "long")))), c("<none>", "mag", "scale.long"))
  error(drop1(own, "latt"), "there are `mag`, `scale.long`")
  expect_match(attr(all, "heading")[3], "anova(test = \"boot\")", fixed = TRUE)
})

test_that("degrees of freedom and AIC are those of the likelihood", {
  likely <- update(fit, method = "ML", nugget = NULL)
  expect_identical(df.residual(likely), nobs(likely) - attr(logLik(likely), "df"))
  expect_equal(stats::extractAIC(likely), c(attr(logLik(likely), "df"), AIC(likely)))
  expect_equal(stats::extractAIC(likely, k = log(84))[2], AIC(likely, k = log(84)))
  expect_equal(suppressMessages(stats::extractAIC(update(likely, method = "REML"))), stats::extractAIC(likely))
  error(suppressMessages(stats::step(likely, trace = 0)), "step() changes the formula of the kernel", "unsupported")
})

test_that("rows that a family refuses have the numbers of the data, also after missing ones", {
  holes <- data.frame(x = c(1, NA, 3:12), y = c(1, 1, 0, 1, 0, -1, 1, 0, 1, 1, 0, 1))
  for (of in list(gp_fit, kernel_ridge)) {
    error(of(y ~ x, holes, family = poisson), "row 6 is -1", "data")
    error(of(y ~ x, holes, family = binomial), "row 6 is -1", "data")
    error(of(cbind(y, 1) ~ x, holes, family = binomial), "row 6 is -1", "data")
  }
})

test_that("results are data frames, a line, and themselves as a summary", {
  skip_if_not_installed("generics")
  one <- elpd(fit)
  expect_equal(as.data.frame(generics::tidy(one)), data.frame(term = "elpd", estimate = one$elpd, std.error = one$se))
  expect_match(format(one), "^-[0-9.]+ [(]se [0-9.]+[)]$")
  folds <- cross_validate(fit, folds = 3, seed = 1)
  rows <- generics::augment(folds)
  expect_false(inherits(rows, "cross_validate"))
  expect_identical(rows$.fitted, folds$.fitted)
  own <- suppressMessages(drop1(fit))
  expect_silent(table <- generics::tidy(own))
  expect_equal(table$statistic, own$LRT)
  expect_identical(generics::glance(fit)$variance, 300)
  pairs <- pairwise_test(iris[, 1:2], iris$Species, null = "moments")
  for (x in list(one, pairs)) expect_identical(summary(x), x)
})

test_that("too few relabellings for so many pairs are said once", {
  set.seed(1)
  class <- rep(1:5, each = 10)
  said <- capture_warnings(pairwise_test(cbind(stats::rnorm(50), class), class, R = 19))
  expect_length(said, 1)
  expect_match(said, "0.05, adjusted for 10 pairs 0.5")
  expect_silent(pairwise_test(cbind(stats::rnorm(50), class), class, R = 999))
  expect_warning(pairwise_test(cbind(stats::rnorm(50), class), class, test = permanova, R = 19),
                 class = "kernweave_warning_few")
})

test_that("long trends are wrapped where they are printed, and errors of likelihoods are shown", {
  long <- update(fit, trend = ~ poly(mag, 5))
  shown <- utils::capture.output(print(long))
  expect_lte(max(nchar(shown)), getOption("width"))
  expect_equal(sum(grepl("poly(mag, 5)3", shown, fixed = TRUE)), 1)
  by_products <- logLik(update(fit, control = fit_control(dense_n = 0)))
  expect_output(print(by_products), "logLik -[0-9.]+ [(]se [0-9.e-]+[)] on 2 df")
})

test_that("a linear kernel of a factor is a random intercept, with the variance that lme4 has", {
  set.seed(3)
  d <- data.frame(site = factor(rep(letters[1:8], each = 6)), x = stats::runif(48))
  d$v <- stats::rnorm(8, sd = 1.5)[d$site] + stats::rnorm(48)
  free <- gp_fit(v ~ site, d, kernel = kernel_spec("linear"))
  numbers <- coef(free, "covariance")
  # the same by base R: y is normal, with covariance variance * same site + nugget * same row
  reml <- function(theta) {
    V <- exp(theta[1]) * outer(d$site, d$site, "==") + diag(exp(theta[2]), 48)
    r <- d$v - sum(solve(V, d$v)) / sum(solve(V))
    -(47 * log(2 * pi) + as.numeric(determinant(V)$modulus) + log(sum(solve(V))) - log(48) + sum(r * solve(V, r))) / 2
  }
  found <- stats::optim(c(0, 0), reml, control = list(fnscale = -1, reltol = 1e-12))
  expect_equal(unname(numbers[c("variance", "nugget")]), exp(found$par), tolerance = 1e-3)
  expect_equal(numbers[["scale"]], 1)
  expect_false(anyNA(confint(free)))
  expect_equal(coef(gp_fit(v ~ site, d, kernel = kernel_spec("linear", scale = 1)), "covariance"), numbers)
  K <- kernel_spec("linear", of = "site", variance = NULL) + kernel_spec("linear", of = "x", variance = NULL)
  both <- suppressWarnings(gp_fit(v ~ site + x, d, kernel = K))
  expect_equal(unname(coef(both, "covariance")[c("scale.site", "scale.x")]), c(1, 1))
  square <- kernel_spec("polynomial", scale = 1, degree = 2, offset = 1)
  fixed <- gp_fit(v ~ site + x, d, trend = ~0, variance = 2, nugget = 0.5, kernel = square)
  dense <- 2 * (outer(d$site, d$site, "==") + outer(d$x, d$x) + 1)^2
  expect_equal(unname(fitted(fixed)), c(dense %*% solve(dense + diag(0.5, 48), d$v)), tolerance = 1e-8)
  apart <- gp_fit(v ~ site, d, trend = ~0, variance = 2, nugget = 0.5, kernel = kernel_spec("gaussian", scale = 1))
  dense <- 2 * exp(-(outer(d$site, d$site, "!=")) / 2)
  expect_equal(unname(fitted(apart)), c(dense %*% solve(dense + diag(0.5, 48), d$v)), tolerance = 1e-8)
  skip_without_peer("lme4")
  theirs <- lme4::lmer(v ~ 1 + (1 | site), d)
  expect_equal(as.numeric(logLik(free)), as.numeric(stats::logLik(theirs)), tolerance = 1e-6)
  expect_equal(unname(numbers[c("variance", "nugget")]), as.data.frame(lme4::VarCorr(theirs))$vcov, tolerance = 1e-4)
  expect_equal(unname(predict(free, d[1:20, ])), unname(stats::predict(theirs, d[1:20, ])), tolerance = 1e-5)
})
