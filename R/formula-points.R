# Formulas of some of the points or components of a formula.

take_points <- function(x, which, axis, name) {
  if (has_named_axes(x)) refuse_named_axes(operands_of(x$formula))
  names <- point_names(x, axis)
  rows <- positions(which, dim(x)[match(axis, c("i", "j"))], paste("points along", axis), names)
  if (!has_axis(x, axis)) {
    if (length(rows) != 1) abort("index", "the formula does not vary along ", axis, ": it has one point there")
    return(x)
  }
  # The points taken keep their names, since the row numbers have them.
  if (!is.null(names)) names(rows) <- names[rows]
  pairs <- Filter(function(operand) operand$axis == "pair", operands_of(x$formula))
  if (length(pairs)) {
    abort("unsupported", "points of a formula with the matrix of pairs `", pairs[[1]]$name,
          "` cannot be taken yet; take rows and columns of the matrix before Vij()")
  }
  take_points_by(x, axis, lazy_operand(new_operand(name, axis, 1L, "integer", rows)), rows)
}

# Takes points by an operand of row numbers.
take_points_by <- function(x, axis, operand, rows = operand$formula$args$data) {
  side <- match(axis, c("i", "j"))
  extent <- x$extent
  extent[side] <- length(rows)
  formula <- r_apply("Take", list(x$formula, operand$formula), side - 1L)
  new_lazy(formula, extent, x$settings, pairs_of_points(x$pairs, axis, rows, operand))
}

take_components <- function(x, which) {
  places <- positions(which, width(x), "components")
  if (!length(places)) abort("index", "at least one component must be taken")
  if (all(diff(places) == 1)) return(lazy_call("Extract", list(x), as.integer(c(places[1], length(places)))))
  lazy_call("Pick", list(x), as.integer(c(length(places), places)))
}

# Turns positive, negative or logical places among n, or names, into positive whole numbers. n may be unknown.
positions <- function(which, n, what, names = NULL) {
  if (is_traced(which)) abort("no_gradient", what, ": places that depend on what is differentiated have no gradient")
  if (is.character(which)) return(named_positions(which, what, names))
  if (!(is.numeric(which) || is.logical(which)) || is.object(which)) {
    abort("index", what, " must be given by numbers, logicals or names, not ", describe(which))
  }
  if (anyNA(which)) abort("index", what, ": NA is not a place")
  if (is.logical(which) && is.na(n)) abort("no_data", what, " by logicals need to know how many there are")
  if (is.logical(which) && length(which) != n) abort("index", what, ": ", length(which), " logicals for ", n)
  if (is.logical(which)) return(as.numeric(base::which(which)))
  broken <- is.infinite(which) | which != trunc(which)
  if (any(broken)) abort("index", what, " must be whole numbers, not ", format(which[broken][1]))
  if (length(which) && all(which <= 0)) {
    if (is.na(n)) abort("no_data", what, " to leave out need to know how many there are")
    return(as.numeric(seq_len(n)[which]))
  }
  if (any(which < 1)) abort("index", what, ": positive and other numbers do not mix")
  if (!is.na(n) && any(which > n)) abort("index", what, " go to ", n, "; there is no ",
                                             format(which[which > n][1], scientific = FALSE))
  as.numeric(which)
}

named_positions <- function(which, what, names) {
  if (is.null(names)) abort("index", what, " by names: they have none; give row names to the data")
  at <- match(which, names)
  if (anyNA(at)) {
    unknown <- which[is.na(at)][1]
    abort("index", what, ": none is named `", unknown, "`", near_hint(unknown, utils::head(names, 1000)))
  }
  as.numeric(at)
}
