# The oracle of index formulas, in slow and plain base R: a formula's right side is R wherever the axes are numbers.
# Also draws random formulas, from a seed.

# ---- The oracle -----------------------------------------------------------------------

# All places in brackets: list(array, place, number of the place), of what stands in brackets within brackets, too.
index_places <- function(e) {
  if (!is.call(e)) return(list())
  inner <- unlist(lapply(as.list(e)[-1], index_places), recursive = FALSE)
  if (!identical(e[[1]], quote(`[`))) return(inner)
  places <- as.list(e)[-(1:2)]
  c(Map(function(place, k) list(array = e[[2]], place = place, k = k), places, seq_along(places)), inner)
}

index_dim <- function(x) if (is.null(dim(x))) length(x) else dim(x)

# Returns the length of an axis that stands only in a window: the largest for which all corners are inside.
index_window <- function(place, size, axis, extents) {
  others <- setdiff(all.vars(place), axis)
  if (!all(others %in% names(extents))) return(NULL)
  inside <- function(n) {
    corners <- expand.grid(c(lapply(extents[others], function(m) c(1, m)), stats::setNames(list(c(1, n)), axis)))
    at <- vapply(seq_len(nrow(corners)), function(r) eval(place, as.list(corners[r, , drop = FALSE])), 0)
    min(at) >= 1 && max(at) <= size
  }
  n <- 0L
  while (inside(n + 1L)) n <- n + 1L
  n
}

index_extents <- function(e, data) {
  extents <- integer()
  windows <- list()
  for (p in index_places(e)) {
    if (identical(p$place, quote(expr = ))) next
    size <- index_dim(data[[deparse(p$array)]])[p$k]
    if (is.name(p$place)) extents[deparse(p$place)] <- size
    else if (is.call(p$place) && !identical(p$place[[1]], quote(`[`))) {
      windows <- c(windows, list(list(place = p$place, size = size)))
    }
  }
  only <- setdiff(unlist(lapply(windows, function(w) all.vars(w$place))), names(extents))
  found <- lapply(stats::setNames(nm = only), function(a) {
    of_a <- Filter(function(w) a %in% all.vars(w$place), windows)
    min(unlist(lapply(of_a, function(w) index_window(w$place, w$size, a, extents))))
  })
  c(extents, unlist(found))
}

# The functions of a formula where the axes are numbers; results of brackets are flat.
index_functions <- list(
  `[` = function(x, ...) as.vector(base::`[`(x, ...)),
  lazy_if = function(test, yes, no) if (length(test) > 1) ifelse(test, yes, no) else if (test) yes else no,
  sqdist = function(a, b) sum((a - b)^2)
)

# All points at once, of formulas without components.
index_at_once <- list(`[` = function(x, ...) x[cbind(...)], lazy_if = function(test, yes, no) ifelse(test, yes, no))

# One row per point of the grid, one column per component.
index_terms <- function(e, grid, data, at_once = FALSE) {
  if (at_once) return(matrix(as.numeric(eval(e, c(grid, data, index_at_once))), nrow(grid)))
  axes <- stats::setNames(rep(list(quote(expr = )), ncol(grid)), names(grid))
  f <- as.function(c(axes, e), list2env(c(data, index_functions), parent = globalenv()))
  found <- .mapply(f, grid, NULL)
  width <- max(1, lengths(found))
  matrix(vapply(found, function(term) rep_len(as.numeric(term), width), numeric(width)), ncol = width, byrow = TRUE)
}

index_kept <- function(left) if (is.call(left)) vapply(as.list(left)[-(1:2)], deparse, "") else character()

# Kept axes, in their order, then the components, then K; one axis: a vector, none: a number.
index_shaped <- function(numbers, extents) {
  if (length(extents) > 1) array(numbers, extents) else as.vector(numbers)
}

index_oracle <- function(formula, op = "sum", data = list(), weight = NULL, K = NULL, at_once = FALSE) {
  data <- lapply(data, function(x) if (is.factor(x)) as.integer(x) else x)
  e <- formula[[3]]
  extents <- index_extents(call("+", e, if (is.null(weight)) 0 else weight[[2]]), data)
  kept <- index_kept(formula[[2]])
  folded <- setdiff(intersect(all.vars(formula), names(extents)), kept)
  grid <- expand.grid(lapply(extents[c(kept, folded)], seq_len), KEEP.OUT.ATTRS = FALSE)
  values <- index_terms(e, grid, data, at_once)
  weights <- if (is.null(weight)) array(1, dim(values)) else index_terms(weight[[2]], grid, data)
  rows <- prod(extents[kept])
  index_reduced(values, weights, rows, op, K, unname(extents[kept]))
}

index_reduced <- function(values, weights, rows, op, K, extents) {
  table <- kernweave_reductions()
  name <- table$name[table$fn == op]
  width <- max(ncol(values), ncol(weights))
  points <- nrow(values) %/% max(rows, 1)
  each <- function(matrix, row, k) matrix[seq_len(points) * rows - rows + row, min(k, ncol(matrix))]
  one <- function(row, k) oracle_reductions[[name]](each(values, row, k), each(weights, row, k), K)
  results <- expand.grid(row = seq_len(rows), k = seq_len(width))
  found <- Map(one, results$row, results$k)
  size <- c(extents, if (width > 1) width, if (name %in% oracle_lists) K)
  fields <- names(oracle_reductions[[name]](c(1, 0), c(1, 1), 1L))
  of <- function(field) {
    lists <- lapply(found, `[[`, field)
    index_shaped(if (length(lists)) as.vector(do.call(rbind, lists)) else numeric(), size)
  }
  found <- lapply(stats::setNames(nm = fields), of)
  if (length(found) == 1) found[[1]] else found
}

# ---- Random formulas ------------------------------------------------------------------

# Draws what a formula is written over: axes with their extents, and the arrays that come up.
index_world <- function(axes, most, sizes = 1:7) {
  world <- new.env()
  repeat {
    world$extents <- stats::setNames(sample(sizes, length(axes), TRUE), axes)
    if (prod(world$extents) <= most) break
  }
  world$data <- list()
  world
}

index_numbers <- function(extents) {
  numbers <- sample(-32:32, prod(extents), TRUE) / 16  # free of rounding
  if (length(extents) == 1) numbers else array(numbers, extents)
}

index_named <- function(world, values) {
  name <- paste0(if (is.integer(values)) "g" else "A", length(world$data) + 1)
  world$data[[name]] <- values
  name
}

# A place for an axis, and how long its array is there.
index_place <- function(world, a, kind) {
  n <- world$extents[[a]]
  b <- pick(names(world$extents))
  m <- world$extents[[b]]
  if (kind == "window" && b == a) kind <- "axis"
  switch(kind,
    axis = list(a, n),
    gather = {
      to <- sample.int(4, 1)
      list(sprintf("%s[%s]", index_named(world, sample.int(to, n, TRUE)), a), to)
    },
    window = list(if (chance(0.5)) sprintf("%s + %s - 1", a, b) else sprintf("%s - %s + %d", a, b, m), n + m - 1),
    number = list(pick(c("1", "2")), 2)
  )
}

index_array <- function(world, places) {
  name <- index_named(world, index_numbers(vapply(places, `[[`, 0, 2)))
  sprintf("%s[%s]", name, paste(vapply(places, `[[`, "", 1), collapse = ", "))
}

# An array with axes in random order; `plain` ones have nothing but axes in their brackets.
index_leaf <- function(world, plain = FALSE, axes = NULL) {
  if (is.null(axes)) axes <- sample(names(world$extents), sample.int(min(3, length(world$extents)), 1))
  kinds <- if (plain) "axis" else c("axis", "axis", "axis", "gather", "window")
  places <- lapply(axes, function(a) index_place(world, a, pick(kinds)))
  if (!plain && chance(0.15)) places <- c(places, list(index_place(world, axes[1], "axis")))    # a diagonal
  if (!plain && chance(0.15)) places <- c(places, list(index_place(world, axes[1], "number")))
  index_array(world, sample(places))
}

# Components: one empty place, or two, of an array for each side.
index_components <- function(world) {
  empty <- pick(list(3, c(2, 2), 1, c(3, 1)))
  sides <- lapply(1:2, function(side) {
    place <- index_place(world, pick(names(world$extents)), pick(c("axis", "axis", "gather")))
    index_array(world, c(list(place), lapply(empty, function(d) list("", d))))
  })
  sprintf(pick(c("sqdist(%s, %s)", "sum(%s * %s)", "sum(abs(%s - %s))")), sides[[1]], sides[[2]])
}

index_condition <- function(world) {
  axes <- names(world$extents)
  if (length(axes) < 2) return(sprintf("%s > 1", axes))
  two <- sample(axes, min(length(axes), 3))
  pick(c(sprintf("%s < %s", two[1], two[2]), sprintf("%s < %s & %s < %s", two[1], two[2], two[2], two[length(two)]),
         sprintf("%s < %s", index_leaf(world), index_leaf(world))))
}

index_term <- function(world, size) {
  if (size <= 1) return(if (chance(0.25)) index_components(world) else index_leaf(world))
  a <- index_term(world, size %/% 2)
  b <- index_term(world, size %/% 2)
  switch(sample.int(8, 1), sprintf("%s * %s", a, index_leaf(world)), sprintf("(%s + %s)", a, b),
         sprintf("exp(-abs(%s - %s))", a, b), sprintf("lazy_if(%s, %s, %s)", index_condition(world), a, b),
         sprintf("ifelse(%s, %s, 0)", index_condition(world), a), sprintf("pmin(%s, %s)", a, b),
         sprintf("(%s - %s)^2", a, b), sprintf("%s * (%s)", a, index_condition(world)))
}

# Axes without a place of their own get one, but for one of a window now and then.
index_complete <- function(world, text) {
  e <- str2lang(text)
  lacks <- setdiff(names(world$extents), names(Filter(Negate(is.null), index_bare(e))))
  windowed <- length(lacks) == 1 && lacks %in% unlist(lapply(index_places(e), function(p) all.vars(p$place)))
  if (!length(lacks) || (windowed && chance(0.7))) return(text)
  sprintf("(%s) * %s", text, index_leaf(world, TRUE, lacks))
}
index_bare <- function(e) {
  bare <- Filter(is.name, lapply(index_places(e), `[[`, "place"))
  stats::setNames(bare, vapply(bare, function(p) paste(deparse(p), collapse = ""), ""))
}

index_example <- function(world, text) {
  kept <- sample(names(world$extents), sample.int(length(world$extents) + 1, 1) - 1)
  left <- if (length(kept)) sprintf("R[%s]", paste(kept, collapse = ", ")) else "r"
  list(formula = stats::as.formula(paste(left, "~", text), globalenv()), data = world$data)
}

random_contraction <- function(seed, most = 400) {
  with_local_seed(seed, {
    world <- index_world(c("i", "j", "k", "l")[seq_len(pick(c(1, 2, 3, 3, 4, 4)))], most)
    leaves <- replicate(sample(2:4, 1), index_leaf(world, TRUE))
    index_example(world, index_complete(world, paste(leaves, collapse = " * ")))
  })
}

random_index_formula <- function(seed, logical = FALSE, most = 200, wide = FALSE) {
  with_local_seed(seed, {
    world <- index_world(c("i", "j", "k", "t")[seq_len(pick(c(1, 2, 3, 3, 4, 4)))], most)
    text <- index_complete(world, index_term(world, sample(1:4, 1)))
    if (logical) text <- sprintf("%s < %s", text, pick(c("0.25", index_leaf(world))))
    if (wide) text <- sprintf(pick(c("(%s) * %s", "%2$s - (%1$s)")), text, index_row(world, c(3, 1)))
    index_example(world, text)
  })
}

# Components that stay components: of one empty place or of two.
index_row <- function(world, empty) {
  place <- index_place(world, pick(names(world$extents)), "axis")
  index_array(world, sample(c(list(place), lapply(empty[seq_len(sample.int(2, 1))], function(d) list("", d)))))
}

# A formula, and a weight over axes that it has.
random_weighted <- function(seed, wide = FALSE) {
  example <- random_index_formula(seed)
  with_local_seed(seed, {
    world <- list2env(list(extents = index_extents(example$formula[[3]], example$data), data = example$data))
    text <- sprintf("%s^2", if (wide) index_row(world, c(2, 2)) else index_leaf(world, TRUE))
    example$weight <- stats::as.formula(paste("~", text), globalenv())
    example$data <- world$data
    example
  })
}

# Formulas without components over more points, as many as blocks, tiles and tails have.
random_large <- function(seed, most = 40000) {
  sizes <- c(1, 2, 3, 8, 17, 31, 64, 67, 131, 257, 523, 1031)
  with_local_seed(seed, {
    world <- index_world(c("i", "j", "k", "l")[seq_len(pick(2:4))], most, sizes)
    a <- paste(replicate(sample(1:3, 1), index_leaf(world)), collapse = " * ")
    text <- if (chance(0.5)) a else sprintf("exp(-abs(%s - %s)) * (%s)", a, index_leaf(world), index_condition(world))
    index_example(world, index_complete(world, text))
  })
}

# No value twice, so that no derivative is asked for at a kink.
jittered <- function(example, seed) {
  moved <- function(x) if (is.double(x)) x + stats::runif(length(x), -0.03, 0.03) else x
  example$data <- with_local_seed(seed, lapply(example$data, moved))
  example
}

# ---- Comparing ------------------------------------------------------------------------

expect_index <- function(example, op, label, ..., K = NULL, tolerance = 1e-11, at_once = FALSE) {
  expected <- index_oracle(example$formula, op, example$data, example$weight, K, at_once)
  actual <- tryCatch(reduction(example$formula, op, data = example$data, K = K, weight = example$weight, ...),
                     error = identity)
  label <- sprintf("%s %s of %s", label, op, paste(deparse(example$formula), collapse = ""))
  if (inherits(actual, "error")) return(testthat::fail(paste0(label, ": ", conditionMessage(actual))))
  expect_fields(actual, expected, tolerance, label)
}

expect_fields <- function(actual, expected, tolerance, label) {
  if (is.list(expected)) {
    return(for (f in names(expected)) expect_fields(actual[[f]], expected[[f]], tolerance, paste(label, f)))
  }
  expect_identical(dim(actual), dim(expected), label = paste("dim of", label))
  expect_close(actual, expected, tolerance, label = label)
}
