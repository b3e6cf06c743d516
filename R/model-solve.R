# The parts that fits by linear systems share: kernels with their numbers, curves of generalised cross-validation.

# A kernel whose numbers are all set, the scale by the points where it is open, a number for each of their columns.
settled_kernel <- function(k, x) {
  k <- with_scale(k, x)
  parts <- kernel_parts(k)
  if (parts$ard && is.null(parts$op)) update(k, scale = scale_of_columns(parts$parameters$scale, x)) else k
}

# The kernel between two sets of points, which are one of them twice where `y` is not given. One's own functions take
# lazy tensors alone.
kernel_pairs <- function(k, x, y = x) k(if (is_lazy(x)) x else Vi(x), Vj(y))

is_auto <- function(control) identical(control$approximate, "auto")

# Settings where series are not wanted unless they were asked for.
without_auto <- function(control) {
  if (is_auto(control)) control["approximate"] <- list(NULL)
  control
}

# Returns the products of a fit: all pairs of the kernel, or series for far pairs if the control says so and no matrix
# is made.
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

# The sum over an axis of a formula, which may have several components, times numbers along it.
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

# Solves a fit's system. The attribute `tolerance` is the tolerance of the products, where they are approximated.
fit_solve <- function(K, b, ridge, control, ...) {
  products <- system_products(K, control)
  solved <- on_definite(products, ridge, function(A) {
    solve(A, b, ridge = ridge, tol = control$tol, method = if (nrow(K) <= control$dense_n) "dense" else "cg",
          max_iter = control$max_iter, rank = control$rank, report = TRUE, ...)
  })
  structure(solved, tolerance = if (products$approximated) products$control$approximate)
}

# f() of some rows at a time, where a block of the matrix is made for them: a list. Blocks may be steps of a work.
in_row_blocks <- function(n, f, size = 256, work = NULL) {
  lapply(unname(split(seq_len(n), (seq_len(n) - 1) %/% size)), function(rows) {
    out <- f(rows)
    if (!is.null(work)) step_work(work)
    out
  })
}

# One product tells what so many will take; for the first a kernel may be compiled, or a plan made.
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

# approximate() promises entries to within tol max|K|, so that the matrix is off by n times that at most, and definite
# for sure where a ridge is more. `size`: max|K|, the largest of the diagonal.
tolerance_for <- function(ridge, size, n) min(ridge) / (n * size)

# The least ridge of a grid: matrices that pass an audit were off by a twelfth of the bound at most.
least_ridge <- function(tol, size, n) 0.4 * n * tol * size

tolerances <- c(least = 1e-12, grid = 1e-6, most = 1e-4)

# Settings with the tolerance that a system allows, or `times` that; a given tolerance is the upper limit. A system that
# allows less than `least` is refused.
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

# One word where a tolerance that was given is more than a system bears.
tell_of_tolerance <- function(given, control, n) {
  if (is.numeric(given) && isTRUE(control$approximate < 0.99 * given)) {
    tell("kernweave: products are approximated to ", format(control$approximate, digits = 2), ", not ",
         format(given), ", too much for ", format(n, big.mark = ","), " rows and so small a ridge or nugget")
  }
}

# The products of a system, an environment: those of the `process`, approximated where `control` says so, and of A, with
# sparse `effects` beside the process.
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

# f(products) of a matrix that is positive definite. Where approximated ones show a direction in which it is not, the
# tolerance becomes a fourth, up to three times.
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

# The path along a grid of ridges. If systems can refine it, few probes and steps tell where the criterion is least, and
# the five ridges about that place are refined, until the criterion is least at one of the refined ridges.
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

# The number of rows as which the likelihood counts. Generalised cross-validation decides, with the likelihood of a
# Gaussian process of unknown variance. If rows are few, cross-validation has a flat curve, or its least where nothing
# is smoothed. The likelihood then knows better, but trusts the kernel. Both count alike at 100 rows, and of many rows
# the likelihood is not heard (bench/penalty.R).
rows_of_likelihood <- 100

# The criterion along a path, of which generalised cross-validation is the value where the likelihood is largest, and
# where it is known to a tenth.
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

# The trace of the inverse at one ridge, of probes as many as tell the degrees of freedom, n - ridge trace, to half of a
# hundredth: most often few.
fit_trace <- function(op, n, ridge, control) {
  few <- control
  few$probes <- min(4, control$probes)
  path <- fit_path(op, NULL, ridge, few)
  known <- ridge * path$trace_se <= 0.005 * (n - ridge * path$trace)
  if (known || few$probes == control$probes) path else fit_path(op, NULL, ridge, control)
}

# The criterion along a grid of ridges, with the least of it between; n rss / tr(I - S)^2 is generalised
# cross-validation. `op` may have fewer rows than the n observations, those that a polynomial does not take. A ridge is
# `unit` times lambda. `among`: one of the grid itself. `end`: what ended the grid below, if not its own end.
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

# `least`: the value of cross-validation itself.
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
