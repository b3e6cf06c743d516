# The tape: records each operation on traced values, and is read backwards for derivatives.
#
# A traced value is an environment: R's functions either dispatch on it or fail loudly, whereas an atomic vector with a
# class would silently lose the class. .subset2() reads its fields, since `$` looks for methods first.
#   value   numbers, or a traced value of a lower level
#   level   the number of nested gradients in which it was made; 0 is plain
#   tape    the tape of its history
#   place   its number on the tape
# The S4 bit is set so that `%*%` and its kin dispatch on R before 4.3.
#
# Levels nest: an operation on a value of level 2 is done by the same functions to the value of level 1 inside it.
# Adjoints are written with these functions, too, so they leave their own history there, and derivatives of any order
# need nothing more.

traced_class <- "kernweave_traced"

new_traced <- function(value, level, tape, place) {
  value; level; tape; place
  asS4(`class<-`(environment(), traced_class))
}

level_of <- function(x) if (is_traced(x)) .subset2(x, "level") else 0L

# Returns the value one level down.
value_of <- function(x) if (is_traced(x)) .subset2(x, "value") else x

# Returns the value one level down if x is of this level, else x.
lowered <- function(x, level) if (is_traced(x) && .subset2(x, "level") == level) .subset2(x, "value") else x

# --- writing ----------------------------------------------------------------------------------------------------

# Entries form a chain from the last one backwards, so that adding one copies nothing. The tape keeps only what reading
# needs; values live as long as the user's function, or a pull, refers to them.
#   last     the last entry: pull, places of the parents, its own place, the entry before
#   length   the number of places
new_tape <- function(level) list2env(list(level = level, length = 0L, last = NULL), parent = emptyenv())

next_place <- function(tape) {
  place <- .subset2(tape, "length") + 1L
  tape$length <- place
  place
}

# Makes a traced value at the start of a history.
watch <- function(value, tape) new_traced(value, .subset2(tape, "level"), tape, next_place(tape))

# Makes a value with a history. `pull(g)` computes the list of the parents' cotangents from the value's cotangent.
# `places` are 0 for parents that are not on the tape.
write_entry <- function(value, tape, places, pull) {
  place <- next_place(tape)
  tape$last <- list(pull, places, place, .subset2(tape, "last"))
  new_traced(value, .subset2(tape, "level"), tape, place)
}

# Records the result of a function of `parents`, at the highest level among them. `value`, the results of `pull(g)` and
# the parents that `pull` reads are one level down (see lowered()). `pull` returns cotangents of the traced parents of
# this level alone, with their lengths and extents; NULL is 0.
record <- function(parents, value, pull) {
  level <- 0L
  for (x in parents) {
    if (is_traced(x) && .subset2(x, "level") > level) {
      level <- .subset2(x, "level")
      tape <- .subset2(x, "tape")
    }
  }
  if (level == 0L) return(value)
  places <- integer(length(parents))
  for (k in seq_along(parents)) {
    x <- parents[[k]]
    if (is_traced(x) && .subset2(x, "level") == level) places[k] <- place_on(x, tape)
  }
  write_entry(value, tape, places, pull)
}

highest_level <- function(values) {
  level <- 0L
  for (x in values) if (is_traced(x) && .subset2(x, "level") > level) level <- .subset2(x, "level")
  level
}

place_on <- function(x, tape) {
  if (identical(.subset2(x, "tape"), tape)) return(.subset2(x, "place"))
  abort("no_gradient", "a value of one gradient is used in another: it was kept after the function had returned")
}

# Applies a function of numbers to named arguments of any level. An adjoint is a function of the cotangent g of the
# result, of the result r and of the arguments, all one level down. Arguments without an adjoint may not be traced.
trace_call <- function(f, args, adjoints, name = "this function") {
  level <- highest_level(args)
  if (level == 0L) return(do.call(f, args))
  own <- which(vapply(args, level_of, 0L) == level)
  unknown <- setdiff(names(args)[own], names(adjoints))
  if (length(unknown)) {
    abort("no_gradient", name, "() has no derivative in `", unknown[1], "`; leave it out of `wrt` if it is a constant")
  }
  inner <- lapply(args, lowered, level)
  r <- trace_call(f, inner, adjoints, name)
  record(args, r, pull_of(adjoints[names(args)[own]], own, r, inner))
}

# Makes a pull, which holds these four arguments and no frame.
pull_of <- function(adjoints, own, r, args) {
  adjoints; own; r; args
  function(g) {
    parts <- vector("list", length(args))
    for (k in seq_along(own)) {
      part <- do.call(adjoints[[k]], c(list(g, r), args))
      parts[own[k]] <- list(shaped_like(where_flowing(part, g), args[[own[k]]]))
    }
    parts
  }
}

# --- shapes of cotangents ---------------------------------------------------------------------------------------

# Gives a cotangent the shape of its argument: if the argument was recycled, parts are added up; if several numbers gave
# one, each gets that one's cotangent.
shaped_like <- function(g, x) {
  if (is.null(g)) return(NULL)
  n <- length(x)
  if (length(g) != n) g <- if (length(g) < n) rep_len(g, n) else folded(g, n)
  if (!identical(dim(g), dim(x))) dim(g) <- dim(x)
  g
}

folded <- function(g, n) {
  if (n <= 1) return(if (n) sum(g) else numeric())
  m <- length(g)
  if (m %% n) g <- c(g, numeric(n - m %% n))
  dim(g) <- c(n, length(g) / n)
  rowSums(g)
}

# Sets NA in a product to 0 where the cotangent g is 0: 0 times an infinite slope is 0. So the unused side of ifelse()
# may have any value.
where_flowing <- function(part, g) {
  if (anyNA(part) && length(part) == length(g)) part[is.na(part) & as.vector(g == 0)] <- 0
  part
}

# --- reading ----------------------------------------------------------------------------------------------------

# The number of gradients that are being computed now, one inside the other.
tracing <- new.env(parent = emptyenv())
tracing$depth <- 0L

# Computes the cotangents of the inputs `x` from the cotangent of `result`; NULL for inputs on which the result does not
# depend. If they depend on traced values of a lower level, they are traced.
pull_back <- function(result, cotangent, x) {
  tape <- .subset2(result, "tape")
  found <- vector("list", .subset2(tape, "length"))
  found[[.subset2(result, "place")]] <- cotangent
  entry <- .subset2(tape, "last")
  while (!is.null(entry)) {
    g <- found[[entry[[3L]]]]
    if (!is.null(g)) {
      found[entry[[3L]]] <- list(NULL)
      parts <- entry[[1L]](g)
      places <- entry[[2L]]
      for (k in seq_along(places)) {
        place <- places[k]
        part <- parts[[k]]
        if (place == 0L || is.null(part)) next
        found[[place]] <- if (is.null(found[[place]])) part else found[[place]] + part
      }
    }
    entry <- entry[[4L]]
  }
  lapply(x, function(input) found[[.subset2(input, "place")]])
}
