# Nests: the possible orders of the loops of a formula of many axes, as values, and the choice. The engine lists and
# prices nests (src/axes), and computes any of them.

seconds_of_forms <- 3e-4  # the time to write a formula in other forms

# Makes a nest: the role of each axis, by name or NULL. Columns are a second kept axis, if nothing is swept; axes inside
# are folded within a point.
new_nest <- function(lane, sweep = NULL, components = NULL, columns = NULL, inside = NULL) {
  list(lane = lane, sweep = sweep, components = components, columns = columns, inside = inside)
}

# Lists all nests of a formula in all its forms, the expected seconds of each on one thread, and the number of its form.
# A formula that takes less time than writing other forms keeps its form.
nests_of <- function(whole) {
  forms <- list(list(F = whole$F, operands = whole$operands, places = whole$places, left = whole$extents))
  found <- lapply(forms, nests_of_form, whole)
  if (min(found[[1]]$seconds) > seconds_of_forms) {
    others <- Filter(Negate(is.null), lapply(sets_inside(whole), form_inside, whole))
    forms <- c(forms, others)
    found <- c(found, lapply(others, nests_of_form, whole))
  }
  nests <- lapply(found, `[[`, "nests")
  list(forms = forms, all = unlist(nests, recursive = FALSE), form = rep(seq_along(forms), lengths(nests)),
       seconds = unlist(lapply(found, `[[`, "seconds")))
}

nests_of_form <- function(form, whole) {
  row <- whole$row
  # The tape computes gradients at winners for one component only.
  alone <- is.null(whole$weight) && row$inputs != "value_k" && !(whole$traced && row$saves %in% saves_of_winners)
  pairs <- is.null(whole$weight) && row$fn %in% c("sum", "mean") && width(form$F) == 1
  operations <- if (is.null(form$inside)) r_size(form$F$formula) else work_of(form$F$formula)
  product <- all(vapply(factors_of(form$F$formula), function(factor) factor$op == "Var", NA))
  number <- function(axes) match(axes, names(form$left), 0L) - 1L
  places <- lapply(form$places, function(place) {
    by_axis <- Filter(function(spec) spec$kind == "axis", place$specs)
    list(axes = number(place$axes), dimensions = number(vapply(by_axis, `[[`, "", "axes")),
         has_components = any(components_of(place)), width = width_of_place(place), numbers = prod(place$dim))
  })
  found <- r_nests(places, form$left, number(whole$kept),
                   c(row$results == "value", alone && is_by_number(form$F), pairs), operations, product)
  name <- function(axis) if (axis >= 0) names(form$left)[axis + 1]
  nest <- function(..., seconds) do.call(new_nest, c(lapply(list(...), name), list(inside = form$inside)))
  list(nests = .mapply(nest, found, NULL), seconds = found$seconds)
}

nest_text <- function(nest, extents) {
  of <- function(axis, what) if (!is.null(axis)) paste0(axis, " ", format(extents[[axis]], trim = TRUE), what)
  outer <- setdiff(names(extents), unlist(nest))
  paste(c(if (length(outer)) paste(paste(outer, extents[outer], collapse = " | "), "|"),
          paste(c(of(nest$lane, " lanes"), of(nest$sweep, " sweep"), of(nest$columns, " columns"),
                  of(nest$components, " components"), vapply(nest$inside, of, "", " inside")),
                collapse = " x ")), collapse = " ")
}

#' Loop order of an index formula
#'
#' `schedule()` lists the loop nests that can compute an index formula, with the time that each is expected to take.
#' With `order`, it returns the reduction with the loop nest that you choose. The package chooses a loop nest by itself;
#' use `schedule()` to see the choice, to measure it on your data, or to force another one.
#'
#' A loop nest gives each axis a role. The processor's vectors lie along the *lane*. The *sweep* is a reduced axis.
#' The *components* are a kept axis whose points are computed together, like the columns of a matrix. One or two short
#' reduced axes may lie *inside*: each point has them as components, which are summed. If all reduced axes lie inside,
#' two kept axes may be the lane and the *columns*. The engine runs once for each point of all other axes. All loop
#' nests give the same numbers up to rounding. A product that is contracted two arrays at a time (see [reduction()]) has
#' a loop nest for each of these steps, which `schedule()` does not list.
#'
#' @param R a reduction of an index formula, made with `call = FALSE`
#' @param order the names of all axes, the outermost loop first. The last axis is the lane, which must be a kept axis
#'   (if any is kept). The last reduced axis before it, of those not inside, is the sweep. By default, all loop nests
#'   are listed
#' @param components with `order`: the name of the kept axis that is the components; by default none
#' @param inside with `order`: the names of one or two reduced axes that lie inside; by default none. If no other axis
#'   is reduced, the axis before the lane is the columns
#' @param measure if `TRUE`, runs each loop nest three times and adds the median time. By default `FALSE`
#' @return Without `order`, a data frame with a row for each loop nest: `nest`, `seconds` expected on one thread,
#'   `measured` seconds if asked for, and `chosen`. With `order`, the reduction with that loop nest.
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
schedule <- function(R, order = NULL, components = NULL, inside = NULL, measure = FALSE) {
  check_flag(measure, "measure")
  if (!inherits(R, "lazy_reduction") || is.null(R$axes)) {
    abort("input", "`R` must be a reduction of an index formula, made with call = FALSE, not ", describe(R))
  }
  axes <- R$axes
  nests <- axes$nests
  if (!is.null(order)) return(axes$again(nest_of_order(order, components, inside, nests, axes)))
  here <- vapply(nests, identical, NA, axes$nest)
  found <- data.frame(nest = vapply(nests, nest_text, "", axes$all), seconds = axes$seconds)
  if (measure) {
    found$measured <- vapply(nests, function(nest) {
      S <- axes$again(nest)
      stats::median(replicate(3, elapsed(run_reduction(S))))
    }, 0)
  }
  found$chosen <- here
  found[order(found$seconds), , drop = FALSE]
}

# Measures seconds. proc.time() counts milliseconds, and short runs take only a few of these.
elapsed <- function(code) {
  start <- as.numeric(Sys.time())
  force(code)
  as.numeric(Sys.time()) - start
}

nest_of_order <- function(order, components, inside, nests, axes) {
  all <- names(axes$all)
  if (!is.character(order) || anyDuplicated(order) || !setequal(order, all)) {
    abort("input", "`order` names each of the axes ", paste(all, collapse = ", "), " once; not ", format_value(order))
  }
  lane <- order[length(order)]
  before <- order[-length(order)]
  last <- function(axes) if (length(axes)) axes[length(axes)]
  sweep <- last(setdiff(intersect(before, names(axes$folded)), inside))
  columns <- if (is.null(sweep)) last(setdiff(before, c(inside, components)))
  wanted <- new_nest(lane, sweep, components, columns, inside)
  # Columns are matched if there are any; a nest without columns has the axis as an outer axis.
  found <- Find(function(nest) {
    identical(nest[1:3], wanted[1:3]) && setequal(nest$inside, inside) && identical(nest$columns, columns)
  }, nests)
  if (!is.null(found)) return(c(found, list(outer = setdiff(order, unlist(found)))))
  abort("unsupported", "no nest has lanes along ", lane, if (length(sweep)) paste0(", the sweep along ", sweep),
        if (!is.null(components)) paste0(", components along ", components),
        if (!is.null(inside)) paste0(", ", paste(inside, collapse = " and "), " inside"), "; there are:\n",
        paste(" ", vapply(nests, nest_text, "", axes$all), collapse = "\n"))
}
