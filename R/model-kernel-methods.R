# Methods of kernel objects: parameters, unconstrained parameters, text.

#' @rdname kernel_spec
#' @importFrom stats coef
#' @export
coef.kernel_spec <- function(object, which = c("all", "free"), unconstrained = FALSE, ...) {
  refuse_more(...)
  parts <- kernel_parts(object)
  which <- match.arg(which)
  parameters <- if (which == "free" || unconstrained) parts$parameters[parts$free] else parts$parameters
  out <- unlist(lapply(parameters, function(value) if (is.null(value)) NA_real_ else value))
  if (unconstrained) in_link(out, list(link = parameter_links(names(out), parts))) else out
}

#' @rdname kernel_spec
#' @importFrom stats update
#' @export
update.kernel_spec <- function(object, ..., unconstrained = NULL, estimate = NULL, lower = NULL, upper = NULL) {
  parts <- kernel_parts(object)
  given <- list(...)
  check_parameter_names(names(given) %or% rep("", length(given)), names(parts$parameters), parts$title)
  for (name in names(given)) check_parameter(given[[name]], sub("^.*[.]", "", name))
  parts$parameters[names(given)] <- given
  parts$free <- setdiff(parts$free, names(given))
  if (!is.null(unconstrained)) parts$parameters <- constrained(parts, unconstrained)
  if (!is.null(estimate)) parts$free <- free_parameters(parts$parameters, union(parts$free, estimate))
  k <- new_kernel(parts)
  if (length(c(lower, upper))) with_bounds(k, lower, upper) else k
}

# Returns a part of a sum or product, with its current parameters.
part_kernel <- function(parts, k) {
  keys <- parts$keys[[k]]
  inner <- kernel_parts(parts$of[[k]])
  inner$parameters[keys] <- parts$parameters[names(keys)]
  inner$free <- unname(keys[names(keys) %in% parts$free])
  new_kernel(inner)
}

# Sets bounds of a kernel's parameters; other bounds stay. Parts of a sum or product have their own bounds.
with_bounds <- function(k, lower, upper) {
  parts <- kernel_parts(k)
  for (bound in list(lower, upper)) check_parameter_names(names(bound), names(parts$parameters), parts$title)
  if (is.null(parts$op)) {
    before <- function(end) vapply(parts$ends, `[`, 0, end)
    merged <- function(new, old) {
      both <- c(new, old[setdiff(names(old), names(new))])
      if (length(both)) both
    }
    ends <- ends_of_parameters(merged(lower, before(1)), merged(upper, before(2)), parts, parts$parameters,
                               isTRUE(parts$aniso))
    parts$ends <- Filter(function(ends) !identical(ends, c(0, Inf)), ends)
    free_parameters(parts$parameters, parts$free, parts$ends[names(parts$ends) %in% names(c(lower, upper))])
  } else {
    of_none <- setdiff(names(c(lower, upper)), unlist(lapply(parts$keys, names)))
    if (length(of_none)) abort("unsupported", "`", of_none[1], "` is of the whole kernel, and has no bound")
    parts$of <- lapply(seq_along(parts$of), function(k) {
      keys <- parts$keys[[k]]
      own <- function(bound) {
        bound <- bound[names(bound) %in% names(keys)]
        if (length(bound)) stats::setNames(bound, keys[names(bound)])
      }
      if (length(own(c(lower, upper)))) with_bounds(part_kernel(parts, k), own(lower), own(upper)) else parts$of[[k]]
    })
  }
  new_kernel(parts)
}

# Returns a text of bounds, such as "at most 2".
ends_text <- function(ends) {
  low <- shown(ends[[1]])
  if (identical(ends[[2]], Inf)) return(if (low == "-Inf") "of either sign" else paste("at least", low))
  if (low == "0") paste("at most", shown(ends[[2]])) else paste("from", low, "to", shown(ends[[2]]))
}

# Returns the parameters, given all free ones in one vector on the scale of their links.
constrained <- function(parts, unconstrained) {
  parameters <- parts$parameters
  sizes <- vapply(parameters[parts$free], function(value) max(1L, length(value)), 1L)
  open <- vapply(parameters[parts$free], is.null, NA)
  if (sum(open) == 1) sizes[open] <- max(1L, length(unconstrained) - sum(sizes[!open]))
  if (sum(sizes) != length(unconstrained)) {
    abort("shape", "`unconstrained` has ", counted(length(unconstrained), "number"), " for the free parameters ",
          paste0("`", parts$free, "`", collapse = ", "))
  }
  ends <- cumsum(sizes)
  links <- parameter_links(parts$free, parts)
  for (k in seq_along(sizes)) {
    at <- seq_len(sizes[k]) + ends[k] - sizes[k]
    number <- unname(unconstrained[at])
    parameters[[parts$free[k]]] <- switch(links[k], log = exp(number), logit = 1 / (1 + exp(-number)), number)
  }
  parameters
}

#' @rdname kernel_spec
#' @export
print.kernel_spec <- function(x, ...) {
  say(format(x), "\n")
  invisible(x)
}

#' @rdname kernel_spec
#' @export
format.kernel_spec <- function(x, ...) {
  parts <- kernel_parts(x)
  variance <- parts$parameters$variance
  times <- if (is.null(variance)) "variance x " else if (!identical(variance, 1)) paste0(shown(variance), " x ")
  if (is.null(parts$op)) {
    named <- parts$parameters[setdiff(names(parts$parameters), "variance")]
    texts <- vapply(names(named), function(name) {
      ends <- if (!is.null(parts$ends[[name]])) ends_text(parts$ends[[name]])
      if (!is.null(named[[name]])) {
        from <- if (name %in% parts$free) paste0(" (", paste(c("estimated from here", ends), collapse = ", "), ")")
        return(paste0(", ", name, " ", shown(named[[name]]), from))
      }
      paste0(", ", if (name == "scale" && parts$ard) "a scale for each variable" else name, " to be estimated",
             if (!is.null(ends)) paste0(" (", ends, ")"))
    }, "")
    return(paste0(times, parts$title, paste(texts, collapse = ""), places_text(parts)))
  }
  filled <- lapply(1:2, function(k) format(part_kernel(parts, k)))
  paste0(times, "(", filled[[1]], ") ", c("+" = "+", "*" = "x")[[parts$op]], " (", filled[[2]], ")")
}

shown <- function(value) {
  if (is_lazy(value)) return("given lazily")
  paste(vapply(as.vector(value), format, "", digits = 4), collapse = " ")
}
