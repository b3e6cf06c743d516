# Translates errors of base R about traced values: here the derivative would be lost. The condition names the function
# that the user's code called.

explain_loss <- function(e, home) {
  # A missing argument is the user's error, whoever asks for it.
  missing <- gettext("argument \"%s\" is missing, with no default", domain = "R")
  if (inherits(e, "kernweave_error") || grepl(sub("%s", ".*", missing, fixed = TRUE), message_of(e))) return()
  culprit <- culprit_call(e, home)
  if (is.null(culprit)) return()
  name <- paste(deparse(culprit[[1]]), collapse = "")
  remedy <- if (name %in% names(instead_of)) instead_of[[name]]
            else "with_gradient() gives a function its own derivative"
  abort("no_gradient", "`", name, "` cannot take numbers that are being differentiated (", message_of(e), "); ",
        remedy, call = without_data(culprit))
}

# The remedies for functions that cannot have a rule.
instead_of <- c(`for` = "go over seq_along(x) and take x[k]", `if` = "write the comparison out",
                `while` = "write the comparison out", `:` = "whole numbers have no derivative")

# Returns, going outwards from the error, the last call before the user's own code, if it was given a traced value. If
# there is none, the call was of a primitive function, which has no frame.
culprit_call <- function(e, home) {
  found <- NULL
  parents <- sys.parents()
  for (k in rev(seq_len(sys.nframe()))) {
    f <- sys.function(k)
    if (is_users(f, home)) {
      call <- conditionCall(e)
      known <- !is.null(found) || !mentions_traced(call, sys.frame(k)) || knows_traced(call, sys.frame(k))
      if (known || !is.name(call[[1]])) return(found)
      return(if (is.primitive(get0(as.character(call[[1]]), baseenv()))) call)
    }
    caller <- if (parents[k]) sys.frame(parents[k]) else globalenv()
    # Errors of these functions are written by the user.
    speaks <- any(vapply(list(stop, stopifnot, match.arg, tryCatch, try), identical, NA, f))
    is_ours <- !is.primitive(f) && identical(topenv(environment(f)), topenv())
    if (speaks || is_ours || knows_traced(sys.call(k), caller)) next
    if (mentions_traced(sys.call(k), caller)) found <- sys.call(k)
  }
  found
}

is_users <- function(f, home) {
  top <- topenv(environment(f))
  !is_package(top) || identical(top, home) && !identical(environment(f), topenv())
}

mentions_traced <- function(call, frame) {
  is_bound <- function(name) tryCatch(is_traced(get0(name, frame)), error = function(e) FALSE)
  # A failed promise is evaluated again, of which R warns.
  suppressWarnings(any(vapply(all.vars(call), is_bound, NA)))
}

# Tells whether a call is of a function that knows traced values, so that its error holds, unless a subscript is traced.
knows_traced <- function(call, frame) {
  name <- if (is.name(call[[1]])) as.character(call[[1]]) else ""
  name == "%*%" || name %in% c("[", "[[") && !mentions_traced(as.expression(as.list(call)[-(1:2)]), frame)
}
