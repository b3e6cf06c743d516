# The overlay: functions of base R and stats that know traced values, put between a user's function and its own
# environment. Nothing is masked for anybody else.

# Adjoints are looked up here too.
overlay <- new.env(parent = topenv())

# What Ops and Math look up: the function of plain numbers, and for each argument its adjoint.
rules <- new.env(parent = emptyenv())

fill_overlay <- function() {
  rules$binary <- Map(function(f, adjoints) c(list(f = f), lapply(adjoints, adjoint_function, c("x", "y"))),
                      mget(names(binary_adjoints), baseenv()), binary_adjoints)
  rules$math <- Map(function(f, adjoint) list(f = f, x = adjoint_function(adjoint, "x")),
                    mget(names(math_adjoints), baseenv()), math_adjoints)
}

# The cotangent of one argument, from that of the result, the result and all arguments.
adjoint_function <- function(formula, arguments) {
  arguments <- c("g", "r", arguments)
  formals <- structure(rep(list(quote(expr = )), length(arguments)), names = arguments)
  as.function(c(formals, list(formula)), envir = overlay)
}
