# Systems A = variance K + groups + nugget / w of Gaussian processes: a constructor and generics. Classes: `gp_linear`
# (grouped effects and noise alone), `gp_dense` (a Cholesky factor), `gp_products` (iterations with products),
# `gp_series` (approximated products), `gp_weighed` (a working response, by one of the former), `gp_signed` (a working
# response with W < 0 in some rows), `gp_panel` (eigenvectors of places and times); linear, signed and panel have their
# own files.

# Makes the system; NULL if A is not definite. `near`: a state of the same rows, whose preconditioner may be used.
gp_system <- function(model, values, near = NULL) UseMethod("gp_system", family_of(model))

#' @export
gp_system.gp_gaussian <- function(model, values, near = NULL) {
  noise <- gp_noise(model, values)
  if (values$variance == 0) linear_gp_system(model, values, noise)
  else if (!is.null(model$panel)) panel_gp_system(model, values, noise)
  else if (model$dense) dense_gp_system(model, values, noise)
  else lazy_gp_system(model, values, near, noise)
}

# Builds the system by B = I + W^1/2 K W^1/2, whose noise is 1 however small W is, and whose determinant is needed.
#' @export
gp_system.gp_family <- function(model, values, near = NULL) {
  noise <- values$nugget / model$w
  if (any(model$w < 0)) return(signed_gp_system(model, values, noise))
  if (model$dense || values$variance == 0) {
    found <- if (values$variance == 0) linear_gp_system(model, values, noise)
             else dense_gp_system(model, values, noise)
    return(if (!is.null(found)) replace(found, "logdet", found$logdet + sum(log(model$w))))
  }
  root <- sqrt(model$w)
  changed <- near$preconditioner$W
  if (!is.null(changed) && mean(abs(log(changed / model$w))) > 0.2) near$values <- NULL
  inner <- replace(model, c("root", "w"), list(root, rep(1, length(root))))
  of <- lazy_gp_system(inner, values, near, values$nugget / inner$w)
  if (is.null(of$preconditioner$W) || is.null(near$values)) of$preconditioner$W <- model$w
  new_system("gp_weighed", model, values, noise, of = of, root = root, control = model$control,
             preconditioner = of$preconditioner, products = of$products)
}

# Returns the noise variance of each row, nugget / w.
gp_noise <- function(model, values = model$values) {
  nugget <- unname(values$nugget)
  (if (length(nugget) > 1) nugget[model$z[, 1]] else nugget) / model$w
}

# Returns the noise variances by nugget; the noise of one response is 0 in the rows of other responses.
noise_parts <- function(system) {
  count <- length(system$values$nugget)
  if (count == 1) return(list(system$noise))
  lapply(seq_len(count), function(k) system$noise * (system$model$z[, 1] == k))
}

new_system <- function(class, model, values, noise, ...) {
  structure(list(model = model, values = values, noise = noise, ...), class = c(class, "gp_system"))
}

# Builds the system of a fit, with the stored preconditioner.
kept_system <- function(fit) {
  values <- fit$data$values
  gp_system(fit$data, values, list(preconditioner = fit$kept$preconditioner, values = values))
}

dense_gp_covariance <- function(model, values) {
  process <- if (values$variance == 0) matrix(0, length(model$y), length(model$y))
             else values$variance * unname(as.matrix(gp_pairs(model, gp_numbers(model, values))))
  process + groups_matrix(group_parts(model, values))
}

dense_gp_system <- function(model, values, noise) {
  A <- model$K %or% dense_gp_covariance(model, values)
  diag(A) <- diag(A) + noise
  root <- tryCatch(chol.default(A), error = function(e) NULL)
  if (is.null(root) || !all(is.finite(diag(root)))) return(NULL)  # a NaN anywhere reaches the diagonal
  new_system("gp_dense", model, values, noise, root = root, logdet = 2 * sum(log(diag(root))))
}

# Builds an iterative system; one preconditioner serves solutions, log-determinant and traces.
lazy_gp_system <- function(model, values, near, noise) {
  control <- model$control <- gp_tolerance(model, values)
  K <- Pm(values$variance, name = "variance") * gp_pairs(model, named_parameters(gp_numbers(model, values)))
  effects <- group_effects(model, values)
  kept <- gp_preconditioner(K, noise, control, values, near, effects$V)
  products <- system_products(K, control, effects$V)
  new_system(c(if (products$approximated) "gp_series", "gp_products"), model, values, noise, control = control,
             preconditioner = kept, products = products, of_groups = effects$slopes)
}

# Returns settings with a tolerance that suits the covariance. No nugget is too small: approximated products of a rough
# kernel are definite without noise, and other systems fail with an error.
gp_tolerance <- function(model, values) {
  size <- function() values$variance * max(diag(gp_pairs(model, gp_numbers(model, values))))
  tolerable(model$control, gp_noise(model, values), size(), length(model$y), model$loose %or% 1,
            least = 0)
}

# --- solutions --------------------------------------------------------------------------------------------------

#' @export
solve.gp_dense <- function(a, b, ...) backsolve(a$root, backsolve(a$root, b, transpose = TRUE))

#' @export
solve.gp_products <- function(a, b, tol = a$control$tol, start = NULL, ...) {
  kept <- a$preconditioner
  control <- a$control
  K <- a$products$K
  repeat {
    stronger <- kept$strength < length(strengths_of_gp$rank) && !is_approximated(dim(K), control) &&
      nrow(K) > 4 * strengths_of_gp$neighbours[kept$strength + 1]
    most <- if (stronger) patience[kept$strength] else control$max_iter
    x <- quietly_solved(on_definite(a$products, a$noise, function(A) {
      solve(A, b, ridge = a$noise, tol = tol, method = "cg", max_iter = min(most, control$max_iter),
            precondition = kept$P, start = start, report = TRUE)
    }))
    kept$P$symmetric <- TRUE  # is not checked again
    report <- solve_report(x)
    kept$smallest <- min(kept$smallest, report$smallest)
    start <- matrix(as.vector(x), nrow(b))
    if (report$converged || most >= control$max_iter) break
    kept$strength <- kept$strength + 1
    kept$smallest <- Inf
    kept$P <- built_preconditioner(K, a$noise, control, kept$strength, kept$P, kept$effects)
  }
  structure(start, residual = max(report$residual), converged = report$converged)
}

#' @export
solve.gp_weighed <- function(a, b, tol = a$control$tol, start = NULL, ...) {
  a$root * solve(a$of, a$root * as.matrix(b), tol = tol, start = if (!is.null(start)) start / a$root)
}

# Returns forms S' A^-1 S, given solutions X = A^-1 S: `value`, the errors `off` of each side, and a bound `rest`.
solved_forms <- function(system, sides, solved) UseMethod("solved_forms")

#' @export
solved_forms.gp_system <- function(system, sides, solved) {
  list(value = crossprod(sides, solved), off = numeric(ncol(sides)))
}

# Quadratic forms are X' S + X' R + R' A^-1 R with residuals R. The last term is at most R' R / min(noise), and at most
# R' P^-1 R / (smallest eigenvalue of P^-1 A), estimated by the smallest Ritz value. Without the second term errors
# would be of order R instead of R^2.
#' @export
solved_forms.gp_products <- function(system, sides, solved) {
  kept <- system$preconditioner
  residuals <- sides - matrix(as.vector(system$products$A %*% solved), nrow(solved)) - system$noise * solved
  value <- crossprod(solved, sides + residuals)
  rest <- colSums(residuals^2) / max(min(system$noise), 1e-300)
  if (is.finite(kept$smallest)) rest <- pmin(rest, colSums(residuals * solve(kept$P, residuals)) / kept$smallest)
  list(value = (value + t(value)) / 2, rest = pmax(rest, 0), off = sqrt(pmax(rest, 0)))
}

# Residuals of approximated products stay above the products' error, of which solve() warns.
#' @export
solved_forms.gp_series <- function(system, sides, solved) {
  found <- NextMethod()
  replace(found, "off", list(0 * found$off))
}

#' @export
solved_forms.gp_weighed <- function(system, sides, solved) {
  solved_forms(system$of, system$root * sides, solved / system$root)
}

# Returns the forms X' A^-1 X, and the solutions if they are computed.
forms_of_columns <- function(system, x, tol) UseMethod("forms_of_columns")

#' @export
forms_of_columns.gp_system <- function(system, x, tol) {
  solved <- solve(system, x, tol = tol)
  list(value = crossprod(x, solved), solved = solved)
}

# Multiplies the covariance K by columns.
covariance_times <- function(system, x) UseMethod("covariance_times")

#' @export
covariance_times.gp_dense <- function(system, x) crossprod(system$root, system$root %*% x) - system$noise * x

#' @export
covariance_times.gp_weighed <- function(system, x) {
  matrix(as.vector(system$products$A %*% (x / system$root)), NROW(x)) / system$root
}

# --- determinants and slopes ------------------------------------------------------------------------------------

# Returns the log-determinant, exact or by probes; then `se_tol` bounds its standard error.
system_logdet <- function(system, se_tol = NULL, ...) UseMethod("system_logdet")

#' @export
system_logdet.gp_system <- function(system, se_tol = NULL, ...) system$logdet

# Estimates log |P^-1 A|, which has less noise, and adds log |P|.
#' @export
system_logdet.gp_products <- function(system, se_tol = NULL, ...) {
  control <- system$control
  on_definite(system$products, system$noise, function(A) {
    logdet(A, system$noise, control$probes, control$seed, method = "lanczos",
           precondition = system$preconditioner$P, se_tol = se_tol, ...)
  })
}

#' @export
system_logdet.gp_weighed <- function(system, se_tol = NULL, ...) system_logdet(system$of, se_tol, ...)

# Returns the parts of the score: `traces` of A^-1 A_k (variance, kernel parameters, groups, nuggets), the derivatives
# of the log-determinant; the traces of `each` probe; and `applied(u)`, the products A_k u of kernel parameters and
# groups.
system_slopes <- function(system) UseMethod("system_slopes")

#' @export
system_slopes.gp_dense <- function(system) slopes_by_inverse(system, chol2inv(system$root))

slopes_by_inverse <- function(system, inverse) {
  slopes <- gp_slopes(system$model, system$values)
  slopes <- Map(function(B, by) by * unname(as.matrix(B)), slopes$of, slopes$by)
  of_noise <- vapply(noise_parts(system), function(noise) sum(diag(inverse) * noise), 0)
  parts <- group_parts(system$model, system$values)
  of_groups <- group_slopes(parts)
  rest <- length(system$noise) - sum(of_noise) - sum(vapply(parts, trace_with, 0, inverse))
  of_kernel <- vapply(slopes, function(B) sum(inverse * B), 0)
  traces <- c(rest, of_kernel, vapply(of_groups, trace_with, 0, inverse), of_noise)
  list(logdet = system$logdet, traces = traces, each = rbind(traces, traces), diagonal = diag(inverse),
       applied = function(u) c(lapply(slopes, function(B) B %*% u),
                               lapply(of_groups, function(part) groups_times(list(part), u))))
}

# Estimates all traces by probes, also the trace of the variance, which is n minus the trace of the noise: errors of
# variance and scale then cancel along their ridge, where the likelihood is flat, and would else be twenty times larger.
#' @export
system_slopes.gp_products <- function(system) {
  slopes <- gp_slopes(system$model, system$values)
  products <- system$products
  on_definite(products, system$noise, function(A) {
    of <- lapply(slopes$of, fit_products, products$control)
    noise <- noise_parts(system)
    by <- c(1, slopes$by, rep(1, length(noise) + length(system$of_groups)))
    along <- c(list(products$process), of, system$of_groups, noise)
    logdet <- logdet(A, system$noise, system$control$probes, system$control$seed, method = "lanczos",
                     precondition = system$preconditioner$P, along = along)
    found <- attr(logdet, "along")
    applied <- function(u) {
      c(Map(function(B, by) by * matrix(as.vector(B %*% u), nrow(u)), of, slopes$by),
        slopes_times(system$of_groups, products$effects, u))
    }
    list(logdet = logdet, traces = by * found$value, each = found$each * rep(by, each = nrow(found$each)),
         applied = applied)
  })
}

#' @export
system_slopes.gp_weighed <- function(system) {
  found <- system_slopes(system$of)
  applied <- found$applied
  replace(found, "applied", list(function(u) lapply(applied(u / system$root), function(x) x / system$root)))
}

# --- inverses, and errors of series -----------------------------------------------------------------------------

# Returns A^-1 as a matrix, if the system is dense.
system_inverse <- function(system) UseMethod("system_inverse")

#' @export
system_inverse.gp_dense <- function(system) chol2inv(system$root)

inverse_diagonal <- function(system) UseMethod("inverse_diagonal")

#' @export
inverse_diagonal.gp_dense <- function(system) rowSums(backsolve(system$root, diag(nrow(system$root)))^2)

# Returns k' A^-1 k for each column k.
inverse_forms <- function(system, k) UseMethod("inverse_forms")

#' @export
inverse_forms.gp_dense <- function(system, k) colSums(backsolve(system$root, k, transpose = TRUE)^2)

# The diagonal of A^-1 W^-1 A^-1.
inverse_squares <- function(system, w) UseMethod("inverse_squares")

# Estimates the error of y' P y if products are approximated.
error_of_form <- function(system, alpha) UseMethod("error_of_form")

#' @export
error_of_form.gp_system <- function(system, alpha) c(sum = 0, se = 0)

# Estimates the sum over all rows from audited rows, with its standard error.
scaled_up <- function(values, found) {
  n <- length(found$own)
  c(sum = n * mean(values), se = n * stats::sd(values) / sqrt(length(values)) * sqrt(1 - length(values) / n))
}

# The number of rows whose products with all others are computed exactly: up to a second of work.
rows_of_form <- function(n) max(256, min(2048, floor(4e8 / n)))

# The first-order error is alpha' (A - B) alpha, B the approximation of A, estimated from a sample of rows, or from all
# rows if there are few.
#' @export
error_of_form.gp_series <- function(system, alpha) {
  products <- system$products
  n <- length(alpha)
  rows <- seq_len(n)
  if (n > rows_of_form(n)) rows <- privately(system$model$control$seed %or% 1, sort(sample.int(n, rows_of_form(n))))
  exact <- as.vector(products$K[rows, ] %*% alpha)
  off <- exact - as.vector(products$process %*% alpha)[rows]
  found <- scaled_up(alpha[rows] * off, list(own = alpha))
  second <- n * mean(off^2) / min(system$noise)  # bounds the second-order error
  c(found["sum"], se = sqrt(found[["se"]]^2 + second^2))
}
