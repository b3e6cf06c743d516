# Matching of new data to a fit, and of a second set of points to the first: variables must be the same.

# Converts points to numbers with the variables and levels of `like`.
points_like <- function(x, like, argument) {
  if (!length(like$xlevels)) refuse_one_text(x, argument)
  x <- place_numbers(x, like$places, argument)
  x <- columns_like(x, like, argument)
  single <- is.atomic(x) && is.null(dim(x)) && length(like$names) == 1
  if (is.data.frame(x) || single) {
    x <- if (single) as_kind(x, like$kinds[[like$names]], like$names, argument) else with_kinds(x, like$kinds, argument)
    check_kinds(if (single) stats::setNames(list(x), like$names) else x, like$xlevels, argument)
  }
  as_inputs(x, argument, like$xlevels)
}

# Returns columns in the order of `like`: by name if both have column names, and then all must exist; else by position.
# Default names such as x1 are optional.
columns_like <- function(x, like, argument) {
  given <- colnames(x)
  wanted <- like$columns %or% if (all(like$names %in% given)) like$names
  if (is.null(wanted) || is.null(given)) {
    return(if (is.data.frame(x) && ncol(x) == length(like$names)) stats::setNames(x, like$names) else x)
  }
  if (identical(given, wanted)) return(x)
  absent <- setdiff(wanted, given)
  if (length(absent)) {
    hint <- near_hint(absent[1], setdiff(given, wanted), there_are(given))
    abort("shape", "`", argument, "` has no column `", absent[1], "`", hint)
  }
  if (!all(nzchar(wanted)) || anyDuplicated(wanted) || anyDuplicated(given[given %in% wanted])) {
    abort("shape", "columns of `", argument, "` cannot be found by their names, which are not all of one column: ",
          "give them in their order and without names")
  }
  x[, wanted, drop = FALSE]
}

# --- new data of fits ---------------------------------------------------------------------------------------

# Returns a fit's terms without the response.
input_terms <- function(fit) stats::delete.response(fit$terms)

# A model without a process may be written as `y ~ 1`. If its trend has no variable either, inputs are row numbers.
has_no_input <- function(fit) length(fit$formula) == 3 && !length(all.vars(fit$formula[[3]]))

input_variables <- function(fit) {
  all.vars(stats::formula(stats::terms(stats::formula(input_terms(fit)), simplify = TRUE)))
}

# Converts new data to inputs, in the same way as the fit's own data. Rows with missing values give missing results.
new_points <- function(object, newdata) {
  newdata <- as_sf(newdata, object$variables)
  if (is.null(object$terms)) {
    x <- points_like(newdata, object, "newdata")
  } else {
    newdata <- places_like(newdata, object$places)
    newdata <- variables_like(new_frame(newdata), object$variables, object$places$name)
    made <- function() {
      frame <- stats::model.frame(input_terms(object), newdata, na.action = stats::na.pass)
      without_idle(frame, attr(frame, "terms"))
    }
    frame <- if (length(object$variables) || !has_no_input(object)) found_variables(made(), newdata, "`newdata`")
             else data.frame(row = seq_len(nrow(newdata)), row.names = row.names(newdata))
    check_kinds(frame, object$xlevels, "newdata")
    x <- inputs_of_frame(frame, "newdata", object$xlevels)
  }
  all <- length(object$constant)
  wanted <- if (all) all else ncol(object$x)
  match_width(x, wanted, "the fit", newdata)
  if (all) x <- x[, !object$constant, drop = FALSE]
  check_finite(x, "newdata")
}

# Converts new data of a formula to a data frame.
new_frame <- function(newdata) {
  if (is.data.frame(newdata)) return(newdata)
  table <- is.list(newdata) || length(dim(newdata)) == 2
  found <- if (table) tryCatch(as.data.frame(newdata), error = function(e) NULL)
  if (!is.null(found)) return(found)
  abort("input", "`newdata` must be a data frame with the variables of the fit, not ", describe(newdata),
        if (inherits(newdata, "sfg")) "; sf::st_sfc(newdata, crs = ) makes places of a geometry")
}

# Returns new data with dates and times as the fit has them. Refuses missing variables, which might otherwise be found
# as functions, such as rm(), or in the workspace.
variables_like <- function(newdata, variables, place = NULL) {
  absent <- setdiff(variables, names(newdata))
  if (!length(absent)) return(with_kinds(newdata, attr(variables, "kinds"), "newdata"))
  hint <- near_hint(absent[1], setdiff(names(newdata), variables),
                    if (inherits(newdata, "sf")) {
                      paste0(": newdata[c(\"", paste(utils::head(absent, 2), collapse = "\", \""),
                             "\")] <- sf::st_coordinates(newdata)[, 1:", min(2, length(absent)), "] would make ",
                             if (length(absent) > 1) "these two" else "it")
                    } else if (absent[1] %in% place) {
                      "; sf::st_as_sf(newdata, coords = , crs = ) makes places of two columns"
                    } else if (identical(names(newdata), paste0("V", seq_along(newdata)))) {
                      paste0("; columns have names, as in cbind(", paste(variables, "= ", collapse = ", "), ")")
                    })
  abort("input", "`newdata` has no variable `", absent[1], "`", hint)
}

match_width <- function(x, wanted, whose, given = NULL, argument = "newdata") {
  if (ncol(x) == wanted) return(invisible())
  abort("shape", "`", argument, "` has ", counted(ncol(x), "column"), ", and ", whose, " ", wanted,
        row_hint(given, wanted))
}

# Returns a hint if a single place is given as a vector.
row_hint <- function(points, wanted) {
  if (is.null(dim(points)) && length(points) == wanted) ": one place is a row, as in rbind(c(1, 2))"
}

# Evaluates f() for complete rows; other rows are NA. Returns a vector or a matrix, as f() does.
at_complete <- function(x, f) {
  force(x)  # S4 generics wrap the errors of their arguments
  known <- rowSums(is.na(x)) == 0
  value <- f(strip_term(x[known, , drop = FALSE]))
  out <- matrix(NA_real_, nrow(x), NCOL(value), dimnames = list(rownames(x), colnames(value)))
  out[known, ] <- value
  if (is.null(dim(value))) stats::setNames(out[, 1], rownames(x)) else out
}

# Returns the first pair of equal rows.
coincident_rows <- function(x) {
  o <- do.call(order, lapply(seq_len(ncol(x)), function(d) x[, d]))
  same <- rowSums(x[o[-1], , drop = FALSE] != x[o[-length(o)], , drop = FALSE]) == 0
  if (any(same)) sort(o[which(same)[1] + 0:1])
}
