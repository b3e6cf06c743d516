# Functions of base R that would give a lazy tensor a wrong answer without a word. They say no instead.

# Generic -> what to do instead. Registered in zzz.R as S3 methods.
refusals <- c(
  cbind = "bind the data before Vi() or Vj(), or use c() for components",
  rbind = "bind the data before Vi() or Vj()",
  is.na = "a formula has no NA of its own; look at its data or its reduction",
  anyNA = "a formula has no NA of its own; look at its data or its reduction",
  rep = "operands of one component go with any width by themselves",
  as.double = "reduce the formula, or use as.matrix()",
  as.integer = "reduce the formula, or use as.matrix()",
  as.character = "use format()",
  as.vector = "reduce the formula, or use as.matrix()",
  as.data.frame = "use as.matrix() first",
  median = "there is no such reduction",
  quantile = "there is no such reduction",
  mean = "use sum(F, index = ) divided by the number of points",
  sort = "argKmin() gives the smallest values in order",
  unique = "it is a formula, not numbers",
  rev = "take rows and columns with F[I, J]",
  solve = "solvers come later; conjugate gradients need K %*% v alone",
  determinant = "it is not built yet",
  split = "split the data before Vi() or Vj()",
  merge = "merge the data before Vi() or Vj()"
)

# Takes what the generic takes.
refuse_method <- function(generic, home) {
  method <- function() abort("unsupported", generic, "() of a lazy tensor is not defined: ", refusals[[generic]])
  formals(method) <- formals(args(get(generic, home)))
  method
}

register_refusals <- function() {
  for (generic in names(refusals)) {
    home <- asNamespace(if (exists(generic, baseenv(), inherits = FALSE)) "base" else "stats")
    registerS3method(generic, "lazy_tensor", refuse_method(generic, home), envir = home)
  }
}
