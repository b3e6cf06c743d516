# An R function in the form for optimisers: of one vector, with its gradient from the history of the value.

#' Prepare a function for an optimiser
#'
#' Turns `f` into the functions that `optim()`, `nlminb()`, `nlm()` and others need: value, gradient and Hessian as
#' functions of one parameter vector. Use it to minimise a loss or a negative log-likelihood with exact derivatives.
#' `fn` remembers its last evaluation, so that `gr` at the same point does not run `f` again.
#'
#' If a matrix is not positive definite or a number is out of range, such as a scale that has overflowed (conditions of
#' class `kernweave_error_indefinite` and `kernweave_error_value`), `fn` is `Inf` and a message is shown once, so that a
#' line search turns back instead of stopping with an error. `gr` and `he` are then `NaN`.
#'
#' @param f a function whose result is one number
#' @param start starting values: a list of arguments of `f`, or a vector for its first argument
#' @param ... further arguments of `f`, held fixed
#' @param wrt names of the arguments to optimise; by default all of `start`. Other arguments in `start` are held fixed
#' @return A list of class `kernweave_objective`: `par`, the vector of starting values; `fn`, `gr` and `he`, functions
#'   of a parameter vector that give value, gradient and Hessian; and `arguments`, a function that turns a parameter
#'   vector into a list of arguments of `f`.
#' @seealso [gradient()], [optim()], [nlminb()]
#' @concept maximum likelihood
#' @concept optimisation with gradients
#' @concept minimise
#' @export
#' @examples
#' y <- rgamma(100, shape = 3, rate = 2)
#' loss <- function(log_shape, log_rate) -sum(dgamma(y, exp(log_shape), exp(log_rate), log = TRUE))
#' o <- objective(loss, start = list(log_shape = 0, log_rate = 0))
#' o
#' fit <- optim(o$par, o$fn, o$gr, method = "BFGS")
#' o$arguments(fit$par)
#' sqrt(diag(solve(o$he(fit$par))))
objective <- function(f, start, ..., wrt = NULL) {
  check_function(f, "f")
  if (!is.list(start)) start <- structure(list(start), names = names(formals(args(f)))[1])
  check_start_names(names(start), f)
  if (is.null(wrt)) wrt <- names(start)
  fixed <- c(start[setdiff(names(start), wrt)], list(...))
  first <- start_run(f, c(start, list(...)), wrt)
  supports <- new.env(parent = emptyenv())
  run <- keep_last(function(par) {
    keeping_supports(one_number(traced_run(f, c(put_in(first, par), fixed), wrt)), supports)
  })
  n <- sum(lengths(first$leaves))
  names <- flat_names(first)
  named <- function(x) structure(x, names = names)

  structure(class = "kernweave_objective", list(
    par = named(plain_value(join(first$leaves))),
    fn = function(par) {
      at <- run(par)
      if (is.null(at)) Inf else as.vector(plain_value(at$result))
    },
    gr = function(par) {
      at <- run(par)
      named(if (is.null(at)) rep(NaN, n) else flat(at, cotangents(at, 1)))
    },
    he = function(par) {
      if (is.null(run(par))) return(matrix(NaN, n, n))
      hessian_of(second_order(f, c(put_in(first, par), fixed), wrt))
    },
    arguments = function(par) put_in(first, par)
  ))
}

check_start_names <- function(names, f) {
  if (is.null(names) || !all(nzchar(names))) {
    abort("input", "`start` must be a list whose parts bear the names of arguments of `f`")
  }
  known <- names(formals(args(f)))
  unknown <- if (!"..." %in% known) setdiff(names, known)
  if (length(unknown)) abort("input", "`start`: `f` has no argument `", unknown[1], "`", near_hint(unknown[1], known))
}

# Puts numbers in the places of the inputs, and leaves all else unchanged.
put_in <- function(run, par) {
  n <- sum(lengths(run$leaves))
  if (!is.numeric(par)) abort("input", "`par` must be numbers, not ", describe(par))
  if (length(par) != n) abort("shape", "`par` must have ", counted(n, "number"), ", not ", length(par))
  before <- 0L
  over_inputs(run$inputs, rest = identity, f = function(input) {
    at <- places_of(input, before)
    before <<- before + length(at)
    take(par, at)
  })
}

# Keeps the run at a point until another point is asked for; the run is NULL if a matrix is not positive definite, or a
# number out of range.
keep_last <- function(run) {
  last <- list()
  told <- FALSE
  turned_round <- function(e) {
    if (!told) tell("The objective is Inf here: ", message_of(e), " (Said once.)")
    told <<- TRUE
    NULL
  }
  function(par) {
    par <- as.vector(par)
    if (!identical(last$par, par)) {
      at <- tryCatch(run(par), kernweave_error_indefinite = turned_round, kernweave_error_value = turned_round)
      last <<- list(par = par, run = at)
    }
    last$run
  }
}

#' @export
print.kernweave_objective <- function(x, ...) {
  cat("objective of ", counted(length(x$par), "number"), ", with gradient and Hessian; it starts at\n", sep = "")
  print(x$par, ...)
  invisible(x)
}
