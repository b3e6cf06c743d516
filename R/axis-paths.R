# Paths: a sum of a product of several arrays may be computed two factors at a time, with intermediate results in
# memory. The cheapest order is searched over all subsets of the factors (src/axes).

fewest_of_path <- 1e6  # products; a smaller pass ends before a path is found

# Computes a sum or mean of a product of several arrays by the cheapest path; NULL if one pass over all points, which
# takes `seconds`, is as good.
along_path <- function(whole, seconds, ...) {
  F <- whole$F
  sums <- whole$row$fn %in% c("sum", "mean")
  if (!sums || type_of(F)[1] != 1 || prod(whole$extents) < fewest_of_path) return(NULL)
  tensors <- lapply(factors_of(F$formula), new_lazy, extent = c(NA_real_, NA_real_), settings = F$settings)
  axes <- lapply(tensors, function(factor) axes_of_places(places_of_tensor(factor)))
  number <- function(axes) match(axes, names(whole$extents), 0L) - 1L
  tree <- r_path(lapply(axes, number), number(whole$kept), whole$extents, seconds)
  if (is.null(tree)) return(NULL)
  found <- walk_path(tree, tensors, axes, whole$kept, ..., known = whole$extents)
  if (whole$row$fn == "mean") found <- found / prod(whole$extents[setdiff(names(whole$extents), whole$kept)])
  named_whole(found, whole)
}

walk_path <- function(tree, tensors, axes, kept, ...) {
  leaves <- function(tree) if (is.list(tree)) unlist(lapply(tree, leaves)) else tree
  product <- function(tree, whole = FALSE) {
    F <- if (is.list(tree)) product(tree[[1]]) * product(tree[[2]]) else tensors[[tree]]
    some <- leaves(tree)
    if (whole) return(reduce_named(F, "sum", kept, ..., path = FALSE))
    left <- intersect(unique(unlist(axes[some])), union(kept, unlist(axes[-some])))  # axes that are still needed
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
