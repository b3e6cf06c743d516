# Puts the overlay between a user's function and its environment, so that functions called in it know traced values, and
# likewise in the user's own functions that it calls. The functions themselves stay unchanged.

# Returns a copy of f that looks for functions in layers first. `made` holds the layers, one for each environment.
enclose <- function(f, made = new_layers(f)) {
  if (is.primitive(f)) return(f)
  if (methods::is(f, "standardGeneric")) return(overlay[[f@generic]] %or% f)
  if (is_package(environment(f))) for (name in names(overlay)) if (is_base(f, name)) return(overlay[[name]])
  layer <- layer_over(environment(f), made)
  add_names(layer, f, made)
  environment(f) <- layer$values
  f
}

new_layers <- function(f) {
  made <- new.env(parent = emptyenv())
  made$layers <- list()
  made$home <- if (!is.primitive(f)) topenv(environment(f))
  made
}

# Returns the layer over an environment. From outside in: the overlay, the user's own functions, and the user's values
# that share a name with the overlay. Without these values, R would find the overlay's function instead.
layer_over <- function(environment, made) {
  for (layer in made$layers) if (identical(layer$environment, environment)) return(layer)
  functions <- list2env(as.list(overlay, all.names = TRUE), parent = environment)
  own <- new.env(parent = functions)
  layer <- list(environment = environment, functions = functions, own = own, values = new.env(parent = own))
  made$layers <- c(made$layers, list(layer))
  layer
}

add_names <- function(layer, f, made) {
  for (name in unique(all.names(as.call(c(quote(f), formals(f), body(f)))))) {
    if (exists(name, layer$own, inherits = FALSE)) next
    known <- overlay[[name]]
    if (!is.null(known)) {
      value <- get0(name, layer$environment, ifnotfound = known)
      if (!is.function(value)) assign(name, value, layer$values)
    }
    found <- get0(name, layer$environment, mode = "function")
    if (is.null(found) || is.primitive(found) || identical(found, known)) next
    if (is_own(found, made$home)) {
      inner <- layer_over(environment(found), made)
      environment(found) <- inner$values
      assign(name, found, layer$own)
      add_names(inner, found, made)
    } else if (!is.null(known) && !is_base(found, name)) assign(name, where_traced(known, found), layer$functions)
  }
}

# Package functions dispatch or fail loudly; functions of the user's own package count as the user's.
is_own <- function(f, home) {
  if (isS4(f)) return(FALSE)
  place <- environment(f)
  top <- topenv(place)
  !is_package(top) || identical(top, home) && !identical(place, topenv()) && is.null(place$derivative_of)
}

is_package <- function(environment) isNamespace(environment) || identical(environment, baseenv())

is_base <- function(f, name) {
  is_that_of <- function(home) identical(f, get0(name, home, inherits = FALSE))
  is_that_of(baseenv()) || is_that_of(asNamespace("stats"))
}
