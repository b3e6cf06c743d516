# The smoothness of Matern's kernel where it is a parameter.

# The name of the kernel of this smoothness, which has a formula of its own or is a mixture.
matern_name <- function(nu) {
  closed <- c(matern12 = 1 / 2, matern32 = 3 / 2, matern52 = 5 / 2, gaussian = Inf)
  if (is.numeric(nu) && length(nu) == 1 && nu %in% closed) return(names(closed)[match(nu, closed)])
  good <- is.null(nu) || is_lazy(nu) || is.numeric(nu) && length(nu) == 1 && isTRUE(nu >= 0.1 && nu <= 5)
  if (!good) abort("value", "`nu` must be from 0.1 to 5, or Inf, or NULL to be estimated, not ", format_value(nu))
  "matern"
}

has_nu <- function(kernel) any(vapply(leaf_parts(kernel), function(part) identical(part$name, "matern"), NA))

# Which rows of a layout are the smoothness.
of_nu <- function(model) grepl("(^|[.])nu(_[0-9]+)?$", model$layout$name) & has_nu(model$kernel)

# Where the mixture is right, and beyond which nothing tells it from its limits.
bounds_of_nu <- log(c(0.1, 5))

# So many rows tell it, since pairs cost some 25 times what they do with nu given.
rows_for_nu <- 5000

rows_that_estimate <- function(model, settings) {
  n <- length(model$y)
  most <- settings$estimate_on
  if (any(of_nu(model)) && min(most, n) > rows_for_nu) {
    large <- function(n) format(n, big.mark = ",")
    message("kernweave: `nu` and the other covariance parameters are estimated on ", large(rows_for_nu), " of the ",
            large(n), " rows; nu = 3/2, or another number, would take all")
    most <- rows_for_nu
  }
  most
}

refuse_series_of_nu <- function(kernel, control) {
  if (is.null(control$approximate) || !has_nu(kernel)) return(invisible())
  abort("unsupported", "`approximate` of fit_control() takes a Matern kernel with `nu` 1/2, 3/2, 5/2 or Inf; estimate ",
        "`nu` on some of the rows, and give the nearest of these")
}
