# simulate(): draws of the normal distribution whose covariance is a kernel matrix.

#' Simulate a Gaussian process
#'
#' Draws from the normal distribution with mean 0 and covariance `K + ridge`: values of a Gaussian process at the points
#' of `K`, with a nugget if there is a `ridge`. Use it for unconditional simulation with a known covariance;
#' [simulate()][simulate.gp_fit] of a [gp_fit()] draws given data.
#'
#' Draws are exact up to `tol`, relative to their size; with the default a draw differs from an exact one by a
#' thousandth of its standard deviation. For up to 2000 points they use a Cholesky factor, for more points a Lanczos
#' process, with about ten products with `K` for 64 draws. [root_op()] makes the operator that multiplies the random
#' numbers.
#'
#' With `seed = NULL`, R's random numbers continue from their current state, so [set.seed()] applies. With a `seed`, the
#' draws are the same as after `set.seed(seed)`, and the generator is restored afterwards. As for [stats::simulate()],
#' the draws have an attribute `seed`: the state of the generator before the draws, or the `seed` you gave.
#'
#' @param object a lazy tensor of one component over the same points along i and j, or an operator (see
#'   [identity_op()]); symmetric and positive semidefinite
#' @param nsim number of draws
#' @param seed a whole number, or `NULL`
#' @param ridge a number, or one per point, added to the diagonal (the nugget)
#' @param tol relative error of a draw
#' @param ... more arguments of [root_op()]: `method`, `precondition`, `rank`, `local`, `max_iter`, `basis_mb`
#' @return A matrix with a row for each point and a column for each draw, `sim_1`, `sim_2`, ...
#' @seealso [root_op()], [stats::simulate()]
#' @concept unconditional simulation
#' @concept Gaussian random field
#' @concept sample from a multivariate normal distribution
#' @importFrom stats simulate
#' @export
#' @examples
#' x <- seq(0, 10, length.out = 400)
#' paths <- simulate(kernel_matern(x, x, scale = 1, nu = 2.5), nsim = 5, seed = 1)
#' matplot(x, paths, type = "l", lty = 1)
simulate.lazy_tensor <- function(object, nsim = 1, seed = NULL, ridge = 0, tol = 1e-3, ...) {
  nsim <- check_count(nsim, "nsim")
  state <- begin_draws(seed)
  if (!is.null(state$before)) on.exit(assign(".Random.seed", state$before, envir = globalenv()))
  root <- root_op(object, ridge, tol, ...)
  n <- root$dim[1]
  draws <- root %*% matrix(stats::rnorm(root$dim[2] * nsim), root$dim[2], nsim)
  structure(matrix(as.vector(draws), n, nsim, dimnames = list(rownames(root), paste0("sim_", seq_len(nsim)))),
            seed = state$mark)
}

#' @rdname simulate.lazy_tensor
#' @export
simulate.linear_op <- simulate.lazy_tensor

# Sets a given seed. Returns the `mark` that becomes the seed attribute of draws, and the random state to put back.
begin_draws <- function(seed) {
  if (!exists(".Random.seed", globalenv(), inherits = FALSE)) stats::runif(1)
  before <- get(".Random.seed", globalenv(), inherits = FALSE)
  if (is.null(seed)) return(list(mark = before))
  set.seed(check_seed(seed))
  list(mark = structure(seed, kind = as.list(RNGkind())), before = before)
}
