# Functions that choose among traced values by comparing them: extremes, order, ifelse(). The present values decide; the
# first of equal values wins.

choosing_functions <- list(
  max = function(..., na.rm = FALSE) extreme(base::max, which.max, ..., na.rm = na.rm),
  min = function(..., na.rm = FALSE) extreme(base::min, which.min, ..., na.rm = na.rm),

  range = function(..., na.rm = FALSE) {
    if (highest_level(list(...)) == 0L) return(base::range(..., na.rm = na.rm))
    join(list(overlay$min(..., na.rm = na.rm), overlay$max(..., na.rm = na.rm)))
  },

  pmax = function(..., na.rm = FALSE) extremes(base::pmax, ..., na.rm = na.rm),
  pmin = function(..., na.rm = FALSE) extremes(base::pmin, ..., na.rm = na.rm),

  # Evaluates a side only if some element of `test` needs it, as base R does.
  ifelse = function(test, yes, no) {
    test <- plain_value(test)
    sides <- list(if (any(as.logical(test), na.rm = TRUE)) yes else NA,
                  if (any(!as.logical(test), na.rm = TRUE)) no else NA)
    if (highest_level(sides) == 0L) return(base::ifelse(test, sides[[1]], sides[[2]]))
    if (length(test) == 1L && !is.na(test) && is.null(attributes(test))) return(take(sides[[if (test) 1 else 2]], 1L))
    arranged(sides, function(at) base::ifelse(test, at[[1]], at[[2]]))
  }
)

# Takes the element that wins among all elements of all parts.
extreme <- function(f, which_one, ..., na.rm) {
  parts <- list(...)
  if (highest_level(parts) == 0L) return(f(..., na.rm = na.rm))
  sizes <- lengths(parts)
  value <- unlist(lapply(parts, plain_value), use.names = FALSE)
  if (!length(value) || na.rm && all(is.na(value))) return(f(value, na.rm = na.rm))
  at <- if (anyNA(value) && !na.rm) which(is.na(value))[1] else which_one(value)
  part <- which.max(cumsum(sizes) >= at)
  if (is_traced(parts[[part]])) take(parts[[part]], at - sum(sizes[seq_len(part - 1L)])) else take(join(parts), at)
}

# Goes from the last argument to the first, so that the first of equal extremes wins.
extremes <- function(f, ..., na.rm) {
  parts <- list(...)
  if (highest_level(parts) == 0L) return(f(..., na.rm = na.rm))
  values <- lapply(parts, plain_value)
  winner <- do.call(f, base::c(values, na.rm = na.rm))
  arranged(parts, function(at) {
    chosen <- rep_len(NA_integer_, length(winner))
    for (k in rev(seq_along(at))) {
      value <- rep_len(values[[k]], length(winner))
      wins <- (value == winner) %in% TRUE | is.na(value) & is.na(winner)
      chosen[wins] <- rep_len(at[[k]], length(winner))[wins]
    }
    attributes(chosen) <- attributes(winner)
    chosen
  })
}

#' @export
Summary.kernweave_traced <- function(..., na.rm = FALSE) {
  if (.Generic %in% c("any", "all")) {
    abort("no_gradient", .Generic, "() of numbers is no number: write the comparison out")
  }
  get(.Generic, overlay)(..., na.rm = na.rm)
}

#' @export
sort.kernweave_traced <- function(x, decreasing = FALSE, na.last = NA, ...) {
  take(x, places_of(x)[order(plain_value(x), decreasing = decreasing, na.last = na.last)])
}

#' @export
unique.kernweave_traced <- function(x, ...) {
  first <- !duplicated(plain_value(x))
  if (is.matrix(x)) x[first, , drop = FALSE] else take(x, which(first))
}

#' @export
median.kernweave_traced <- function(x, na.rm = FALSE, ...) {
  value <- plain_value(x)
  n <- length(value)
  if (!n || anyNA(value) && !na.rm) return(take(x, NA_integer_))
  at <- order(value, na.last = NA)
  half <- (length(at) + 1L) / 2
  mean(take(x, unique(at[c(floor(half), ceiling(half))])))
}
