# Explains an approximated matrix: the parts of its formula, its levels, its work; also its lines in print().

#' @rdname explain
#' @export
explain.linear_op <- function(x, ...) {
  refuse_more(...)
  state <- approximation_of(x)
  if (is.null(state)) {
    abort("input", "`x` must be an operator that approximate() returned: of others, print() shows the algebra, and ",
          "explain() of a lazy tensor how its products are computed")
  }
  explained_state(state, x$dim)
}

explained_state <- function(state, extent) {
  plan <- plan_of_approximation(state)
  gpu <- gpu_of(call_options(state$tensor$settings))
  beside <- list(written = formula_text(state$tensor$formula, 100000L, 15), dim = extent, bytes = plan$bytes,
                 bound = state$used * plan$scale, certify = state$certify, stated = error_sentence(state, plan))
  levels <- plan$levels
  own <- if (!is.null(plan$parts)) list(parts = lapply(plan$parts, explained_state, extent))
         else list(formula = plan$formula, factors = plan$factors, no_series = plan$no_series,
                   levels = levels[levels$skipped + levels$far + levels$split > 0, ], near_pairs = plan$near_pairs,
                   precision = precision_beside(state, plan), gpu = gpu, work = work_of_product(state, plan, gpu))
  structure(c(beside, own), class = c("kernweave_explained_approximation", "kernweave_explanation"))
}

# Returns the work of a product in coefficients of series; a processor handles 1e9 to 1e10 coefficients a second.
work_of_product <- function(state, plan, gpu) {
  c(near = plan$near_pairs * prices_of_pairs(state, gpu)[1], series = sum(plan$levels$work))
}

quicker_approximation <- function(state) {
  paste0(if (state$certify == "proof") "`certify = \"audit\"` or ", "a larger `tol`")
}

#' @export
print.kernweave_explained_approximation <- function(x, digits = getOption("digits"), ...) {
  say_lines("as written", paste0("  ", few_digits(x$written, digits)))
  for (k in seq_along(x$parts)) {
    cat("--- summand ", k, " of ", length(x$parts), "\n", sep = "")
    print_plan(x$parts[[k]], digits)
  }
  if (is.null(x$parts)) print_plan(x, digits)
  say_lines("error", paste0("  ", x$stated))
  if (x$certify == "audit") cat("  expected to be about ", format(x$bound, digits = 3), " * sqrt(sum(b^2))\n", sep = "")
  invisible(x)
}

print_plan <- function(x, digits) {
  if (!is.null(x$parts)) return(for (part in x$parts) print_plan(part, digits))
  say_lines("formula of the squared distance s", paste0("  ", few_digits(x$formula, digits)))
  if (nzchar(x$factors)) say("  times factors ", x$factors, "\n")
  if (nzchar(x$no_series)) say("  ", x$no_series, ": pairs are left out or near\n")
  levels <- x$levels
  plain <- function(n) format(n, big.mark = ",", scientific = FALSE, trim = TRUE)
  shown <- data.frame(side = format(2 * levels$half, digits = 3), degrees = levels$degrees, terms = plain(levels$terms),
                      `left out` = levels$skipped, series = levels$far, split = levels$split,
                      `pairs by series` = plain(levels$far_pairs), check.names = FALSE)
  cells <- apply(rbind(names(shown), as.matrix(shown)), 2, format, justify = "right")
  cat("levels, with their classes of pairs of boxes\n")
  writeLines(paste0("  ", apply(cells, 1, paste, collapse = "  ")))
  say("near pairs\n  ", format(x$near_pairs / max(x$dim[1], 1), digits = 3, big.mark = ","), " a row, ",
      format(100 * x$near_pairs / max(prod(x$dim), 1), digits = 2), " % of all, in ", x$precision, "\n")
  share <- format(100 * x$work / max(sum(x$work), 1), digits = 1, scientific = FALSE, trim = TRUE)
  say("work of a product\n  ", share[1], " % near pairs, ", share[2], " % series; ", format(x$bytes / 2^20, digits = 2),
      " MB are kept", if (!is.null(x$gpu)) paste(", on GPU", x$gpu), "\n")
}

# Returns the lines of print() about an approximation.
approximation_text <- function(op) {
  state <- approximation_of(op)
  plan <- plan_of_approximation(state)
  levels <- plan$levels
  c(paste0("  approximates ", formula_text(state$tensor$formula, 400L)),
    paste0("  ", format(plan$near_pairs / max(op$dim[1], 1), digits = 3, big.mark = ","), " near pairs a row, ",
           format(sum(levels$far_pairs), big.mark = ",", scientific = FALSE), " pairs of boxes by series of up to ",
           max(levels$terms, 0), " terms, ", format(plan$bytes / 2^20, digits = 2), " MB"),
    paste0("  ", error_sentence(state, plan)))
}

error_sentence <- function(state, plan) {
  if (state$certify == "proof") {
    return(paste0("error <= ", format(state$used * plan$scale, digits = 3), " * sum|b| (proved)"))
  }
  if (!is_audited(state)) return(paste0("tol = ", format(state$tol), ", not audited yet"))
  paste0("relative error ", format(state$audit$error, digits = 2), " on ", state$audit$rows, " rows (audited; tol = ",
         format(state$tol), ")")
}
