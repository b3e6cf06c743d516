# The overlay: functions of base R and stats that know traced values, put between a user's function and its own
# environment. Nothing is masked for anybody else.

# The functions with names of base R and stats, and behind them the functions that only adjoints and the overlay use.
backstage <- new.env(parent = topenv())
overlay <- new.env(parent = backstage)

# The rules that Ops and Math look up: the function of plain numbers, and the adjoint of each argument.
rules <- new.env(parent = emptyenv())

# Functions of base R and stats that are written in R: with the overlay as environment, they work on traced values.
reenclosed <- list(
  base = c("append", "apply", "diag<-", "mapply", "margin.table", "marginSums", "outer", "prop.table", "proportions",
           "Reduce", "replace", "sapply", "simplify2array", "sweep", "tapply", "Vectorize"),
  stats = c("cov2cor", "dmultinom", "mahalanobis", "sd", "toeplitz")
)

# Methods that run in the overlay if an argument is traced.
reenclosed_methods <- c(kronecker = ".kronecker", "%x%" = ".kronecker", "%o%" = "outer", scale = "scale.default",
                        seq = "seq.default")

# Functions that read only the numbers: their results have no derivative, and need none.
of_numbers <- c("all.equal", "attr", "attributes", "cat", "class", "findInterval", "identical", "is.atomic",
                "is.double", "is.environment", "is.object", "is.recursive", "is.unsorted", "is.vector", "match",
                "message", "mode", "oldClass", "order", "paste", "paste0", "rank", "sprintf", "storage.mode", "typeof",
                "which.max", "which.min", "%in%")

fill_overlay <- function() {
  rules$binary <- Map(function(f, adjoints) c(list(f = f), lapply(adjoints, adjoint_function, c("x", "y"))),
                      mget(names(binary_adjoints), baseenv()), binary_adjoints)
  rules$math <- Map(function(f, adjoint) list(f = f, x = adjoint_function(adjoint, "x")),
                    mget(names(math_adjoints), baseenv()), math_adjoints)
  fill(backstage, c(adjoint_helpers, matrix_helpers, density_helpers), in_overlay)
  fill(backstage, c(own_functions, matrix_functions), function(row, name) rule_function(row[[1]], row[[2]], name))
  fill(overlay, function_adjoints, function(adjoints, name) {
    rule_function(get(name, topenv()), adjoints, name, formals(args(get(name, baseenv()))))
  })
  fill(overlay, c(arranging_functions, choosing_functions, summing_functions, linear_functions, density_functions()))
  for (home in names(reenclosed)) fill(overlay, mget(reenclosed[[home]], asNamespace(home)), in_overlay)
  fill(overlay, reenclosed_methods, function(method, name) {
    where_traced(in_overlay(get(method, baseenv())), get(name, baseenv()))
  })
  overlay$`::` <- qualified
  fill(overlay, mget(of_numbers, baseenv()), function(f, name) {
    where_traced(function(...) do.call(f, lapply(list(...), plain_value)), f)
  })
  fill(overlay, lazy_versions, beside_lazy)
}

# Looks up a function written with its package, such as stats::sd, in the overlay, too.
qualified <- function(pkg, name) {
  package <- as.character(substitute(pkg))
  name <- as.character(substitute(name))
  known <- if (package %in% c("base", "stats")) overlay[[name]]
  if (is.null(known)) getExportedValue(package, name) else known
}

# Fills an environment with make(value, name) for each entry of a list.
fill <- function(environment, entries, make = function(entry, name) entry) {
  list2env(Map(make, entries, names(entries)), environment)
}

in_overlay <- function(f, ...) {
  environment(f) <- overlay
  f
}

where_traced <- function(f, otherwise) {
  force(f)
  force(otherwise)
  function(...) if (highest_level(list(...)) == 0L) otherwise(...) else f(...)
}

# Makes a function with the formals of f, whose result has a history if an argument has one.
rule_function <- function(f, adjoints, name, formals = NULL) {
  if (is.null(formals)) formals <- formals(args(f))
  adjoints <- lapply(adjoints, adjoint_function, names(formals))
  body <- bquote(trace_call(f, .(as_arguments(names(formals))), adjoints, .(name)))
  as.function(c(formals, body), envir = list2env(list(f = f, adjoints = adjoints), parent = topenv()))
}

# Makes the function that computes the cotangent of one argument from g, r and all arguments.
adjoint_function <- function(formula, arguments) {
  arguments <- c("g", "r", arguments)
  formals <- structure(rep(list(quote(expr = )), length(arguments)), names = arguments)
  as.function(c(formals, list(formula)), envir = overlay)
}

# Returns the call list(x = x, y = y).
as_arguments <- function(names) as.call(c(quote(list), structure(lapply(names, as.name), names = names)))
