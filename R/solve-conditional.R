# Conditional normal distributions: kriging with its variance, and draws.

#' Conditional distribution of a Gaussian process (kriging)
#'
#' Computes the mean, variance and draws of a Gaussian process at new points, given data `y` at other points, for a
#' known covariance `K` and independent noise of variance `ridge`. Use it for kriging with covariance parameters that
#' you supply; [gp_fit()] estimates them.
#'
#' The results are for the process without the noise. With `k` the covariances between a new point and the observed
#' points, the mean is `k' (K + ridge)^-1 y` (simple kriging), and the variance is the prior variance minus
#' `k' (K + ridge)^-1 k`. With a `trend`, whose coefficients are estimated, the method is universal kriging.
#'
#' There are three methods for the variances. `"exact"` solves a linear system for each new point, many at once. During
#' the iteration a variance decreases from its prior value and is never negative; the iteration stops when the variance
#' can decrease by at most a fraction `tol` of itself. `"pathwise"` draws the process at all points and corrects each
#' draw by kriging its difference from the data. The corrected draws are exact draws from the conditional distribution,
#' and one linear system serves any number of new points. The variance is the mean squared deviation of the draws from
#' the exact mean, with a relative standard error of `sqrt(2 / nsim)`: 18 % for 64 draws, or 9 % for the standard
#' deviation. No variance is computed as a difference of two estimates. `"local"`, or local kriging, conditions each new
#' point on its `neighbours` only, and estimates the coefficients of a `trend` from these neighbours. It takes
#' microseconds per point, for any number of data. Without a trend the local variance is never smaller than the exact
#' variance.
#'
#' @param K the covariance: a lazy tensor of one component over the same points along i and j, observed and new
#' @param y the data, one number per point in `seen`; `NULL` for variances only, which do not depend on the data
#' @param seen the observed points of `K`: numbers, logicals or names; by default the first `NROW(y)` points
#' @param ridge variance of the noise (the nugget): a number, or one per point in `seen`; by default 0
#' @param trend a matrix of regressors with a row for each point of `K`: their coefficients are estimated, and their
#'   uncertainty adds to the variance; `NULL`, the default, for no trend
#' @param method `"exact"`, `"pathwise"`, `"local"`, or `"auto"`: local if there are `neighbours`, otherwise exact for
#'   up to 512 new points, or up to 10 000 if the covariance matrix of the observed points is factored, otherwise
#'   pathwise
#' @param neighbours for `"local"`: a matrix with a row for each new point, the positions in `y` of the data to
#'   condition on, such as `nn.index` of [knn()]
#' @param nsim number of draws; by default 64 for `"pathwise"` and none for `"exact"`
#' @param tol relative residual of the linear systems, and relative error of an exact variance
#' @param seed seed of the draws, as in [simulate()][simulate.lazy_tensor]
#' @param solver `"dense"` factors the matrix, `"cg"` iterates, `"auto"` is dense for up to 2000 observed points
#' @param precondition,rank,local,max_iter as in [solve()][solve.lazy_tensor], for the observed points; a
#'   [preconditioner()] can be used for several calls
#' @param x,digits,probs,... for methods: the result of `conditional()`; significant digits; probabilities; not used
#' @param row.names,optional as in [base::as.data.frame()]
#' @return A list of class `kernweave_conditional`: `mean` and `variance` at each new point; `se`, the relative standard
#'   error of the variances, 0 unless pathwise; `method`, the method used; `seen`, the number of observed points;
#'   `draws`, one column per draw, or `NULL`; `coefficients` of the trend, `NULL` if local. `as.data.frame()` gives the
#'   columns `mean` and `sd`, `quantile()` a matrix of normal quantiles, both with a row for each new point.
#' @seealso [solve()][solve.lazy_tensor] for the weights alone, [simulate()][simulate.lazy_tensor] for draws from the
#'   prior
#' @concept kriging variance
#' @concept simple and universal kriging
#' @concept posterior mean and variance
#' @concept conditional simulation
#' @concept Gaussian process regression
#' @export
#' @examples
#' x <- c(sort(runif(100)), seq(-0.2, 1.2, length.out = 50))    # observed, and new
#' y <- sin(6 * x[1:100]) + rnorm(100, sd = 0.1)
#' K <- kernel_matern(x, x, scale = 0.3, nu = 2.5)
#' at <- conditional(K, y, ridge = 0.01, nsim = 3)
#' at
#' near <- conditional(K, y, ridge = 0.01, neighbours = knn(x[1:100], x[101:150], k = 20)$nn.index)
#' range(near$variance / at$variance)
#' matplot(x[101:150], cbind(quantile(at, c(0.025, 0.5, 0.975)), at$draws), type = "l",
#'         lty = c(2, 1, 2, 3, 3, 3), col = 1, xlab = "x", ylab = "y")
#' points(x[1:100], y)
conditional <- function(K, y, seen = seq_len(NROW(y)), ridge = 0, trend = NULL,
                        method = c("auto", "exact", "pathwise", "local"), nsim = NULL, tol = 1e-6, seed = NULL,
                        solver = c("auto", "dense", "cg"), precondition = TRUE, rank = NULL, local = TRUE,
                        max_iter = NULL, neighbours = NULL) {
  method <- check_method(method, c("auto", "exact", "pathwise", "local"))
  solver <- check_method(solver, c("auto", "dense", "cg"), "solver")
  nsim <- if (!is.null(nsim)) check_count(nsim, "nsim")
  check_tolerance(tol)
  data <- conditional_data(K, y, seen, ridge, trend)
  if (method == "local" || method == "auto" && !is.null(neighbours)) return(local_conditional(data, neighbours, nsim))
  if (!is.null(neighbours)) abort("input", "`neighbours` are for method = \"local\", not \"", method, "\"")
  model <- conditional_model(data, solver)
  if (method == "auto") method <- if (model$small || length(model$new) <= 512) "exact" else "pathwise"
  if (method == "pathwise") nsim <- nsim %or% 64L
  before <- if (!is.null(nsim)) begin_draws(seed)$before
  if (!is.null(before)) on.exit(assign(".Random.seed", before, envir = globalenv()))
  model$P <- if (!model$dense) chosen_preconditioner(precondition, model$seen, model$ridge, rank, local)
  model$tol <- tol
  model$max_iter <- max_iter
  of_seen <- inherits(precondition, "kernweave_preconditioner")
  model$root <- list(precondition = of_seen || precondition, rank = rank, local = local, max_iter = max_iter %or% 200)
  found <- kriged(model, if (!is.null(nsim)) prior_draws(model, nsim))
  variance <- if (method == "exact") pmax(model$prior - explained_variance(model), 0) else rowMeans(found$errors^2)
  if (method == "exact" && !is.null(found$of_trend)) {
    missing <- model$regressors - cross_times(model, found$of_trend)
    variance <- variance + rowSums(missing * t(solve(found$information, t(missing))))
  }
  new_conditional(model, found$mean, variance, method, se = if (method == "exact") 0 else sqrt(2 / nsim),
                  draws = if (!is.null(nsim) && !is.null(y)) found$mean + found$errors,
                  coefficients = if (!is.null(trend) && !is.null(y)) {
                    trend_coefficients(model$parts, found$b[, 1, drop = FALSE])[, 1]
                  })
}

new_conditional <- function(model, mean, variance, method, se = 0, draws = NULL, coefficients = NULL) {
  names <- point_names(model$K, "i")[model$new]
  if (!is.null(coefficients)) names(coefficients) <- model$regressor_names
  structure(list(mean = stats::setNames(mean, names), variance = stats::setNames(variance, names), se = se,
                 method = method, seen = length(model$at),
                 draws = if (!is.null(draws)) named(draws, names, paste0("sim_", seq_len(ncol(draws)))),
                 coefficients = coefficients), class = "kernweave_conditional")
}

# --- the model ------------------------------------------------------------------------------------------------

conditional_data <- function(K, y, seen, ridge, trend) {
  n <- check_square(K)
  if (is_traced_system(K, y, ridge, trend)) {
    abort("no_gradient", "conditional() has no derivatives; solve() and logdet() have")
  }
  K <- lazy_set(K, precision = "float64")
  at <- positions(seen, n, "places seen", point_names(K, "i"))
  if (anyDuplicated(at)) abort("index", "place ", at[anyDuplicated(at)], " is seen twice; give a place for each datum")
  new <- as.numeric(which(tabulate(at, n) == 0))
  m <- length(at)
  if (!is.null(y)) {
    if (NROW(y) != m) abort("shape", "`y` has ", counted(NROW(y), "number"), " for ", counted(m, "place"), " seen")
    if (NCOL(y) != 1) abort("shape", "`y` must be one number for each place seen, not ", NCOL(y))
  }
  y <- if (is.null(y)) matrix(0, m, 0) else right_hand_side(y, m, "y")$values
  c(list(K = K, at = at, new = new, ridge = check_ridge(ridge, m), regressor_names = colnames(trend)),
    conditional_trend(trend, y, at, new, n))
}

conditional_model <- function(data, solver) {
  K <- data$K
  at <- data$at
  dense <- solver == "dense" || solver == "auto" && length(at) <= small_system
  c(data, list(solver = solver, seen = among_points(K, at) %or% take_both(K, at, at),
               cross = take_both(K, data$new, at), prior = as.vector(diag(K))[data$new], dense = dense,
               small = dense && length(data$new) <= 10000))
}

# Predicts each place from its neighbours alone; the trend's coefficients are also estimated from the neighbours.
local_conditional <- function(data, neighbours, nsim) {
  if (!is.null(nsim)) abort("input", "local kriging makes no draws; method = \"pathwise\" does")
  near <- check_neighbours(neighbours, length(data$at), length(data$new))
  entries <- native_entries(of_few_pairs(data$K))
  seen <- list(at = data$at, ridge = data$ridge, numbers = cbind(data$y, data$parts$Q), responses = ncol(data$y))
  regressors <- t(data$regressors %or% matrix(0, length(data$new), 0))
  found <- r_conditional_local(entries, seen, list(at = data$new, near = t(near), regressors = regressors))
  lost <- sum(is.nan(found[2, ]))
  if (lost) {
    warn("approximate", "the ", ncol(near), " neighbours of ", counted(lost, "place"), " do not determine the trend's ",
         "coefficients, so that mean and variance there are NaN; more neighbours, or a simpler trend, would help")
  }
  mean <- if (ncol(data$y)) found[1, ] + as.vector(data$least %or% 0) else rep(NA_real_, length(data$new))
  new_conditional(data, mean, found[2, ], "local")
}

check_neighbours <- function(neighbours, n, places) {
  if (is.null(neighbours)) abort("input", "`neighbours` is not given: local kriging is by some data of each place")
  near <- as.matrix(neighbours)
  if (nrow(near) != places) {
    abort("shape", "`neighbours` has ", counted(nrow(near), "row"), " for ", counted(places, "new place"))
  }
  if (!is.numeric(near) || !isTRUE(all(near >= 1 & near <= n & near == trunc(near)))) {
    abort("index", "`neighbours` must be positions in `y`, from 1 to ", n)
  }
  storage.mode(near) <- "integer"
  near
}

# Returns K among some of its points by selecting their data; row numbers for each point would prevent float32. NULL if
# a formula depends on more than the data of its points.
among_points <- function(K, at) {
  operands <- Filter(function(operand) operand$axis != "param", operands_of(K$formula))
  plain <- vapply(operands, function(o) o$axis %in% c("i", "j") && is.numeric(o$data) && !is_on_device(o$data), NA)
  if (!is.null(K$pairs) || !length(operands) || !all(plain) || counts_points(K$formula)) return(NULL)
  some <- lapply(operands, function(o) {
    data <- if (is.matrix(o$data)) o$data[at, , drop = FALSE] else o$data[at]
    new_operand(o$name, o$axis, o$width, o$kind, data)
  })
  new_lazy(r_with_operands(list(K$formula), operands, some)[[1]], rep(as.numeric(length(at)), 2), K$settings)
}

# Returns the data without a trend, and the regressors: orthonormal at seen places (F = Q R), F R^-1 at new places.
conditional_trend <- function(trend, y, at, new, n) {
  if (is.null(trend)) return(list(y = y))
  F <- right_hand_side(trend, n, "trend")$values
  parts <- taken_apart(y, check_trend(F[at, , drop = FALSE], length(at)))
  list(y = parts$left, parts = parts, regressors = t(backsolve(parts$R, t(F[new, , drop = FALSE]), transpose = TRUE)),
       least = F[new, , drop = FALSE] %*% parts$least)
}

# Computes the mean, if there are data, and the error at new places of kriging each prior draw from its seen values.
kriged <- function(model, before = NULL) {
  sides <- do.call(cbind, Filter(Negate(is.null), list(model$y, before[model$at, , drop = FALSE], model$parts$Q)))
  if (length(sides)) {
    sides <- plain_columns(solve(model$seen, sides, ridge = model$ridge, tol = model$tol, method = model$solver,
                                 precondition = model$P %or% FALSE, max_iter = model$max_iter))
  }
  found <- list(x = sides)
  if (!is.null(model$parts)) found <- without_trend(found$x, model$parts)
  estimates <- cross_times(model, found$x)
  if (!is.null(model$parts)) estimates <- estimates + model$regressors %*% found$b
  mine <- seq_len(ncol(model$y))
  found$mean <- if (!length(mine)) rep(NA_real_, length(model$new))
                else as.vector(estimates[, mine] + model$least %or% 0)
  if (!is.null(before)) {
    of_draws <- length(mine) + seq_len(ncol(before))
    found$errors <- before[model$new, , drop = FALSE] - estimates[, of_draws, drop = FALSE]
  }
  found
}

cross_times <- function(model, x) {
  if (!length(x) || !length(model$new)) return(matrix(0, length(model$new), ncol(x)))
  plain_columns(model$cross %*% x)
}

prior_draws <- function(model, nsim) {
  n <- length(model$at) + length(model$new)
  noise <- numeric(n)
  noise[model$at] <- model$ridge
  method <- c(auto = "auto", dense = "dense", cg = "lanczos")[[model$solver]]
  size <- mean(as.vector(diag(model$K)))
  root <- do.call(root_op, c(list(model$K, noise, tol_of_draws(model$ridge, size, model$tol), method), model$root))
  plain_columns(root %*% matrix(stats::rnorm(root$dim[2] * nsim), root$dim[2], nsim))
}

# --- variances ------------------------------------------------------------------------------------------------

# The megabytes of a block of covariances with new places.
conditional_mb <- 256

explained_variance <- function(model) {
  n <- length(model$at)
  if (!n) return(numeric(length(model$new)))
  most <- max(1, min(widest_product, floor(conditional_mb * 2^20 / 8 / n)))
  root <- if (model$dense) dense_root(model$seen, model$ridge)
  forms <- if (!model$dense) iterated_forms(model)
           else function(k, prior) colSums(backsolve(root, k, transpose = TRUE)^2)
  unlist(lapply(some_at_a_time(length(model$new), most), function(rows) {
    forms(t(unname(dense(take_points(model$cross, rows, "i", "rows")))), model$prior[rows])
  })) %or% numeric()
}

iterated_forms <- function(model) {
  most <- if (is.null(model$max_iter)) most_iterations(length(model$at)) else check_count(model$max_iter, "max_iter")
  # The error of products in float32 is at most the rounding of float32 times the largest value times the rows. With a
  # larger ridge the matrix stays definite, and iterations end where those in float64 do. Without a preconditioner there
  # are many iterations, and rounding adds more.
  K <- model$seen
  rough <- !is.null(model$P) && is_lazy(K) && nrow(K) * max(abs(as.vector(diag(K))), 0) * 2^-24 <= min(model$ridge)
  quick <- if (rough) lazy_set(K, precision = "float32")
  function(k, prior) {
    of <- function(K) native_system(K, model$ridge, ncol(k))
    found <- r_inverse_forms(of(K), if (!is.null(quick)) of(quick), live_pointer(model$P), k, prior,
                             min(model$ridge), model$tol, most)
    if (!found$converged) {
      warn("convergence", "variances were still falling, by up to ",
           format(max(found$left / pmax(prior - found$value, 0)), digits = 2), " of them, after ", found$products,
           " iterations: they may be too large; a ridge or a larger `rank` would help")
    }
    found$value
  }
}

# --- methods --------------------------------------------------------------------------------------------------

#' @rdname conditional
#' @export
print.kernweave_conditional <- function(x, digits = 4, ...) {
  say("<conditional distribution> of ", count_text(length(x$mean), "place"), " after data at ", number_text(x$seen),
      ", ", x$method, if (!is.null(x$draws)) paste0(", ", counted(ncol(x$draws), "draw")), "\n")
  spread <- function(values) paste(format(range(values), digits = digits, trim = TRUE), collapse = " to ")
  if (length(x$mean)) {
    if (!all(is.na(x$mean))) cat("  mean                ", spread(x$mean), "\n", sep = "")
    cat("  standard deviation  ", spread(sqrt(x$variance)),
        if (x$se > 0) paste0(", each to within ", format(50 * x$se, digits = 2), " %"), "\n", sep = "")
  }
  if (length(x$coefficients)) cat("  trend               ", format(x$coefficients, digits = digits), "\n")
  invisible(x)
}

#' @rdname conditional
#' @importFrom stats quantile
#' @export
quantile.kernweave_conditional <- function(x, probs = c(0.025, 0.5, 0.975), ...) {
  if (!is.numeric(probs) || anyNA(probs) || any(probs < 0 | probs > 1)) {
    abort("input", "`probs` must be probabilities, not ", format_value(probs))
  }
  percents <- if (length(probs)) paste0(formatC(100 * probs, format = "fg", width = 1, digits = 7), "%")
  named(x$mean + outer(sqrt(x$variance), stats::qnorm(probs)), names(x$mean), percents)
}

#' @rdname conditional
#' @export
as.data.frame.kernweave_conditional <- function(x, row.names = NULL, optional = FALSE, ...) {
  data.frame(mean = x$mean, sd = sqrt(x$variance), row.names = row.names %or% names(x$mean))
}
