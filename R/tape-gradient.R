# Derivatives of R functions: arguments become traced values, and the history of the result is read backwards.

#' Derivatives of R functions (automatic differentiation)
#'
#' Each of these functions takes an R function `f` and returns a function with the same arguments that computes a
#' derivative, exact to rounding. Use them for gradients and Hessians of likelihoods and losses, written in ordinary R:
#' with loops, branches, subscripts, helper functions, linear algebra, densities, `apply()` and the like. The arguments
#' of `f` may be numbers, vectors, matrices and lists of these. \describe{
#' \item{`gradient(f)`}{the gradient of a function whose result is one number: a list, named and shaped like the
#'   arguments}
#' \item{`value_and_gradient(f)`}{a list of `value` and `gradient`, at the cost of the gradient alone}
#' \item{`hessian(f)`}{the matrix of second derivatives with respect to all numbers in the arguments, one after the
#'   other}
#' \item{`hvp(f)`}{the Hessian times a vector. The returned function takes one more argument `v`, shaped like the
#'   gradient, and costs about twice as much as a gradient. Give the parts of `v` in the order of the arguments, or by
#'   name in any order; parts not named are 0}
#' \item{`vjp(f)`}{reverse mode. The returned function takes one more argument `cotangent`, shaped like the result of
#'   `f`, which may be any array, and gives the gradient of `sum(cotangent * f(...))`}
#' \item{`jvp(f)`}{forward mode. The returned function takes one more argument `tangent`, shaped like the gradient, and
#'   gives the derivative of the result of `f` along `tangent`}
#' }
#'
#' The function runs unchanged: `if` and `while` take the branch of the current point. Comparisons, `which()`, `order()`
#' and sizes are plain numbers. The derivative of `max()`, `min()`, `sort()` and `median()` is that of the element
#' chosen, the first of equal elements. The derivatives of `abs(x)` and `sqrt(x)` at 0 are taken to be 0.
#'
#' No function of base R is masked: within `f`, and within your own functions that `f` calls, base R's functions are
#' looked up in an environment where they handle traced numbers. Functions of other packages work as far as they use
#' base R's operators and generic functions. If a function hands numbers to compiled code, or the derivative would be
#' lost in any other way, you get an error of class `kernweave_error_no_gradient`; [with_gradient()] gives such a
#' function its derivative.
#'
#' Each operation costs about 20 microseconds, as much as an operation on a vector of thousands of numbers, so vectorise
#' code that runs often.
#'
#' @param f a function
#' @param wrt names of the arguments to differentiate with respect to. `NULL`, the default, takes the arguments of type
#'   double and the lists that contain numbers of type double
#' @return A function with the arguments of `f`; for `hvp()` with the argument `v` too.
#' @seealso [objective()] for optimisers, [with_gradient()] for your own derivatives, [vjp()] for reductions of lazy
#'   tensors, `vignette("fitting")`
#' @concept autodiff
#' @concept Jacobian
#' @concept score function of a likelihood
#' @export
#' @examples
#' rosenbrock <- function(x) (1 - x[1])^2 + 100 * (x[2] - x[1]^2)^2
#' gradient(rosenbrock)(c(-1.2, 1))
#' hessian(rosenbrock)(c(-1.2, 1))
#' hvp(rosenbrock)(c(-1.2, 1), v = c(1, 0))
#'
#' y <- rnorm(20)
#' loss <- function(par) -sum(dnorm(y, par$mean, exp(par$log_sd), log = TRUE))
#' value_and_gradient(loss)(list(mean = 0, log_sd = 0))
#'
#' # functions with several results: reverse mode, forward mode
#' rotate <- function(angle, x) {
#'   turn <- matrix(c(cos(angle), sin(angle), -sin(angle), cos(angle)), 2)
#'   turn %*% x
#' }
#' vjp(rotate)(pi / 3, c(1, 2), cotangent = c(1, 1))
#' jvp(rotate, wrt = "angle")(pi / 3, c(1, 2), tangent = 1)
gradient <- function(f, wrt = NULL) derivative_function(f, function(arguments) one_gradient(f, arguments, wrt)$gradient)

#' @rdname gradient
#' @export
value_and_gradient <- function(f, wrt = NULL) {
  derivative_function(f, function(arguments) one_gradient(f, arguments, wrt))
}

one_gradient <- function(f, arguments, wrt) {
  run <- one_number(traced_run(f, arguments, wrt))
  list(value = value_of(run$result), gradient = gradient_of(run, 1, wrt))
}

#' @rdname gradient
#' @export
hvp <- function(f, wrt = NULL) {
  derivative_function(f, extra = alist(v = ), function(arguments, v) {
    second <- second_order(f, arguments, wrt)
    slope <- pairing(second$first, parts_given(v, second$run, "v"))
    filled(second$run, cotangents(second$run, 1, slope))
  })
}

#' @rdname gradient
#' @export
hessian <- function(f, wrt = NULL) {
  derivative_function(f, function(arguments) hessian_of(second_order(f, arguments, wrt)))
}

# Reads the history of one gradient once for each of its numbers.
hessian_of <- function(second) {
  run <- second$run
  row <- function(g, k) flat(run, cotangents(run, replace(0 * plain_value(g), k, 1), g))
  rows <- Map(function(g, leaf) lapply(seq_along(leaf), function(k) row(g, k)), second$first, run$leaves)
  rows <- unlist(rows, recursive = FALSE)
  H <- overlay$matrix(join(rows), length(rows), byrow = TRUE)
  H <- (H + t(H)) / 2
  names <- flat_names(run)
  if (!is.null(names)) dimnames(H) <- list(names, names)
  H
}

# Computes the gradient as a function of arguments that are traced themselves.
second_order <- function(f, arguments, wrt) {
  run <- start_run(f, arguments, wrt)
  inner <- one_number(deeper(traced_run(f, run$arguments, names(run$inputs))))
  list(run = run, first = deeper(cotangents(inner, 1)))
}

#' @rdname vjp
#' @export
vjp.function <- function(f, wrt = NULL, ...) {
  derivative_function(f, extra = alist(cotangent = NULL), function(arguments, cotangent) {
    run <- reached(traced_run(f, arguments, wrt))
    gradient_of(run, cotangent_given(cotangent, run$result), wrt)
  })
}

# Reverse mode is linear in the cotangent u; its derivative in u is forward mode.
#' @rdname vjp
#' @export
jvp.function <- function(f, wrt = NULL, ...) {
  derivative_function(f, extra = alist(tangent = ), function(arguments, tangent) {
    pushed_along(function() traced_run(f, arguments, wrt), tangent)
  })
}

pushed_along <- function(make_run, tangent) {
  tape <- new_tape(tracing$depth + 1L)
  run <- reached(deeper(make_run()))
  value <- value_of(run$result)
  u <- watch(0 * plain_value(value), tape)
  slope <- pairing(deeper(cotangents(run, u)), parts_given(tangent, run, "tangent"))
  fitted_to(value, if (is_traced(slope)) pull_back(slope, 1, list(u))[[1]])
}

#' Give a function its own derivative
#'
#' Wraps a function together with its derivative. Use it inside [gradient()] for a function that cannot be traced, such
#' as one that calls compiled code, or whose derivative you know in a better form.
#'
#' @param f a function of numbers
#' @param pullback the derivative, as a function of the cotangent of the result, the result, and the arguments of `f`
#'   (passed by name). It returns a list of the cotangents of the arguments, in the order of the arguments or by name,
#'   each shaped like its argument, or `NULL` for an argument without a derivative. For a single argument the list may
#'   be omitted. For second derivatives `pullback` must itself be traceable
#' @return A function with the arguments of `f`.
#' @seealso [gradient()]
#' @concept custom gradient
#' @export
#' @examples
#' distances <- with_gradient(
#'   function(x) as.matrix(dist(x)),
#'   function(g, r, x) {
#'     w <- (g + t(g)) / (r + diag(nrow(x)))
#'     rowSums(w) * x - w %*% x
#'   }
#' )
#' gradient(function(x) sum(distances(x)))(matrix(c(0, 3, 0, 4), 2))
with_gradient <- function(f, pullback) {
  check_function(f, "f")
  check_function(pullback, "pullback")
  derivative_function(f, function(arguments) call_with_rule(f, pullback, arguments))
}

call_with_rule <- function(f, pullback, arguments) {
  level <- highest_level(arguments)
  if (level == 0L) return(do.call(f, arguments))
  inner <- lapply(arguments, lowered, level)
  r <- call_with_rule(f, pullback, inner)
  adjoint <- enclose(pullback)
  record(arguments, r, function(g) {
    parts <- do.call(adjoint, c(list(g, r), inner))
    Map(function(part, argument) {
      if (!is.null(part)) check_cotangent(part, "pullback(g, ...)")
      if (is.null(part) || length(part) == length(argument)) return(shaped_like(part, argument))
      abort("shape", "`pullback` gave ", counted(length(part), "number"), " for an argument of ", length(argument))
    }, cotangents_by_name(if (is.list(parts)) parts else list(parts), inner), inner)
  })
}

# Matches parts to arguments: by name if they have the arguments' names, else in the order of the arguments.
cotangents_by_name <- function(parts, arguments) {
  known <- names(arguments)
  by_name <- length(names(parts)) && all(nzchar(known)) && all(names(parts) %in% known) && !anyDuplicated(names(parts))
  if (by_name) parts <- parts[known]
  if (length(parts) == length(arguments)) return(parts)
  abort("shape", "`pullback` gave ", counted(length(parts), "cotangent"), " for ",
        counted(length(arguments), "argument"))
}
