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
  expect_said(kernel_spec(plain, b = -1, estimate = "b"), "value", "must be positive, not -1", "`b - 10`")
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
