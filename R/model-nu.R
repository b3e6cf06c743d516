# The smoothness of a Matern kernel as a parameter of models.

has_nu <- function(kernel) any(vapply(leaf_parts(kernel), function(part) identical(part$name, "matern"), NA))

# Find the rows of a layout, and the parameters of a kernel, that are a smoothness.
of_nu <- function(model) of_smoothness(model$layout$name, model$kernel)
of_smoothness <- function(names, kernel) grepl("(^|[.])nu(_[0-9]+)?$", names) & has_nu(kernel)

# The bounds of tables, beyond which nothing tells the kernel from its limits.
bounds_of_nu <- log(c(0.1, 5))
