# Operations on plain numbers: the value at once, by the engine's reference device, so that it is that of the table.

# What the generated functions call: with a lazy tensor among the arguments the result is lazy, else it is numbers.
operation <- function(op, args, attributes = NULL, elementwise = FALSE) {
  args <- given(args, parent.frame())
  if (any(vapply(args, is_lazy, NA))) return(lazy_call(op, lazy_arguments(args), attributes))
  args <- Map(plain_numbers, args, names(args))
  if (elementwise) each_number(op, args, attributes) else of_one_point(op, args, attributes)
}

plain_numbers <- function(x, argument) {
  if (is.object(x)) x <- unwrapped(x, argument)
  check_numbers(x, argument)
}

# Each number is a point of one component.
each_number <- function(op, args, attributes) {
  sizes <- vapply(args, function(arg) length(arg$values), 0L)
  n <- if (any(sizes == 0)) 0 else max(sizes)
  if (!all(sizes %in% c(1, n))) {
    abort("shape", paste0("`", names(args), "` has ", sizes, collapse = ", "),
          " numbers; lengths must be equal, or one of them 1")
  }
  points <- lapply(names(args), function(name) {
    values <- rep_len(as.vector(args[[name]]$values), n)
    lazy_operand(new_operand(name, "i", 1L, args[[name]]$kind, values))
  })
  out <- as.vector(number_value(lazy_call(op, points, attributes), "i"))
  like <- args[[match(n, sizes)]]$values
  attributes(out) <- attributes(like)[intersect(c("dim", "dimnames", "names"), names(attributes(like)))]
  out
}

# A vector holds the components of one point.
of_one_point <- function(op, args, attributes) {
  points <- lapply(names(args), function(name) {
    values <- args[[name]]$values
    if (length(dim(values)) > 1) {
      abort("input", "`", name, "` is ", describe(values), ": Vi() and Vj() take its rows as points, as.vector() all ",
            "its numbers as the components of one")
    }
    if (!length(values)) abort("shape", "`", name, "` has no components")
    lazy_operand(new_operand(name, "param", length(values), args[[name]]$kind, as.vector(values)))
  })
  as.vector(number_value(lazy_call(op, points, attributes), "both"))
}

number_value <- function(F, keep) {
  F$settings <- list(device = "reference")
  run_single(F, keep)
}
