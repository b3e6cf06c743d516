# vjp() and jvp() of prepared reductions of named axes: the tape differentiates the reduction in its arrays.

vjp_of_arrays <- function(R, wrt, cotangent, call, ...) {
  run <- run_of_arrays(R, wrt, call, ...)
  out <- gradient_of(reached(run), cotangent_given(cotangent %or% 1, run$result), NULL)[[1]]
  if (is_one_target(wrt)) out[[1]] else out
}

jvp_of_arrays <- function(R, wrt, tangent, call, ...) {
  tangent <- if (is.list(tangent) && !is.data.frame(tangent)) unname(tangent) else list(tangent)
  wanted <- if (is_one_target(wrt)) 1 else length(wrt)
  if (is.null(tangent[[1]]) || length(tangent) != wanted) {
    abort("shape", "`tangent`: ", sum(lengths(tangent) > 0), " given for ", counted(wanted, "array"))
  }
  pushed_along(function() run_of_arrays(R, wrt, call, ...), tangent)
}

is_one_target <- function(wrt) is_lazy(wrt) || !is.list(wrt) && length(wrt) == 1

run_of_arrays <- function(R, wrt, call, ...) {
  if (!call) {
    abort("unsupported", "derivatives of formulas with named axes are computed at once; for a function of the arrays ",
          "write one, and give it to vjp()")
  }
  settings <- list(...)
  of_arrays <- function(arrays) {
    out <- R$axes$again(call = TRUE, arrays = arrays, more = settings)
    if (is.list(out)) out$value else out
  }
  run <- start_run(of_arrays, list(arrays = arrays_wanted(R, wrt)), NULL)
  run$result <- deeper(of_arrays(run$arguments[[1]]))
  run
}

# Returns the arrays that `wrt` names, or whose operands `wrt` contains, by name.
arrays_wanted <- function(R, wrt) {
  operands <- Filter(function(operand) !operand$literal, R$axes$operands)
  places <- lapply(operands, place_of_operand)
  names <- vapply(places, array_of_place, "")
  targets <- if (is_lazy(wrt)) list(wrt) else as.list(wrt)
  if (!length(targets)) refuse_wrt(wrt)
  at <- vapply(targets, function(one) {
    if (!is_lazy(one)) return(place_of_array(one, names))
    at <- match_operands(list(one$formula$args), operands)
    if (!is.na(at)) return(at)
    abort("input", "`wrt`: the formula does not contain this operand; each call of along() makes a new one")
  }, 0L)
  for (k in at) {
    name <- names[k]
    if (places[[k]]$kind == "logical") abort("no_gradient", "`", name, "` is logical: it has no gradient")
    if (all(vapply(places[names == name], function(one) identical(one$x, places[[k]]$x), NA))) next
    abort("input", "`wrt`: ", sum(names == name), " arrays are named `", name, "`; along(name =) gives them names")
  }
  structure(lapply(places[at], `[[`, "x"), names = names[at])
}

refuse_wrt <- function(wrt) {
  abort("input", "`wrt` must be the name of an array, an operand made by along(), or a list of them, not ",
        describe(wrt))
}

place_of_array <- function(one, names) {
  if (!is.character(one) || length(one) != 1) refuse_wrt(one)
  at <- match(one, names)
  if (!is.na(at)) return(at)
  abort("input", "`wrt`: no array is named `", one, "`; there are ", paste0("`", unique(names), "`", collapse = ", "),
        near_hint(one, names))
}

array_of_place <- function(place) place$array %or% place$name

# Replaces the numbers of some arrays in a formula.
with_arrays <- function(F, arrays) {
  operands <- operands_of(F$formula)
  places <- lapply(operands, function(operand) {
    place <- place_of_operand(operand)
    if (array_of_place(place) %in% names(arrays)) place$x <- arrays[[array_of_place(place)]]
    place
  })
  of_places(F, operands, places)
}
