# Solutions by products alone: conjugate gradients and minimal residuals, their checks, scaling and refinement.

# Computes the upper Cholesky factor of K + V V' + ridge with sparse `effects` V.
dense_root <- function(K, ridge, effects = NULL) {
  A <- dense(lazy_set(K, precision = "float64"))
  check_symmetric(A)
  if (!is.null(effects)) A <- A + as.matrix(Matrix::tcrossprod(effects))
  diag(A) <- diag(A) + ridge
  tryCatch(chol.default(A), error = function(failure) {
    abort("indefinite", "the matrix is not positive definite (", message_of(failure), "); a ridge may be missing")
  })
}

check_symmetric <- function(A) {
  if (!all(is.finite(A))) abort("value", "the matrix of pairs has ", if (anyNA(A)) "NaN" else "Inf")
  off <- max(abs(A - t(A)), 0)
  if (off > 1e-8 * max(abs(A))) {
    abort("indefinite", "the matrix is not symmetric: entries differ from those across the diagonal by ",
          format(off, digits = 3))
  }
}

# Checks symmetry on a random pair of vectors, by the products that solve the system, if the matrix itself is not made.
check_symmetric_by_products <- function(op, n) {
  uv <- matrix(r_uniforms(2 * n, 1) - 0.5, n)
  products <- r_operator_product(op, uv)
  if (!all(is.finite(products))) {
    abort("value", "products with the matrix of pairs have ", if (anyNA(products)) "NaN" else "Inf",
          ": so have its data")
  }
  one <- sum(uv[, 1] * products[, 2])
  other <- sum(uv[, 2] * products[, 1])
  scale <- length_of(uv[, 1]) * length_of(products[, 2])
  if (abs(one - other) > 1e-5 * scale) {
    abort("indefinite", "the matrix is not symmetric: u'Kv and v'Ku are ", format(one, digits = 6), " and ",
          format(other, digits = 6), " for random u and v")
  }
}

# Tells whether products are less precise than float64, so that other products correct the solutions.
is_refined <- function(K) call_options(K$settings)$precision != "float64"

# Computes the norm of a vector, even if squares would overflow or vanish.
length_of <- function(v) {
  most <- max(abs(v), 0)
  if (most == 0) 0 else most * sqrt(sum((v / most)^2))
}

# Returns the products that solve a system: exact products and, if asked for, rough products. A determinant of the same
# matrix often comes next, so a GPU also compiles the products for it.
products_of_system <- function(K, ridge, columns, refined = is_refined(K), effects = NULL) {
  system <- expected(native_system(lazy_set(K, precision = "float64"), ridge, columns, effects), K)
  rough <- if (refined) expected(native_system(K, ridge, columns, effects), K)
  if (may_be_compiled(call_options(kernel_tensor(K)$settings))) {
    expected(native_system(K, ridge, max(columns, formals(logdet)$probes), effects), K)
  }
  list(system = system, rough = rough, quickest = rough %or% system)
}

solve_by_products <- function(K, ridge, b, tol, method, precondition, rank, local, start, max_iter, effects = NULL) {
  exact <- lazy_set(K, precision = "float64")
  products <- products_of_system(K, ridge, ncol(b), method != "minres" && is_refined(K), effects)
  if (!is.list(precondition) || !isTRUE(precondition$symmetric)) {
    check_symmetric_by_products(products$quickest, length(ridge))
  }
  P <- if (method != "minres") chosen_preconditioner(precondition, exact, ridge, rank, local, effects)
  c(iterate(products$system, b, tol, method, max_iter, live_pointer(P), start, products$rough),
    list(ridge = min(ridge), preconditioner = P))
}

by_products <- function(A, b, tol, method, max_iter, P = NULL, start = matrix(0, nrow(b), 0)) {
  if (isFALSE(A$symmetric)) abort("indefinite", "the operator is not symmetric: conjugate gradients cannot solve it")
  if (!isTRUE(A$symmetric)) check_symmetric_by_products(native_operator(A, 2), nrow(b))
  c(iterate(native_operator(A, ncol(b), ladder = TRUE), b, tol, method, max_iter, live_pointer(P), start),
    if (!is.null(P)) list(preconditioner = P))
}

# Solves a system by products alone; `rough` is the system with less precise products, if there is one.
iterate <- function(system, b, tol, method, max_iter, pointer = NULL, start = matrix(0, nrow(b), 0), rough = NULL) {
  most <- if (is.null(max_iter)) most_iterations(nrow(b)) else check_count(max_iter, "max_iter")
  begun <- proc.time()[["elapsed"]]
  by_gradients <- function(system, b, start, tol) {
    found <- r_conjugate_gradients(system, pointer, b, start, tol, most, method == "block")
    if (is.null(pointer) || found$end != "stagnant") return(found)
    after(found, r_conjugate_gradients(system, NULL, b, found$x, tol, most, method == "block"))
  }
  found <- at_middle_scale(b, start, function(b, start) {
    if (method == "minres") r_minimal_residual(system, b, tol, most)
    else if (is.null(rough)) by_gradients(system, b, start, tol)
    else refine(by_gradients, system, rough, b, start, tol)
  })
  c(found[c("x", "iterations", "residual", "history", "products", "end")], list(smallest = found$smallest %or% Inf),
    list(method = if (method == "auto") "cg" else method, converged = found$end == "converged",
         rough = !is.null(rough), iterating = proc.time()[["elapsed"]] - begun))
}

# Joins the counts of an iteration and of its continuation, which has no preconditioner: rounding spoils a
# preconditioner if the ridge is far less than the matrix.
after <- function(first, second) {
  second$iterations <- first$iterations + second$iterations
  second$products <- first$products + second$products
  second$history <- c(first$history, second$history)
  second$smallest <- min(first$smallest, second$smallest)
  second
}

# Squares of numbers beyond 1e154 are infinite, and below 1e-154 zero. Columns near these limits are solved for at
# another scale, a power of two, which changes no digit.
at_middle_scale <- function(b, start, find) {
  most <- apply(abs(b), 2, max)
  far <- most > 0 & (most > 1e100 | most < 1e-100)
  if (!any(far)) return(find(b, start))
  scale <- ifelse(far, 2^floor(log2(most)), 1)
  by_columns <- function(x, f) if (ncol(x)) f(x, rep(scale, each = nrow(x))) else x
  found <- find(by_columns(b, `/`), by_columns(start, `/`))
  found$x <- by_columns(found$x, `*`)
  found
}

most_iterations <- function(n) as.integer(100 + 10 * sqrt(n))

# Products in float32 gain two digits at a time; residuals in float64 measure the progress. If a step gains less than a
# factor of 3, the rest is solved in float64.
refine <- function(by_gradients, system, rough, b, start, tol) {
  fresh <- !ncol(start)
  x <- if (fresh) 0 * b else start
  residual <- if (fresh) b else b - r_operator_product(system, x)
  size <- relative_size(residual, b)
  history <- numeric()
  smallest <- Inf
  iterations <- integer(ncol(b))
  products <- as.integer(!fresh)
  while (any(size > tol)) {
    step <- by_gradients(rough, residual, matrix(0, nrow(b), 0), max(1e-2, tol))
    moved <- x + step$x
    left <- b - r_operator_product(system, moved)
    now <- relative_size(left, b)
    iterations <- iterations + step$iterations
    products <- products + step$products + 1
    history <- c(history, step$history * max(size))
    smallest <- min(smallest, step$smallest)
    slow <- max(now) > max(size) / 3
    if (max(now) < max(size)) {
      x <- moved
      residual <- left
      size <- now
    }
    if (slow) break
  }
  if (all(size <= tol)) {
    return(list(x = x, end = "converged", iterations = iterations, residual = size, history = history,
                products = products, smallest = smallest))
  }
  after(list(iterations = iterations, history = history, products = products, smallest = smallest),
        by_gradients(system, b, x, tol))
}

# Returns the lengths of the columns of a residual, relative to those of the right-hand side.
relative_size <- function(left, b) sqrt(colSums(left^2)) / pmax(sqrt(colSums(b^2)), .Machine$double.xmin)

chosen_preconditioner <- function(precondition, K, ridge, rank, local, effects = NULL) {
  if (inherits(precondition, "kernweave_preconditioner")) {
    if (precondition$n != length(ridge)) {
      abort("shape", "the preconditioner is of ", precondition$n, " points, the matrix of ", length(ridge))
    }
    return(precondition)
  }
  check_flag(precondition, "precondition")
  if (!precondition) return(NULL)
  K <- untruncated(kernel_tensor(K))
  if (!is.null(said_of(K$pairs)$ranges)) {
    say_once("ranges", "A matrix restricted by ranges is solved without a preconditioner. (Said once.)")
    return(NULL)
  }
  K <- as_masked(K, "a preconditioner")
  pairs <- pairs_of(K)
  if (!is.null(effects) && is.null(pairs)) return(new_preconditioner(K, ridge, rank, local, effects = effects))
  if (is.null(pairs)) return(if (!isFALSE(any(diag(of_few_pairs(K)) > 0))) kept_preconditioner(K, ridge, rank, local))
  say_once("pairs", "The matrix of pairs `", pairs, "` is solved without a preconditioner, since its rows are ",
           "not gathered. (Said once.)")
  NULL
}
