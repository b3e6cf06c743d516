# Methods for grouped effects, as in lme4: predicted effects, their variances, and trend coefficients.

#' Grouped effects of Gaussian process fits
#'
#' Methods for fits by [gp_fit()] whose trend has grouped effects, such as `trend = ~ x + (1 | site)`: `ranef()`
#' predicts the effects, `VarCorr()` returns their variances and correlations, and `fixef()` the coefficients of the
#' trend. The generics are those of nlme, which lme4 has, too: write `nlme::ranef(fit)`, or `ranef(fit)` after
#' `library(nlme)` or `library(lme4)`.
#'
#' @section Model:
#' The `trend` may have grouped (random) effects as in lme4: `trend = ~ x + (1 | site)` adds an effect of each site,
#' normal with mean 0 and a variance that is estimated, independent between sites. `(x | site)` is an intercept and a
#' slope for each site, which are correlated; `(x || site)` are the same without correlation, `(0 + x | site)` is the
#' slope alone. `a:b` is the interaction of two factors, and `(1 | a/b)` is `(1 | a) + (1 | b:a)`. With `variance = 0`
#' the model is that of `lme4::lmer()` or, with a `family`, of `lme4::glmer(nAGQ = 0)`.
#'
#' The variances and correlations are estimated with the other covariance parameters, and `coef(fit, "covariance")`
#' includes them, as `variance.site` and `correlation.site.x`. `nlme::ranef()` predicts the effects and
#' `nlme::VarCorr()` tabulates their variances. Predictions include the effects; `re.form = NA` of
#' `predict()` leaves them out, and `allow.new.levels = TRUE` allows levels that the data do not have. Bounds and
#' starting values of [fit_control()] have the same names: `lower = c(variance.site = 0.1)`. A variance that ends at its
#' lower bound, 1e-8 times that of the response, is as good as 0, and there is a warning.
#'
#' @section Effects:
#' The effects of a level are predicted by their means given the data (best linear unbiased predictions), with the
#' covariance parameters at their estimates. As in lme4, their conditional variances take the trend coefficients as
#' known.
#'
#' @param object,x a fit by [gp_fit()], or what `ranef()` or `VarCorr()` returned
#' @param condVar return conditional variances of the effects, too?
#' @param sigma not used
#' @param digits significant digits
#' @param row.names,optional not used
#' @param ... not used
#' @return `ranef()`: a list with a data frame for each factor, with a row for each level. With `condVar` each data
#'   frame has an attribute `postVar`: an array with the covariance matrix of the effects of each level, or a list of
#'   arrays if the factor has several terms. `as.data.frame()` returns one row for each effect: `grpvar`, `term`, `grp`,
#'   `condval` and `condsd`.
#'
#'   `VarCorr()`: a list with a covariance matrix for each term, with attributes `stddev` and `correlation`.
#'   `as.data.frame()` returns `grp`, `var1`, `var2`, `vcov` and `sdcor`, with rows for the process and the nugget
#'   (`Residual`).
#' @seealso [gp_fit()], [predict.gp_fit()] for `re.form`
#' @concept random effects
#' @concept mixed model
#' @concept variance components
#' @name gp_fit-groups
#' @examplesIf requireNamespace("nlme", quietly = TRUE)
#' # ten sites, each visited at eight places, with an effect of the site beside the process
#' set.seed(1)
#' visits <- data.frame(site = gl(10, 8), x = runif(80), y = runif(80))
#' visits$z <- sin(6 * visits$x) + rnorm(10)[visits$site] + rnorm(80, sd = 0.3)
#' fit <- gp_fit(z ~ x + y, visits, trend = ~ (1 | site))
#' fit
#' nlme::VarCorr(fit)
#' nlme::ranef(fit)
#' predict(fit, visits[1:2, ], re.form = NA)
NULL

groups_of <- function(fit) {
  if (length(fit$trend$groups)) return(fit$trend$groups)
  abort("unsupported", "the fit has no grouped effects; gp_fit(trend = ~ (1 | site)) has those of `site`")
}

#' @rdname gp_fit-groups
#' @exportS3Method nlme::ranef
ranef.gp_fit <- function(object, condVar = TRUE, ...) {
  refuse_more(...)
  check_flag(condVar, "condVar")
  groups <- groups_of(object)
  model <- object$data
  parts <- group_parts(model, model$values)
  variances <- if (condVar) effect_variances(object, parts) else vector("list", length(parts))
  effects <- Map(function(term, values, variances) {
    list(values = structure(t(values), dimnames = list(term$levels, term$columns)), variances = variances)
  }, groups, effects_of_levels(object, parts), variances)
  factors <- vapply(groups, `[[`, "", "factor")
  out <- lapply(split(effects, factor(factors, unique(factors))), function(of) {
    table <- as.data.frame(do.call(cbind, lapply(of, `[[`, "values")), optional = TRUE)
    variances <- lapply(of, `[[`, "variances")
    if (condVar) attr(table, "postVar") <- if (length(of) == 1) variances[[1]] else unname(variances)
    table
  })
  structure(out, class = "ranef.gp_fit")
}

# Returns the effects of each level: for each term a matrix with a row for each regressor.
effects_of_levels <- function(fit, parts) {
  alpha <- model_alpha(fit)
  lapply(parts, function(part) {
    matrix(as.vector(for_levels(part$value, part$Z) %*% crossprod(part$Z, alpha)), nrow(part$value))
  })
}

# Returns posterior covariances of the effects of each level, for each term an array of r x r matrices. Standardised
# effects have elements of I - V'A^-1 V. Levels that are not `asked` are NA.
effect_variances <- function(fit, parts, asked = NULL) {
  before <- cumsum(c(0, vapply(parts, function(part) ncol(part$Z), 0)))
  at <- Map(function(part, before) {
    r <- nrow(part$value)
    first <- before + r * (seq_len(ncol(part$Z) / r) - 1)
    expand.grid(i = seq_len(r), j = seq_len(r), first = first)
  }, parts, before[-length(before)])
  all <- do.call(rbind, unname(at))
  entries <- rep(NA_real_, nrow(all))
  some <- which(unlist(Map(function(part, asked) rep(asked, each = nrow(part$value)^2), parts, asked)) %or%
                  rep(TRUE, nrow(all)))
  if (length(some)) {
    entries[some] <- entries_of_effects(kept_system(fit), group_effects(fit$data, fit$data$values)$V,
                                        (all$first + all$i)[some], (all$first + all$j)[some])
  }
  Map(function(part, entries) {
    r <- nrow(part$value)
    root <- root_of_covariance(part$value)
    own <- apply(matrix(entries, r^2), 2, function(x) crossprod(root, matrix(x, r) %*% root))
    array(own, c(r, r, length(entries) / r^2))
  }, parts, split(entries, rep(seq_along(at), vapply(at, nrow, 0L))))
}

# Returns elements [i, j] of I - V'A^-1 V.
entries_of_effects <- function(system, V, i, j) UseMethod("entries_of_effects")

#' @export
entries_of_effects.gp_system <- function(system, V, i, j) {
  V <- as.matrix(V)
  solved <- matrix(as.vector(solve(system, V)), nrow(V))
  (i == j) - unlist(in_row_blocks(length(i), size = 4096, function(k) {
    colSums(V[, i[k], drop = FALSE] * solved[, j[k], drop = FALSE])
  }))
}

#' @export
entries_of_effects.gp_linear <- function(system, V, i, j) {
  as.vector(inverse_blocks(system$root, Matrix::sparseMatrix(i, j, x = 1, dims = rep(ncol(V), 2)))[cbind(i, j)])
}

# The preconditioner M gives I - V'M^-1 V exactly; random signs estimate V'(A^-1 - M^-1) V, which is small.
#' @export
entries_of_effects.gp_products <- function(system, V, i, j) {
  P <- system$preconditioner$P
  effects <- system$products$effects
  if (!identical(P$effects, effects)) {  # M belongs to other parameters
    P <- preconditioner(beside_effects(system$products$K, effects), system$noise, like = P)
  }
  q <- ncol(V)
  places <- sort(unique(j))
  known <- unlist(in_row_blocks(length(places), size = 512, function(rows) {
    columns <- places[rows]
    unit <- matrix(0, q, length(columns))
    unit[cbind(columns, seq_along(columns))] <- 1
    mine <- which(j %in% columns)
    stats::setNames(solve(P, unit, effects = TRUE)[cbind(i[mine], match(j[mine], columns))], mine)
  }))
  signs <- private_signs(q, system$control$probes, system$control$seed %or% 1)
  sides <- as.matrix(effects %*% signs)
  left <- as.matrix(crossprod(effects, matrix(as.vector(solve(system, sides)), nrow(V)) - solve(P, sides)))
  both <- (left[i, , drop = FALSE] * signs[j, , drop = FALSE] + left[j, , drop = FALSE] * signs[i, , drop = FALSE]) / 2
  known[order(as.numeric(names(known)))] - rowMeans(both)
}

#' @export
entries_of_effects.gp_weighed <- function(system, V, i, j) entries_of_effects(system$of, V, i, j)

#' @rdname gp_fit-groups
#' @export
as.data.frame.ranef.gp_fit <- function(x, row.names = NULL, optional = FALSE, ...) {
  refuse_more(...)
  do.call(rbind, c(lapply(names(x), function(name) {
    table <- x[[name]]
    variances <- attr(table, "postVar")
    each <- if (is.list(variances)) variances else list(variances)
    sd <- lapply(each, function(V) t(matrix(sqrt(apply(V, 3, function(v) diag(as.matrix(v)))), ncol = nrow(table))))
    data.frame(grpvar = name, term = rep(names(table), each = nrow(table)), grp = rep(rownames(table), ncol(table)),
               condval = unlist(table, use.names = FALSE), condsd = if (is.null(variances)) NA_real_ else unlist(sd))
  }), make.row.names = FALSE))
}

#' @rdname gp_fit-groups
#' @export
print.ranef.gp_fit <- function(x, digits = 4, ...) {
  for (name in names(x)) {
    say("$", name, "\n")
    print(x[[name]], digits = digits, ...)
    cat("\n")
  }
  invisible(x)
}

#' @rdname gp_fit-groups
#' @exportS3Method nlme::fixef
fixef.gp_fit <- function(object, ...) coef(object)

#' @rdname gp_fit-groups
#' @exportS3Method nlme::VarCorr
VarCorr.gp_fit <- function(x, sigma = 1, ...) {
  refuse_more(...)
  groups <- groups_of(x)
  values <- x$data$values
  out <- Map(function(term, index) {
    G <- group_covariance(term, values$groups[index])$value
    names <- list(term$columns, term$columns)
    sd <- stats::setNames(sqrt(diag(G)), term$columns)
    structure(G, dimnames = names, stddev = sd, correlation = structure(G / outer(sd, sd), dimnames = names))
  }, groups, group_index(groups))
  names(out) <- make.unique(vapply(groups, `[[`, "", "factor"))
  structure(out, process = if (x$variance > 0) x$variance, sc = if (is.null(x$family)) x$sigma,
            class = "VarCorr.gp_fit")
}

#' @rdname gp_fit-groups
#' @export
as.data.frame.VarCorr.gp_fit <- function(x, row.names = NULL, optional = FALSE, ...) {
  refuse_more(...)
  row <- function(grp, var1, var2, vcov, sdcor) data.frame(grp, var1, var2, vcov, sdcor)
  each <- lapply(names(x), function(name) {
    G <- x[[name]]
    at <- partial_places(nrow(G))
    first <- vapply(at, `[`, 0L, 2)
    second <- vapply(at, `[`, 0L, 1)
    both <- cbind(second, first)
    names <- rownames(G)
    rbind(row(name, names, NA, diag(G), attr(G, "stddev")),
          if (length(at)) row(name, names[first], names[second], G[both], attr(G, "correlation")[both]))
  })
  beside <- list(process = attr(x, "process"), Residual = attr(x, "sc")^2)
  beside <- lapply(names(beside)[lengths(beside) > 0], function(name) {
    row(name, NA, NA, beside[[name]], sqrt(beside[[name]]))
  })
  do.call(rbind, c(each, beside, make.row.names = FALSE))
}

#' @rdname gp_fit-groups
#' @export
print.VarCorr.gp_fit <- function(x, digits = 4, ...) {
  table <- as.data.frame(x)
  own <- is.na(table$var2)
  shown <- data.frame(Groups = table$grp, Name = ifelse(is.na(table$var1), "", table$var1), Variance = table$vcov,
                      `Std.Dev.` = table$sdcor, check.names = FALSE)[own, ]
  print(shown, digits = digits, row.names = FALSE, ...)
  if (any(!own)) {
    cat("\n")
    print(data.frame(Groups = table$grp, Name = paste(table$var1, table$var2, sep = ", "), Corr = table$sdcor)[!own, ],
          digits = digits, row.names = FALSE, ...)
  }
  invisible(x)
}
