# The smoothness of a Matern kernel as a parameter of models.

# The name of the kernel of this smoothness, which has a formula of its own or a table.
matern_name <- function(nu) {
  closed <- c(matern12 = 1 / 2, matern32 = 3 / 2, matern52 = 5 / 2, gaussian = Inf)
  if (is.null(nu) || is_lazy(nu) || is.environment(nu)) return("matern")  # an environment is differentiated
  one <- is.numeric(nu) && length(nu) == 1
  if (one && nu %in% closed) return(names(closed)[match(nu, closed)])
  if (one && isTRUE(nu >= 0.1 && nu <= 5)) return("matern")
  abort("value", "`nu` must be from 0.1 to 5, or Inf, or NULL to be estimated, not ", format_value(nu))
}

has_nu <- function(kernel) any(vapply(leaf_parts(kernel), function(part) identical(part$name, "matern"), NA))

# Find the rows of a layout, and the parameters of a kernel, that are a smoothness.
of_nu <- function(model) of_smoothness(model$layout$name, model$kernel)
of_smoothness <- function(names, kernel) grepl("(^|[.])nu(_[0-9]+)?$", names) & has_nu(kernel)

# The bounds of tables, beyond which nothing tells the kernel from its limits.
bounds_of_nu <- log(c(0.1, 5))
