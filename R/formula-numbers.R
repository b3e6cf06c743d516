# Operations on plain numbers: the engine's reference device computes the value at once, as the table defines it.

# Applies an operation, for the generated functions. If an argument is lazy, the result is lazy, else numbers.
operation <- function(op, args, attributes = NULL, elementwise = FALSE) {
  args <- given(args, parent.frame())
  if (any(vapply(args, is_lazy_complex, NA))) return(complex_operation(op, args, attributes))
  lazy <- vapply(args, is_lazy, NA)
  if (any(lazy)) {
    beside <- args[lazy][[which.max(vapply(args[lazy], width, 0L))]]
    for (k in which(!lazy)) args[[k]] <- as_lazy(args[[k]], beside, names(args)[k])
    return(lazy_call(op, unname(args), attributes))
  }
  args <- Map(plain_numbers, args, names(args))
  if (elementwise) each_number(op, args, attributes) else of_one_point(op, args, attributes)
}

# Returns the plain numbers of `x`. If `x` is traced, `borne` is `x` itself.
plain_numbers <- function(x, argument) {
  plain <- plain_value(x)
  if (is.object(plain)) plain <- unwrapped(plain, argument)
  c(check_numbers(plain, argument), list(borne = if (is_traced(x)) x))
}

# Makes an operand of numbers in the shape that `arrange` gives.
operand_of_numbers <- function(name, axis, numbers, arrange) {
  values <- arrange(numbers$values)
  operand <- new_operand(name, axis, if (axis == "i") 1L else length(values), numbers$kind, values)
  if (!is.null(numbers$borne)) bearing(operand, rearranged(numbers$borne, arrange))
  lazy_operand(operand)
}

# Computes with each number as a point of one component.
each_number <- function(op, args, attributes) {
  sizes <- vapply(args, function(arg) length(arg$values), 0L)
  n <- if (any(sizes == 0)) 0 else max(sizes)
  if (!all(sizes %in% c(1, n))) {
    abort("shape", paste0("`", names(args), "` has ", sizes, collapse = ", "),
          " numbers; lengths must be equal, or one of them 1")
  }
  recycled <- function(values) rep_len(as.vector(values), n)
  points <- lapply(names(args), function(name) operand_of_numbers(name, "i", args[[name]], recycled))
  like <- args[[match(n, sizes)]]$values
  rearranged(number_value(lazy_call(op, points, attributes), "i"), function(out) {
    out <- as.vector(out)
    attributes(out) <- attributes(like)[intersect(c("dim", "dimnames", "names"), names(attributes(like)))]
    out
  })
}

# Computes with each vector as the components of one point.
of_one_point <- function(op, args, attributes) {
  points <- lapply(names(args), function(name) {
    values <- args[[name]]$values
    if (length(dim(values)) > 1) {
      abort("input", "`", name, "` is ", describe(values), ": Vi() and Vj() use its rows as points, as.vector() uses ",
            "all its numbers as the components of one point")
    }
    if (!length(values)) abort("shape", "`", name, "` has no components")
    operand_of_numbers(name, "param", args[[name]], as.vector)
  })
  rearranged(number_value(lazy_call(op, points, attributes), "both"), as.vector)
}

number_value <- function(F, keep) {
  F$settings <- list(device = "reference")
  run_single(F, keep)
}
