# The lazy tensor: a formula with its extents, settings and pairs.
#   formula   nested lists (op, args, attributes, type), made by the engine alone
#   extent    numbers of points along i and j, then along batch axes; NA if unknown or absent
#   settings  device, precision, threads, if they are set; else NULL
#   pairs     the pairs that exist; NULL for all
#   kept      the results that are made once from the tensor
# The S4 bit is set so that `%*%` and Matrix operands dispatch on R before 4.3.

new_lazy <- function(formula, extent, settings = NULL, pairs = NULL) r_lazy(formula, extent, settings, pairs)

# Returns the result of make() for a lazy tensor, and keeps it under `asked`, with the latest `most` results of its
# `sort`. A lazy tensor never changes: an assignment to a part makes another lazy tensor (`$<-`), and options are read
# when a reduction is computed (prepared()).
made_once <- function(x, asked, make, sort = "made", most = 16) kept_in(r_kept(x), asked, make, sort, most)

kept_in <- function(kept, asked, make, sort = "made", most = 16) {
  for (one in kept[[sort]]) if (identical(one$asked, asked)) return(one$found)
  found <- make()
  kept[[sort]] <- c(list(list(asked = asked, found = found)), utils::head(kept[[sort]], most - 1))
  found
}

# Gives a formula the namespace as an attribute. A formula that is saved and loaded elsewhere, or sent to another
# process, finds its methods there only if the namespace is loaded. An environment that ends in the namespace loads it.
# Operands have such an environment (new_operand()); a formula without operands needs the attribute.
home_bound <- function(formula) {
  attr(formula, "home") <- topenv()
  formula
}

# Applies an operation of the engine to lazy tensors. The engine checks types, extents, settings and pairs.
lazy_call <- function(op, args, attributes = NULL) {
  if (!is.null(compares[[op]])) check_alike(op, args)
  r_lazy_call(op, args, attributes)
}

# The engine's codes of types.
kind_codes <- c(logical = 0L, integer = 1L, real = 2L, complex = 3L)
axis_bits <- c(i = 1L, j = 2L, param = 0L, pair = 3L)

# The parts that `$` may return. They are internal; for any other name, a list would return NULL.
lazy_parts <- c("formula", "extent", "settings", "pairs")

part_of <- function(x, name, after) {
  if (is.character(name) && length(name) == 1 && name %in% lazy_parts) return(.subset2(x, name))
  refuse_places(after)
}

refuse_places <- function(after) {
  name <- written_name()
  abort("index", "`", name, after, "` is not defined: write ", name, "[I, ] for points along i, ", name,
        "[, J] for points along j, ", name, "[, , k] for components")
}

#' @export
`$.lazy_tensor` <- function(x, name) part_of(x, name, paste0("$", name))

#' @export
`[[.lazy_tensor` <- function(x, i, ...) part_of(x, i, "[[k]]")

#' @export
`$<-.lazy_tensor` <- function(x, name, value) {
  if (!name %in% lazy_parts) refuse("$<-", "tensor", "a formula has no places to assign to; use lazy_if()")
  parts <- unclass(x)[lazy_parts]
  parts[name] <- list(value)
  do.call(new_lazy, parts)
}

# Reads the type without `$`, which would look for methods first.
type_of <- function(x) .subset2(.subset2(x, "formula"), "type")

type_kind <- function(x) names(kind_codes)[type_of(x)[2] + 1L]
has_axis <- function(x, axis) type_of(x)[3] %/% axis_bits[[axis]] %% 2L == 1L

#' Number of components of a lazy tensor
#'
#' `width()` returns the number of components of a formula at each pair. `dim()` returns the numbers of points along i
#' and j: 1 for an axis along which the formula does not vary, `NA` for a number that is not known yet. For a formula
#' with named axes (see [along()]), `dim()` returns the number of points along each axis, named by the axes.
#'
#' @param x a lazy tensor
#' @return A whole number.
#' @seealso [Vi()], [lazy-matrix]
#' @export
#' @examples
#' x <- Vi(matrix(0, 10, 3))
#' dim(x)
#' width(x)
width <- function(x) {
  if (is_lazy_complex(x)) return(width(whole_of(x)))
  if (!is_lazy(x)) abort("input", "`x` must be a lazy tensor, not ", describe(x))
  type_of(x)[1]
}

#' @export
dim.lazy_tensor <- function(x) {
  extent <- .subset2(x, "extent")
  if (has_named_axes(x)) extent <- extents_of_axes(places_of_tensor(x), open = TRUE)
  else {
    if (!has_axis(x, "i")) extent[1] <- 1
    if (!has_axis(x, "j")) extent[2] <- 1
  }
  if (all(is.na(extent) | extent <= .Machine$integer.max)) storage.mode(extent) <- "integer"
  extent
}

#' @export
length.lazy_tensor <- function(x) {
  refuse_parallel(parent.frame())
  pairs <- prod(dim(x))
  if (is.na(pairs) || pairs <= .Machine$integer.max) as.integer(pairs) else pairs
}

# A lazy tensor has no names, as a matrix has none; its rows and columns have names.
#' @export
names.lazy_tensor <- function(x) NULL

#' @export
dimnames.lazy_tensor <- function(x) {
  names <- list(point_names(x, "i"), point_names(x, "j"))
  if (!is.null(names[[1]]) || !is.null(names[[2]])) names
}

# Returns the names of the points along an axis: the names of the first operand along it that has any, as in results.
point_names <- function(x, axis) {
  read <- r_read_along(.subset2(x, "formula"))
  for (k in seq_along(read$operands)) {
    side <- match(axis, sides_of_axis[[read$axes[k] + 1L]])
    if (is.na(side)) next
    data <- read$operands[[k]]$data
    found <- if (is.null(attr(data, "sparse")) && is.null(dim(data))) names(data) else pair_dimnames(data)[[side]]
    if (!is.null(found)) return(found)
  }
}

# The sides of the rows and columns of data, by code of axis. The last code is a matrix of pairs read by columns.
sides_of_axis <- list("i", "j", character(), c("i", "j"), c("j", "i"))

# Returns the number of points along an axis, or signals an error that `what` needs the number.
need_extent <- function(x, axis, what) {
  if (has_named_axes(x)) refuse_named_axes(operands_of(x$formula))
  n <- dim(x)[match(axis, c("i", "j"))]
  if (is.na(n)) abort("no_data", what, " needs to know how many points there are along ", axis)
  n
}

# Returns the operands of formulas.
operands_of <- function(...) r_operands(list(...))

# Returns the first position of each operand among others, or NA.
match_operands <- function(operands, among) r_match(operands, among %or% list())

# Returns a formula as text of at most `budget` characters, with numbers of at most `digits` digits, as R prints them.
formula_text <- function(x, budget = 500L, digits = getOption("digits")) {
  text <- few_digits(r_show(x, 2L * as.integer(budget)), digits)
  if (nchar(text) > budget) paste0(sub("[.]*$", "", substr(text, 1, budget)), "...") else text
}

# Shortens numbers in a text to `digits` digits. Numbers within a name, and a number that was cut off, stay.
few_digits <- function(text, digits = getOption("digits")) {
  digits <- check_count(digits, "digits")
  number <- gregexpr("(?<![\\w.])[0-9]+([.][0-9]+)?(e[+-]?[0-9]+)?(?![\\w.])", text, perl = TRUE)
  regmatches(text, number) <- lapply(regmatches(text, number), function(found) {
    long <- nchar(gsub("^0[.]0*|[.]|e.*", "", found)) > digits
    found[long] <- vapply(as.numeric(found[long]), format, "", digits = digits)
    found
  })
  text
}

has_batches <- function(x) length(.subset2(x, "extent")) > 2

batch_dim <- function(data) if (length(dim(data)) > 2) dim(data)[-(1:2)] else integer()

#' Set device, precision, threads or workers for a formula
#'
#' `lazy_set()` attaches settings to a formula; the settings stay with it through every operation. Use it to compute one
#' formula on another device or in another precision than the rest. Combining two formulas with contradictory settings
#' is an error. An argument that is `NULL`, the default, leaves its setting unchanged.
#'
#' @param F a lazy tensor, a lazy reduction, or a linear operator, with settings for all its lazy tensors
#' @param precision `"float64"`, `"float32"` or `"float16"`: see [kernweave_options]
#' @param device `"auto"`, `"reference"`, `"cpu"`, `"gpu"`, `"all"`, or numbers of GPUs
#' @param threads number of CPU threads
#' @param workers [kernweave_workers()] that share the rows of large results
#' @return `F` with the settings.
#' @seealso [kernweave_options()], [with_kernweave()]
#' @export
#' @examples
#' x <- matrix(runif(30), 10, 3)
#' K <- lazy_set(exp(-sqdist(Vi(x), Vj(x))), device = "reference")
#' sum(K, index = "j")
lazy_set <- function(F, precision = NULL, device = NULL, threads = NULL, workers = NULL) {
  if (is_lazy_complex(F)) return(each_part(F, lazy_set, precision, device, threads, workers))
  if (!inherits(F, c("lazy_tensor", "lazy_reduction", "linear_op"))) {
    abort("input", "`F` must be a lazy tensor, a lazy reduction or a linear operator, not ", describe(F))
  }
  if (is_op(F)) return(set_op(F, precision = precision, device = device, threads = threads, workers = workers))
  F <- with_settings(F, precision = precision, device = device, threads = threads, workers = workers)
  if (inherits(F, "lazy_reduction")) F$cache <- new.env(parent = emptyenv())
  F
}
