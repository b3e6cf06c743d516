# Sums, moments and special functions of traced values: a row for each function, with adjoints of its arguments.
#
# In an adjoint, g is the cotangent of the result r, and the other names are the function's arguments. A result shorter
# than the argument is repeated, a longer one is added up (shaped_like()).

function_adjoints <- list(
  rowSums = alist(x = g * present(x, na.rm)),
  colSums = alist(x = each_row(g, x) * present(x, na.rm)),
  rowMeans = alist(x = g / rowSums(present(x, na.rm), dims = dims) * present(x, na.rm)),
  colMeans = alist(x = each_row(g / colSums(present(x, na.rm), dims = dims), x) * present(x, na.rm)),

  psigamma = alist(x = g * psigamma(x, deriv + 1L)),
  beta = alist(a = g * r * (digamma(a) - digamma(a + b)), b = g * r * (digamma(b) - digamma(a + b))),
  lbeta = alist(a = g * (digamma(a) - digamma(a + b)), b = g * (digamma(b) - digamma(a + b))),
  choose = alist(n = g * r * (digamma(n + 1) - digamma(n - k + 1))),
  lchoose = alist(n = g * (digamma(n + 1) - digamma(n - k + 1))),
  atan2 = alist(y = g * x / (x^2 + y^2), x = -g * y / (x^2 + y^2)),
  besselI = alist(x = g * (times_over(nu, r, x) - expon.scaled * r + besselI(x, nu + 1, expon.scaled))),
  besselJ = alist(x = g * (times_over(nu, r, x) - besselJ(x, nu + 1))),
  besselK = alist(x = g * (times_over(nu, r, x) + expon.scaled * r - besselK(x, nu + 1, expon.scaled))),
  besselY = alist(x = g * (times_over(nu, r, x) - besselY(x, nu + 1)))
)

# Functions without a name of their own in base R, or with several: the function of numbers, and its adjoints.
own_functions <- list(
  product = list(function(x) prod(x), alist(x = g * products_of_others(x))),
  covariance = list(
    function(x, y) stats::var(x, y),
    alist(x = if (is.null(y)) deviations(x) %*% (between(g, x, x) + t(between(g, x, x)))
              else deviations(y) %*% t(between(g, x, y)),
          y = deviations(x) %*% between(g, x, y))
  ),
  frobenius = list(function(x) base::norm(x, "F"), alist(x = g * x * inverse_or_zero(r)))
)

# Functions for adjoints.
adjoint_helpers <- list(
  present = function(x, na.rm) !(is.na(x) & na.rm),
  each_row = function(g, x) rep(g, each = length(x) %/% max(1L, length(g))),
  times_over = function(nu, r, x) if (isTRUE(all(nu == 0))) 0 else nu * r / x,
  between = function(g, x, y) matrix(g, NCOL(x), NCOL(y)),

  deviations = function(x) {
    x <- as.matrix(x)
    (x - each_row(colMeans(x), x)) / (nrow(x) - 1)
  },

  spreads = function(x, y) {
    spread <- function(x) apply(as.matrix(x), 2, sd)
    if (is.matrix(x) || is.matrix(y)) outer(spread(x), spread(y)) else sd(x) * sd(y)
  },

  products_of_others = function(x) {
    n <- length(x)
    c(1, cumprod(x)[-n]) * rev(c(1, cumprod(rev(x))[-n]))
  },

  cumprod_adjoint = function(g, r, x) {
    if (isTRUE(all(x != 0))) return(rev(cumsum(rev(g * r))) / x)
    sums <- g
    for (k in rev(seq_along(x))[-1]) sums[k] <- g[k] + x[k + 1] * sums[k + 1]
    sums * c(1, r[-length(r)])
  }
)

# --- functions of base R made of these ---------------------------------------------------------------------------

summing_functions <- list(
  sum = function(..., na.rm = FALSE) {
    parts <- list(...)
    if (highest_level(parts) == 0L) return(base::sum(..., na.rm = na.rm))
    total(if (na.rm) lapply(parts, without_na) else parts)
  },

  prod = function(..., na.rm = FALSE) {
    parts <- list(...)
    if (highest_level(parts) == 0L) return(base::prod(..., na.rm = na.rm))
    backstage$product(join(if (na.rm) lapply(parts, without_na) else parts))
  },

  var = function(x, y = NULL, na.rm = FALSE, use = if (na.rm) "na.or.complete" else "everything") {
    if (highest_level(list(x, y)) == 0L) return(stats::var(x, y, na.rm, use))
    moments("var", x, y, use)
  },

  cov = function(x, y = NULL, use = "everything", method = c("pearson", "kendall", "spearman")) {
    if (highest_level(list(x, y)) == 0L) return(stats::cov(x, y, use, method))
    if (method[1] != "pearson") refuse_setting("cov", "method", method)
    if (is.null(y) && !is.matrix(x)) abort("input", "cov(): give both `x` and `y`, or a matrix")
    moments("cov", x, y, use)
  },

  cor = function(x, y = NULL, use = "everything", method = c("pearson", "kendall", "spearman")) {
    if (highest_level(list(x, y)) == 0L) return(stats::cor(x, y, use, method))
    if (method[1] != "pearson") refuse_setting("cor", "method", method)
    if (use != "everything") refuse_setting("cor", "use", use)
    if (is.null(y)) overlay$cov2cor(overlay$cov(x)) else overlay$cov(x, y) / backstage$spreads(x, y)
  },

  norm = function(x, type = c("O", "I", "F", "M", "2")) {
    if (!is_traced(x)) return(norm(x, type))
    if (!is.matrix(x)) abort("input", "norm(): `x` must be a matrix")
    switch(toupper(substr(type[1], 1, 1)),
      "F" = , E = backstage$frobenius(x),
      O = , "1" = max(overlay$colSums(abs(x))),
      I = max(overlay$rowSums(abs(x))),
      M = max(abs(x)),
      refuse_setting("norm", "type", type)
    )
  }
)

# Sums all numbers of some values.
total <- function(parts) {
  level <- highest_level(parts)
  if (level == 0L) return(do.call(base::sum, parts))
  if (length(parts) == 1L) return(folded_to_one(parts[[1]], sum))
  record(parts, total(lapply(parts, lowered, level)), pull_spreading(parts))
}

folded_to_one <- function(x, f, per = 1) {
  value <- .subset2(x, "value")
  pull <- pull_filling(length(value), dim(value), per)
  write_entry(f(value), .subset2(x, "tape"), .subset2(x, "place"), pull)
}

pull_filling <- function(n, extent, per) {
  n; extent; per
  function(g) list(with_extent(rep_len(g / per, n), extent))
}

pull_spreading <- function(parts) {
  pulls <- lapply(parts, function(x) pull_filling(length(x), dim(x), 1))
  function(g) unlist(lapply(pulls, function(pull) pull(g)), recursive = FALSE)
}

without_na <- function(x) x[!is.na(x)]

moments <- function(name, x, y, use) {
  known <- pmatch(use, c("everything", "all.obs", "complete.obs", "na.or.complete"))
  if (is.na(known)) refuse_setting(name, "use", use)
  if (known > 2) {
    rows <- stats::complete.cases(plain_value(x), if (is.null(y)) plain_value(x) else plain_value(y))
    at_rows <- function(x) if (is.matrix(x)) x[rows, , drop = FALSE] else x[rows]
    x <- at_rows(x)
    if (!is.null(y)) y <- at_rows(y)
  }
  backstage$covariance(x, y)
}

refuse_setting <- function(name, argument, value) {
  abort("no_gradient", name, "() with `", argument, "` = \"", value[1], "\" has no derivative here")
}

#' @export
mean.kernweave_traced <- function(x, trim = 0, na.rm = FALSE, ...) {
  if (na.rm) x <- without_na(x)
  n <- length(x)
  if (trim >= 0.5) return(median(x))
  cut <- floor(n * trim)
  if (cut > 0 && !anyNA(x)) return(mean(sort(x)[(cut + 1):(n - cut)]))
  folded_to_one(x, mean, per = n)
}

#' @export
diff.kernweave_traced <- function(x, lag = 1L, differences = 1L, ...) {
  rows <- function(x, at) if (is.matrix(x)) x[at, , drop = FALSE] else x[at]
  for (time in seq_len(differences)) {
    kept <- seq_len(max(NROW(x) - lag, 0))
    x <- rows(x, kept + lag) - rows(x, kept)
  }
  x
}
