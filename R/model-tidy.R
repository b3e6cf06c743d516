# Fits as data frames: methods for the generics package, registered if it is installed.

#' Fits and tests as tidy data frames
#'
#' Methods for `tidy()`, `glance()` and `augment()` of the generics package, which broom also exports. Use them to
#' collect results of several fits, or to plot fitted values with the data.
#'
#' `tidy()` returns a row for each bandwidth, component, coefficient, effect, pair of groups, class of distances,
#' cluster, or pair of neighbours. `glance()` returns one row for the fit. `augment()` adds fitted values or clusters to
#' the data: to [model.frame()] if the fit was made from a formula, otherwise to the inputs and the `response`.
#'
#' Columns for clusters are those of the broom and dbscan packages. Cluster 0 is noise.
#'
#' @param x what [kde_fit()], [local_reg()], [silhouette_widths()], [kpca_fit()], [rbf_interpolate()], [kernel_ridge()],
#'   [gp_fit()], [knn_fit()], [variogram()], [sinkhorn()], [marginal_effects()], [permanova()] or [pairwise_test()]
#'   returned, or a [test][kernweave_test]; for `tidy()` also [anova()][anova.gp_fit], `drop1()`, [elpd()],
#'   [profile()][profile.gp_fit], [cross_validate()], [predictive_scores()], [gp_posterior()], [knn()] and
#'   [radius_nn()]; [kmeans_fit()], [dbscan_fit()] and [hdbscan_fit()]
#' @param data for `augment()`: the data that were fitted, to include columns that are not in the formula. Rows that
#'   `na.action` left out are dropped. Required for clusters
#' @param newdata for `augment()`: new inputs, instead of the inputs of the fit
#' @param conf.int for `tidy()`: include `conf.low` and `conf.high`, where there are intervals? By default `TRUE`
#' @param conf.level confidence level
#' @param se_fit,interval for `augment()`: add standard errors? Type of interval in `.lower` and `.upper`
#' @param ... not used
#' @return A tibble if the tibble package is installed, otherwise a data frame. `augment()` of points of the sf package
#'   returns such points. Row names of data become the column `.rownames` of a tibble.
#' @seealso [kernweave_fit]
#' @concept broom
#' @concept tidy
#' @concept augment and glance
#' @name tidy-fits
#' @examplesIf requireNamespace("generics", quietly = TRUE)
#' fit <- local_reg(dist ~ speed, data = cars, bandwidth = 2)
#' generics::tidy(fit)
#' generics::glance(fit)
#' head(generics::augment(fit, interval = "confidence"))
#' found <- kmeans_fit(iris[, 1:4], 3)
#' generics::tidy(found)
#' head(generics::augment(found, iris))
#' generics::tidy(knn(iris[1:4, 1:4], k = 1))
NULL

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.kernweave_fit <- function(x, ...) {
  h <- x$bandwidth
  if (is.matrix(h)) h <- sqrt(diag(h))
  as_tidy(term = names(h), estimate = unname(h))
}

# Returns the table of all tidiers: a tibble if that package is installed. Row names other than row numbers are kept, as
# in broom.
as_tidy <- function(..., columns = data.frame(...)) {
  if (!identical(class(columns), "data.frame") || !requireNamespace("tibble", quietly = TRUE)) return(columns)
  is_numbered <- identical(row.names(columns), as.character(seq_len(nrow(columns))))
  tibble::as_tibble(columns, rownames = if (!is_numbered) ".rownames")
}

# Drops interval columns unless they are asked for.
without_ends <- function(columns, conf.int) {
  check_flag(conf.int, "conf.int")
  as_tidy(columns = if (conf.int) columns else columns[!names(columns) %in% c("conf.low", "conf.high")])
}

#' @rdname tidy-fits
#' @exportS3Method generics::glance
glance.kde_fit <- function(x, ...) {
  fitted <- logLik(x)
  as_tidy(nobs = nobs(x), method = x$method, criterion = x$criterion %or% NA_real_, df = attr(fitted, "df"),
          logLik.loo = as.numeric(fitted))
}

#' @rdname tidy-fits
#' @exportS3Method generics::glance
glance.local_reg <- function(x, ...) {
  as_tidy(nobs = nobs(x), method = x$method, criterion = x$criterion, df = x$df, df.residual = x$df.residual,
          sigma = x$sigma[1])
}

#' @rdname tidy-fits
#' @exportS3Method generics::augment
augment.kde_fit <- function(x, data = NULL, newdata = NULL, ...) {
  refuse_more(...)
  out <- augmented_rows(x, data, newdata)
  if (is.null(newdata)) x["na.action"] <- list(NULL)
  out$.fitted <- unname(predict(x, newdata))
  as_tidy(columns = out)
}

#' @rdname tidy-fits
#' @exportS3Method generics::augment
#' @rawNamespace S3method(generics::augment, kernel_ridge, augment.local_reg)
#' @rawNamespace S3method(generics::augment, gp_fit, augment.local_reg)
augment.local_reg <- function(x, data = NULL, newdata = NULL, se_fit = TRUE,
                              interval = c("none", "confidence", "prediction"), conf.level = 0.95, ...) {
  refuse_more(...)
  interval <- choice_of(interval[1], c("none", "confidence", "prediction"), "interval")
  out <- augmented_rows(x, data, newdata)
  if (is.null(newdata)) x["na.action"] <- list(NULL)
  found <- predict(x, newdata, se.fit = se_fit, interval = interval, level = conf.level)
  fit <- if (se_fit) found$fit else found
  out$.fitted <- unname(if (interval == "none") fit else fit[, 1])
  if (is.null(newdata)) out$.resid <- unname(residuals(x))
  if (se_fit) out$.se.fit <- unname(found$se.fit)
  if (interval != "none") out[c(".lower", ".upper")] <- unname(fit[, 2:3])
  as_tidy(columns = out)
}

# Returns the rows of the data that were used (complete rows, whatever na.action), or of new data.
augmented_rows <- function(x, data, newdata) {
  newdata <- as_sf(newdata, x$variables)
  data <- as_sf(data, x$variables)
  if (inherits(newdata, c("sf", "sfc"))) return(sf::st_sf(newdata))
  if (!is.null(newdata)) return(data.frame(newdata, check.names = FALSE))
  if (!is.null(data)) {
    n <- nrow(x$x)
    if (length(x$na.action) && NROW(data) == n + length(x$na.action)) data <- data[-x$na.action, , drop = FALSE]
    if (is.data.frame(data) && nrow(data) == n) return(data)
    abort("shape", "`data` must be the data frame that was fitted, of ", counted(n, "row"), ", not ", describe(data),
          " of ", counted(NROW(data), "row"), "; other places are `newdata`")
  }
  if (!is.null(x$terms)) return(structure(x$model, terms = NULL, na.action = NULL))
  out <- data.frame(strip_term(x$x), check.names = FALSE)
  if (!is.null(x[["residuals"]])) out$response <- unname(x$fitted.values + x[["residuals"]])
  out
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.silhouette_widths <- function(x, ...) {
  size <- table(x[, "cluster"])
  as_tidy(cluster = attr(x, "labels") %or% names(size), size = as.vector(size),
          sil_width = as.vector(tapply(x[, "sil_width"], x[, "cluster"], mean)))
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.permanova <- function(x, ...) {
  as_tidy(term = rownames(x), df = x$Df, sumsq = x$SumOfSqs, r.squared = x$R2, statistic = x$F,
          p.value = x[["Pr(>F)"]])
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.kernweave_variogram <- function(x, ...) as_tidy(columns = as.data.frame(x))

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.kpca_fit <- function(x, ...) {
  as_tidy(PC = seq_along(x$values), std.dev = x$sdev, value = unname(x$values), percent = unname(x$values) / x$total,
          cumulative = unname(cumsum(x$values)) / x$total)
}

#' @rdname tidy-fits
#' @exportS3Method generics::glance
glance.kpca_fit <- function(x, ...) as_tidy(nobs = nobs(x), k = length(x$values), total = x$total)

#' @rdname tidy-fits
#' @exportS3Method generics::augment
augment.kpca_fit <- function(x, data = NULL, newdata = NULL, ...) {
  refuse_more(...)
  scores <- if (is.null(newdata)) x$scores else predict(x, newdata)
  out <- augmented_rows(x, data, newdata)
  out[paste0(".fitted", colnames(scores))] <- unname(scores)
  as_tidy(columns = out)
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.rbf_interpolate <- function(x, ...) {
  b <- as.matrix(coef(x))
  out <- data.frame(term = rep(rownames(b) %or% character(), ncol(b)), estimate = as.vector(b))
  if (ncol(b) > 1) out$response <- rep(colnames(b) %or% seq_len(ncol(b)), each = nrow(b))
  as_tidy(columns = out)
}

#' @rdname tidy-fits
#' @exportS3Method generics::glance
glance.rbf_interpolate <- function(x, ...) {
  as_tidy(nobs = nobs(x), lambda = x$lambda, edf = x$edf, gcv = x$criterion %or% NA_real_,
          sigma = if (x$lambda == 0) NA_real_ else sigma(x)[1])
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.kernel_ridge <- function(x, conf.int = TRUE, conf.level = 0.95, ...) {
  refuse_more(...)
  tidy.marginal_effects(marginal_effects(x, level = conf.level), conf.int)
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.marginal_effects <- function(x, conf.int = TRUE, conf.level = NULL, ...) {
  refuse_more(...)
  columns <- c("term", "contrast", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high")
  if (!is.null(conf.level)) x[c("conf.low", "conf.high")] <- as.data.frame(confint(x, level = conf.level))
  without_ends(data.frame(unclass(x)[intersect(columns, names(x))], row.names = NULL), conf.int)
}

#' @rdname tidy-fits
#' @exportS3Method generics::glance
glance.kernel_ridge <- function(x, ...) {
  as_tidy(nobs = nobs(x), lambda = x$lambda, edf = x$edf, r.squared = x$r.squared[1],
          gcv = x$criterion %or% NA_real_, sigma = x$sigma[1], deviance = sum(stats::deviance(x)),
          null.deviance = x$null.deviance %or% NA_real_, df.residual = x$df.residual)
}

#' @rdname tidy-fits
#' @param effects for a [gp_fit()]: `"ran_pars"`, the covariance parameters, `"fixed"`, the coefficients of the trend,
#'   and `"ran_vals"`, the effects of groups, in the order of the rows. Words and columns are those of the broom.mixed
#'   package
#' @exportS3Method generics::tidy
tidy.gp_fit <- function(x, conf.int = TRUE, conf.level = 0.95, effects = c("ran_pars", "fixed"), ...) {
  refuse_more(...)
  blocks <- list(ran_pars = covariance_rows, fixed = trend_rows, ran_vals = group_effect_rows)
  ends <- confint(x, level = conf.level)
  out <- do.call(rbind, lapply(effects, function(effect) {
    blocks[[one_of(effect, names(blocks), "effects")]](x, ends, conf.level)
  }))
  without_ends(if ("ran_vals" %in% effects) out else out[names(out) != "level"], conf.int)
}

# Returns parameters of the process, of groups, and of single observations (noise, family).
covariance_rows <- function(fit, ends, level) {
  estimate <- coef(fit, "covariance")
  of_links <- sqrt(diag(vcov(fit, "covariance")))
  links <- told_links(fit)
  free <- match(names(estimate), links$label)
  error <- by_link(estimate, links$link[free], link_slopes) * of_links[names(estimate)]
  of_noise <- names(estimate) %in% family_of(fit$data)$phi | grepl("^nugget($|[.])", names(estimate))
  group <- ifelse(of_noise, "Residual", "process")
  of_groups <- match(names(estimate), names(fit$data$values$groups))
  groups <- rep(vapply(fit$data$groups, `[[`, "", "factor"), lengths(group_index(fit$data$groups)))
  group[!is.na(of_groups)] <- groups[of_groups[!is.na(of_groups)]]
  tidy_rows("ran_pars", group, estimate, error, ends[match(names(estimate), names(of_links)), , drop = FALSE])
}

group_effect_rows <- function(fit, ends, level) {
  effects <- as.data.frame(ranef.gp_fit(fit))
  half <- stats::qnorm((1 + level) / 2) * effects$condsd
  rows <- tidy_rows("ran_vals", effects$grpvar, stats::setNames(effects$condval, effects$term), effects$condsd,
                    cbind(effects$condval - half, effects$condval + half))
  rows$level <- effects$grp
  rows
}

trend_rows <- function(fit, ends, level) {
  beta <- coef(fit)
  error <- sqrt(diag(fit$vcov))
  rows <- tidy_rows("fixed", rep(NA_character_, length(beta)), beta, error, utils::tail(ends, length(beta)))
  rows$statistic <- unname(beta / error)
  rows
}

tidy_rows <- function(effect, group, estimate, error, ends) {
  none <- rep(NA_real_, length(estimate))
  data.frame(effect = rep(effect, length(estimate)), group = group, level = rep(NA_character_, length(estimate)),
             term = names(estimate) %or% character(),
             estimate = unname(estimate), std.error = unname(error), statistic = none, conf.low = unname(ends[, 1]),
             conf.high = unname(ends[, 2]))
}

#' @rdname tidy-fits
#' @exportS3Method generics::glance
glance.gp_fit <- function(x, ...) {
  value <- logLik(x)
  one <- is.null(x$cells)
  out <- list(nobs = nobs(x), logLik = as.numeric(value), df = attr(value, "df"), AIC = stats::AIC(value),
              BIC = stats::BIC(value), variance = if (one) x$variance else NA_real_,
              nugget = if (one) x$nugget else NA_real_, deviance = if (one) stats::deviance(x) else NA_real_,
              iterations = x$convergence$iterations)
  out$null.deviance <- x$null.deviance  # with a family
  do.call(as_tidy, out)
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.sinkhorn <- function(x, ...) {
  as_tidy(epsilon = x$epsilon, value = x$value, cost = x$cost, divergence = x$divergence %or% NA_real_,
          distance = x$distance %or% NA_real_)
}

#' @rdname tidy-fits
#' @exportS3Method generics::glance
glance.sinkhorn <- function(x, ...) {
  as_tidy(n.x = length(x$f), n.y = length(x$g), epsilon = x$epsilon, value = x$value, cost = x$cost, mass = x$mass,
          iterations = x$iterations, marginal.error = x$marginal_error)
}

# Tabulates a test as the broom package tabulates other tests.
#' @rdname tidy-fits
#' @exportS3Method generics::tidy
#' @rawNamespace S3method(generics::glance, kernweave_test, tidy.kernweave_test)
tidy.kernweave_test <- function(x, ...) {
  refuse_more(...)
  estimates <- as.list(unname(x$estimate))
  names(estimates) <- if (length(estimates) == 1) "estimate" else sprintf("estimate%d", seq_along(estimates))
  about <- list(statistic = x$statistic, p.value = x$p.value, parameter = x$parameter, method = x$method,
                alternative = x$alternative)
  as_tidy(columns = data.frame(c(estimates, about[lengths(about) > 0]), row.names = NULL))
}
