# Kinds of variables: factors, numbers, dates, times and durations, which new data have as the fit has them.

# Returns the variables of terms with n rows, which new data must have, too, and their `kinds`. Other variables are
# constants, such as knots and powers, and are found in the environment of the formula.
columns_of_data <- function(terms, data, n) {
  where <- if (is.environment(data)) data else environment(terms)
  columns <- if (is.list(data)) names(data)
  found <- lapply(stats::setNames(nm = all.vars(terms)), function(name) {
    if (name %in% columns) data[[name]] else get0(name, where)
  })
  found <- found[names(found) %in% columns | vapply(found, NROW, 0L) == n]
  structure(names(found), kinds = kinds_of(found))
}

# Refuses factors for variables that were numeric, and the reverse.
check_kinds <- function(frame, levels, argument) {
  for (name in names(frame)) {
    texts <- is.factor(frame[[name]]) || is.character(frame[[name]])
    if (texts == is.null(levels[[name]])) {
      refuse_kind(name, if (texts) "numbers" else "a factor", frame[[name]], argument, if (!texts) "as.factor()")
    }
  }
}

refuse_kind <- function(name, was, v, argument, maker = NULL) {
  abort("input", "`", name, "` was ", was, " in the ", if (argument == "newdata") "fit" else "points beside it",
        ", and is ", describe(v), " in `", argument, "`", if (!is.null(maker)) paste0("; ", maker, " makes it one"))
}

# --- dates, times and durations -----------------------------------------------------------------------------

# Returns "Date", "POSIXct" or "difftime", or "" for other values.
time_class <- function(v) c(intersect(c("Date", "POSIXct", "difftime"), class(v)), "")[1]

# Returns an empty vector of the class and unit of each variable that is numbers, dates, times or durations.
kinds_of <- function(variables) {
  lapply(Filter(function(v) is.numeric(v) || nzchar(time_class(v)), variables), function(v) unname(v[0]))
}

with_kinds <- function(frame, kinds, argument) {
  for (name in intersect(names(frame), names(kinds))) {
    frame[[name]] <- as_kind(frame[[name]], kinds[[name]], name, argument)
  }
  frame
}

# Converts dates, times and durations to the class and unit of `kind`: dates, which may have fractions, and times by the
# clock of their zone.
as_kind <- function(v, kind, name, argument) {
  classes <- c(time_class(v), time_class(kind))
  if (is.null(kind) || !any(nzchar(classes))) return(v)
  if (is.logical(v) && all(is.na(v))) return(kind[rep(NA_integer_, length(v))])
  if (all(classes == "difftime")) units(v) <- units(kind)
  if (classes[1] == classes[2]) return(v)
  if (!setequal(classes, c("Date", "POSIXct"))) {
    if (!nzchar(classes[2])) refuse_kind(name, "numbers", v, argument)
    refuse_kind(name, describe(kind), v, argument, paste0("as.", classes[2], "()"))
  }
  dated <- classes[2] == "Date"
  clock <- as.POSIXlt(if (dated) v else .POSIXct(as.numeric(v) * 86400, "UTC"))
  at <- ISOdatetime(clock$year + 1900, clock$mon + 1, clock$mday, clock$hour, clock$min, clock$sec,
                    if (dated) "UTC" else attr(kind, "tzone")[1] %or% "")
  if (dated) structure(as.numeric(at) / 86400, class = "Date") else at
}
