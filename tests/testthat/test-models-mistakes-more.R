# Mistakes of a first day with maps and tests: each message names the argument and what to write, and no inner function.

some <- transform(quakes[1:40, ], kind = factor(rep(c("a", "b"), 20)), x = long, y = lat)
flat <- kernel_spec("matern32", scale = 3)
of <- function(formula, ..., data = some) gp_fit(formula, data, kernel = flat, variance = 5e4, nugget = 1500, ...)

test_that("smooth terms in a formula are answered by the inputs that they have", {
  for (f in list(kernel_ridge, knn_fit, local_reg, gp_fit)) {
    expect_said(f(depth ~ s(x, y), some), "unsupported", "`s(x, y)` in the formula", "write x + y")
  }
  expect_said(gp_fit(depth ~ x + y + te(mag, k = 5), some), "unsupported", "`te(mag, k = 5)`", "write mag")
  expect_said(gp_fit(depth ~ x + y, some, trend = ~ s(mag)), "unsupported", "in the trend", "kernel_spec(of = )")
  s <- function(v) v / 2
  expect_equal(fitted(of(depth ~ s(x) + y)), fitted(of(depth ~ I(x / 2) + y)))
})

test_that("smooth terms of other packages, and families that are not there, are answered, too", {
  expect_said(gp_fit(depth ~ gp(x, y), some), "unsupported", "`gp(x, y)` in the formula", "write x + y")
  expect_said(gp_fit(depth ~ Matern(1 | x + y), some), "unsupported", "write x + y")
  expect_said(gp_fit(depth ~ x + y, some, trend = ~ lo(mag)), "unsupported", "`lo(mag)` in the trend")
  of_family <- function(family) gp_fit(stations ~ x + y, some, family = family)
  meant <- c(t = "student", student_t = "student", nb = "negbin", negative.binomial = "negbin", Beta = "beta",
             ocat = "ordinal", tw = "tweedie", bernoulli = "binomial", ziP = "zip", gaussion = "gaussian")
  for (name in names(meant)) expect_said(of_family(name), "unsupported", "did you mean", meant[[name]])
  expect_said(of_family("Gamma"), "unsupported", "did you mean Gamma(\"log\")?")
  expect_said(gp_fit(stations ~ x + y, some, family = t), "input", "did you mean \"student\"?")
  expect_said(gp_family("nb"), "unsupported", "did you mean \"negbin\"?")
  expect_identical(Filter(function(name) name %in% names(kernweave:::family_words),
                          names(kernweave:::likelihood_rows)), c("gamma", "normal"))
  expect_said(gp_fit(stations ~ x + y, some, family = no_such_family), "input", "in `family`", "family = \"negbin\"")
})

test_that("a parameter of a kernel that would be negative is told how it can be", {
  d <- data.frame(x = sin(1:60), y = cos(3 * (1:60)^1.3))
  sheared <- function(x, y, b = 10, s = 1) {
    across <- x[, , 2] - y[, , 2]
    exp(-sqrt(square(x[, , 1] - y[, , 1] + (b - 10) * across) + square(across)) / s)
  }
  set.seed(1)
  K <- as.matrix(kernel_spec(sheared, b = 8.8)(as.matrix(d))) + diag(1e-3, 60)
  d$z <- c(crossprod(chol(K), rnorm(60)))
  found <- gp_fit(z ~ x + y, d, kernel = kernel_spec(sheared, estimate = c("b", "s")))
  expect_lt(coef(found, "covariance")[["b"]] - 10, -0.6)
  plain <- function(x, y, b = 1) exp(-b * sqdist(x, y))
  expect_said(kernel_spec(plain, b = -1, estimate = "b"), "value", "must be positive, not -1", "lower = c(b = -Inf)")
})

test_that("a parameter of one's own kernel has bounds, and a negative one gives it any sign", {
  turned <- function(x, y, scale, angle) {
    east <- x[, , 1] - y[, , 1]
    north <- x[, , 2] - y[, , 2]
    along <- cos(angle) * east + sin(angle) * north
    exp(-sqrt(square(along) + square(3 * (cos(angle) * north - sin(angle) * east))) / scale)
  }
  from <- function(angle, ...) kernel_spec(turned, angle = angle, estimate = c("scale", "angle"), ...)
  fit <- function(k) suppressMessages(gp_fit(depth ~ long + lat, quakes[seq(1, 1000, by = 16), ], kernel = k))
  free <- fit(from(0, lower = c(angle = -Inf)))
  angle <- coef(free, "covariance")[["angle"]]
  found <- coef(fit(from(angle - 3, lower = c(angle = -4), upper = c(angle = 4))), "covariance")
  expect_equal(found[["angle"]], angle - pi, tolerance = 1e-3)
  expect_equal(mean(confint(free, "angle")), angle)
  expect_equal(coef(free, "covariance")[["scale"]], found[["scale"]], tolerance = 1e-3)
  mirror <- transform(quakes[seq(1, 1000, by = 16), ], long = -long)
  there <- suppressMessages(gp_fit(depth ~ long + lat, mirror, kernel = from(0, lower = c(angle = -Inf))))
  expect_equal(coef(there, "covariance")[["angle"]], -angle, tolerance = 1e-3)
  expect_warning(short <- fit(from(0.01, lower = c(angle = -0.1), upper = c(angle = 0.1))), "`angle` is at its bound",
                 class = "kernweave_warning_boundary")
  expect_equal(coef(short, "covariance")[["angle"]], 0.1)
  k <- from(-1, lower = c(angle = -2))
  expect_identical(coef(k, "free", unconstrained = TRUE)[["angle"]], -1)
  expect_identical(coef(update(k, unconstrained = c(0, -1.5)))[["angle"]], -1.5)
  product <- k * kernel_spec("gaussian", scale = 50)
  expect_identical(coef(update(product, unconstrained = c(0, -1.5)))[["angle"]], -1.5)
  expect_said(from(1, lower = c(angle = 2)), "value", "`angle` begins at 1", "2 to Inf")
  expect_said(kernel_spec("matern12", lower = c(scale = -1)), "value", "your own kernels")
  expect_said(kernel_spec(turned, angle = 1, lower = c(angle = -1)), "input", "estimate = \"angle\"")
  expect_said(kernel_spec(turned, upper = c(angl = 2)), "input", "did you mean `angle`?")
})

test_that("the sign of a parameter of one's own kernel is found where nobody gives it", {
  slanted <- function(x, y, scale, slope) {
    exp(-square(x[, , 1] - y[, , 1] + slope * (x[, , 2] - y[, , 2])) / square(scale))
  }
  set.seed(5)
  d <- data.frame(x = stats::runif(80), y = stats::runif(80))
  d$z <- sin(8 * (d$x - 0.7 * d$y)) + stats::rnorm(80, sd = 0.1)
  slope <- function(data, ...) {
    coef(suppressWarnings(gp_fit(z ~ x + y, data, kernel = kernel_spec(slanted, ...))), "covariance")[["slope"]]
  }
  expect_equal(slope(d, lower = c(slope = -Inf)), -0.7, tolerance = 0.1)
  expect_equal(slope(transform(d, y = -y), lower = c(slope = -2), upper = c(slope = 2)), 0.7, tolerance = 0.1)
})

test_that("every name of a kernel that is accepted is on the page of kernel_spec()", {
  page <- paste(utils::capture.output(tools::Rd2txt(utils:::.getHelpFile(utils::help("kernel_spec", "kernweave")),
                                                    options = list(underline_titles = FALSE))), collapse = "\n")
  names <- c(names(kernweave:::kernel_rows), names(kernweave:::kernel_aliases))
  expect_identical(Filter(function(name) !grepl(paste0("\"", name, "\""), page, fixed = TRUE), names), character())
})

test_that("numbers for a factor of the trend, and the reverse, are named", {
  fit <- of(depth ~ x + y, trend = ~ kind + mag)
  expect_said(predict(fit, transform(some, kind = 1:40)), "input", "`kind` was a factor in the fit", "integer vector",
              "as.factor()")
  expect_said(predict(fit, transform(some, mag = factor(mag))), "input", "`mag` was numbers in the fit")
  expect_identical(predict(fit, transform(some, kind = as.character(kind))), predict(fit, some))
  texts <- of(depth ~ x + y, trend = ~ kind, data = transform(some, kind = as.character(kind)))
  expect_equal(predict(texts, some), fitted(texts), ignore_attr = TRUE)
  by_number <- of(depth ~ x + y, trend = ~ (1 | stations) + factor(mag > 5))
  expect_silent(predict(by_number, transform(some, stations = factor(stations))))
  normal <- gp_fit(depth ~ x + y, some, kernel = flat, variance = 5e4, family = gp_family("normal", sigma = ~ kind))
  expect_said(predict(normal, transform(some, kind = 1), interval = "prediction"), "input", "`kind` was a factor")
})

test_that("what is not there is named, and the call is the user's", {
  for (code in expression(gp_fit(depth ~ x, y_data, some), gp_fit(some, depth_data), knn_fit(some[1:2], nothing),
                          anova(of(depth ~ x + y), nothing))) {
    caught <- tryCatch(eval(code), error = identity)
    expect_s3_class(caught, "kernweave_error_input")
    expect_match(conditionMessage(caught), "object '.*' not found")
    expect_identical(conditionCall(caught)[[1]], code[[1]])
  }
  expect_said(fit_control(maxit = 10), "input", "did you mean `max_iter`?")
  expect_said(kmeans_fit(some[1:2], k = 3), "input", "no argument `k`", "`centers`")
  expect_said(dbscan_fit(some[1:2], eps = 1, minpts = 3), "input", "did you mean `minPts`?")
  cloud <- as.matrix(some[1:2])
  for (code in expression(sinkhorn(cloud, cloud, reg = 1), permanova(cloud ~ some$kind, method = "bray"),
                          radius_nn(cloud, eps = 1, radius = 1), hclust_fit(cloud, linkage = 1),
                          lof_scores(cloud, minPts = 3), spanning_tree(cloud, k = 2), hdbscan_fit(cloud, eps = 1),
                          ksd_test(cloud, identity, samples = 3),
                          silhouette_widths(cloud, some$kind, dist = 1), sinkhorn_barycentre(list(cloud), reg = 1),
                          gp_posterior(of(depth ~ x + y), chains = 4))) {
    expect_said(eval(code), "input", "there is no argument `", names(code[[1]])[length(code[[1]])])
  }
  expect_said(elpd(some), "input", "elpd() is for fits", "data.frame")
  expect_said(elpd(knn_fit(depth ~ x + y, some)), "input", "knn_fit")
  expect_said(cross_validate(of(depth ~ x + y), k = 3), "input", "no argument `k`", "`folds`")
  expect_said(cross_validate(of(depth ~ x + y), seed = "a"), "input", "`seed` must be a whole number or NULL")
  expect_said(simulate(of(depth ~ x + y), seed = 1e10), "input", "`seed` must be")
})

test_that("kernels by the names of other packages have ours beside them", {
  named <- c(Exp = "exponential", Sph = "spherical", Gau = "gaussian", Mat = "matern", rbf = "gaussian",
             SE = "gaussian")
  for (k in names(named)) {
    expect_said(gp_fit(depth ~ x + y, some, kernel = k), "input", k, paste0("did you mean `", named[[k]], "`?"))
    expect_s3_class(kernel_spec(named[[k]]), "kernel_spec")
  }
})

test_that("a matrix of parameters beside points says how it is given, and that way is the product", {
  x <- matrix(sin(1:12), 4)
  M <- matrix(cos(1:9), 3)
  expect_said(Vi(x) %*% M, "shape", "vecmatmult(x, Pm(as.vector(M)))")
  for (code in expression(matvecmult(M, Vi(x)), vecmatmult(Vi(x), M), weighted_sqdist(Vi(x), Vj(x), M))) {
    expect_said(eval(code), "shape", "for a matrix of parameters, by columns", "Pm(as.vector(M))")
  }
  D <- function(y) as.matrix(dist(y))^2
  rows <- function(y) vecmatmult(y, Pm(as.vector(M)))
  expect_equal(as.matrix(sqdist(rows(Vi(x)), rows(Vj(x)))), D(x %*% M), ignore_attr = TRUE)
  turned <- function(y) matvecmult(Pm(as.vector(M)), y)
  expect_equal(as.matrix(sqdist(turned(Vi(x)), turned(Vj(x)))), D(x %*% t(M)), ignore_attr = TRUE)
})

test_that("samples of texts and of numbers are refused, and samples of one kind are not", {
  for (test in list(mmd_test, energy_test, sinkhorn)) {
    expect_said(test(c("x", "y"), 1:3), "input", "texts and numbers")
    expect_said(test(data.frame(a = 1:3, b = letters[1:3]), data.frame(a = 1:2, b = 1:2)), "input", "in column 2")
  }
  expect_said(energy_test(data.frame(a = 1:2), data.frame(a = c("u", "v"))), "input", "numbers and texts")
  expect_s3_class(energy_test(c("x", "y", "x"), c("x", "z"), R = 9), "kernweave_test")
  expect_s3_class(energy_test(data.frame(a = factor(c("x", "y"))), data.frame(a = c("x", "z")), R = 9),
                  "kernweave_test")
})

test_that("settings out of range are named by what was given", {
  groups <- fit_control(dense_n = 0)
  expect_said(gp_fit(depth ~ x + y, some, family = "student", trend = ~ (1 | kind), control = groups), "value",
              "`dense_n` of fit_control() must be at least", "not 0")
  expect_said(gp_fit(depth ~ x + y, some, trend = ~ (1 | kind), estimate_on = 4), "value", "`estimate_on` must be")
  for (wrong in list(0, 1, 41, 2.5, "a", NA)) {
    expect_said(hdbscan_fit(some[1:2], minPts = wrong), "value", "`minPts` must be a whole number from 2 to 40")
  }
  for (tree in list(spanning_tree, hclust_fit, hdbscan_fit)) {
    caught <- tryCatch(tree(some[1:2], metric = "euclidian"), error = conditionMessage)
    expect_match(caught, "did you mean `euclidean`?", fixed = TRUE)
    expect_no_match(caught, "canberra")
    expect_said(tree(some[1:2], metric = "canberra"), "unsupported", "a tree takes \"euclidean\", \"sqeuclidean\"")
  }
  cloud <- matrix(sin(1:8), 4)
  for (wrong in list(c(x = 1), c(y = 1), c(x = 1, z = 1), c(1, 1), 0)) {
    expect_said(sinkhorn(cloud, cloud + 1, epsilon = 1, rho = wrong), "value", "`rho` must be")
  }
})

test_that("a model without a process is the generalised linear model, and is compared with one that has a process", {
  counts <- transform(quakes[1:150, ], few = as.numeric(stations > 30))
  families <- list(list(stations ~ mag, poisson()), list(few ~ depth, binomial()))
  for (one in families) {
    theirs <- glm(one[[1]], one[[2]], counts)
    formula <- update(one[[1]], . ~ long + lat)
    ours <- gp_fit(formula, counts, one[[1]][-2], variance = 0, family = one[[2]], method = "ML")
    expect_equal(as.numeric(logLik(ours)), as.numeric(logLik(theirs)), tolerance = 1e-9)
    expect_equal(coef(ours), coef(theirs), tolerance = 1e-6)
    expect_equal(vcov(ours), vcov(theirs), tolerance = 1e-5, ignore_attr = TRUE)
    expect_equal(predict(ours, counts[1:4, ], se.fit = TRUE, type = "link")$se.fit,
                 predict(theirs, counts[1:4, ], se.fit = TRUE)$se.fit, tolerance = 1e-5, ignore_attr = TRUE)
  }
  process <- gp_fit(stations ~ long + lat, counts, ~ mag, kernel = flat, family = poisson, method = "ML")
  without <- update(process, variance = 0)
  found <- anova(without, process)
  expect_identical(found$df, c(2, 3))
  expect_equal(found$L.Ratio[2], 2 * (as.numeric(logLik(process)) - as.numeric(logLik(without))))
  tested <- anova(without, process, test = "boot", R = 9, seed = 1)
  expect_equal(tested[["p-value"]][2], 0.1)
})

test_that("a mixed model without a process needs no inputs", {
  d <- data.frame(g = gl(8, 5), x = sin(1:40), z = cos(1:40))
  d$v <- d$x + rep(sin(3 * 1:8), each = 5) + sin(1e3 * 1:40)
  mixed <- gp_fit(v ~ 1, d, trend = ~ x + (1 | g), variance = 0)
  expect_equal(logLik(mixed), logLik(gp_fit(v ~ z, d, trend = ~ x + (1 | g), variance = 0)), ignore_attr = TRUE)
  expect_length(predict(mixed, d[1:3, c("x", "g")]), 3)
  expect_equal(predict(mixed, data.frame(x = 1:2, g = "new"), allow.new.levels = TRUE),
               predict(mixed, data.frame(x = 1:2), re.form = NA))
  alone <- gp_fit(v ~ 1, d, trend = ~ (1 | g), variance = 0)
  expect_equal(predict(alone, data.frame(g = "new"), allow.new.levels = TRUE), coef(alone)[[1]], ignore_attr = TRUE)
  expect_said(gp_fit(v ~ 1, d, trend = ~ x + (1 | g)), "input", "names no variable", "`variance = 0`")
})

test_that("data of no rows, columns that are lists, and columns of a trend that follow from others are named", {
  d <- quakes[1:20, ]
  d$parts <- lapply(1:20, identity)
  expect_said(gp_fit(depth ~ long + lat, d[0, ]), "data", "the data have no rows")
  expect_said(gp_fit(depth ~ long + parts, d), "input", "invalid type (list) for variable 'parts'")
  expect_said(gp_fit(depth ~ long + lat, d, ~ mag + I(2 * mag)), "singular", "`I(2 * mag)` is a linear combination")
})

test_that("two operands of one name are told apart", {
  f <- function(x) Vi(x)
  expect_said(Vi(matrix(1, 4)) + f(matrix(1, 5)), "shape", "points along i, but")
  x <- matrix(1, 4)
  g <- function(x) Vi(x)
  expect_said(Vi(x) + g(matrix(1, 5)), "shape", "`x` has 4 points along i, but another `x` has 5")
})

test_that("labels of folds, coordinates of sf and transports without arguments are answered by what to write", {
  fit <- of(depth ~ x + y)
  for (by in list(some$stations, "site", ~ site)) {
    expect_said(cross_validate(fit, by = by), "input", "`by` must be \"place\" or NULL", "`folds`, as in")
  }
  expect_said(hessian_product(), "input", "`object` is not given")
  expect_said(sumsoftmaxweight(), "input", "`F` is not given")
  expect_said(argKmin(K = 2), "input", "`F` is not given")
  skip_if_not_installed("sf")
  newdata <- sf::st_as_sf(some[1:3, c("x", "y", "mag")], coords = c("x", "y"))
  text <- tryCatch(predict(fit, newdata), error = conditionMessage)
  eval(str2lang(regmatches(text, regexpr("newdata\\[.*\\[, 1:2\\]", text))))
  expect_equal(predict(fit, newdata), predict(fit, some[1:3, ]), ignore_attr = TRUE)
})

test_that("grouped effects in the formula of a model without them are refused by name", {
  d <- transform(mtcars, gear = ordered(gear), am = factor(am))
  fits <- list(permanova, hsic_test, local_reg, kernel_ridge, knn_fit, rbf_interpolate)
  for (fit in fits) {
    expect_said(fit(mpg ~ wt + (1 | gear), d), "unsupported", "(1 | gear)", "strata = gear")
    expect_said(fit(mpg ~ wt + (hp | am), d), "unsupported", "(hp | am)", "strata = am", "trend = ~ (hp | am)")
  }
  expect_said(kde_fit(~ wt + (1 | am), d), "unsupported", "(1 | am)")
  expect_equal(fitted(local_reg(mpg ~ I(wt > 3 | hp > 100), d, bandwidth = 1, degree = 0)),
               fitted(local_reg(mpg ~ either, transform(d, either = wt > 3 | hp > 100), bandwidth = 1, degree = 0)))
})
