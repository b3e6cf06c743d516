# Systems A = V V' + noise without a process: linear models, and with grouped effects V mixed models. With D the noise,
# C = I + V'D^-1 V has a sparse Cholesky factor, and A^-1 = D^-1 - D^-1 V C^-1 V'D^-1 (Woodbury).

linear_gp_system <- function(model, values, noise) {
  effects <- group_effects(model, values)
  logdet <- sum(log(noise))
  if (is.null(effects)) return(new_system("gp_linear", model, values, noise, logdet = logdet))
  C <- Matrix::forceSymmetric(Matrix::Diagonal(ncol(effects$V)) + crossprod(effects$V / sqrt(noise)))
  root <- Matrix::Cholesky(C, LDL = FALSE)
  of_C <- 2 * as.numeric(Matrix::determinant(root, sqrt = TRUE, logarithm = TRUE)$modulus)
  new_system("gp_linear", model, values, noise, logdet = logdet + of_C, V = effects$V, root = root,
             of_groups = effects$slopes)
}

#' @export
solve.gp_linear <- function(a, b, ...) {
  x <- as.matrix(b) / a$noise
  if (is.null(a$V)) return(x)
  x - as.matrix(a$V %*% Matrix::solve(a$root, crossprod(a$V, x))) / a$noise
}

#' @export
covariance_times.gp_linear <- function(system, x) {
  if (is.null(system$V)) 0 * x else as.matrix(system$V %*% crossprod(system$V, x))
}

#' @export
system_slopes.gp_linear <- function(system) {
  of_groups <- system$of_groups
  within <- if (length(of_groups)) inverse_blocks(system$root, Reduce(`+`, lapply(of_groups, abs)))
  # tr(A^-1 V B V') = tr((I - C^-1) B), and tr(A^-1 D) = n - sum over all effects
  of <- vapply(of_groups, function(B) sum(Matrix::diag(B)) - sum(within * B), 0)
  left <- if (length(of_groups)) ncol(system$V) - sum(Matrix::diag(within)) else 0
  traces <- c(0, of, length(system$noise) - left)
  list(logdet = system$logdet, traces = traces, each = rbind(traces, traces),
       diagonal = if (!is.null(system$model$family)) inverse_diagonal(system),
       applied = function(u) slopes_times(of_groups, system$V, u))
}

# The elements of C^-1 = L'^-1 L^-1 at the nonzero positions of a sparse symmetric matrix, by columns of L^-1.
inverse_blocks <- function(root, pattern) {
  at <- methods::as(methods::as(pattern, "generalMatrix"), "TsparseMatrix")
  q <- nrow(at)
  diagonal <- seq_len(q) - 1L
  i <- c(at@i, diagonal)
  j <- c(at@j, diagonal)
  once <- !duplicated(i + q * as.numeric(j))
  i <- i[once]
  j <- j[once]
  reach <- max(abs(i - j))
  of <- lapply(split(seq_along(j), j %/% 512), function(some) {
    from <- max(0, min(j[some]) - reach)
    to <- min(q - 1, max(j[some]) + reach)
    unit <- Matrix::sparseMatrix(seq(from, to) + 1, seq_len(to - from + 1), x = 1, dims = c(q, to - from + 1))
    columns <- Matrix::solve(root, Matrix::solve(root, unit, system = "P"), system = "L")
    values <- Matrix::colSums(columns[, i[some] - from + 1, drop = FALSE] * columns[, j[some] - from + 1, drop = FALSE])
    data.frame(i = i[some], j = j[some], x = values)
  })
  of <- do.call(rbind, of)
  Matrix::sparseMatrix(of$i, of$j, x = of$x, dims = c(q, q), index1 = FALSE)
}

#' @export
system_inverse.gp_linear <- function(system) unname(solve(system, diag(length(system$noise))))

#' @export
inverse_diagonal.gp_linear <- function(system) {
  if (is.null(system$V)) return(1 / system$noise)
  1 / system$noise - unlist(in_row_blocks(length(system$noise), function(rows) {
    explained_by_effects(system, Matrix::t(system$V[rows, , drop = FALSE]))
  })) / system$noise^2
}

#' @export
inverse_squares.gp_linear <- function(system, w) {
  n <- length(w)
  if (is.null(system$V)) return(1 / (system$noise^2 * w))
  unlist(in_row_blocks(n, function(rows) {
    unit <- matrix(0, n, length(rows))
    unit[cbind(rows, seq_along(rows))] <- 1
    colSums(solve(system, unit)^2 / w)
  }))
}

#' @export
inverse_forms.gp_linear <- function(system, k) {
  direct <- colSums(k^2 / system$noise)
  if (is.null(system$V)) direct else direct - explained_by_effects(system, crossprod(system$V, k / system$noise))
}

# c' C^-1 c of each column c.
explained_by_effects <- function(system, c) {
  Matrix::colSums(Matrix::solve(system$root, Matrix::solve(system$root, c, system = "P"), system = "L")^2)
}
