# Linear systems of fits: kernels with parameters, approximated products, generalised cross-validation.

# Returns a kernel with all parameters set (open scales from the points), with a scale for each column if `ard`.
settled_kernel <- function(k, x) {
  k <- with_scale(k, x)
  parts <- kernel_parts(k)
  if (parts$ard && is.null(parts$op)) update(k, scale = scale_of_columns(parts$parameters$scale, x)) else k
}

# Evaluates a kernel between two sets of points, by default between a set and itself, as lazy tensors: users' kernels
# need lazy tensors.
kernel_pairs <- function(k, x, y = x) k(if (is_lazy(x)) x else Vi(x), Vj(y))

is_auto <- function(control) identical(control$approximate, "auto")

# Returns settings in which series are used only if the user asked for them.
without_auto <- function(control) {
  if (is_auto(control)) control["approximate"] <- list(NULL)
  control
}

# Returns the products of a fit: all pairs of the kernel, or series for far pairs if `control` says so and there is no
# dense matrix.
fit_products <- function(K, control) {
  if (!is_approximated(dim(K), control)) return(K)
  named_by_control(approximate(K, control$approximate))
}

is_approximated <- function(extent, control) {
  !is.null(without_auto(control)$approximate) && min(extent[1:2]) > control$dense_n
}

how_solved <- function(n, control) {
  if (n <= control$dense_n) return("dense")
  if (!is_approximated(c(n, n), control)) return("by products")
  paste("by series to", format(control$approximate, digits = 2))
}

# Sums a formula, which may have several components, times numbers v, over an axis.
fit_sums <- function(F, v, index, control) {
  tol <- if (is_approximated(dim(F), control)) control$approximate
  weight <- if (index == "j") Vj(v) else Vi(v)
  named_by_control(unname(reduction(F, "sum", index = index, weight = weight, tol = tol)))
}

named_by_control <- function(value) {
  refused <- function(e) {
    why <- sub("; (expansions pay|use sqdist).*", "", sub("`[KF]` is ", "the kernel is ", message_of(e)))
    abort(sub("kernweave_error_", "", class(e)[1]), "`approximate` of fit_control(): ", why, "; it is for kernels of ",
          "one distance of points in one, two or three dimensions, as those of Matern are; NULL computes all pairs")
  }
  tryCatch(value, kernweave_error_not_a_distance = refused, kernweave_error_dimension = refused)
}

check_order <- function(k, most, what) {
  if (!isTRUE(kernel_order(k) > most)) return(k)
  abort("unsupported", kernel_parts(k)$title, " is conditionally definite of order ", kernel_order(k), ", and ", what,
        " take kernels of order ", most, if (most > 0) " and less")
}

# --- systems ------------------------------------------------------------------------------------------------

# The rows of positive weight.
heavy_rows <- function(x, y, weights) {
  w <- weights %or% rep(1, nrow(x))
  heavy <- w > 0
  list(x = x[heavy, , drop = FALSE], y = y[heavy, , drop = FALSE], w = w[heavy])
}

# Solves a fit's system. The attribute `tolerance`: the tolerance of approximated products.
fit_solve <- function(K, b, ridge, control, ...) {
  products <- system_products(K, control)
  solved <- on_definite(products, ridge, function(A) {
    solve(A, b, ridge = ridge, tol = control$tol, method = if (nrow(K) <= control$dense_n) "dense" else "cg",
          max_iter = control$max_iter, rank = control$rank, report = TRUE, ...)
  })
  structure(solved, tolerance = if (products$approximated) products$control$approximate)
}

# Applies f() to blocks of rows, since f() makes a block of a matrix, and returns a list.
in_row_blocks <- function(n, f, size = 256, work = NULL) {
  lapply(unname(split(seq_len(n), (seq_len(n) - 1) %/% size)), function(rows) {
    out <- f(rows)
    if (!is.null(work)) step_work(work)
    out
  })
}

# Estimates the seconds of `count` products by one product, after a first one, which may compile a kernel.
expected_seconds <- function(products, y, count) {
  products %*% y
  count * system.time(products %*% y)[["elapsed"]]
}

convergence_of <- function(solution) {
  report <- solve_report(solution)
  c(report[intersect(c("method", "iterations", "residual", "off", "products", "seconds"), names(report))],
    list(tolerance = attr(solution, "tolerance")))
}

# --- the tolerance of a system ------------------------------------------------------------------------------

# Returns the tolerance with which a system stays definite: approximate() has errors of at most tol max|K| in an entry,
# hence of n tol max|K| in the matrix, which the ridge must exceed. `size`: max|K|, the largest diagonal element.
tolerance_for <- function(ridge, size, n) min(ridge) / (n * size)

# The smallest ridge of a grid: audited matrices had errors of at most a twelfth of the bound.
least_ridge <- function(tol, size, n) 0.4 * n * tol * size

tolerances <- c(least = 1e-12, grid = 1e-6, most = 1e-4)

# Returns settings with the tolerance that a system allows, or `times` this tolerance; a given tolerance is the upper
# limit. A system that allows less than `least` is refused.
tolerable <- function(control, ridge, size, n, times = 1, least = tolerances[["least"]]) {
  if (!is_approximated(c(n, n), control)) return(control)
  rule <- tolerance_for(ridge, size, n)
  if (!isTRUE(rule >= least)) abort_tolerance(n, min(ridge), size, rule)
  given <- if (!isTRUE(control$approximate)) control$approximate
  control$approximate <- max(tolerances[["least"]], min(times * rule, given, tolerances[["most"]]))
  control
}

abort_tolerance <- function(n, ridge, size, tol, ...) {
  enough <- n * size * tolerances[["least"]]
  abort("tolerance", "with ", format(n, big.mark = ","), " rows and a ridge or nugget of ",
        format(ridge / size, digits = 2), " times the kernel's largest value, products would have to be ",
        "approximated to ", format(tol, digits = 2), ..., ": approximate = NULL, which computes all pairs, or a ridge ",
        "or nugget of ", format(enough, digits = 2), " would help")
}

# Tells the user if a given tolerance is too large for the system.
tell_of_tolerance <- function(given, control, n) {
  if (is.numeric(given) && isTRUE(control$approximate < 0.99 * given)) {
    tell("kernweave: products are approximated to ", format(control$approximate, digits = 2), ", not ",
         format(given), ", too much for ", format(n, big.mark = ","), " rows and so small a ridge or nugget")
  }
}

# Returns the products of a system, an environment: products with `process`, approximated if `control` says so, and
# products with A, which includes sparse `effects`.
system_products <- function(K, control, effects = NULL) {
  products <- list2env(list(K = K, control = control, approximated = is_approximated(dim(K), control),
                            effects = effects), parent = emptyenv())
  with_products(products)
}

with_products <- function(products) {
  products$process <- fit_products(products$K, products$control)
  products$A <- beside_effects(products$process, products$effects)
  products
}

# Evaluates f(products) for a positive definite matrix. If approximated products turn out indefinite, the tolerance is
# divided by four, up to three times.
on_definite <- function(products, ridge, f) {
  if (!products$approximated) return(f(products$A))
  for (try in 1:4) {
    found <- tryCatch(f(products$A), kernweave_error_indefinite = identity)
    if (!inherits(found, "kernweave_error_indefinite")) return(found)
    tol <- products$control$approximate
    if (try == 4 || tol <= tolerances[["least"]]) break
    products$control$approximate <- max(tol / 4, tolerances[["least"]])
    with_products(products)
  }
  abort_tolerance(nrow(products$K), min(ridge), max(abs(diag(products$K))), tol / 4, ", since to ",
                  format(tol, digits = 2), " ", message_of(found))
}

# The kernel times the roots of the weights on both sides.
weighed_pairs <- function(K, w) if (all(w == 1)) K else Vi(sqrt(w)) * K * Vj(sqrt(w))

# --- generalised cross-validation ---------------------------------------------------------------------------

fit_path <- function(op, y, ridge, control, ...) {
  dense <- nrow(op) <= control$dense_n
  ridge_path(op, y, ridge, probes = if (dense) 2 else control$probes, seed = control$seed,
             method = if (dense) "dense" else "lanczos", rank = control$rank, ...)
}

# Returns the path along a grid of ridges. If refinement is possible, few probes and steps locate the minimum of the
# criterion, and the five ridges around it are refined, until the minimum is at a refined ridge.
curve_path <- function(op, y, n, ridges, control) {
  refined <- is_lazy(op) || is_approximated(dim(op), control)
  if (!refined || nrow(op) <= control$dense_n || length(ridges) < 6) return(fit_path(op, y, ridges, control))
  few <- control
  few$probes <- min(4, control$probes)
  path <- fit_path(op, y, ridges, few, refine = FALSE, max_iter = 60)
  repeat {
    table <- gcv_table(path, n)
    least <- if (any(table$known)) which.min(ifelse(table$known, table$criterion, Inf)) else length(ridges)
    near <- setdiff(intersect(least + -2:2, seq_along(ridges)), which(path$refined))
    if (!length(near)) return(path)
    for (k in near) path[k, ] <- fit_path(op, y, ridges[k], control)
  }
}

# The weight of the likelihood, in rows. The criterion combines generalised cross-validation with the likelihood of a
# Gaussian process of unknown variance. If rows are few, cross-validation is flat, or smallest without smoothing; the
# likelihood is more reliable then, if the kernel is right. Both have equal weight at 100 rows, and with many rows the
# likelihood has none (bench/penalty.R).
rows_of_likelihood <- 100

# Returns the criterion along a path. It is scaled to equal generalised cross-validation at the ridge of largest
# likelihood; `known`: its relative error is below a tenth.
gcv_table <- function(path, n) {
  square <- rowSums(as.matrix(path$square))
  error <- rowSums(as.matrix(path$square_error))
  rows <- path$df + path$ridge * path$trace
  by <- rows_of_likelihood / n
  known <- is.finite(path$trace_se) & path$trace_se < 0.1 * path$trace & error < 0.1 * square &
    is.finite(path$logdet_se) & by * path$logdet_se < 0.1 * rows
  gcv <- n * square / path$trace^2
  surprise <- log(rowSums(as.matrix(path$form))) + path$logdet / rows
  data.frame(gcv = gcv, criterion = gcv * exp(by * (surprise - min(surprise[known], Inf))), known = known)
}

# Estimates the trace of the inverse for one ridge, with few probes if these give n - ridge trace, the degrees of
# freedom, with a relative error of 0.5 %.
fit_trace <- function(op, n, ridge, control) {
  few <- control
  few$probes <- min(4, control$probes)
  path <- fit_path(op, NULL, ridge, few)
  known <- ridge * path$trace_se <= 0.005 * (n - ridge * path$trace)
  if (known || few$probes == control$probes) path else fit_path(op, NULL, ridge, control)
}

# Returns the criterion along a grid of ridges, with its interpolated minimum; gcv = n rss / tr(I - S)^2. `op` may have
# fewer rows than the n observations, if a polynomial is projected out. A ridge is `unit` times lambda. `among`: whether
# to choose a ridge of the grid. `end`: the reason why the grid ends below, if any.
gcv_curve <- function(op, y, n, ridges, control, unit = 1, among = FALSE, end = NULL) {
  path <- curve_path(op, y, n, ridges, control)
  found <- gcv_table(path, n)
  table <- data.frame(lambda = path$ridge / unit, gcv = found$gcv, edf = n - path$ridge * path$trace,
                      se = 2 * found$gcv * path$trace_se / path$trace, criterion = found$criterion)
  table <- table[found$known, ]
  if (nrow(table) < if (among) 1 else 4) {
    abort("singular", "too little of the curve of generalised cross-validation is known; give `lambda`")
  }
  rownames(table) <- NULL
  attr(table, "note") <- end %or% if (!found$known[1]) "below, its error is too large; more `probes` would reduce it"
  best <- table[which.min(table$criterion), ]
  c(least_of(table, among), list(edf_se = (n - best$edf) * best$se / best$gcv / 2, table = table))
}

# Returns the minimum of the criterion; `least`: the value of cross-validation there.
least_of <- function(table, among = FALSE) {
  k <- which.min(table$criterion)
  at_end <- k %in% c(1, nrow(table))
  if (!among && at_end) {
    why <- if (k > 1) "this kernel finds no dependence on the inputs"
           else attr(table, "note") %or% "the kernel can follow the response without any noise"
    warn("boundary", "the penalty is chosen at the end of its grid, lambda ", format(table$lambda[k], digits = 3), ": ",
         why, "; give `lambda`, a number or, for kernel_ridge() up to `dense_n` rows, \"loo\"")
  }
  if (among || at_end) return(list(lambda = table$lambda[k], edf = table$edf[k], least = table$gcv[k]))
  at <- log(table$lambda)
  curve <- stats::splinefun(at, log(table$criterion))
  found <- stats::optimize(curve, at[k + c(-1, 1)], tol = 1e-6)$minimum
  list(lambda = exp(found), edf = stats::splinefun(at, table$edf)(found),
       least = exp(stats::splinefun(at, log(table$gcv))(found)))
}
