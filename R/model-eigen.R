# Kernel principal components: the largest eigenvalues of a centred kernel matrix, and scores.

#' Kernel principal component analysis of many points
#'
#' Computes the largest eigenvalues of the centred kernel matrix and the scores of the points. Use it for nonlinear
#' dimension reduction when the kernel matrix is too large to form: only products with it are needed.
#'
#' The total variance is exact, and so are the proportions of variance. If eigenvalues are equal, the scores are an
#' arbitrary basis of their space. The sign of each column is such that its largest entry in absolute value is positive.
#'
#' With `kernel = "linear"` the scores are those of [stats::prcomp()]; with
#' `kernel = kernel_spec("energy", exponent = 2)` they are those of [stats::cmdscale()] up to a factor. A `scale` that
#' is not given is 1 for a linear kernel, and [median_scale()] for others.
#'
#' @param x points, a matrix, data frame or vector; or a formula `~ a + b`
#' @param data,subset,na.action for a formula: as in [stats::lm()]
#' @param k number of components
#' @param kernel a kernel, as in [kernel_spec()]
#' @param center centre the kernel matrix?
#' @param ... not used
#' @return An object of class `kpca_fit`: `values`, the eigenvalues; `scores`, one column per component, whose squares
#'   sum to the eigenvalue; `sdev`, the standard deviations of the scores; `total`, the sum of all eigenvalues;
#'   `vectors`, the eigenvectors; `residuals.norm`, a bound on the error of each eigenvalue. `kernlab::kpca()` returns
#'   `values / n`, and `scores` times `sqrt(n)`.
#' @seealso [keigen()] for eigenvalues of any operator, [kmeans_fit()] to cluster the scores
#' @concept kernel PCA
#' @concept dimension reduction
#' @concept principal coordinates
#' @export
#' @examples
#' found <- kpca_fit(iris[, 1:4], 3, kernel_spec("gaussian", scale = sqrt(2.5)))
#' found
#' predict(found, iris[1:2, 1:4] + 0.1)
#' plot(found, col = iris$Species)
#' kpca_fit(~ Murder + Assault + Rape, scale(USArrests))
kpca_fit <- function(x, ...) UseMethod("kpca_fit")

#' @rdname kpca_fit
#' @export
kpca_fit.default <- function(x, k = 2, kernel = "gaussian", center = TRUE, ...) {
  refuse_more(...)
  inputs <- fit_matrix(x)
  kpca_of(inputs, k, kernel_spec(kernel), center, match.call())
}

#' @rdname kpca_fit
#' @export
kpca_fit.formula <- function(x, data = NULL, k = 2, kernel = "gaussian", center = TRUE, subset = NULL,
                              na.action = NULL, ...) {
  refuse_more(...)
  inputs <- formula_inputs(x, data, na.action, subset = substitute(subset), one_sided = TRUE)$inputs
  kpca_of(inputs, k, kernel_spec(kernel), center, match.call())
}

kpca_of <- function(inputs, k, kernel, center, call) {
  check_flag(center, "center")
  inputs <- without_constants(inputs)
  x <- unname(strip_term(inputs$x))
  n <- nrow(x)
  if (check_count(k, "k") > n) abort("shape", "`k` is ", k, ", and there are ", n, " rows")
  kernel <- check_order(kernel, if (center) 1 else 0, "components")
  parts <- kernel_parts(kernel)
  linear <- identical(parts$name, "linear") && is.null(parts$parameters$scale)
  if (linear) kernel <- update(kernel, scale = 1)  # the scale is a factor of the scores alone
  kernel <- settled_kernel(kernel, inputs$x)
  K <- kernel_pairs(kernel, x)
  means <- as.vector(K %*% rep(1 / n, n))
  less_mean <- function(v) t(t(v) - colMeans(v))
  centred <- function(v) less_mean(unname(K %*% less_mean(v)))
  found <- keigen(if (center) function_op(centred, n, symmetric = TRUE) else as_op(K), k, tol = 1e-10)
  largest <- apply(abs(found$vectors), 2, which.max)
  sign <- ifelse(found$vectors[cbind(largest, seq_along(largest))] < 0, -1, 1)
  found$vectors <- t(t(found$vectors) * sign)
  total <- sum(diag(K)) - if (center) n * mean(means) else 0
  names <- paste0("PC", seq_len(k))
  fit <- new_fit("kpca_fit", call, inputs, kernel = kernel, center = center, means = means, total = total,
                 values = stats::setNames(found$values, names), sdev = sqrt(pmax(found$values, 0) / (n - 1)),
                 vectors = found$vectors, residuals.norm = found$residuals,
                 scores = t(t(found$vectors) * sqrt(pmax(found$values, 0))))
  dimnames(fit$scores) <- list(rownames(inputs$x), names)
  null <- null_components(fit)
  if (length(null)) {
    warn("dropped", counted(length(null), "component"), " from `", names[null[1]],
         "` on: nothing but rounding error, left out by predict()")
  }
  fit
}

null_components <- function(fit) which(fit$values <= 1e-12 * max(fit$values[1], 0))

#' @rdname kpca_fit
#' @param object,newdata for `predict()`: an object returned by `kpca_fit()`, and new points; by default its own points
#' @export
predict.kpca_fit <- function(object, newdata = NULL, ...) {
  refuse_more(...)
  if (is_raster(newdata)) return(over_cells(object, newdata, predict.kpca_fit))
  if (is.null(newdata)) return(stats::napredict(object$na.action, object$scores))
  null <- null_components(object)
  kept <- setdiff(seq_along(object$values), null)
  if (!length(kept)) abort("singular", "no component has a variance: there is nothing to predict")
  V <- t(t(object$vectors[, kept, drop = FALSE]) / sqrt(object$values[kept]))
  x <- strip_term(object$x)
  scores <- at_complete(new_points(object, newdata), function(at) {
    K <- kernel_pairs(object$kernel, unname(at), unname(x))
    found <- unname(K %*% cbind(V, 1 / nrow(x)))
    own <- found[, seq_along(kept), drop = FALSE]
    if (!object$center) return(own)
    shift <- outer(found[, length(kept) + 1] - mean(object$means), colSums(V)) +
      rep(colSums(object$means * V), each = nrow(own))
    own - shift
  })
  colnames(scores) <- names(object$values)[kept]
  scores
}

#' @rdname kpca_fit
#' @param digits significant digits
#' @export
print.kpca_fit <- function(x, digits = 4, ...) {
  say("Kernel PCA of ", count_text(nrow(x$x), "point"), ", ", format(x$kernel),
      if (!x$center) ", not centred", "\n")
  share <- x$values / x$total
  table <- rbind(Value = x$values, Proportion = share, Cumulative = cumsum(share))
  print(rbind(format(table[1, , drop = FALSE], digits = digits + 1),
              formatC(table[-1, , drop = FALSE], format = "f", digits = 3)), quote = FALSE, right = TRUE)
  cat(left_out_text(x$na.action))
  invisible(x)
}

#' @rdname kpca_fit
#' @param components for `plot()`: the two components to draw
#' @export
plot.kpca_fit <- function(x, components = 1:2, ...) drawn(x, plot_data(x, components), ...)

#' @export
plot_data.kpca_fit <- function(object, components = 1:2, ...) {
  most <- ncol(object$scores)
  if (most == 1) components <- 1
  if (!all(components %in% seq_len(most))) abort("index", "`components` must be among 1 to ", most)
  share <- sprintf("PC%d (%.1f %%)", as.integer(components), 100 * object$values[components] / object$total)
  scores <- unname(object$scores[, components, drop = FALSE])
  if (length(components) == 1) {
    return(picture("point", share, points = data.frame(x = seq_len(nrow(scores)), y = scores[, 1])))
  }
  picture(share[1], share[2], points = data.frame(x = scores[, 1], y = scores[, 2]))
}
