# Checks of arguments that many functions have.

check_flag <- function(flag, argument) {
  if (isTRUE(flag) || isFALSE(flag)) return(invisible())
  interval <- argument == "se.fit" && is_word(flag) && flag %in% c("confidence", "prediction")
  abort("input", "`", argument, "` must be TRUE or FALSE, not ", format_value(flag),
        if (interval) paste0("; did you mean `interval = \"", flag, "\"`?"))
}

# Refuses points given as another argument: predict() takes points second, simulate() takes `newdata` by name.
refuse_points <- function(value, argument) {
  if (is.null(dim(value)) && !is.list(value)) return(invisible())
  abort("input", "`", argument, "` is ", describe(value), "; new data are given by their name, `newdata = `")
}

is_whole <- function(n, least, most = Inf) {
  is.numeric(n) && length(n) == 1 && is.finite(n) && n == round(n) && n >= least && n <= most
}
is_word <- function(x) is.character(x) && length(x) == 1 && !is.na(x) && nzchar(x)

check_count <- function(n, argument, class = "input", least = 1) {
  if (!is_whole(n, least, .Machine$integer.max)) {
    abort(class, "`", argument, "` must be a whole number of at least ", least, ", not ", format_value(n))
  }
  as.integer(n)
}

check_level <- function(level) {
  if (is.numeric(level) && length(level) == 1 && isTRUE(level > 0 && level < 1)) return(invisible())
  abort("value", "`level` must be a number between 0 and 1, not ", format_value(level))
}

check_tolerance <- function(tol) {
  if (!is.numeric(tol) || length(tol) != 1 || is.na(tol) || tol <= 0 || tol >= 1) {
    abort("input", "`tol` must be a number between 0 and 1, not ", format_value(tol))
  }
}

# Checks parameters, which are given by names or by numbers.
check_parm <- function(parm, argument = "parm") {
  level <- is.numeric(parm) && length(parm) == 1 && isTRUE(parm > 0 && parm < 1)
  if ((is.character(parm) || is.numeric(parm)) && !level) return(invisible())
  abort("input", "`", argument, "` must be names or numbers of parameters, not ", format_value(parm),
        if (level) paste0("; did you mean `level = ", format(parm), "`?"))
}

check_size <- function(n, argument, of = "rows") {
  if (!is_traced(n) && is_whole(n, 0)) return(as.numeric(n))
  abort("input", "`", argument, "` must be a number of ", of, ", not ", format_value(n))
}

guard_size <- function(extent, width, of, instead) {
  needed <- prod(extent, width) * 8 / 2^20
  limit <- option("max_dense_mb")
  if (needed <= limit) return(invisible())
  abort("memory", "as.matrix() would take ", format(needed, digits = 3), " MB for ", extent[1], " x ", extent[2], " ",
        of, "; the limit is ", limit, " MB. ", instead, " or raise options(kernweave.max_dense_mb = )")
}

positive_number <- function(value, argument) {
  plain <- is.numeric(value) && length(value) == 1 && !inherits(value, "units")
  if (plain && is.finite(value) && value > 0) return(as.vector(value, "double"))
  abort("value", "`", argument, "` must be a positive number, not ", format_value(value))
}

# Numbers from 1 to n at equal steps: all, or at most `most`.
evenly_spaced <- function(n, most) unique(round(seq(1, n, length.out = min(n, most))))

check_given <- function(x, argument) {
  if (missing(x)) not_given(argument)
  invisible(found_variables(x, NULL, paste0("`", argument, "`")))
}

# Turns the error of a variable that does not exist into a classed error, with the nearest name.
found_variables <- function(value, data, place = "the formula") {
  withCallingHandlers(value, error = function(e) {
    if (inherits(e, "kernweave_error")) return()
    said <- message_of(e)
    absent <- regmatches(said, regexpr("(?<=object ').*(?=' not found)", said, perl = TRUE))
    hint <- if (length(absent) && is.data.frame(data)) near_hint(absent, names(data))
    if (length(absent) && place == "`newdata`") abort("input", "`newdata` has no variable `", absent, "`", hint)
    abort("input", "in ", place, ": ", said, hint)
  })
}
