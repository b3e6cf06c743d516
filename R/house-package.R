# The package page, and the imports from other packages.

#' Kernel and distance computations without the matrix of pairs
#'
#' kernweave computes with every pair of two sets of points: sums of kernels, nearest neighbours, distances, kriging,
#' tests. The matrix of pairs is never stored, so memory grows with the number of points only.
#'
#' Wrap the data with [Vi()], [Vj()] and [Pm()], write a formula with them in plain R, and reduce it with [reduction()],
#' `sum()`, `%*%` and similar functions. The models and tests below do this for you. Words that arguments take are
#' case-sensitive and may be cut short; an error shows the nearest word.
#'
#' @section I want, I write:
#' Each line of this table, and of the two below, can be pasted after these lines:
#'
#' ```r
#' x <- matrix(runif(3000), 1000, 3)
#' y <- matrix(runif(6000), 2000, 3)
#' b <- rnorm(2000)
#' X <- Vi(x)
#' D <- sqdist(X, Vj(y))
#' K <- exp(-D / 0.18)
#' S <- exp(-sqdist(X, Vj(x)) / 0.18)        # a kernel over the points x twice
#' f <- function(s) sum(exp(-D / s), index = "ij")
#' a <- rnorm(1000)
#' z <- 3 + sin(4 * x[, 1]) + rnorm(1000, sd = 0.3)
#' g <- rep_len(1:4, 1000)                   # groups
#' at <- rbind(c(1, 9), c(10, nrow(x)))      # first and last rows of two clusters
#' near <- diag(2) == 1                      # which of them are near each other
#' s <- c(1, 2, 4, 6)                        # sorted vectors
#' h <- 1:3
#' ```
#'
#' | I want | I write |
#' |---|---|
#' | the sum over j of k(x_i, y_j) b_j, a kernel times a vector | `K %*% b` |
#' | the same the other way round, for each y_j | `crossprod(K, a)` |
#' | row sums, one row for each x_i; as a plain vector | `sum(K, index = "j")`; `sum(K, index = "j", drop = TRUE)` |
#' | one number, over all pairs | `sum(K, index = "ij")` |
#' | a formula of my own | `exp(-abs(Vi(x)[, , 1] - Vj(y)[, , 1]) / Pm(0.5))` |
#' | a kernel by name | `kernel_matern(x, y, scale = 0.5, nu = 3 / 2)` |
#' | the five nearest neighbours; with their distances | `argKmin(D, K = 5)`; `Kmin_argKmin(D, K = 5)` |
#' | the nearest centre of each point | `argmin(D)` |
#' | how many y_j are within 0.3 of x_i | `reduction(D < 0.3^2, "count")` |
#' | several of these in one pass | `reduction(D, c("min", "mean", "max"))` |
#' | a log-sum-exp, a softmax-weighted mean | `logsumexp(-D)`; `sumsoftmaxweight(-D, weight = Vj(y))` |
#' | to leave out the pairs i = j | `exclude_diag(K)` |
#' | only pairs of points of the same group | `restrict(S, by = g)` |
#' | only pairs that satisfy a condition | `restrict(K, where = Vj(y)[, , 1] < Vi(x)[, , 1])` |
#' | sums over any axes of arrays, windows and groups among them | `reduction(C[i, j] ~ x[i, a] * y[j, a], "sum")` |
#' | many small problems at once | `sum(sqdist(Vi(array(x, c(500, 3, 2))), Vj(y)), index = "j")` |
#' | only blocks of pairs, say of nearby clusters | `restrict(S, ranges = ranges(at, at, near))` |
#' | only pairs whose values are not negligible | `sparsify(S, tol = 1e-6)` |
#' | to solve (S + ridge) w = z, S a kernel over the same points twice | `solve(S, z, ridge = 0.01)` |
#' | the logarithm of its determinant, with a standard error | `logdet(S, ridge = 0.01)` |
#' | its largest eigenvalues, with vectors | `keigen(S, 3)` |
#' | the posterior of a Gaussian process at other points | `conditional(S, z[1:9], seen = 1:9, ridge = 0.01)` |
#' | draws of a Gaussian process | `simulate(S, nsim = 2)` |
#' | least squares with a rectangular lazy tensor | `least_squares(K, z, ridge = 0.1)` |
#' | a likelihood, or cross-validation, for many ridge values | `ridge_path(S, z, ridge = c(0.01, 0.1))` |
#' | a low-rank approximation | `lowrank(S, ridge = 0.01)` |
#' | sums of a million points in seconds, with a tolerance | `approximate(S, tol = 1e-6) %*% z` |
#' | a matrix built from kernels, and never stored | `K %*% t(K) + 2 * S + identity_op(nrow(x))` |
#' | a gradient, shaped like the points | `vjp(sum(K, index = "ij", call = FALSE), wrt = X)` |
#' | the gradient of an R function with lazy tensors inside | `value_and_gradient(f)(0.18)`; `objective(f, 0.18)` |
#' | a function that takes its data later | `as.function(sum(sqdist(Vi(dim = 3), Vj(dim = 3)), index = "j"))` |
#' | a formula from text | `kernel_op("exp(-sqdist(x, y))", c("x = Vi(3)", "y = Vj(3)"))` |
#' | a look at the numbers | `as.matrix(K[1:5, 1:5])`; `plot(K)` |
#' | what will be computed, and how long it will take | `explain(K)` |
#' | complex numbers | `exp(1i * sum(Vi(x) * Vj(y))) %*% b` |
#' | single precision, twice as fast | `sum(K, index = "j", precision = "float32")` |
#' | all cores | `options(kernweave.threads = 8)` |
#'
#' A reduction returns a matrix with a row for each point kept, as `%*%` does; `drop = TRUE` turns a single column into
#' a vector.
#'
#' @section Functions of base R:
#' `library(kernweave)` masks `crossprod()`, `tcrossprod()`, `diag()`, `rowSums()`, `colSums()`, `rowMeans()` and
#' `colMeans()` of base R by generics of the same name. For matrices and data frames they return what those of base R
#' return. As for those of Matrix, R gives no note of it.
#'
#' @section Arrays in parallel:
#' With numbers `z`, their groups `g` and sorted vectors `s` and `h`:
#'
#' | I want | I write |
#' |---|---|
#' | sums, means, extremes by group | `par_reduce(z, "mean", par_segments(by = g))` |
#' | running sums within groups | `par_scan(z, "sum", par_segments(by = g))` |
#' | an ordering, of a vector or of columns; the sorted vector | `par_order(list(g, z))`; `par_sort(z)` |
#' | the rows of two tables that have equal keys | `par_join(g, h, "left")` |
#' | the last of the times `s` before each of `z` | `par_search(z, s, "upper")` |
#' | two sorted vectors merged; as sets | `par_merge(s, h)`; `par_set(s, h, "intersect")` |
#' | items removed; inserted after the fourth | `par_remove(z, c(2, 5))`; `par_insert(z, h, 4)` |
#' | items repeated; stretches copied | `par_expand(h, 1:3)`; `par_move(z, c(2, 5), counts = 2)` |
#' | numbers, rows or slices added where an index says | `index_add(numeric(4), g, z)` |
#'
#' @section Models and tests:
#' With points `x` and `y`, numbers `z` and groups `g` of the rows of `x`:
#'
#' | I want to know | I write |
#' |---|---|
#' | are two samples alike, or several groups | `energy_test(x, y)`; `mmd_test(z ~ g, null = "moments")` |
#' | are variables dependent, in any way | `dcor_test(x, z)`; `hsic_test(x, z)` |
#' | does a sample come from a density | `ksd_test(z, score = function(z) -z)` |
#' | does a design explain distances | `permanova(x ~ g, distance = "manhattan")` |
#' | which of several groups differ | `pairwise_test(x, g, energy_test, null = "moments")` |
#' | nearest neighbours; a graph of them | `knn(x, k = 5)`; `nn_graph(knn(x, k = 2))` |
#' | all neighbours within a radius | `radius_nn(x, radius = 0.1)` |
#' | a class, or a mean, by the nearest rows | `predict(knn_fit(x, g), y)`; `knn_fit(x, z, k = NULL)` |
#' | clusters, and how well points lie in them | `kmeans_fit(x, 3)`; `silhouette_widths(x, g)` |
#' | dense regions of any shape, and noise; outliers | `hdbscan_fit(x)`; `dbscan_fit(x, eps = 0.1)`; `lof_scores(x)` |
#' | a tree of clusters of many points | `cut_tree(hclust_fit(x, "ward.D2"), k = 3)` |
#' | a regression on many inputs; the effect of each | `marginal_effects(kernel_ridge(x, z, lambda = 1))` |
#' | a regression on a million points | `kernel_ridge(x, z, lambda = 1, control = fit_control(approximate = 1e-6))` |
#' | the optimal transport from one sample to another | `sinkhorn(x, y)`; `transport_plan(sinkhorn(x, y))` |
#' | transport of a part of the mass; a mean of clouds | `sinkhorn(x, y, rho = 1)`; `sinkhorn_barycentre(list(x, y))` |
#' | principal components of a kernel | `kpca_fit(x, k = 2)` |
#' | a surface that interpolates, or smooths | `rbf_interpolate(x[, 1:2], z, lambda = 1)` |
#' | how correlation falls off with distance | `variogram(z ~ x)` |
#' | a covariance of my own | `kernel_radial(x, profile = function(d) exp(-d^0.7))` |
#' | kriging, with standard errors | `predict(gp_fit(x, z), y, se.fit = TRUE)` |
#' | sites and years beside the process | `gp_fit(mag ~ long + lat, quakes, trend = ~ (1 | stations))` |
#' | two variables at once (cokriging) | `gp_fit(x[, 1:2], cbind(x[, 3], z))` |
#' | places and days | `gp_fit(x[, 1:2], z, kernel = kernel_spec(of = "x1") * kernel_spec("matern12", of = "x2"))` |
#' | how sure are range and variance | `gp_posterior(gp_fit(x, z), prior = gp_prior())` |
#' | how good predictions are, and their intervals | `predictive_scores(gp_fit(x, z))` |
#' | is a trend real | `anova(gp_fit(x, z, method = "ML"), gp_fit(x, z, trend = ~ x1, method = "ML"))` |
#' | counts, or classes, instead of numbers | `gp_fit(x, round(z), family = poisson)`; `?gp_fit` |
#' | outliers; shares; zeros and positive numbers | `gp_fit(x, z, family = "student")`; `?gp_family` |
#' | a density; a regression curve with intervals | `kde_fit(z)`; `local_reg(x[, 1], z, bandwidth = 0.2)` |
#' | a kernel with parameters, a sum of two | `kernel_spec("matern52", scale = 2) + kernel_spec("linear")` |
#'
#' @seealso
#' `vignette("kernweave")` for an introduction, `vignette("any-formula")` for formulas of your own,
#' `vignette("kriging")` for Gaussian processes, `vignette("trend")` to compare and check Gaussian processes,
#' `vignette("two-samples")` for tests, `vignette("fitting")` for maximum likelihood and gradients of functions.
#'
#' The package's site and its source contain articles, too, each of one task from data to plot: "Points on a map", "The
#' tables of the field", "Dependence beyond correlation", "Neighbours and clusters", "Sums over far more points",
#' "Points in files", "Beyond one machine". "How it is tested" says how results are checked, and what is not.
#'
#' Formulas: [Vi()], [lazy-arithmetic], [lazy-operations], [ready-kernels], [pair-derivatives], [kernel_op()].
#' Numbers: [reduction()], [lazy-reductions], [lazy-matrix]. Derivatives: [vjp()], [gradient()], [objective()].
#' Systems: [solve()][solve.lazy_tensor], [logdet()], [preconditioner()].
#' Models and tests: [kernel_spec()], [energy_test()], [dcor_test()], [ksd_test()], [permanova()], [pairwise_test()],
#' [knn()], [knn_fit()], [kmeans_fit()], [dbscan_fit()], [hdbscan_fit()], [hclust_fit()], [spanning_tree()],
#' [lof_scores()], [silhouette_widths()], [kpca_fit()],
#' [kde_fit()], [local_reg()], [rbf_interpolate()], [kernel_ridge()], [marginal_effects()], [gp_fit()], [variogram()],
#' [anova()][anova.gp_fit], [elpd()], [cross_validate()], [predictive_scores()], [sinkhorn()],
#' [hessian_product()], [sinkhorn_barycentre()].
#' Arrays: [par_segments()], [par_reduce()], [par_scan()], [par_order()], [par_join()], [par_merge()], [par_search()],
#' [par_set()], [par_remove()], [par_insert()], [par_expand()], [par_move()], [index_add()].
#' Plans, options and operations: [explain()], [kernweave_sitrep()], [kernweave_options()], [kernweave_operations()].
#'
#' @concept kernel methods
#' @concept pairwise distances
#' @concept large data without a distance matrix
#' @examples
#' x <- matrix(runif(300), 100, 3)
#' y <- matrix(runif(600), 200, 3)
#' b <- rnorm(200)
#' K <- exp(-sqdist(Vi(x), Vj(y)) / 2)
#' K
#' head(K %*% b)
#' sum(K, index = "i", drop = TRUE)[1:6]
#'
#' @keywords internal
#' @useDynLib kernweave, .registration = TRUE
#' @importFrom Rcpp evalCpp
#' @importFrom methods as is new setMethod setOldClass show
#' @importFrom Matrix crossprod tcrossprod diag
#' @importFrom stats median
#' @importFrom utils head
"_PACKAGE"
