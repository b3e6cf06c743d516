# The smoothness of a Matern kernel as a parameter of models.

has_nu <- function(kernel) any(vapply(leaf_parts(kernel), function(part) identical(part$name, "matern"), NA))

# Tells which parameters of a kernel are a smoothness.
of_smoothness <- function(names, kernel) grepl("(^|[.])nu(_[0-9]+)?$", names) & has_nu(kernel)

# The bounds of tables, beyond which nothing tells the kernel from its limits.
bounds_of_nu <- log(c(0.1, 5))
