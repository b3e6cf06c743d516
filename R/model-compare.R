# Comparisons of Gaussian processes by their likelihoods: by chi-square if its theory holds, by other null distributions
# if a parameter is at its bound.

#' Compare Gaussian process fits
#'
#' `anova()` compares fits by likelihood ratio tests: of terms of the trend, of a separate scale for each input, or of
#' the process as a whole. `drop1()` and `add1()` refit with one term less or more.
#'
#' `anova()` compares each fit with the one before it. Both must have the same response, rows and weights. Restricted
#' likelihoods of different trends are not comparable: these fits are refitted with `method = "ML"`, with a message.
#'
#' The chi-square distribution holds if the smaller model is nested in the larger one: if they differ by terms of the
#' trend, by a parameter fixed in one and estimated in the other, by one scale instead of one per input (`ard = TRUE`)
#' or per axis (`aniso = TRUE`, on 2 degrees of freedom). The distribution is an approximation for many rows: with few
#' rows, or a trend as smooth as the process, tests of trends reject somewhat too often. Linear models (`variance = 0`
#' without groups) have the F tests of [lm()].
#'
#' @section On the bound:
#' A variance or nugget of 0 is on the bound of its range. The likelihood ratio then has neither a chi-square
#' distribution nor the 50:50 mixture of textbooks, since the observations of one process are not independent. If the
#' kernel parameters are fixed in the larger fit, or if a grouped effect such as `(1 | site)` has the only variance, the
#' exact null distribution is simulated from eigenvalues of the dense covariance matrix (Crainiceanu and Ruppert, 2004).
#' Otherwise the p-value is `NA`, and `test = "boot"` computes a p-value: it simulates `R` responses from the smaller
#' fit, refits both models, and counts how often the likelihood ratio is at least as large as the observed one.
#'
#' Models that are not nested, such as two kernels, have a p-value of `NA`, too: compare their AIC or [elpd()]. If one
#' model has more parameters, `test = "boot"` takes the other one as the null hypothesis. Two kernels with the same
#' number of parameters have no such test.
#'
#' @section Many rows:
#' Beyond `control$dense_n` rows both likelihoods use the same random probes and the same preconditioner, so that much
#' of their error cancels. The column `se` is the standard error of `L.Ratio`. If it is more than 0.5, and the p-value
#' may be above 0.001, the p-value is `NA`; more `probes` of [fit_control()] help.
#'
#' @param object,... fits by [gp_fit()]
#' @param test `"Chisq"` (the default): p-values by theory; `"boot"`, for `anova()`: by parametric bootstrap; `"none"`
#' @param R number of simulated responses
#' @param seed seed for simulated p-values, which makes them reproducible; with `NULL` (the default) the exact null
#'   distribution uses the seed of [fit_control()]
#' @param scope terms to drop or to add: a formula for the trend, or a vector of terms. By default `drop1()` tries all
#'   terms of the trend and, if each input has its own scale, all inputs of the kernel
#' @return A data frame of class `anova`: for `anova()` a row per fit with columns as in `nlme::anova.lme()`, `df`,
#'   `AIC`, `BIC`, `logLik`, `Test`, `L.Ratio` and `p-value`; for `drop1()` and `add1()` a row per term, with `Df`,
#'   `AIC`, `LRT` and `Pr(>Chi)`, or `F value` and `Pr(>F)` for linear models. The attribute `notes` says
#'   where a p-value comes from, or why there is none.
#' @references Crainiceanu, C. M. and Ruppert, D. (2004) Likelihood ratio tests in linear mixed models with one variance
#'   component. Journal of the Royal Statistical Society B 66, 165-185.
#' @seealso [gp_fit()], [elpd()], [cross_validate()]
#' @concept likelihood ratio test
#' @concept model comparison
#' @concept parametric bootstrap
#' @concept is there spatial correlation
#' @name compare-fits
#' @examples
#' some <- quakes[seq(1, 1000, by = 12), ]
#' fit <- gp_fit(depth ~ long + lat, some, trend = ~ long + mag, kernel = "matern32", method = "ML")
#' anova(update(fit, trend = ~ long), fit)
#' drop1(fit)
#' # is there a process at all? Its scale is given, so the null distribution is exact
#' near <- update(fit, kernel = kernel_spec("matern32", scale = 3))
#' anova(update(near, variance = 0), near)
NULL

#' @rdname compare-fits
#' @importFrom stats anova
#' @export
anova.gp_fit <- function(object, ..., test = c("Chisq", "boot", "none"), R = 199, seed = NULL) {
  test <- choice_of(test[1], c("Chisq", "boot", "none"), "test")
  R <- check_count(R, "R")
  if (!is.null(seed)) seed <- check_count(seed, "seed", least = 0)
  if (!...length()) {
    abort("input", "anova() compares two fits or more; drop1() tests the terms of one, and summary() has their errors")
  }
  fits <- checked_fits(list(object, ...), fit_texts(substitute(list(object, ...))), "gp_fit",
                       "anova() compares fits of gp_fit()")
  fits <- comparable_fits(fits)
  values <- lapply(fits, logLik)
  table <- data.frame(Model = seq_along(fits), df = vapply(values, attr, 0, "df"), AIC = vapply(values, stats::AIC, 0),
                      BIC = vapply(values, stats::BIC, 0), logLik = vapply(values, as.numeric, 0),
                      row.names = names(fits))
  tests <- lapply(seq_along(fits)[-1], function(k) {
    compared_fits(fits[k - 1:0], c(k - 1, k), values[k - 1:0], test, R, seed)
  })
  column <- function(name, none) c(none, vapply(tests, `[[`, none, name))
  table$Test <- column("label", "")
  table$L.Ratio <- column("ratio", NA_real_)
  if (any(vapply(values, attr, 0, "std.error") > 0)) table$se <- column("se", NA_real_)
  if (test != "none") table[["p-value"]] <- column("p", NA_real_)
  about <- vapply(fits, function(fit) {
    kernel <- if (fit$data$values$variance > 0) format(update(fit$data$kernel, variance = 1)) else "no process"
    if (is_standardized(fit$data)) kernel <- paste0(kernel, ", standardized inputs")
    paste0(family_text(fit), kernel, ", trend ", trend_text(fit))
  }, "")
  title <- paste0("Gaussian processes by ", fits[[1]]$method, ", ", count_text(length(fits[[1]]$data$y), "row"))
  structure(table, heading = c(title, paste0(seq_along(fits), ": ", about)),
            notes = unlist(lapply(tests, `[[`, "note")), class = c("gp_anova", "anova", "data.frame"))
}

trend_text <- function(fit) sub("^~ *", "~ ", deparse1(fit$trend$formula))

# Returns the fits as written in the call; a text too long for a row becomes "model k".
fit_texts <- function(call) {
  texts <- vapply(as.list(call)[-1], deparse1, "")
  given <- names(texts) %or% rep("", length(texts))
  long <- nchar(texts) > 24
  texts[long] <- paste("model", seq_along(texts))[long]
  make.unique(unname(ifelse(nzchar(given) & given != "object", given, texts)))
}

# Returns the fits with their names, if they have the same response, rows and weights.
checked_fits <- function(fits, names, class, what) {
  fits <- found_variables(fits, NULL, "the fits")
  names(fits) <- names
  for (k in seq_along(fits)) {
    if (!inherits(fits[[k]], class)) {
      abort("input", what, ", and `", names[k], "` is ", describe(fits[[k]]), near_hint(names[k], c("test", "seed")))
    }
    if (k > 1) refuse_other_data(fits[[1]], fits[[k]], names[c(1, k)])
  }
  fits
}

refuse_other_data <- function(a, b, names) {
  differ <- function(what, ...) abort("input", "`", names[1], "` and `", names[2], "` have different ", what, ...)
  rows <- vapply(list(a, b), function(fit) nrow(fit$x), 0L)
  if (rows[1] != rows[2]) differ("rows, ", rows[1], " and ", rows[2], ": fit both to the rows complete for both")
  if (!identical(unname(c(a$na.action)), unname(c(b$na.action)))) {
    differ("rows, as `na.action` left out others: fit both to the rows complete for both")
  }
  unit <- function(fit) as.numeric(fit$weights %or% rep(1, rows[1]))
  if (!isTRUE(all.equal(unit(a), unit(b)))) differ("weights")
  y <- lapply(list(a, b), function(fit) unname(response_of(fit)))
  if (!isTRUE(all.equal(y[[1]], y[[2]], tolerance = 1e-10))) differ("responses")
}

# Refits by maximum likelihood, unless all fits have the same method and, with restricted likelihoods, the same trend.
comparable_fits <- function(fits) {
  methods <- vapply(fits, `[[`, "", "method")
  trend <- function(fit) list(unname(fit$regressors$F), unname(fit$regressors$offset))
  same <- all(vapply(fits, function(fit) isTRUE(all.equal(trend(fit), trend(fits[[1]]))), NA))
  if (all(methods == "ML") || all(methods == "REML") && same) return(fits)
  tell("kernweave: fits are refitted by maximum likelihood, since restricted likelihoods ",
       if (same) "and likelihoods differ" else "of different trends are not comparable")
  lapply(fits, function(fit) if (fit$method == "ML") fit else refitted(fit, method = "ML"))
}

# Returns the parts of a fit's covariance that are estimated; the variance of several responses is a matrix.
free_parts <- function(fit) {
  part <- fit$data$layout$part
  c(part, if ("responses" %in% part) "variance")
}

# Returns the settings for making a fit again; `...`: settings that change. Parameters that are not `free` keep their
# values, including the parameter of the family, and inputs keep their units.
settings_again <- function(fit, free, ...) {
  settings <- list(kernel = fit$data$kernel, variance = if (!"variance" %in% free) fit$variance,
                   nugget = if (!"nugget" %in% free) fit$nugget, control = fit$control, method = fit$method,
                   estimate_on = if (fit$estimated_on < length(fit$data$y)) fit$estimated_on else Inf,
                   units = fit$data$rule$width)
  settings <- replace(settings, ...names(), list(...))
  if (is.null(fit$family)) return(settings)
  family <- fit$data$family
  held <- !"phi" %in% free
  if (length(family$formulas)) family[c("value", "held")] <- list(family$natural$value, if (held) fit$data$values$phi)
  else family$given <- family$given | held
  replace(settings, c("nugget", "family"), list(1, family))
}

# Fits the rows of a fit again: to another response, by another method or from a start.
refitted <- function(fit, y = response_of(fit), method = fit$method, start = NULL) {
  control <- fit$control
  control$start <- start %or% control$start
  settings <- settings_again(fit, free_parts(fit), control = control, method = method)
  inputs <- fit[c("x", "terms", "model", "xlevels", "na.action", "names", "constant", "columns", "kinds",
                  "variables")]
  call <- fit$call
  call$method <- method
  again <- gp_of(inputs, y, c(fit$regressors, fit$trend), settings, fit$weights, call)
  again$formula <- fit$formula
  again$chosen <- fit$chosen
  again$chosen_scales <- fit$chosen_scales
  again
}

# --- two fits -------------------------------------------------------------------------------------------------

# Compares two fits, numbers `at` of the table: label, likelihood ratio with its standard error, p, and a note.
compared_fits <- function(fits, at, values, test, R, seed) {
  df <- vapply(values, attr, 0, "df")
  out <- list(label = "", ratio = NA_real_, se = NA_real_, p = NA_real_, note = NULL)
  label <- paste(at[1], "vs", at[2])
  if (df[1] == df[2]) {
    if (test != "none") out$note <- paste0(label, ": as many parameters in both, so no test; compare AIC or elpd()")
    return(out)
  }
  by <- order(df)
  found <- likelihood_ratio(fits[[by[1]]], fits[[by[2]]], values[by])
  out[c("label", "ratio", "se")] <- list(label, found$ratio, found$se)
  if (test == "none") return(out)
  tested <- if (test == "boot") by_bootstrap(fits[[by[1]]], fits[[by[2]]], found$ratio, R, seed)
            else by_theory(fits[[by[1]]], fits[[by[2]]], found, diff(df[by]), seed)
  if (!is.null(tested$note)) tested$note <- paste0(label, ": ", tested$note)
  replace(out, names(tested), tested)
}

# The likelihood ratio and its standard error. Iterative likelihoods of both fits use the same probes and landmarks.
likelihood_ratio <- function(small, large, values) {
  if (small$data$dense && large$data$dense) {
    ratio <- 2 * (as.numeric(values[[2]]) - as.numeric(values[[1]]))
    return(list(ratio = if (ratio < 0 && ratio > -1e-3) 0 else ratio, se = 0))  # maxima are not exact
  }
  landmarks <- large$kept$preconditioner$P %or% small$kept$preconditioner$P
  each <- lapply(list(small, large), function(fit) likelihood_by_probes(fit$data, landmarks))
  apart <- 2 * (each[[2]] - each[[1]])
  list(ratio = mean(apart), se = stats::sd(apart) / sqrt(length(apart)))
}

# The log-likelihood of a model by each probe, with given landmarks; one number if the likelihood is exact.
likelihood_by_probes <- function(model, landmarks) {
  near <- list(preconditioner = if (!is.null(landmarks)) list(P = landmarks, values = model$values))
  system <- gp_system(model, model$values, near)
  weights <- gp_weights(model, system)
  logdet <- system_logdet(system)
  each <- attr(logdet, "each") %or% as.numeric(logdet)
  vapply(each, function(value) gp_log_likelihood(model, value, weights), 0)
}

# Returns list(p, note), with the p-value of chi-square or of the exact null distribution, if either holds.
by_theory <- function(small, large, found, df, seed) {
  none <- function(...) list(p = NA_real_, note = paste0("no p-value, as ", ...))
  if (is_of_some(small) || is_of_some(large)) {
    return(none("parameters were estimated on some of the rows, where the likelihood of all is not largest; ",
                "estimate_on = Inf takes all"))
  }
  relation <- nesting(small, large)
  if (relation$kind == "exact") {
    drawn <- privately(seed %or% large$control$seed %or% 1, exact_null(small, large, draws = 10000))
    return(list(p = share_as_large(drawn, found$ratio),
                note = "p-value from 10,000 draws of the exact null distribution"))
  }
  if (relation$kind != "inside") return(none(relation$why))
  if (found$ratio < -1e-3 - 3 * (found$se %or% 0)) {
    return(none("the larger model has the smaller likelihood: its estimates are at a local maximum; other values in ",
                "`start` may help"))
  }
  if (all(is.finite(vapply(list(small, large), linear_freedom, 0)))) return(by_f_test(large, found$ratio, df))
  p <- function(ratio) stats::pchisq(max(ratio, 0), df, lower.tail = FALSE)
  if (isTRUE(found$se >= 0.5) && p(found$ratio - 3 * found$se) > 1e-3) {
    return(none("the standard error of L.Ratio is 0.5 or more; more `probes` of fit_control() would reduce it"))
  }
  list(p = p(found$ratio))
}

# Tests a linear model inside another one: F = (exp(ratio / n) - 1) (n - p) / df for a likelihood ratio of n rows.
by_f_test <- function(large, ratio, df) {
  left <- linear_freedom(large)
  value <- expm1(max(ratio, 0) / large$estimated_on) * left / df
  list(p = stats::pf(value, df, left, lower.tail = FALSE), note = "p-value of the F test", f = value)
}

# Tells whether parameters were estimated on a part of the rows.
is_of_some <- function(fit) nrow(fit$data$layout) && fit$estimated_on < length(fit$data$y)

# Relates a model to a larger one: nested in its "inside", nested on a "bound" of its parameters ("exact" if there is an
# exact null distribution), or "else". `why`: the reason why there is no p-value.
nesting <- function(small, large) {
  else_why <- function(...) list(kind = "else", why = paste0(..., ": compare AIC or elpd()"))
  of_kernel <- kernel_nesting(small, large)
  if (of_kernel == "else") return(else_why("neither kernel has the other inside its parameters"))
  beside <- cbind(small$regressors$F, small$regressors$offset - large$regressors$offset)
  left <- if (ncol(large$regressors$F)) qr.resid(qr(large$regressors$F), beside) else beside
  outside <- any(sqrt(colSums(left^2)) > 1e-8 * sqrt(pmax(colSums(beside^2), 1e-300)))
  if (outside) return(else_why("the trend of the smaller model is not inside that of the larger"))
  families <- vapply(list(small, large), function(fit) family_text(fit) %or% "", "")
  over <- startsWith(families[1], "poisson") && startsWith(families[2], "negative binomial")
  if (!over && families[1] != families[2]) return(else_why("the families are not the same"))
  groups <- lapply(list(small, large), group_regressors)
  if (length(setdiff(groups[[1]], groups[[2]]))) {
    return(else_why("the grouped effects of the smaller model are not inside those of the larger"))
  }
  bound <- c(of_kernel[of_kernel != "inside"], dropped_parts(small, large), if (over) "the overdispersion",
             if (length(setdiff(groups[[2]], groups[[1]]))) "the variance of groups")
  if ("else" %in% bound) return(else_why("a parameter given in the larger model has another value in the smaller"))
  if (!length(bound)) return(list(kind = "inside"))
  if (has_exact_null(large, bound)) return(list(kind = "exact"))
  list(kind = "bound", why = paste0(paste(bound, collapse = " and "), " of the smaller model is on its bound, where ",
                                    "chi-square does not hold; anova(test = \"boot\") refits simulated data"))
}

# Names the grouped regressors of a fit, such as "site (Intercept)".
group_regressors <- function(fit) unlist(lapply(fit$data$groups, function(term) paste(term$factor, term$columns)))

# Tells whether the variance that is 0 in the smaller model is the only one of the larger model beside the nugget, and
# multiplies a known matrix.
has_exact_null <- function(large, bound) {
  if (!large$data$dense || !is.null(large$family) || !is.null(large$data$panel)) return(FALSE)
  groups <- group_regressors(large)
  if (identical(bound, "the variance")) return(!length(groups) && !any(large$data$layout$part == "kernel"))
  identical(bound, "the variance of groups") && length(groups) == 1 && isTRUE(large$variance == 0)
}

# Names the variances that are 0 in the smaller model and estimated in the larger; "else" if given values differ.
dropped_parts <- function(small, large) {
  one <- function(part) {
    free <- vapply(list(small, large), function(fit) part %in% free_parts(fit), NA)
    if (!free[2] && (free[1] || !isTRUE(all.equal(small[[part]], large[[part]])))) return("else")
    if (free[2] && !free[1] && all(small[[part]] == 0)) paste("the", part)
  }
  c(one("variance"), one("nugget"))
}

# Relates the kernels: "inside", "else", or the name of the parameter on its bound.
kernel_nesting <- function(small, large) {
  if (small$data$values$variance == 0) return("inside")
  kernels <- lapply(list(small, large), function(fit) kernel_parts(fit$data$kernel))
  x <- lapply(list(small, large), function(fit) unname(strip_term(fit$x)))
  if (!identical(x[[1]], x[[2]])) {
    fewer <- all(colnames(small$x) %in% colnames(large$x)) && kernels[[2]]$ard && same_form(kernels[[1]], kernels[[2]])
    return(if (isTRUE(fewer)) "the scale of an input" else "else")
  }
  if (!kernels[[2]]$ard && !identical(small$data$rule$width, large$data$rule$width)) return("else")
  if (identical(kernels[[2]]$op, "+") && any(vapply(kernels[[2]]$of, function(part) {
    same_form(kernels[[1]], kernel_parts(part))
  }, NA))) return("the variance of a part of the kernel")
  turning <- is_turning(large$data$values)
  fewer <- kernels[[1]]$ard && !kernels[[2]]$ard && ncol(x[[1]]) > 1
  if (fewer && !turning || !same_form(kernels[[1]], kernels[[2]])) return("else")
  names <- names(large$data$values$kernel)
  if (turning) names <- setdiff(names, c("scale", "turn"))
  else if (is_aniso(kernels[[1]]) != is_aniso(kernels[[2]]) || is_turning(small$data$values)) return("else")
  free <- lapply(list(small, large), function(fit) names %in% fit$data$layout$name)
  same <- vapply(names, function(name) {
    a <- small$data$values$kernel[[name]]
    b <- large$data$values$kernel[[name]]
    length(a) && isTRUE(all.equal(rep_len(a, length(b)), b))
  }, NA)
  if (all(free[[2]] | !free[[1]] & same)) "inside" else "else"
}

# Tells whether two kernels are the same function of their parameters.
same_form <- function(a, b) {
  closed <- c("matern12", "matern32", "matern52")  # special cases of "matern"
  if (identical(b$name, "matern") && isTRUE(a$name %in% closed)) a$name <- b$name
  if (!identical(a$op, b$op) || !identical(a$name, b$name) || !identical(a$fun, b$fun)) return(FALSE)
  is.null(a$op) || all(mapply(function(k, l) same_form(kernel_parts(k), kernel_parts(l)), a$of, b$of))
}

# --- print ----------------------------------------------------------------------------------------------------

#' @rdname compare-fits
#' @param x a table returned by `anova()`
#' @param digits significant digits
#' @export
print.gp_anova <- function(x, digits = 4, ...) {
  say_lines(attr(x, "heading"), "")
  table <- as.data.frame(unclass(x), row.names = row.names(x), check.names = FALSE)
  numbers <- vapply(table, is.numeric, NA) & !names(table) %in% c("Model", "df")
  table[numbers] <- lapply(names(table)[numbers], function(name) {
    each <- if (name == "p-value") format.pval(table[[name]], digits = digits - 1, eps = 1e-4)
            else if (name %in% c("L.Ratio", "se")) vapply(table[[name]], format, "", digits = digits)
            else formatC(table[[name]], digits = 2, format = "f")
    ifelse(is.na(table[[name]]), "", each)
  })
  print(table, right = TRUE)
  for (note in attr(x, "notes")) writeLines(strwrap(note, 0.95 * getOption("width"), exdent = 2))
  invisible(x)
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.gp_anova <- function(x, ...) {
  as_tidy(model = row.names(x), df = x$df, AIC = x$AIC, BIC = x$BIC, logLik = x$logLik, statistic = x$L.Ratio,
          p.value = x[["p-value"]] %or% NA_real_)
}
