# The tape: what is done to traced values is written down as it happens, and read backwards for derivatives.
#
# A traced value is an environment, since R's functions either dispatch on one or fail loudly, where an atomic vector
# with a class would lose it without a word. Its fields are read by .subset2(), as `$` looks for methods first.
#   value   numbers, or a traced value of a lower level
#   level   how many gradients deep it was made; 0 is plain
#   tape    where its history stands
#   place   its number there
# The S4 bit is set so that `%*%` and its kin dispatch on R before 4.3.
#
# Levels nest: what is done to a value of level 2 is done by the same functions to the value of level 1 inside it. So
# adjoints, which are written with these functions too, leave their own history there, and derivatives of any order
# need nothing more.

setOldClass("kernweave_traced")
traced_class <- "kernweave_traced"

new_traced <- function(value, level, tape, place) {
  value; level; tape; place
  asS4(`class<-`(environment(), traced_class))
}

is_traced <- function(x) is.environment(x) && identical(oldClass(x), traced_class)
level_of <- function(x) if (is_traced(x)) .subset2(x, "level") else 0L

# One level down, and all levels down.
value_of <- function(x) if (is_traced(x)) .subset2(x, "value") else x
plain_value <- function(x) {
  while (is_traced(x)) x <- .subset2(x, "value")
  x
}

# Down to below a level.
lowered <- function(x, level) if (is_traced(x) && .subset2(x, "level") == level) .subset2(x, "value") else x

# --- writing ----------------------------------------------------------------------------------------------------

# Entries are a chain from the last back, so that one more copies nothing. What an entry does not need to be read is
# not kept: values live as long as the user's function, or a pull, holds them.
#   last     the last entry: pull, places of the parents, its own place, the entry before
#   length   how many places there are
new_tape <- function(level) list2env(list(level = level, length = 0L, last = NULL), parent = emptyenv())

next_place <- function(tape) {
  place <- .subset2(tape, "length") + 1L
  tape$length <- place
  place
}

# A value from which histories start.
watch <- function(value, tape) new_traced(value, .subset2(tape, "level"), tape, next_place(tape))

# A value with a history: `pull(g)` gives from its cotangent those of its parents, as a list. `places` are 0 for parents
# that are not on the tape.
write_entry <- function(value, tape, places, pull) {
  place <- next_place(tape)
  tape$last <- list(pull, places, place, .subset2(tape, "last"))
  new_traced(value, .subset2(tape, "level"), tape, place)
}

# The result of a function of `parents`, any values, at the highest level among them: `value` and what `pull(g)` gives
# are one level down, and so are the parents that `pull` may read (see lowered()). Cotangents are wanted of the traced
# parents of this level alone, and have the lengths and extents of these; NULL is 0.
record <- function(parents, value, pull) {
  level <- highest_level(parents)
  if (level == 0L) return(value)
  own <- vapply(parents, level_of, 0L) == level
  tape <- .subset2(parents[[which.max(own)]], "tape")
  places <- integer(length(parents))
  for (k in which(own)) places[k] <- place_on(parents[[k]], tape)
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

# Applies a function to values of any level. `pull(g, r, args)` gives the list of cotangents from that of the result r;
# both are one level down.
trace_call <- function(f, args, pull) {
  level <- highest_level(args)
  if (level == 0L) return(do.call(f, args))
  inner <- lapply(args, lowered, level)
  r <- trace_call(f, inner, pull)
  record(args, r, function(g) pull(g, r, inner))
}

# --- reading ----------------------------------------------------------------------------------------------------

# How many gradients are being taken at this moment, one inside the other.
tracing <- new.env(parent = emptyenv())
tracing$depth <- 0L

# Cotangents of the inputs `x`, given that of `result`; NULL for inputs that it does not depend on. Where they are
# functions of traced values of a lower level, they are such themselves.
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
