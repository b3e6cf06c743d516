# Grouped effects in trends: lme4's and mgcv's numbers, the same model as a kernel, derivatives, new levels, mistakes.

places <- quakes[seq(1, 1000, by = 5), ]
twice <- places[rep(1:200, each = 2), ]
twice$g <- factor((7 * 1:400) %% 25)
twice$z <- sqrt(twice$depth) + 2 * sin(1.7 * as.integer(twice$g)) + 1.5 * cos(2.3 * 1:400)
few <- twice[1:120, ]
few$h <- gl(6, 1, 120, labels = letters[1:6])
few$z <- few$z + 2 * cos(2 * as.integer(few$h))
known <- kernel_spec("matern32", scale = 4)
fit <- gp_fit(z ~ long + lat, few, kernel = known, trend = ~ mag + (1 | g))

test_that("without a process the fit is that of lmer()", {
  skip_without_peer("lme4")
  cases <- list(
    list(data = lme4::sleepstudy, y = "Reaction", trend = ~ Days + (1 | Subject) + (0 + Days | Subject)),
    list(data = lme4::sleepstudy, y = "Reaction", trend = ~ Days + (Days || Subject)),
    list(data = lme4::sleepstudy, y = "Reaction", trend = ~ Days + (Days | Subject)),
    list(data = lme4::Penicillin, y = "diameter", trend = ~ (1 | plate) + (1 | sample)),
    list(data = nlme::Machines, y = "score", trend = ~ 0 + Machine + (1 | Worker / Machine)),
    list(data = nlme::Machines, y = "score", trend = ~ Machine + (0 + Machine | Worker))
  )
  for (case in cases) {
    data <- cbind(as.data.frame(case$data), one = seq_len(nrow(case$data)))
    trend <- case$trend
    data[[case$y]] <- as.numeric(data[[case$y]])
    ours <- gp_fit(stats::reformulate("one", case$y), data, variance = 0, trend = trend)
    theirs <- lme4::lmer(stats::update(trend, paste(case$y, "~ .")), data)
    expect_equal(as.numeric(logLik(ours)), as.numeric(logLik(theirs)), tolerance = 1e-8)
    expect_equal(coef(ours), lme4::fixef(theirs), tolerance = 1e-5)
    of <- function(x) {
      table <- as.data.frame(lme4::VarCorr(x))
      table$grp <- sub("[.]1$", "", table$grp)
      table$grp[table$grp == "Machine:Worker"] <- "Worker:Machine"
      stats::setNames(table$vcov, paste(table$grp, table$var1, table$var2))
    }
    expect_equal(of(ours)[names(of(theirs))], of(theirs), tolerance = 2e-3)
    expect_equal(unname(fitted(ours)), unname(fitted(theirs)), tolerance = 1e-4)
    if ("Machine" %in% names(data)) next
    both <- merge(as.data.frame(lme4::ranef(ours)), as.data.frame(lme4::ranef(theirs)), c("grpvar", "term", "grp"))
    expect_equal(nrow(both), nrow(as.data.frame(lme4::ranef(theirs))))
    expect_equal(both$condval.x, both$condval.y, tolerance = 1e-3)
    expect_equal(both$condsd.x, both$condsd.y, tolerance = 1e-3)
    for (form in list(NULL, NA, ~ 0)) {
      at <- function(fit) unname(predict(fit, data[1:9, ], re.form = form))
      expect_equal(at(ours), at(theirs), tolerance = 1e-4)
    }
  }
})

test_that("a process beside groups is that of mgcv", {
  found <- gp_fit(z ~ long + lat, twice, kernel = known, trend = ~ (1 | g))
  expect_equal(coef(found, "covariance"), c(variance = 137.8713, scale = 4, variance.g = 2.410302, nugget = 3.740158),
               tolerance = 1e-5)
  expect_equal(as.numeric(logLik(found)), -973.9031502, tolerance = 1e-9)
  expect_equal(nlme::ranef(found)$g[1:2, 1], c(0.92969461, -0.16277426), tolerance = 1e-5)
  twice$k <- round(exp(pmin(twice$z / 4, 4)))
  counts <- gp_fit(k ~ long + lat, twice, kernel = known, trend = ~ (1 | g), family = poisson())
  expect_equal(as.numeric(logLik(counts)), -1548.83785, tolerance = 1e-7)
  expect_equal(unname(coef(counts, "covariance")[c(1, 3)]), c(4.54604350, 0.02437854)^2, tolerance = 1e-4)
})

test_that("a grouped intercept is a linear kernel of the factor", {
  inside <- gp_fit(z ~ long + lat + g, few, trend = ~ mag,
                   kernel = kernel_spec("matern32", scale = 4, of = c("long", "lat"), variance = NULL) +
                     kernel_spec("linear", scale = 1, of = "g", variance = NULL))
  expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(inside)), tolerance = 1e-9)
  expect_equal(coef(fit), coef(inside), tolerance = 1e-5)
  new <- transform(few[1:5, ], long = long + 0.3)
  ours <- predict(fit, new, se.fit = TRUE)
  theirs <- predict(inside, new, se.fit = TRUE)
  expect_equal(ours$fit, theirs$fit, tolerance = 1e-5)
  expect_equal(ours$se.fit, theirs$se.fit, tolerance = 1e-4)
})

test_that("scores are the slopes of likelihoods, of every kind of term and response", {
  trends <- list(~ (1 | g), ~ mag + (mag | g), ~ (1 + mag + stations | h), ~ (1 | g) + (0 + mag | h), ~ (mag || h:pair))
  few$pair <- gl(8, 15)
  few$mag <- few$mag - 4.6
  few$stations <- few$stations / 20 - 1.6
  few$k <- round(exp(few$z / 8))
  few <- few[1:60, ]
  of_counts <- if (reaches("all")) 1:5 else 2
  cases <- data.frame(trend = c(1:5, of_counts), counts = rep(c(FALSE, TRUE), c(5, length(of_counts))))
  for (k in seq_len(nrow(cases))) {
    trend <- trends[[cases$trend[k]]]
    counts <- cases$counts[k]
    family <- if (counts) poisson() else gaussian()
    begun <- suppressWarnings(gp_fit(if (counts) k ~ long + lat else z ~ long + lat, few, kernel = "matern32",
                                     trend = trend, family = family,
                                     control = fit_control(max_iter = 1, start = c(scale = 3))))
    model <- begun$data
    if (counts) model <- replace(model, "begun", list(NULL))
    theta <- kernweave:::gp_theta(model$values, model$layout)
    theta[] <- ifelse(startsWith(names(theta), "variance."), -1, theta)
    theta <- theta + 0.3 * sin(seq_along(theta))
    value <- function(theta) kernweave:::gp_state(model, theta)$value
    slopes <- vapply(seq_along(theta), function(k) {
      step <- replace(0 * theta, k, 1e-3)
      (8 * (value(theta + step) - value(theta - step)) - value(theta + 2 * step) + value(theta - 2 * step)) / 12e-3
    }, 0)
    expect_equal(unname(kernweave:::gp_state(model, theta)$score), slopes, tolerance = 1e-5, label = deparse1(trend))
  }
})

test_that("partial correlations make correlation matrices of any size, with slopes", {
  for (r in 1:5) {
    p <- tanh(sin(seq_len(r * (r - 1) / 2) * 1.3))
    if (r == 1) next
    found <- kernweave:::partial_correlations(r, p)
    expect_equal(diag(found$value), rep(1, r))
    expect_gt(min(eigen(found$value)$values), 0)
    expect_equal(found$value[2, 1], p[1])
    for (k in seq_along(p)) {
      moved <- function(by) kernweave:::partial_correlations(r, replace(p, k, p[k] + by))$value
      expect_equal(found$slopes[[k]], (moved(1e-5) - moved(-1e-5)) / 2e-5, tolerance = 1e-8)
    }
  }
})

test_that("fits do not depend on the order of rows, of terms and of levels", {
  fit <- gp_fit(z ~ long + lat, few, kernel = known, trend = ~ mag + (1 | g) + (1 | h))
  back <- few[120:1, ]
  back$g <- factor(paste0("level ", back$g), rev(paste0("level ", levels(few$g))))
  again <- gp_fit(z ~ long + lat, back, kernel = known, trend = ~ (1 | h) + (1 | g) + mag)
  expect_equal(coef(again, "covariance")[names(coef(fit, "covariance"))], coef(fit, "covariance"), tolerance = 1e-5)
  expect_equal(unname(predict(again, back[1:4, ])), unname(predict(fit, few[120:117, ])), tolerance = 1e-5)
  expect_equal(rev(fitted(again)), fitted(fit), tolerance = 1e-5)
})

test_that("a new level has mean 0, the variance of a level, and the same effect at all its places", {
  new <- transform(few[1:4, ], g = c("p", "p", "q", as.character(g[4])))
  expect_error(predict(fit, new), "new levels, `p`.*allow.new.levels", class = "kernweave_error_data")
  free <- predict(fit, new, se.fit = TRUE, allow.new.levels = TRUE)
  without <- predict(fit, new, se.fit = TRUE, re.form = NA)
  expect_equal(free$fit[1:3], without$fit[1:3])
  expect_equal(free$se.fit[1:3]^2 - without$se.fit[1:3]^2, rep(coef(fit, "covariance")[["variance.g"]], 3),
               tolerance = 1e-8, ignore_attr = TRUE)
  expect_equal(free$fit[4], predict(fit, new[4, ]))
  draws <- simulate(fit, 400, seed = 1, newdata = transform(few[c(1, 1, 1), ], g = c("p", "p", "q")),
                    allow.new.levels = TRUE)
  expect_equal(draws[1, ], draws[2, ], ignore_attr = TRUE, tolerance = 1e-6)
  expect_gt(stats::var(unlist(draws[1, ] - draws[3, ])), coef(fit, "covariance")[["variance.g"]])
})

test_that("draws, left out rows and folds have the fit's groups", {
  draws <- as.matrix(simulate(fit, 2000, seed = 2, newdata = few[1:6, ]))
  found <- predict(fit, few[1:6, ], se.fit = TRUE)
  expect_lt(max(abs(rowMeans(draws) - found$fit) / found$se.fit), 4 / sqrt(2000))
  expect_equal(apply(draws, 1, stats::sd), unname(found$se.fit), tolerance = 0.07, ignore_attr = TRUE)
  out <- few$g == "7"
  part <- gp_fit(z ~ long + lat, few[!out, ], kernel = known, trend = ~ mag + (1 | g), nugget = fit$nugget,
                 variance = fit$variance, control = fit_control(
                   lower = c(variance.g = coef(fit, "covariance")[["variance.g"]] * (1 - 1e-9)),
                   upper = c(variance.g = coef(fit, "covariance")[["variance.g"]]))) |> suppressWarnings()
  expect_equal(cross_validate(fit, folds = few$g)$.fitted[out],
               unname(predict(part, few[out, ], allow.new.levels = TRUE)), tolerance = 1e-6)
  expect_equal(residuals(fit, "loo"), few$z - cross_validate(fit, folds = seq_len(120))$.fitted, tolerance = 1e-6,
               ignore_attr = TRUE)
})

test_that("tables of effects and variances have lme4's shape", {
  skip_without_peer("lme4")
  ours <- as.data.frame(nlme::VarCorr(fit))
  expect_named(ours, c("grp", "var1", "var2", "vcov", "sdcor"))
  expect_equal(ours$grp, c("g", "process", "Residual"))
  expect_equal(ours$vcov, unname(coef(fit, "covariance")[c("variance.g", "variance", "nugget")]))
  expect_equal(nlme::fixef(fit), coef(fit))
  expect_equal(dim(attr(lme4::ranef(fit)$g, "postVar")), c(1, 1, nlevels(droplevels(few$g))))
  expect_null(attr(lme4::ranef(fit, condVar = FALSE)$g, "postVar"))
  expect_output(print(nlme::VarCorr(fit)), "Residual")
  expect_output(print(nlme::ranef(fit)), "\\$g")
  expect_output(print(fit), "groups: g \\(25 levels\\); effects by nlme::ranef")
})

test_that("tidy() has a row for each effect, and errors on the scale of each parameter", {
  rows <- generics::tidy(fit, effects = c("ran_pars", "ran_vals"))
  expect_equal(rows$group[rows$effect == "ran_pars"], c("process", "process", "g", "Residual"))
  effects <- as.data.frame(nlme::ranef(fit))
  expect_equal(rows$estimate[rows$effect == "ran_vals"], effects$condval)
  expect_equal(rows$level[rows$effect == "ran_vals"], as.character(effects$grp))
  for (name in names(kernweave:::link_slopes)) {
    layout <- data.frame(link = rep(name, 3))
    at <- c(0.2, 0.5, 0.7)
    moved <- function(by) kernweave:::out_of_link(kernweave:::in_link(at, layout) + by, layout)
    expect_equal(kernweave:::link_slopes[[name]](at), (moved(1e-5) - moved(-1e-5)) / 2e-5, tolerance = 1e-8)
  }
})

test_that("a map by a raster leaves groups out, whose layer it need not have", {
  skip_without_peer("terra")
  plain <- gp_fit(z ~ long + lat, few, kernel = known, trend = ~ (1 | g))
  map <- terra::rast(nrows = 3, ncols = 4, xmin = 170, xmax = 180, ymin = -30, ymax = -20)
  cells <- stats::setNames(as.data.frame(terra::xyFromCell(map, 1:12)), c("long", "lat"))
  expect_equal(as.vector(terra::values(predict(plain, map, re.form = NA))), unname(predict(plain, cells, re.form = NA)))
})

test_that("mistakes are told", {
  few$one <- "a"
  of <- function(trend, ...) gp_fit(z ~ long + lat, few, kernel = known, trend = trend, ...)
  cases <- list(
    list(~ (1 | z), "effects for 120 rows: the nugget", "data"), list(~ (1 | one), "`one` has 1 level", "data"),
    list(~ (1 | nowhere), "nowhere", "input"), list(~ mag * (1 | g), "terms of a sum", "input"),
    list(~ 1 | g, "terms of a sum|brackets", "input"), list(~ (1 | g + h), "is no factor", "input"),
    list(~ (0 | g), "has no regressor", "input"), list(~ (1 | g) + (1 | g), "twice", "input"),
    list(~ mag - (1 | g), "is added with `\\+`", "input")
  )
  for (case in cases[-5]) {
    expect_error(of(case[[1]]), case[[2]], class = paste0("kernweave_error_", case[[3]]), label = deparse1(case[[1]]))
  }
  expect_error(predict(fit, few[1:2, ], re.form = ~ (1 | h)), "no grouped effect \\(1 \\| h\\)",
               class = "kernweave_error_input")
  expect_error(predict(fit, few[1:2, ], re.form = ~ mag), "grouped effects alone", class = "kernweave_error_input")
  expect_error(predict(fit, few[1:2, c("long", "lat", "mag")]), "no variable `g`", class = "kernweave_error_input")
  for (trend in list(~ 1, ~ mag)) {
    plain <- gp_fit(z ~ long + lat, few, kernel = known, trend = trend)
    for (of in list(nlme::ranef, nlme::VarCorr)) {
      expect_error(of(plain), "no grouped effects", class = "kernweave_error_unsupported")
    }
  }
  expect_error(variogram(z ~ long + lat, few, trend = ~ (1 | g)), "no grouped effects",
               class = "kernweave_error_unsupported")
})

test_that("grouped effects among the inputs, and a model without inputs, are refused with the remedy", {
  for (formula in c(z ~ long + (1 | g), z ~ long + (mag || h), k ~ (1 | stations))) {
    expect_error(gp_fit(formula, few), "trend = ~ \\(", class = "kernweave_error_input")
  }
  expect_error(gp_fit(z ~ 1, few, trend = ~ (1 | g)), "variance = 0", class = "kernweave_error_input")
})

test_that("terms of one factor that share a regressor have names of their own", {
  twofold <- suppressWarnings(gp_fit(z ~ long, few, variance = 0, trend = ~ (mag | g) + (1 | g)))
  expect_identical(anyDuplicated(names(coef(twofold, "covariance"))), 0L)
  expect_true("variance.g.1.(Intercept)" %in% names(coef(twofold, "covariance")))
})

test_that("a missing level is a new one, where these are allowed", {
  new <- transform(few[1:2, ], g = factor(c(NA, "p")))
  expect_true(is.na(predict(fit, new[1, ])))
  found <- predict(fit, new, se.fit = TRUE, allow.new.levels = TRUE)
  expect_equal(found$fit, predict(fit, new, re.form = NA))
  expect_true(all(is.finite(found$se.fit)))
})

test_that("nested factors have the names of lme4, and a trend without a tilde is told", {
  some <- transform(few, p = factor(rep(1:4, length.out = nrow(few))), q = factor(rep(1:3, length.out = nrow(few))))
  nested <- suppressWarnings(gp_fit(z ~ long, some, variance = 0, trend = ~ (1 | p / q)))
  of_lme4 <- suppressMessages(lme4::lmer(z ~ (1 | p / q), some))
  expect_setequal(names(lme4::ranef(nested)), names(lme4::ranef(of_lme4)))
  expect_setequal(rownames(lme4::ranef(nested)[["q:p"]]), rownames(lme4::ranef(of_lme4)[["q:p"]]))
  expect_error(gp_fit(z ~ long, some, trend = (1 | not_there)), "begins with a tilde", class = "kernweave_error_input")
  expect_error(gp_fit(z ~ long, some, family = "hurdle"), "`hurdle_poisson` or `hurdle_negbin`",
               class = "kernweave_error_unsupported")
})

test_that("a mixed model of any family whose levels do not differ is the generalised linear model", {
  skip_without_peer("survival")
  skip_without_peer("MASS")
  d <- data.frame(g = gl(12, 20), x = cos(2.1 * 1:240))
  level <- rep((1:20 - 0.5) / 20, 12)  # levels of g have equal distributions
  d$p <- stats::qpois(level, exp(1 + 0.3 * d$x))
  d$b <- stats::qbinom(rev(level), 1, stats::plogis(d$x))
  d$w <- stats::qexp(level, exp(-0.3 * d$x))
  peers <- list(poisson = stats::glm(p ~ x, stats::poisson, d), binomial = stats::glm(b ~ x, stats::binomial, d),
                exponential = survival::survreg(survival::Surv(w) ~ x, d, dist = "exponential"),
                negbin = suppressWarnings(MASS::glm.nb(round(10 * w) ~ x, d)))
  for (name in names(peers)) {
    left <- switch(name, poisson = quote(p), binomial = quote(b), exponential = quote(w), quote(round(10 * w)))
    formula <- stats::as.formula(call("~", left, 1))
    expect_warning(fit <- gp_fit(formula, d, trend = ~ x + (1 | g), variance = 0, family = name, method = "ML"),
                   "`variance.g` is at its bound", class = "kernweave_warning_boundary")
    expect_equal(coef(fit), coef(peers[[name]]), tolerance = 1e-4, label = name)
    expect_equal(as.numeric(logLik(fit)), as.numeric(logLik(peers[[name]])), tolerance = 1e-6, label = name)
    expect_lt(max(abs(nlme::ranef(fit)$g)), 1e-4)
    expect_equal(predict(fit, d[1:9, ]), predict(fit, d[1:9, ], re.form = NA), tolerance = 1e-4)
    expect_true(all(is.finite(confint(fit)[names(coef(fit)), ])))
    expect_true(all(is.finite(as.matrix(simulate(fit, 2, seed = 1)))))
    expect_output(print(summary(fit)), "variance.g .*at its bound")
  }
})
