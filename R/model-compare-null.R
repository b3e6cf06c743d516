# Tests for which chi-square does not hold: the exact null distribution of the likelihood ratio of a variance, by
# eigenvalues, and the parametric bootstrap; drop1() and add1().

# Returns a p-value, the share of drawn ratios >= `ratio`. Ratios at a bound have errors, so ratios < 1e-3 count as 0.
share_as_large <- function(drawn, ratio) {
  drawn <- drawn[!is.na(drawn)]
  (1 + sum(pmax(drawn, 1e-3) >= max(ratio, 1e-3))) / (length(drawn) + 1)
}

# Draws likelihood ratios of a process with a known kernel, or of one grouped effect, against none, under the null. The
# ratio is a maximum over lambda = variance / nugget of a function of chi-square variables, weighted by the eigenvalues
# mu of the matrix with the trend projected out; its determinant has the eigenvalues xi of the matrix.
exact_null <- function(small, large, draws) {
  model <- large$data
  n <- length(model$y)
  root <- sqrt(model$w)
  plain <- if (length(model$groups)) tcrossprod(as.matrix(group_columns(model$groups[[1]], model$z)))
           else unname(as.matrix(gp_pairs(model, gp_numbers(model, model$values))))
  K <- root * t(root * plain)
  F <- root * large$regressors$F[model$rows, , drop = FALSE]
  p <- ncol(F)
  apart <- if (p) qr.Q(qr(F), complete = TRUE)[, -seq_len(p), drop = FALSE] else diag(n)
  mu <- eigen(crossprod(apart, K %*% apart), symmetric = TRUE, only.values = TRUE)$values
  xi <- if (is_reml(model)) mu else eigen(K, symmetric = TRUE, only.values = TRUE)$values
  keep <- mu > 1e-10 * mu[1]
  of <- list(mu = mu[keep], xi = xi[xi > 1e-10 * xi[1]], left = n - p - sum(keep),
             q = p - ncol(small$regressors$F))
  known <- !"nugget" %in% model$layout$part
  each <- diff(round(seq(0, draws, length.out = 1 + ceiling(draws * length(mu) / 1e6))))
  unlist(lapply(each, drawn_ratios, of, gp_rows(model), known))
}

# Draws `draws` ratios. `known`: whether the nugget is known.
drawn_ratios <- function(draws, of, rows, known) {
  squares <- matrix(stats::rchisq(draws * length(of$mu), 1), draws)
  left <- if (of$left > 0) stats::rchisq(draws, of$left) else 0
  more <- if (of$q > 0) stats::rchisq(draws, of$q) else 0
  all <- rowSums(squares) + left
  lambda <- exp(seq(log(1e-4), log(1e10), length.out = 200)) / of$mu[1]
  shrunk <- squares %*% (1 / (1 + outer(of$mu, lambda))) + left
  logs <- colSums(log1p(outer(of$xi, lambda)))
  gain <- if (known) all - shrunk else rows * log(all / shrunk)
  best <- pmax(apply(gain - rep(logs, each = draws), 1, max), 0)
  best + if (known) more else rows * log1p(more / all)
}

# --- simulated responses --------------------------------------------------------------------------------------

by_bootstrap <- function(small, large, ratio, R, seed) {
  refuse_responses(small, "anova(test = \"boot\")", "AIC() and elpd() compare fits of several")
  if (!small$data$dense || !large$data$dense) {
    abort("unsupported", "test = \"boot\" refits ", 2 * R, " times, for up to ", large$control$dense_n, " rows of ",
          "fit_control(dense_n = ), and there are ", length(large$data$y))
  }
  begin_work("anova()", steps = R, quicker = "a smaller `R`",
             expected = R * (small$convergence$seconds / 3 + large$convergence$seconds), whole = TRUE)
  on.exit(end_work("anova()"))
  y <- response_of(small)
  inside <- nesting(small, large)$kind == "inside"
  small$na.action <- NULL
  drawn <- data.matrix(simulate(small, R, seed = seed, conditional = FALSE))
  ratios <- vapply(seq_len(R), function(k) {
    on.exit(step_work("anova()", paste("refit", k)))
    new <- ifelse(is.finite(drawn[, k]), drawn[, k], as.vector(y))  # rows of weight 0 stay
    each <- c(refitted_value(small, new), refitted_value(large, new, from = inside))
    if (!isTRUE(diff(each) >= 0)) each[2] <- max(-Inf, each[2], refitted_value(large, new, !inside), na.rm = TRUE)
    if (all(is.finite(each))) 2 * diff(each) else NA_real_
  }, 0)
  lost <- sum(is.na(ratios))
  list(p = share_as_large(ratios, ratio),
       note = paste0("p-value from ", R - lost, " responses simulated by the smaller fit",
                     if (lost) paste0("; ", lost, " more could not be fitted")))
}

# Returns the likelihood of a fit to another response, NA if there is none. With `from` the search starts at the fit's
# estimates, with a nugget at its bound raised to a tenth of the variance; without, or if another estimate is at a
# bound, it starts at several values. The likelihood of a response without a process has several maxima, and the fit's
# estimates may lead to a lower one.
refitted_value <- function(fit, y, from = TRUE) {
  model <- fit$data
  fit$control[c("tol", "max_iter")] <- list(1e-2, 40)  # to a hundredth of a standard error
  inner <- !length(setdiff(fit$at_bound, "nugget"))
  start <- if (from && nrow(model$layout) && inner) gp_estimates(model$values, model$layout)
  if (!is.null(start) && "nugget" %in% fit$at_bound) start["nugget"] <- max(start["nugget"], fit$variance / 10)
  value <- function() {
    tryCatch(as.numeric(logLik(refitted(fit, y, start = start))), kernweave_error = function(e) NA_real_)
  }
  suppressMessages(suppressWarnings(value(), classes = "kernweave_warning"))
}

# --- terms ----------------------------------------------------------------------------------------------------

#' @rdname compare-fits
#' @importFrom stats drop1
#' @export
drop1.gp_fit <- function(object, scope, test = c("Chisq", "none"), ...) {
  if ("trace" %in% ...names()) {
    abort("unsupported", "step() changes the formula of the kernel; drop1() and add1() try terms of the trend, and ",
          "update(fit, trend = ~ . - term) takes one")
  }
  refuse_more(...)
  test <- choice_of(test[1], c("Chisq", "none"), "test")
  parts <- kernel_parts(object$data$kernel)
  scaled <- parts$ard && is.null(parts$op) && "scale" %in% object$data$layout$name && object$variance > 0
  own <- if (scaled && !is.null(object$formula) && length(object$names) > 1) object$names
  named <- if (!missing(scope)) {
    if (is.character(scope)) scope else attr(stats::terms(stats::as.formula(scope)), "term.labels")
  }
  inputs <- if (missing(scope)) own else intersect(own, sub("^scale[.]", "", named))
  terms <- if (missing(scope)) stats::drop.scope(object$trend$terms)
           else dropped_terms(object, setdiff(named, c(inputs, sprintf("scale.%s", inputs))), sprintf("scale.%s", own))
  if (!length(c(terms, inputs))) {
    abort("input", "the trend ", trend_text(object), " has no terms to drop, and the kernel no inputs with ",
          "scales of their own")
  }
  object <- by_likelihood(object, "drop1()")
  where <- fit_frame(object, parent.frame())
  trends <- lapply(terms, function(term) call_of_trend(object, paste(". ~ . -", term)))
  kernels <- lapply(inputs, function(input) {
    stats::update(object, stats::as.formula(paste(". ~ . -", input)), evaluate = FALSE)
  })
  fits <- lapply(c(trends, kernels), evaluated_fit, where)
  term_table(object, fits, c(terms, sprintf("scale.%s", inputs)), -1, test, "Single term deletions")
}

#' @rdname compare-fits
#' @importFrom stats add1
#' @export
add1.gp_fit <- function(object, scope, test = c("Chisq", "none"), ...) {
  refuse_more(...)
  test <- choice_of(test[1], c("Chisq", "none"), "test")
  if (missing(scope)) abort("input", "`scope` is not given: the terms to try, as in add1(fit, ~ . + mag)")
  if (!is.character(scope) && !"." %in% all.vars(scope)) {
    abort("input", "`scope` has no dot for the terms that the trend has: say ~ . + ",
          deparse1(scope[[length(scope)]]))
  }
  terms <- if (is.character(scope)) scope
           else stats::add.scope(object$trend$terms, changed_trend(object, scope))
  if (!length(terms)) abort("input", "`scope` has no term that the trend has not")
  object <- by_likelihood(object, "add1()")
  where <- fit_frame(object, parent.frame())
  fits <- lapply(terms, function(term) evaluated_fit(call_of_trend(object, paste(". ~ . +", term)), where))
  term_table(object, fits, terms, 1, test, "Single term additions")
}

by_likelihood <- function(object, what) {
  if (object$method == "ML") return(object)
  tell("kernweave: ", what, " refits by maximum likelihood, since restricted likelihoods of different trends are ",
       "not comparable")
  refitted(object, method = "ML")
}

call_of_trend <- function(object, change) {
  call <- kept_call(object)
  call$trend <- changed_trend(object, change)
  call
}

# Checks names of terms of the trend; `others`: other terms that can be dropped.
dropped_terms <- function(object, terms, others) {
  known <- attr(object$trend$terms, "term.labels")
  unknown <- setdiff(terms, known)
  if (length(unknown)) {
    abort("input", "the trend has no term `", unknown[1], "`",
          near_hint(unknown[1], c(known, others), there_are(c(known, others))))
  }
  terms
}

# Tabulates fits as stats::drop1() does, with no p-value if a scale would be infinite.
term_table <- function(object, fits, labels, sign, test, heading) {
  for (k in seq_along(fits)) refuse_other_data(object, fits[[k]], c("the fit", labels[k]))
  all <- c(list(object), fits)
  values <- lapply(all, logLik)
  df <- vapply(values, attr, 0, "df")
  table <- data.frame(Df = c(NA, sign * (df[-1] - df[1])), AIC = vapply(values, stats::AIC, 0),
                      row.names = c("<none>", labels))
  found <- lapply(seq_along(fits), function(k) {
    both <- if (sign < 0) c(k + 1, 1) else c(1, k + 1)  # the smaller fit first
    ratio <- likelihood_ratio(all[[both[1]]], all[[both[2]]], values[both])
    c(ratio, by_theory(all[[both[1]]], all[[both[2]]], ratio, table$Df[k + 1], NULL))
  })
  if (test != "none") {
    linear <- all(vapply(found, function(one) !is.null(one$f), NA))
    table[[if (linear) "F value" else "LRT"]] <- c(NA, vapply(found, `[[`, 0, if (linear) "f" else "ratio"))
    table[[if (linear) "Pr(>F)" else "Pr(>Chi)"]] <- c(NA, vapply(found, `[[`, 0, "p"))
  }
  notes <- unlist(lapply(seq_along(found), function(k) {
    if (!is.null(found[[k]]$note) && is.null(found[[k]]$f)) paste0(labels[k], ": ", found[[k]]$note)
  }))
  structure(table, heading = c(heading, paste0("\nTrend: ", trend_text(object)), notes),
            class = c("gp_terms", "anova", "data.frame"))
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.gp_terms <- function(x, ...) {
  refuse_more(...)
  as_tidy(term = row.names(x), df = x$Df, AIC = x$AIC, statistic = x$LRT %or% x[["F value"]] %or% NA_real_,
          p.value = x[["Pr(>Chi)"]] %or% x[["Pr(>F)"]] %or% NA_real_)
}
