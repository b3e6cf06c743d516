# One run of a user's function on traced values: its inputs, its result, and the cotangents of the inputs.
#
#   tape        the tape of the run's history
#   inputs      the arguments of `wrt`, with traced values in the places of their numbers
#   leaves      the traced values in the inputs, one after the other
#   arguments   all arguments, including inputs
#   result      the function's result

traced_run <- function(f, arguments, wrt) {
  run <- start_run(f, arguments, wrt)
  made <- new_layers(f)
  is_users <- vapply(run$arguments, function(x) is.function(x) && !is.primitive(x) && is_own(x, made$home), NA)
  run$arguments[is_users] <- lapply(run$arguments[is_users], enclose, made)
  run$result <- deeper(call_traced(enclose(f, made), run$arguments))
  run
}

start_run <- function(f, arguments, wrt) {
  # If an argument of `wrt` is not given, its default is taken.
  defaults <- Filter(function(default) !identical(default, quote(expr = )), formals(args(f)))
  for (name in setdiff(intersect(wrt, names(defaults)), names(arguments))) {
    arguments[name] <- list(eval(defaults[[name]], list2env(as.list(arguments), parent = environment(f))))
  }
  names <- labels_of(arguments)
  wrt <- chosen_arguments(structure(arguments, names = names), wrt)
  tape <- new_tape(tracing$depth + 1L)
  inputs <- lapply(structure(arguments[match(wrt, names)], names = wrt), watch_numbers, tape)
  arguments[match(wrt, names)] <- inputs
  list(tape = tape, inputs = inputs, leaves = traced_in(inputs), arguments = arguments)
}

# Evaluates code one level deeper: gradients inside a gradient have a higher level.
deeper <- function(code) {
  tracing$depth <- tracing$depth + 1L
  on.exit(tracing$depth <- tracing$depth - 1L)
  force(code)
}

# Calls f with arguments by name, so that no call on the stack contains the numbers.
call_traced <- function(f, arguments) {
  places <- sub("^[.][.]", "argument_", labels_of(arguments))
  name <- utils::tail(make.unique(c(places, "f")), 1)
  call <- as.call(c(as.name(name), structure(lapply(places, as.name), names = names(arguments))))
  environment <- list2env(structure(c(arguments, f), names = c(places, name)), parent = baseenv())
  home <- if (!is.primitive(f)) topenv(environment(f))
  withCallingHandlers(eval(call, environment), error = function(e) explain_loss(e, home))
}

# --- arguments ----------------------------------------------------------------------------------------------------

# Makes a function with the arguments of f and perhaps `extra` arguments, which passes the given arguments to `compute`,
# as a list.
derivative_function <- function(f, compute, extra = list()) {
  check_function(f, "f")
  formals <- formals(args(f))
  clash <- intersect(names(formals), names(extra))
  if (length(clash)) abort("input", "`f` has an argument `", clash[1], "`, and so has its derivative: rename it")
  more <- Map(as.name, names(extra))
  body <- as.call(c(quote(compute), quote(arguments_given(environment(), own)), more))
  environment <- list2env(list(compute = compute, own = names(formals), derivative_of = f), parent = topenv())
  as.function(c(formals, extra, body), envir = environment)
}

check_function <- function(f, argument) {
  if (!is.function(f)) abort("input", "`", argument, "` must be a function, not ", describe(f))
}

arguments_given <- function(frame, names) {
  found <- list()
  for (name in names) {
    if (name == "...") found <- c(found, eval(quote(list(...)), frame))
    else if (!eval(call("missing", as.name(name)), frame)) found[name] <- list(get(name, frame))
  }
  found
}

# Returns the names of arguments; arguments without a name get R's names ..1, ..2, ...
labels_of <- function(arguments) {
  names <- names(arguments) %or% character(length(arguments))
  ifelse(nzchar(names), names, paste0("..", seq_along(arguments)))
}

chosen_arguments <- function(arguments, wrt) {
  if (is.null(wrt)) return(arguments_of_numbers(arguments))
  if (!is.character(wrt) || !length(wrt)) abort("input", "`wrt` must be names of arguments, not ", describe(wrt))
  unknown <- setdiff(wrt, names(arguments))
  if (length(unknown)) {
    abort("input", "`wrt`: no argument is named `", unknown[1], "`", near_hint(unknown[1], names(arguments)))
  }
  for (name in wrt) {
    if (!has_numbers(arguments[[name]], is.numeric)) {
      abort("input", "`wrt`: there are no numbers in `", name, "`, which is ", describe(arguments[[name]]))
    }
  }
  wrt
}

# Returns the names of the arguments of type double or, if there are none, of the arguments that are numeric.
arguments_of_numbers <- function(arguments) {
  for (is_meant in list(is.double, is.numeric)) {
    wrt <- names(arguments)[vapply(arguments, has_numbers, NA, is_meant)]
    if (length(wrt)) return(wrt)
  }
  shown <- paste0("`", names(arguments), "` is ", vapply(arguments, describe, ""), collapse = ", ")
  tables <- vapply(arguments, is.data.frame, NA)
  abort("no_gradient", "no argument is of type double, there is nothing to differentiate in: ", shown,
        if (any(tables)) "; as.list() of a data frame has its numbers")
}

# Numbers in objects with a class (dates, factors, data frames) do not count.
has_numbers <- function(x, what) {
  if (is_traced(x)) return(TRUE)
  if (is.object(x)) return(FALSE)
  if (is.list(x)) any(vapply(x, has_numbers, NA, what)) else what(x)
}

# --- inputs -------------------------------------------------------------------------------------------------------

# Traces the numbers of type double, however deep in lists; whole numbers if an argument has no doubles.
watch_numbers <- function(x, tape, is_input = if (has_numbers(x, is.double)) is.double else is.numeric) {
  if (is_traced(x)) return(watch(x, tape))
  if (is.object(x)) return(x)
  if (is.list(x)) {
    x[] <- lapply(x, watch_numbers, tape, is_input)
    return(x)
  }
  if (!is_input(x)) return(x)
  storage.mode(x) <- "double"
  watch(x, tape)
}

over_inputs <- function(x, f, rest = function(x) NULL) {
  if (is_traced(x)) return(f(x))
  if (is.list(x) && !is.object(x)) lapply(x, over_inputs, f, rest) else rest(x)
}

traced_in <- function(x) flatten(over_inputs(x, identity))

# Puts the parts in the places of the inputs, under their names; 0 for a missing part.
filled <- function(run, parts) {
  k <- 0L
  over_inputs(run$inputs, function(input) {
    k <<- k + 1L
    fitted_to(value_of(input), parts[[k]])
  })
}

fitted_to <- function(x, part) {
  at <- places_of(x)
  take(if (is.null(part)) numeric(length(at)) else part, at)
}

# Joins all numbers of the parts in one vector; flat_names() returns their names.
flat <- function(run, parts) {
  join(Map(function(input, part) if (is.null(part)) numeric(length(input)) else part, run$leaves, parts))
}

flat_names <- function(run) {
  numbers <- over_inputs(run$inputs, plain_value)
  names(unlist(if (length(numbers) == 1L) numbers[[1]] else numbers))
}

# --- results ------------------------------------------------------------------------------------------------------

# Computes the cotangents of the leaves from the cotangent of a value on the tape; NULL for a leaf without one.
cotangents <- function(run, cotangent, result = run$result) {
  if (has_reached(run, result)) pull_back(result, cotangent, run$leaves) else vector("list", length(run$leaves))
}

has_reached <- function(run, x) is_traced(x) && identical(.subset2(x, "tape"), run$tape)

reached <- function(run) {
  if (has_reached(run, run$result)) return(run)
  of <- paste0("`", names(run$inputs), "`", collapse = ", ")
  if (is_traced(run$result)) abort("no_gradient", "the result is a value of another gradient, kept after its return")
  is_formula <- inherits(run$result, c("lazy_tensor", "lazy_reduction", "linear_op"))
  abort("no_gradient", "the result does not depend on ", of, ": ",
        if (is_formula) paste0("it is ", describe(run$result), ", which is no number yet")
        else if (holds_traced(run$result)) "it is a list; take the number out of it"
        else paste0("it is plain, ", describe(run$result), "; somewhere its history was lost"))
}

one_number <- function(run) {
  n <- length(reached(run)$result)
  if (n == 1) return(run)
  abort("shape", "the result must be one number, not ", n, "; vjp() takes the cotangent of any array")
}

gradient_of <- function(run, cotangent, wrt) {
  parts <- cotangents(run, cotangent)
  if (is.null(wrt)) return(filled(run, parts))
  of <- rep(names(run$inputs), vapply(run$inputs, function(input) length(traced_in(input)), 0L))
  for (name in names(run$inputs)) if (all(vapply(parts[of == name], is.null, NA))) {
    warn("unreached", "the result does not depend on `", name, "`: its gradient is 0")
  }
  filled(run, parts)
}

# Returns the user's parts for the inputs: a list, or the part of the only input. Names tell to which input a part
# belongs, at every depth; inputs that are not named get 0.
parts_given <- function(parts, run, argument) {
  if (!is.list(parts)) parts <- list(parts)
  inputs <- run$inputs
  if (length(inputs) == 1 && is.list(inputs[[1]]) && !identical(names(parts), names(inputs))) inputs <- inputs[[1]]
  parts <- flatten(by_names(parts, inputs, argument))
  sizes <- vapply(run$leaves, length, 0L)
  for (part in parts) check_cotangent(part, argument)
  if (identical(lengths(parts), sizes)) return(parts)
  abort("shape", "`", argument, "` must have as many numbers as the arguments: ",
        paste(sizes, collapse = ", "), ", not ", paste(lengths(parts), collapse = ", "))
}

# Puts parts into the order of the inputs. A list without names is already in this order.
by_names <- function(parts, inputs, argument) {
  if (is.null(parts)) return(over_inputs(inputs, function(input) numeric(length(input))))
  if (!is.list(parts) || !is.list(inputs)) return(parts)
  if (!is.null(names(parts))) {
    unknown <- setdiff(names(parts), names(inputs))
    if (length(unknown)) {
      abort("input", "`", argument, "`: there is no input `", unknown[1], "`",
            near_hint(unknown[1], names(inputs), there_are(names(inputs))))
    }
    twice <- names(parts)[duplicated(names(parts))]
    if (length(twice)) abort("input", "`", argument, "` has two parts `", twice[1], "`")
    parts <- parts[names(inputs)]
  } else if (length(parts) != length(inputs)) {
    return(parts)
  }
  Map(by_names, unname(parts), unname(inputs), argument)
}

pairing <- function(parts, others) {
  sums <- Map(function(part, other) if (!is.null(part)) overlay$sum(part * as.vector(other)), parts, others)
  Reduce(`+`, Filter(Negate(is.null), sums), 0)
}

cotangent_given <- function(cotangent, result) {
  if (is.null(cotangent)) {
    if (length(result) == 1) return(shaped_like(1, result))
    abort("input", "`cotangent` is needed: numbers shaped like the result, of which there are ", length(result))
  }
  check_cotangent(cotangent, "cotangent")
  if (length(cotangent) == 1 || length(cotangent) == length(result)) return(shaped_like(cotangent, result))
  abort("shape", "`cotangent` has ", counted(length(cotangent), "number"), ", but the result has ", length(result))
}

check_cotangent <- function(x, argument) {
  if (is_traced(x) || is.numeric(x) || is.logical(x)) return(invisible())
  abort("input", "`", argument, "` must be numbers, not ", describe(x))
}

flatten <- function(x) {
  if (is.list(x)) return(unlist(lapply(unname(x), flatten), recursive = FALSE))
  if (!is.null(x)) list(x)
}
