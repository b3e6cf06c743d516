# Nests: the ways in which the loops of a formula of many axes may lie, as values, what each is expected to take, and
# the choice. The engine computes any of them.

# Nanoseconds of one thread of an AMD machine with AVX-512, from the nests of six formulas: a run of outer axes; a pair,
# each operation of it, and each array that has a number of its own for it; a component of a factor, and of anything
# else, by its operations; a number that is put in another order. Lanes are counted in strips, and a sweep costs its
# start.
nest_prices <- list(run = 700, pair = 0.05, operation = 0.03, matrix = 0.8, factor = 0.05, component = 0.07, moved = 2)
lanes_of_strip <- 16
columns_of_start <- 4

# Of a formula with places, of which each axis can have a role: a list of lane, sweep and components, by name or NULL.
possible_nests <- function(F, row, places, kept, extents, alone) {
  folded <- setdiff(names(extents), kept)
  # Of equal values the first in the order of mention counts: the engine folds in that order.
  first <- function(axes) if (length(axes)) c(axes[extents[axes] > 1], axes)[1]
  orders <- row$results == "value"
  has <- function(axes, a = function(place) TRUE) {
    any(vapply(places, function(place) all(axes %in% place$axes) && a(place), NA))
  }
  # A place along both lane and sweep has one number for each pair.
  sweeps <- function(lane) {
    left <- setdiff(folded, lane)
    found <- Filter(function(axis) !has(c(lane, axis), function(place) any(components_of(place))),
                    if (orders) left else first(left))
    if (length(found)) found else list(NULL)
  }
  wide <- function(lane, sweep) {
    if (!alone || is.null(sweep)) return(list(NULL))
    c(list(NULL), Filter(function(axis) extents[[axis]] <= most_components && !has(c(lane, sweep, axis)),
                         setdiff(kept, lane)))
  }
  lanes <- if (length(kept)) kept else if (orders && length(folded)) folded else list(first(folded))
  of_sweep <- function(lane, sweep) {
    lapply(wide(lane, sweep), function(axis) list(lane = lane, sweep = sweep, components = axis))
  }
  of_lane <- function(lane) do.call(c, lapply(sweeps(lane), of_sweep, lane = lane))
  do.call(c, lapply(lanes, of_lane))
}

# Seconds that one thread is expected to take for each nest.
seconds_of_nests <- function(nests, places, extents, F) {
  operations <- r_size(F$formula)
  product <- all(vapply(factors_of(F$formula), function(factor) factor$op == "Var", NA))
  wide <- if (product) nest_prices$factor else nest_prices$component * operations
  vapply(nests, nest_seconds, 0, places, extents, operations, wide)
}

nest_seconds <- function(nest, places, extents, operations, wide) {
  extent <- function(axis) if (is.null(axis)) 1 else extents[[axis]]
  components <- extent(nest$components)
  runs <- prod(extents) / (extent(nest$lane) * extent(nest$sweep) * components)
  lanes <- lanes_of_strip * ceiling(extent(nest$lane) / lanes_of_strip)
  both <- sum(vapply(places, function(place) all(c(nest$lane, nest$sweep) %in% place$axes), NA)) * !is.null(nest$sweep)
  price <- nest_prices
  of_pair <- price$pair + price$operation * operations + price$matrix * both + wide * components * (components > 1)
  moved <- vapply(places, function(place) if (is_in_order(place, nest)) 0 else prod(place$dim), 0)
  1e-9 * (runs * (price$run + lanes * (extent(nest$sweep) + columns_of_start) * of_pair) + price$moved * sum(moved))
}

# Do the numbers of a place lie as its role has them?
is_in_order <- function(place, nest) {
  wanted <- c(nest$lane, nest$sweep, nest$components)
  plain <- vapply(place$specs, function(spec) spec$kind == "axis", NA)
  axes <- vapply(place$specs[plain], `[[`, "", "axes")
  !is.unsorted(match(axes, c(intersect(wanted, axes), setdiff(axes, wanted))))
}

nest_text <- function(nest, extents) {
  of <- function(axis, what) if (!is.null(axis)) paste0(axis, " ", format(extents[[axis]], trim = TRUE), what)
  outer <- setdiff(names(extents), c(nest$lane, nest$sweep, nest$components))
  paste(c(if (length(outer)) paste(paste(outer, extents[outer], collapse = " | "), "|"),
          paste(c(of(nest$lane, " lanes"), of(nest$sweep, " sweep"), of(nest$components, " components")),
                collapse = " x ")), collapse = " ")
}

#' The loops of a formula of many axes
#'
#' Lists the ways in which the loops of an index formula may lie, with the time that each is expected to take; or makes
#' a reduction that goes one of these ways. The package chooses by itself; use `schedule()` to see the choice, to
#' measure it on your data, or to force another one.
#'
#' In each nest one axis is the lane, along which the processor's vectors lie; one is the sweep, which is folded; one
#' may be the components, which are multiplied together; the engine runs once for each point of all others. All nests
#' give the same numbers up to rounding. A product of several arrays that is found two at a time (see [reduction()]) has
#' a nest for each of its steps, which are not listed.
#'
#' @param R a reduction of an index formula, made with `call = FALSE`
#' @param order the names of all axes, the outermost loop first: the last is the lane, which must be one that is kept
#'   (if any is); the folded one before it is the sweep
#' @param components the name of a kept axis that shall be the components; by default none, where `order` is given
#' @param measure `TRUE` runs each nest three times and adds the median
#' @return Without `order`, a data frame with a row for each nest: `nest`, `seconds` expected of one thread, `measured`
#'   if asked for, and `chosen`. With `order`, the reduction with that nest.
#' @seealso [reduction()], [explain()]
#' @concept loop order
#' @concept autotuning
#' @export
#' @examples
#' A <- matrix(rnorm(2000), 40)
#' B <- matrix(rnorm(3000), 50)
#' R <- reduction(C[i, j] ~ A[i, k] * B[k, j], "sum", call = FALSE)
#' schedule(R)
#' S <- schedule(R, order = c("j", "k", "i"))
#' all.equal(as.array(S), A %*% B)
schedule <- function(R, order = NULL, components = NULL, measure = FALSE) {
  check_flag(measure, "measure")
  if (!inherits(R, "lazy_reduction") || is.null(R$axes)) {
    abort("input", "`R` must be a reduction of an index formula, made with call = FALSE, not ", describe(R))
  }
  axes <- R$axes
  nests <- axes$nests
  if (!is.null(order)) return(axes$again(nest_of_order(order, components, nests, axes)))
  here <- vapply(nests, identical, NA, axes$roles[c("lane", "sweep", "components")])
  found <- data.frame(nest = vapply(nests, nest_text, "", axes$all), seconds = axes$seconds)
  if (measure) {
    found$measured <- vapply(nests, function(nest) {
      S <- axes$again(nest)
      stats::median(replicate(3, system.time(run_reduction(S))[["elapsed"]]))
    }, 0)
  }
  found$chosen <- here
  found[order(found$seconds), , drop = FALSE]
}

nest_of_order <- function(order, components, nests, axes) {
  all <- names(axes$all)
  if (!is.character(order) || anyDuplicated(order) || !setequal(order, all)) {
    abort("input", "`order` names each of the axes ", paste(all, collapse = ", "), " once; not ", format_value(order))
  }
  lane <- order[length(order)]
  sweep <- utils::tail(intersect(order[-length(order)], names(axes$folded)), 1)
  wanted <- list(lane = lane, sweep = if (length(sweep)) sweep, components = components)
  for (nest in nests) if (identical(nest, wanted)) {
    nest$outer <- setdiff(order, c(nest$lane, nest$sweep, nest$components))
    return(nest)
  }
  abort("unsupported", "no nest has lanes along ", lane, if (length(sweep)) c(", the sweep along ", sweep),
        if (!is.null(components)) c(", components along ", components), "; there are:\n",
        paste(" ", vapply(nests, nest_text, "", axes$all), collapse = "\n"))
}
