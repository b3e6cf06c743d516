# Shapes of traced values. A function of base R is applied to the places of the elements; the result's places tell which
# elements to take, and the adjoint puts them back. So recycling, names, extents and NA are base R's own.

# Returns the places of the elements of x, after `before` other places, in the shape and under the names of x.
places_of <- function(x, before = 0L) {
  x <- plain_value(x)
  at <- if (before == 0L) seq_along(x) else before + seq_along(x)
  if (!is.null(dim(x))) {
    dim(at) <- dim(x)
    dimnames(at) <- dimnames(x)
  } else if (!is.null(names(x))) names(at) <- names(x)
  at
}

# Takes the elements of x at these places, in the shape and under the names of the places; NA at places that are NA.
take <- function(x, at) {
  if (!is_traced(x)) {
    out <- as.vector(x)[as.vector(at)]
    attributes(out) <- attributes(at)
    return(out)
  }
  value <- .subset2(x, "value")
  pull <- pull_putting(at, length(value), dim(value))
  write_entry(take(value, at), .subset2(x, "tape"), .subset2(x, "place"), pull)
}

# The number of places beyond which adding takes less time than a search for duplicates.
many_places <- 1000

# Puts the elements of g, added up at their places, into n zeros: the adjoint of take().
put <- function(g, at, n, extent) {
  if (is_traced(g)) {
    r <- put(.subset2(g, "value"), at, n, extent)
    return(write_entry(r, .subset2(g, "tape"), .subset2(g, "place"), pull_taking(at)))
  }
  g <- as.vector(g)
  at <- as.vector(at)
  if (anyNA(at)) {
    g <- g[!is.na(at)]
    at <- at[!is.na(at)]
  }
  often <- length(at) > many_places || length(at) > 1L && anyDuplicated(at)
  out <- if (often) scatter_rows(g, at, n) else replace(numeric(n), at, g)
  dim(out) <- extent
  out
}

# Separate functions make the pulls, so that no frame keeps unneeded values.
pull_putting <- function(at, n, extent) {
  at; n; extent
  function(g) list(put(g, at, n, extent))
}

pull_taking <- function(at) {
  force(at)
  function(g) list(take(g, at))
}

pull_cutting <- function(parts) {
  ends <- cumsum(lengths(parts))
  extents <- lapply(parts, dim)
  function(g) {
    Map(function(end, n, extent) with_extent(g[end - n + seq_len(n)], extent), ends, diff(c(0L, ends)), extents)
  }
}

# Joins all elements of some values in one vector.
join <- function(parts) {
  level <- highest_level(parts)
  if (level == 0L) return(unlist(lapply(parts, as.vector), use.names = FALSE))
  record(parts, join(lapply(parts, lowered, level)), pull_cutting(parts))
}

# Arranges the elements of some values: `f` takes a list of the places of each value, and returns the result's places.
arranged <- function(parts, f) {
  lists <- Filter(is.list, parts)
  if (length(lists)) abort("no_gradient", "a traced value does not go with ", describe(lists[[1]]), " here")
  before <- cumsum(c(0L, lengths(parts)))[seq_along(parts)]
  at <- f(Map(places_of, parts, before))
  joined <- join(unname(parts))
  if (is.null(attributes(at)) && identical(at, seq_along(joined))) joined else take(joined, at)
}

# --- elements -----------------------------------------------------------------------------------------------------

#' @export
`[.kernweave_traced` <- function(x, ...) take(x, places_of(x)[...])

#' @export
`[[.kernweave_traced` <- function(x, ...) take(x, places_of(x)[[...]])

#' @export
`[<-.kernweave_traced` <- function(x, ..., value) {
  assigned(x, places_of(x)[...], value, function(at, value) `[<-`(at, ..., value = value))
}

#' @export
`[[<-.kernweave_traced` <- function(x, ..., value) {
  assigned(x, places_of(x)[...], value, function(at, value) `[[<-`(at, ..., value = value))
}

# Assigns one element directly; otherwise applies `assign` to the places.
assigned <- function(x, where, value, assign) {
  if (length(where) == 1L && length(value) == 1L && !is.na(where)) return(assigned_one(x, as.vector(where), value))
  arranged(list(x, value), function(at) assign(at[[1]], at[[2]]))
}

assigned_one <- function(x, where, value) {
  level <- highest_level(list(x, value))
  if (level == 0L) {
    x[where] <- as.vector(value)
    return(x)
  }
  r <- assigned_one(lowered(x, level), where, lowered(value, level))
  record(list(x, value), r, pull_assigned(where, dim(value), level_of(x) == level))
}

pull_assigned <- function(where, extent, to_rest) {
  where; extent; to_rest
  function(g) list(if (to_rest) assigned_one(g, where, 0), with_extent(g[where], extent))
}

with_extent <- function(x, extent) {
  if (!identical(dim(x), extent)) dim(x) <- extent
  x
}

# --- functions of base R by what they do to places ----------------------------------------------------------------

# Makes a function with the first argument of f that applies f to places.
by_places <- function(f) {
  first <- formals(args(f))[1]
  x <- as.name(names(first))
  body <- bquote(if (is_traced(.(x))) take(.(x), f(places_of(.(x)), ...)) else f(.(x), ...))
  as.function(c(first, alist(... = ), body), envir = list2env(list(f = f), parent = topenv()))
}

# Generics with methods that are registered when the package is loaded.
arranging_methods <- c("aperm", "as.array", "as.double", "as.matrix", "as.vector", "dim<-", "dimnames<-", "head",
                       "length<-", "names<-", "rep", "rev", "t", "tail")

# The other functions, which are in the overlay.
arranging_functions <- list(
  array = by_places(base::array),
  drop = by_places(base::drop),
  matrix = by_places(base::matrix),
  rep_len = by_places(base::rep_len),
  rep.int = by_places(base::rep.int),

  `[<-` = function(x, ..., value) {
    if (is_traced(value) && is.atomic(x)) `[<-.kernweave_traced`(x, ..., value = value)
    else base::`[<-`(x, ..., value = value)
  },

  `[[<-` = function(x, ..., value) {
    if (is_traced(value) && is.atomic(x) && !is.null(x)) `[[<-.kernweave_traced`(x, ..., value = value)
    else base::`[[<-`(x, ..., value = value)
  },

  c = function(..., recursive = FALSE, use.names = TRUE) {
    parts <- list(...)
    if (highest_level(parts) == 0L) return(base::c(..., recursive = recursive, use.names = use.names))
    if (any(vapply(parts, is.list, NA))) return(do.call(base::c, lapply(parts, as.list)))
    unnamed <- function(x) is.null(names(plain_value(x)))
    if (is.null(names(parts)) && all(vapply(parts, unnamed, NA))) return(join(parts))
    arranged(parts, function(at) do.call(base::c, base::c(at, use.names = use.names)))
  },

  cbind = function(..., deparse.level = 1) bound_together(base::cbind, substitute(list(...)), deparse.level, ...),
  rbind = function(..., deparse.level = 1) bound_together(base::rbind, substitute(list(...)), deparse.level, ...),

  unlist = function(x, recursive = TRUE, use.names = TRUE) {
    if (is_traced(x)) return(x)
    if (!holds_traced(x)) return(base::unlist(x, recursive, use.names))
    if (!recursive && any(vapply(x, is.list, NA))) {
      parts <- lapply(x, function(part) if (is_traced(part)) list(part) else part)
      return(base::unlist(parts, FALSE, use.names))
    }
    leaves <- list()
    before <- 0L
    at <- rapply(x, how = "replace", f = function(leaf) {
      leaves[[length(leaves) + 1L]] <<- leaf
      before <<- before + length(leaf)
      places_of(leaf, before - length(leaf))
    })
    take(join(leaves), base::unlist(at, use.names = use.names))
  },

  vapply = function(X, FUN, FUN.VALUE, ..., USE.NAMES = TRUE) {
    answers <- lapply(X, match.fun(FUN), ...)
    if (USE.NAMES && is.character(X) && is.null(names(answers))) names(answers) <- X
    if (!holds_traced(answers)) return(base::vapply(answers, identity, FUN.VALUE, USE.NAMES = USE.NAMES))
    sizes <- lengths(answers)
    if (any(sizes != length(FUN.VALUE))) {
      abort("shape", "vapply(): values must have length ", length(FUN.VALUE), ", not ",
            sizes[sizes != length(FUN.VALUE)][1])
    }
    overlay$simplify2array(if (USE.NAMES) answers else unname(answers), higher = TRUE)
  },

  diag = function(x = 1, nrow, ncol, names = TRUE) {
    if (!is_traced(x)) return(diag(x, nrow, ncol, names))
    if (length(dim(x)) == 2L) return(take(x, base::diag(places_of(x), names = names)))
    if (length(x) == 1L && missing(nrow) && missing(ncol)) {
      abort("no_gradient", "diag(x) of one number is an identity matrix of that size; write diag(x, nrow = 1)")
    }
    at <- base::diag(places_of(x, 1L), nrow, ncol, names)
    at[at == 0L] <- 1L
    take(join(list(0, x)), at)
  },

  structure = function(.Data, ...) {
    if (!is_traced(.Data)) return(base::structure(.Data, ...))
    given <- list(...)
    for (name in names(given)) .Data <- with_attribute(.Data, name, given[[name]])
    .Data
  },

  `attr<-` = function(x, which, value) {
    if (is_traced(x)) with_attribute(x, which, value) else base::`attr<-`(x, which, value)
  },

  # A traced value is an environment: base R would change its attributes everywhere it is referenced.
  `attributes<-` = function(x, value) {
    if (!is_traced(x)) return(base::`attributes<-`(x, value))
    x <- as.vector(x)
    for (name in union("dim", names(value))) x <- with_attribute(x, name, value[[name]])
    x
  },

  `class<-` = function(x, value) if (is_traced(x)) with_attribute(x, "class", value) else base::`class<-`(x, value),
  `oldClass<-` = function(x, value) {
    if (is_traced(x)) with_attribute(x, "class", value) else base::`oldClass<-`(x, value)
  },
  unclass = function(x) if (is_traced(x)) x else base::unclass(x),

  `storage.mode<-` = function(x, value) {
    if (!is_traced(x)) return(base::`storage.mode<-`(x, value))
    if (value %in% c("double", "numeric")) x else as.vector(x, value)
  }
)

# Binds arguments by `f`, traced or not. An argument that is a symbol gives its name, as in base R.
bound_together <- function(f, written, deparse.level, ...) {
  parts <- list(...)
  if (highest_level(parts) == 0L) return(f(..., deparse.level = deparse.level))
  names <- names(parts) %or% character(length(parts))
  symbols <- as.list(written)[-1]
  unnamed <- !nzchar(names) & vapply(symbols, is.name, NA) & deparse.level > 0
  names[unnamed] <- vapply(symbols[unnamed], as.character, "")
  names(parts) <- names
  arranged(parts, function(at) do.call(f, base::c(at, deparse.level = 0)))
}

# Sets attributes that the history keeps; other attributes do not matter to derivatives.
with_attribute <- function(x, name, value) {
  switch(name,
    names = , .Names = names(x) <- value,
    dim = dim(x) <- value,
    dimnames = dimnames(x) <- value,
    class = if (length(setdiff(value, c("numeric", "matrix", "array")))) {
      abort("no_gradient", "a traced value cannot be given a class")
    }
  )
  x
}

holds_traced <- function(x) is_traced(x) || is.list(x) && !isS4(x) && any(vapply(x, holds_traced, NA))
