# Test objects: class "htest" of base R, with the replicates or moments of the statistic under the null.

# Makes a test. `null`: list(p.value, replicates, exhaustive, moments).
as_test <- function(statistic, null, estimate, method, data.name, n, ...) {
  R <- length(null$replicates)
  out <- list(statistic = statistic, parameter = if (R) c(R = R) else c(n = n), p.value = null$p.value,
              estimate = estimate, method = method, data.name = data.name, n = n, replicates = null$replicates,
              moments = null$moments, exact = null$exact, accuracy = null$accuracy)
  out <- c(out, list(...))
  structure(out[!vapply(out, is.null, NA)], class = c("kernweave_test", "htest"))
}

# Adds the call, and the rows that na.action dropped.
with_call <- function(test, call, dropped = NULL) {
  call[[1]] <- as.name(sub("[.](default|formula)$", "", deparse1(call[[1]])))
  test$call <- call
  test$na.action <- dropped
  test
}

# Returns "999 permutations", "all 70 permutations", or "moments of all permutations".
null_text <- function(null, what = "permutations") {
  if (!is.null(null$exact)) return(null$exact)
  if (!is.null(null$moments)) return(paste("moments of all", what))
  if (null$exhaustive) return(paste("all", length(null$replicates), what))
  counted(length(null$replicates), sub("s$", "", what))
}

from_replicates <- function(statistic, replicates, exhaustive) {
  list(p.value = replicate_p(statistic, replicates, exhaustive), replicates = replicates, exhaustive = exhaustive)
}
# Returns the null by moments; statistic and moments are divided by `unit`. p-values below 1 / 1000 are not given, since
# Pearson's tail is not reliable there.
from_moments <- function(statistic, moments, unit = 1) {
  z <- (statistic - moments[["mean"]]) / sqrt(moments[["variance"]])
  list(p.value = max(1 / few_relabellings, pearson_tail(z, moments[["skewness"]])),
       moments = moments * c(unit, unit^2, 1), exhaustive = FALSE)
}
in_unit <- function(null, unit) {
  if (!is.null(null$replicates)) null$replicates <- null$replicates * unit
  if (!is.null(null$moments)) null$moments <- null$moments * c(unit, unit^2, 1)
  null
}

check_replicates <- function(R) check_count(R, "R")

# Checks points; at least one point is required.
tested_points <- function(x, argument, told = FALSE) {
  x <- complete_points(x, argument, told)
  if (!nrow(x)) abort("data", "`", argument, "` has no rows")
  x
}

# Returns codes of strata, checked.
check_strata <- function(strata, n, null) {
  if (is.null(strata)) return(NULL)
  if (null == "moments") abort("unsupported", "moments are those of all permutations; `strata` goes with permutations")
  if (length(strata) != n) abort("shape", "`strata` has ", counted(length(strata), "label"), " for ", counted(n, "row"))
  if (anyNA(strata)) abort("data", "`strata` has missing labels ", in_rows_text(which(is.na(strata))))
  as.integer(factor(strata))
}

check_distinct <- function(x, argument = NULL) {
  if (nrow(x) > 1 && any(apply(x, 2, function(v) any(v != v[1])))) return(invisible())
  abort("data", if (!is.null(argument)) paste0("`", argument, "`: "), "all ", nrow(x),
        " points are alike; there is nothing to compare")
}

#' Methods for tests
#'
#' Print and plot the tests of this package. The tests have class `htest`, like those of the stats package, so functions
#' that take an `htest` accept them.
#'
#' `update()` changes the call of a test, `found$call`, and tests again, as in `update(found, R = 9999)`.
#'
#' A test keeps the replicates or the moments of its statistic under the null hypothesis. `plot()` draws them together
#' with the observed statistic, and Pearson's type III curve of the same mean, variance and skewness.
#'
#' A permutation p-value counts the observed statistic among its replicates, so it is never 0. A p-value from moments is
#' never below 0.001, because the curve is not reliable there: use permutations for smaller p-values. If there are no
#' more than 1000 permutations, all of them are used instead, and the p-value is exact. Moments are not used either if
#' so many rows are equal that the statistic has few values. The p-value from the curve would then be too low, by about
#' half the step of the exact p-value at the observed statistic: see [hsic_test()].
#'
#' For many rows the moments are estimates. The printed test then has their accuracy: the relative error of the
#' variance, and the standard error of the skewness. A skewness that is off by 0.02 changes a p-value of 0.05 by less
#' than 0.001.
#'
#' @param x a test
#' @param digits significant digits
#' @param breaks,main,xlab as in [graphics::hist()]
#' @param ... more arguments of [graphics::hist()]
#' @return `x`, invisibly.
#' @seealso [mmd_test()], [energy_test()]
#' @concept hypothesis test
#' @concept null distribution
#' @concept permutation p-value
#' @name kernweave_test
#' @examples
#' set.seed(1)
#' found <- energy_test(iris[1:50, 1:4], iris[51:100, 1:4], R = 199)
#' found
#' plot(found)
NULL

#' @rdname kernweave_test
#' @export
print.kernweave_test <- function(x, digits = getOption("digits"), ...) {
  digits <- max(1L, digits - 2L)
  few_digits <- max(1L, digits - 2L)
  kernel <- if (length(x$kernel) > 1) paste("of", names(x$kernel), x$kernel, collapse = ", ") else x$kernel
  largest <- if (!is.null(x$kernels)) {
    k <- which.max(x$kernels$z)
    name <- if (is.character(attr(x$kernels, "row.names"))) paste0(", `", row.names(x$kernels)[k], "`")
    paste0(" of the largest z, ", format(x$kernels$z[k], digits = few_digits), name, ", number ", k, " of ",
           nrow(x$kernels))
  }
  say("\n\t", x$method, "\n\n", "data:  ", x$data.name, "\n",
      if (length(kernel)) paste0("kernel", largest, ": ", kernel, "\n"))
  numbers <- c(x$statistic, n = x$n, x$parameter[names(x$parameter) != "n"])
  shown <- paste(names(numbers), "=", vapply(numbers, format, "", digits = digits))
  p <- if (!is.null(x$moments) && is.null(x$exact) && x$p.value <= 1e-3) "< 0.001"
       else paste("=", format(x$p.value, digits = few_digits))
  say(paste(c(shown, paste("p-value", p)), collapse = ", "), "\n", left_out_text(x$na.action))
  if (!is.null(x$stderr)) {
    say("standard error of ", names(x$statistic), ", for its slices: ",
        if (isTRUE(x$stderr == 0)) "none, there is one direction" else format(x$stderr, digits = few_digits), "\n")
  }
  if (!is.null(x$accuracy)) {
    error <- function(part, name) {
      if (x$accuracy[[part]] == 0) paste("the", part, "is exact")
      else paste0(name, " error of the ", part, " ", format(x$accuracy[[part]], digits = 1))
    }
    say("accuracy of the moments: ", error("variance", "relative"), "   ", error("skewness", "standard"), "\n")
  }
  if (length(x$sizes)) say("groups: ", sizes_text(x$sizes), "\n")
  if (!is.null(x$alternative)) say("alternative hypothesis: ", x$alternative, "\n")
  if (!is.null(x$estimate)) {
    cat("sample estimates:\n")
    print(x$estimate, digits = digits, ...)
  }
  cat("\n")
  invisible(x)
}

# Returns "setosa (50), versicolor (50)"; if there are many groups, their number.
sizes_text <- function(sizes) {
  if (length(sizes) <= 8) return(paste0(names(sizes), " (", sizes, ")", collapse = ", "))
  paste0(length(sizes), ", of ", min(sizes), " to ", max(sizes), " rows")
}

#' @rdname kernweave_test
#' @param object a test; `summary()` returns it as it is
#' @export
summary.kernweave_test <- function(object, ...) object

#' @rdname kernweave_test
#' @export
plot.kernweave_test <- function(x, breaks = "FD", main = x$method, xlab = names(x$statistic), ...) {
  drawn(x, plot_data(x, breaks), main = main, xlab = xlab, ...)
}

# Plots the statistic, a histogram of the replicates, and the density of their moments.
#' @export
plot_data.kernweave_test <- function(object, breaks = "FD", ...) {
  statistic <- unname(object$statistic)
  moments <- object$moments
  if (is.null(moments)) {
    centred <- object$replicates - mean(object$replicates)
    variance <- mean(centred^2)
    moments <- c(mean = mean(object$replicates), variance = variance, skewness = mean(centred^3) / variance^1.5)
  }
  if (!isTRUE(moments[["variance"]] > 0)) abort("data", "plot(): all replicates are the same; there is nothing to draw")
  ends <- moments[["mean"]] + sqrt(moments[["variance"]]) * c(-2.5, 5)
  ends <- range(statistic, object$replicates, if (is.null(object$replicates)) ends)
  at <- seq(ends[1], ends[2], length.out = 400)
  curve <- pearson_density(at, moments)
  curve[!is.finite(curve) | curve <= 0] <- NA  # the density may be infinite at its end
  boxes <- if (!is.null(object$replicates)) {
    bins <- graphics::hist(object$replicates, breaks = breaks, plot = FALSE)
    data.frame(xmin = bins$breaks[-length(bins$breaks)], xmax = bins$breaks[-1], ymin = 0, ymax = bins$density)
  }
  picture(names(object$statistic), "Density", boxes = boxes, curve = data.frame(x = at, y = curve),
          upright = data.frame(x = statistic), main = object$method)
}
