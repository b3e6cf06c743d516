# Paths: a sum of a product of several arrays may be found two factors at a time, with what lies in between in memory.
# The cheapest order of meeting is looked for over all subsets of the factors.

most_factors <- 8         # 3^8 ways to part a subset; beyond, one pass
fewest_of_path <- 1e6     # products of a pass that is over before a path has been found
seconds_of_product <- 1e-10  # on a path: from products of matrices of 1000
bytes_between <- 64e6     # of what lies in between, or as much as the largest operand or the result

# The sum by the cheapest path; NULL where one pass over all points, which takes so many seconds, is as good.
along_path <- function(F, kept, extents, seconds, ...) {
  if (type_of(F)[1] != 1 || prod(extents) < fewest_of_path) return(NULL)
  factors <- factors_of(F$formula)
  if (length(factors) < 2 || length(factors) > most_factors) return(NULL)
  tensors <- lapply(factors, new_lazy, extent = c(NA_real_, NA_real_), settings = F$settings)
  axes <- lapply(tensors, function(factor) axes_of_places(places_of_tensor(factor)))
  path <- cheapest_path(axes, kept, extents)
  if (2 * path$cost > prod(extents) * (length(factors) - 1) || seconds_of_product * path$cost > seconds ||
      path$bytes > room_between(axes, kept, extents)) {
    return(NULL)
  }
  walk_path(path$tree, tensors, axes, kept, ..., known = extents)
}

room_between <- function(axes, kept, extents) {
  max(bytes_between, 8 * vapply(c(axes, list(kept)), function(own) prod(extents[own]), 0))
}

# Returns the factors of a formula. A divisor b is the factor 1 / b.
factors_of <- function(formula) {
  if (formula$op == "Mult") return(unlist(lapply(formula$args, factors_of), recursive = FALSE))
  if (formula$op != "Divide") return(list(formula))
  one <- function(formula) r_apply("Inv", list(formula), NULL)
  c(factors_of(formula$args[[1]]), lapply(factors_of(formula$args[[2]]), one))
}

# For each subset of the factors, the cheapest way to its product: a tree of pairs, what it costs, and the most memory
# that a step of it leaves. A subset keeps the axes that the result or another factor has.
cheapest_path <- function(axes, kept, extents) {
  n <- length(axes)
  has <- function(subset) which(bitwAnd(subset, bitwShiftL(1L, seq_len(n) - 1L)) > 0)
  left <- function(subset) left_axes(axes, has(subset), kept)
  size <- function(axes) prod(extents[axes])
  best <- vector("list", 2^n - 1)
  for (k in seq_len(n)) {
    private <- !setequal(left(bitwShiftL(1L, k - 1L)), axes[[k]])
    best[[bitwShiftL(1L, k - 1L)]] <- list(tree = k, cost = if (private) size(axes[[k]]) else 0, bytes = 0)
  }
  for (subset in seq_len(2^n - 1)) {
    if (!is.null(best[[subset]])) next
    own <- 8 * size(left(subset)) * (subset < 2^n - 1)
    part <- bitwAnd(subset - 1L, subset)
    while (part > 0) {
      rest <- bitwXor(subset, part)
      if (part > rest) {
        a <- best[[part]]
        b <- best[[rest]]
        cost <- a$cost + b$cost + size(union(left(part), left(rest)))
        if (is.null(best[[subset]]) || cost < best[[subset]]$cost) {
          best[[subset]] <- list(tree = list(a$tree, b$tree), cost = cost, bytes = max(own, a$bytes, b$bytes))
        }
      }
      part <- bitwAnd(part - 1L, subset)
    }
  }
  best[[2^n - 1]]
}

# The axes of a product of some factors that are still wanted.
left_axes <- function(axes, some, kept) {
  intersect(unique(unlist(axes[some])), union(kept, unlist(axes[-some])))
}

walk_path <- function(tree, tensors, axes, kept, ...) {
  leaves <- function(tree) if (is.list(tree)) unlist(lapply(tree, leaves)) else tree
  product <- function(tree, whole = FALSE) {
    F <- if (is.list(tree)) product(tree[[1]]) * product(tree[[2]]) else tensors[[tree]]
    some <- leaves(tree)
    if (whole) return(reduce_named(F, "sum", kept, ..., path = FALSE))
    left <- left_axes(axes, some, kept)
    if (!is.list(tree) && setequal(left, axes[[tree]])) return(F)
    found <- reduce_named(F, "sum", left, ..., path = FALSE)
    specs <- if (length(left)) lapply(left, function(axis) list(kind = "axis", axes = axis))
             else list(list(kind = "component"))
    T <- lazy_place(new_place(unnamed(found), specs, "a product in between"))
    if (length(tensors[[1]]$settings)) T$settings <- tensors[[1]]$settings
    T
  }
  product(tree, whole = TRUE)
}

unnamed <- function(x) rearranged(x, function(x) if (is.null(dim(x))) as.vector(x) else array(x, dim(x)))
