# audit(): computes some rows of a result again, as written and in float64.

#' Check a result on random rows
#'
#' `audit()` recomputes randomly chosen rows of a result on the device `"reference"`: as the formula is written, in
#' float64, in two plain loops. Use it to measure the error of single precision, of a GPU, of an approximation or of an
#' iterative solver, without computing the whole result twice.
#'
#' The reported error is the largest among `rows` random rows. With 95 % confidence, a larger error occurs in at most a
#' share of `1 - 0.05^(1 / rows)` of all rows: 9 % for 32 rows.
#'
#' For an approximation, `audit()` checks a product and reports the error of the worst row. The tolerance `tol` of
#' [approximate()] bounds only the root mean square error over all rows, so the error of the worst of many rows may be
#' several times larger.
#'
#' @param x a lazy reduction, as from `reduction(call = FALSE)`, that keeps one axis; an operator made by
#'   [approximate()]; or the result of [solve()][solve.lazy_tensor] with `report = TRUE`, whose residual is then checked
#' @param rows number of rows to check: by default 32, for an approximation 300
#' @param seed a whole number; by default, R's random number generator draws it
#' @param ... not used
#' @return An object of class `kernweave_audit`: a list with `error`, the largest error relative to the largest number
#'   in these rows, the `rows` checked, and the `share` of rows that may have a larger error.
#' @seealso [solve()][solve.lazy_tensor], [reduction()]
#' @concept accuracy
#' @concept numerical error
#' @export
#' @examples
#' x <- matrix(runif(6600), 2200)
#' K <- lazy_set(exp(-sqdist(Vi(x), Vj(x))), precision = "float32")
#' audit(sum(K, index = "j", call = FALSE))
#' audit(solve(kernel_matern(x, x, 0.1), rnorm(2200), ridge = 0.1, report = TRUE))
audit <- function(x, rows = 32, seed = NULL, ...) UseMethod("audit")

#' @rdname audit
#' @export
audit.lazy_reduction <- function(x, rows = 32, seed = NULL, ...) {
  refuse_more(...)
  if (has_batches(x) || !is.null(x$groups) || length(x$outputs) != 1 || !x$outputs[[1]]$keep %in% c("i", "j")) {
    abort("unsupported", "audit() needs a reduction that keeps one axis")
  }
  x$drop <- NULL
  result <- as.matrix(x)
  if (is.list(result)) result <- result$value
  at <- audited_rows(NROW(result), rows, seed)
  exact <- run_reduction(rows_of_reduction(x, at))
  if (is.list(exact)) exact <- exact$value
  given <- matrix(result, NROW(result))[at, , drop = FALSE]
  audited(max(abs(given - matrix(exact, length(at))), 0) / max(abs(exact), .Machine$double.xmin), at, NROW(result))
}

#' @rdname audit
#' @export
audit.default <- function(x, rows = 32, seed = NULL, ...) {
  refuse_more(...)
  system <- attr(x, "report")$system
  if (is.null(system)) {
    abort("input", "`x` must be a lazy reduction, or what approximate() or solve(report = TRUE) returned, not ",
          describe(x))
  }
  b <- system$b
  at <- audited_rows(nrow(b), rows, seed)
  x <- matrix(x, nrow(b))
  K <- lazy_set(take_points(system$K, at, "i", "rows"), device = "reference", precision = "float64")
  exact <- K %*% x + system$ridge[at] * x[at, , drop = FALSE]
  if (!is.null(system$trend)) exact <- exact + system$trend[at, , drop = FALSE] %*% system$coefficients
  audited(max(abs(exact - b[at, , drop = FALSE])) / sqrt(max(colMeans(b^2))), at, nrow(b))
}

audited_rows <- function(n, rows, seed) {
  rows <- min(check_count(rows, "rows"), n)
  if (n == 0) abort("input", "there are no rows to check")
  as.numeric(sort(random_order(n, check_seed(seed))[seq_len(rows)]))
}

# Restricts a reduction to some points of its kept axis, for the reference device.
rows_of_reduction <- function(R, at) {
  output <- R$outputs[[1]]
  side <- match(output$keep, c("i", "j"))
  places <- lazy_operand(new_operand("rows", output$keep, 1L, "integer", at))
  taken <- function(formula) if (!is.null(formula)) r_apply("Take", list(formula, places$formula), side - 1L)
  output$value <- taken(output$value)
  output["weight"] <- list(taken(output$weight))
  extent <- R$extent
  extent[side] <- length(at)
  settings <- R$settings
  settings[c("device", "precision")] <- list("reference", "float64")
  new_reduction(list(output), extent, settings, pairs_of_points(R$pairs, output$keep, at, places))
}

audited <- function(error, rows, n) {
  share <- if (length(rows) < n) 1 - 0.05^(1 / length(rows)) else 0
  structure(list(error = error, rows = rows, share = share, of = n), class = "kernweave_audit")
}

#' @export
print.kernweave_audit <- function(x, ...) {
  say("<audit> largest relative error ", format(x$error, digits = 2), " on ", format(length(x$rows), big.mark = ","),
      " of ", count_text(x$of, "row"), if (x$share) {
        paste0("; at most ", format(100 * x$share, digits = 2), " % of all may be worse, with 95 % confidence")
      }, "\n")
  invisible(x)
}
