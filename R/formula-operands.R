# Operands: data, or a placeholder for data, along an axis. An operand is an environment, so it is the same variable in
# all its formulas. The parent of the environment is our namespace, so that loading an operand loads the package. An
# operand made of a traced value keeps the value in `traced` (see bearing()).

axis_codes <- c(i = 0L, j = 1L, param = 2L, pair = 3L)

new_operand <- function(name, axis, width, kind, data = NULL, from = NULL, literal = FALSE) {
  operand <- new.env(hash = FALSE, parent = topenv())
  operand$name <- name
  operand$axis <- axis
  operand$width <- width
  operand$kind <- kind
  operand$data <- data    # a double vector or matrix; NULL for a placeholder
  operand$literal <- literal  # a number in a formula: its name is its value
  operand$from <- from    # the reduction that computes the data, if any: list(reduction, part, flat)
  if (is.double(data) && length(data) >= least_shared) share_data(operand, r_fellow(operand, data))
  operand
}

# Lets operands of one vector (as for both sides) share it in an environment that their `data` read: R saves a vector
# each time it meets it, an environment once. Short vectors are not shared.
share_data <- function(operand, fellow) {
  if (is.null(fellow)) return(invisible())
  ask_for_data <- function(operand, ask) {
    rm("data", envir = operand)
    makeActiveBinding("data", ask, operand)
  }
  if (!bindingIsActive("data", fellow)) {
    common <- new.env(hash = FALSE, parent = emptyenv())
    common$data <- fellow$data
    ask_for_data(fellow, as.function(list(quote(data)), common))
  }
  ask_for_data(operand, activeBindingFunction("data", fellow))
}

# Gives an operand the traced value from which its data were read.
bearing <- function(operand, x) {
  if (!is_traced(x)) return(operand)
  plain <- plain_value(x)
  if (!is.double(plain)) {
    abort("no_gradient", "`", operand$name, "` is ", if (is.logical(plain)) "logical" else typeof(plain),
          ": it has no gradient")
  }
  # A parameter is a vector, except an array of batches.
  flat <- operand$axis == "param" && is.null(dim(operand$data)) && !is.null(dim(plain))
  operand$traced <- if (flat) rearranged(x, as.vector) else x
  operand
}

# Applies a function of base R that changes the shape of numbers; also to traced numbers.
rearranged <- function(x, f) if (is_traced(x)) take(x, f(places_of(x))) else f(x)

is_bearing <- function(operand) !is.null(operand$traced)

least_shared <- 1000

# Returns a lazy tensor that consists of one operand.
lazy_operand <- function(operand) {
  axis <- operand$axis
  type <- c(as.integer(operand$width), kind_codes[[operand$kind]], axis_bits[[axis]])
  formula <- list(op = "Var", args = operand, attributes = axis_codes[[axis]], type = type)
  if (is.null(operand$data)) return(new_lazy(formula, c(NA_real_, NA_real_)))
  n <- rows_of(operand$data)
  points <- switch(axis, i = c(n, NA), j = c(NA, n), param = c(NA, NA), pair = pair_dim(operand$data))
  new_lazy(formula, as.numeric(c(points, if (axis != "pair") batch_dim(operand$data))))
}

counter <- function(axis, n) {
  formula <- list(op = "Var", args = NULL, attributes = axis_codes[[axis]], type = c(1L, 1L, axis_bits[[axis]]))
  extent <- c(NA_real_, NA)
  if (!is.null(n)) extent[axis_codes[[axis]] + 1L] <- check_size(n, "n", "points")
  new_lazy(home_bound(formula), extent)
}

#' Data and parameters of a formula
#'
#' These functions turn data into variables from which you write formulas of pairs. `Vi(x)` varies along i: its points
#' are the rows of `x`. `Vj(y)` varies along j. `Pm(p)` is a parameter, the same for every pair. `Vij(A)` has its own
#' number for each pair. `row_index()` and `col_index()` are the indices i and j themselves.
#'
#' Each call makes a new variable, with respect to which you can differentiate. Without data, `Vi(dim = 3)` is a
#' placeholder with three components; [as.function()][as.function.lazy_reduction] turns a reduction of placeholders into
#' a function of the missing data. Inside a function given to [gradient()], data may depend on the arguments of that
#' function.
#'
#' @param x data. For `Vi` and `Vj`: a numeric matrix with one row per point and one column per component, a vector (one
#'   component), or a numeric data frame. Factors and strings are not numbers: use `as.integer(x)` if only equality
#'   matters, `model.matrix(~ x - 1)` for one component per level. For `Pm`: a vector of components. For `Vij`: a
#'   numeric matrix, points along i by points along j; a sparse matrix of the Matrix package stays sparse in
#'   memory, but takes as much time as a dense one. Arrays with more dimensions are batches, see [take_batch()]. Complex
#'   numbers give a complex lazy tensor, see [lazy_complex()]
#' @param dim number of components of a placeholder
#' @param name name of the variable in printed formulas and messages; by default the name of the object given as `x`
#' @param by groups of the points: only points of one group form a pair, as in [restrict()]; by default all points do
#' @param index for `LazyTensor`: `"i"`, `"j"`, or `NULL` (default) for a parameter
#' @param n number of points, needed if nothing else in the formula determines it
#' @return A lazy tensor.
#' @seealso [lazy-arithmetic] and [lazy-operations] for formulas, [reduction()] for numbers, [width()], [on_device()]
#' @concept lazy evaluation
#' @concept symbolic matrix
#' @export
#' @examples
#' x <- matrix(runif(30), 10, 3)
#' y <- matrix(runif(60), 20, 3)
#' Vi(x)
#' sqdist(Vi(x), Vj(y))
#' sum(Vj(y) < Pm(0.5), index = "j")
#' Vi(dim = 3, name = "x")
Vi <- function(x, dim = NULL, name = NULL, by = NULL) {
  indexed("i", x, dim, name, if (missing(x)) quote(expr = ) else substitute(x), by)
}

#' @rdname Vi
#' @export
Vj <- function(x, dim = NULL, name = NULL, by = NULL) {
  indexed("j", x, dim, name, if (missing(x)) quote(expr = ) else substitute(x), by)
}

#' @rdname Vi
#' @export
Pm <- function(x, dim = NULL, name = NULL) {
  typed <- substitute(x)
  if (missing(x)) return(placeholder("param", dim, name))
  if (!is.null(dim)) abort("input", "give either data or `dim`, not both")
  plain <- plain_value(x)
  if (is.complex(plain)) {
    return(complex_operand(plain, name %or% default_name(typed, "p"), function(x, name) Pm(x, NULL, name)))
  }
  data <- check_numbers(plain, "x")
  batched <- length(base::dim(plain)) > 2 && base::dim(plain)[1] == 1  # 1 x components x batches
  if (!batched && sum(base::dim(plain) > 1) > 1) {
    abort("shape", "a parameter is a vector of components, not ", describe(plain),
          "; use Vi() or Vj() for points, as.vector() for a matrix of components")
  }
  values <- if (batched) data$values else as.vector(data$values)
  n <- if (batched) base::dim(values)[2] else length(values)
  if (n == 0) abort("shape", "a parameter needs at least one component")
  one <- !batched && n == 1 && !is_traced(x)
  default <- default_name(typed, if (one) format(values, digits = 4) else "p")
  lazy_operand(bearing(new_operand(check_name(name, default), "param", n, data$kind, values), x))
}

#' @rdname Vi
#' @export
Vij <- function(x, name = NULL) {
  typed <- substitute(x)
  if (is.complex(x)) return(complex_operand(x, name %or% default_name(typed, "A"), Vij))
  data <- pair_numbers(plain_value(x), "x")
  extents <- attr(data$values, "sparse")[[3]] %or% dim(data$values)
  if (is.null(extents)) abort("input", "`Vij()` needs a matrix of points along i by points along j, not ", describe(x))
  refuse_batches(extents, "x")
  lazy_operand(bearing(new_operand(check_name(name, default_name(typed, "A")), "pair", 1L, data$kind, data$values), x))
}

# Returns a matrix of pairs in the engine's form. For a sparse matrix, these are its entries, with the slots p, i and
# Dim of the Matrix package in an attribute.
pair_numbers <- function(x, argument) {
  if (!methods::is(x, "Matrix")) return(check_numbers(x, argument))
  if (!methods::is(x, "sparseMatrix")) return(check_numbers(as.matrix(x), argument))
  columns <- methods::as(methods::as(x, "generalMatrix"), "CsparseMatrix")
  pattern <- methods::is(columns, "nMatrix")
  ones <- list(values = rep(1, length(columns@i)), kind = "logical")
  entries <- if (pattern) ones else check_numbers(columns@x, argument)
  attr(entries$values, "sparse") <- list(columns@p, columns@i, columns@Dim, columns@Dimnames)
  entries
}
rows_of <- function(values) attr(values, "sparse")[[3]][1] %or% NROW(values)
pair_dim <- function(values) attr(values, "sparse")[[3]] %or% attr(values, "window")[1:2] %or% dim(values)[1:2]
pair_dimnames <- function(values) attr(values, "sparse")[[4]] %or% dimnames(values)

#' @rdname Vi
#' @export
LazyTensor <- function(x, index = NULL, name = NULL) {
  typed <- substitute(x)
  if (is.null(index) || identical(index, NA)) return(Pm(x, name = name %or% default_name(typed, "p")))
  index <- one_of(index, c("i", "j"), "index")
  indexed(index, x, NULL, name, typed)
}

#' @rdname Vi
#' @export
row_index <- function(n = NULL) counter("i", n)

#' @rdname Vi
#' @export
col_index <- function(n = NULL) counter("j", n)

indexed <- function(axis, x, dim, name, typed, by = NULL) {
  if (!is.null(by)) return(with_groups(indexed(axis, x, dim, name, typed), axis, by))
  if (identical(typed, quote(expr = ))) return(placeholder(axis, dim, name))
  if (!is.null(dim)) abort("input", "give either data or `dim`, not both")
  default <- default_name(typed, c(i = "x", j = "y")[[axis]])
  if (is.complex(x)) {
    return(complex_operand(x, name %or% default, function(x, name) indexed(axis, x, NULL, name, typed)))
  }
  points <- as_points(plain_value(x))
  lazy_operand(bearing(new_operand(check_name(name, default), axis, points$width, points$kind, points$values), x))
}

placeholder <- function(axis, dim, name) {
  if (is.null(dim)) abort("input", "a placeholder needs `dim`, its number of components")
  default <- c(i = "x", j = "y", param = "p")[[axis]]
  lazy_operand(new_operand(check_name(name, default), axis, check_count(dim, "dim"), "real"))
}

# Returns the name that the user typed, if it is a name.
default_name <- function(typed, otherwise) if (is.symbol(typed)) as.character(typed) else otherwise

check_name <- function(name, default) {
  if (is.null(name)) return(default)
  if (!is_word(name)) abort("input", "`name` must be one word, not ", describe(name))
  name
}

# Returns numbers as doubles, with their kind before. Doubles are not copied.
check_numbers <- function(x, argument) {
  if (is.double(x) && !is.object(x)) return(list(values = x, kind = "real"))
  if (is.complex(x)) abort("unsupported", "`", argument, "` is complex; see lazy_complex() for what is defined")
  numbers <- (is.numeric(x) || is.logical(x)) && !is.factor(x) && !inherits(x, c("integer64", "dist"))
  if (!numbers) abort("input", "`", argument, "` must be numeric, not ", describe(x), numbers_instead(x, argument))
  values <- if (is.object(x)) array_or_vector(unclass(x)) else x  # a table or similar object gives its numbers
  if (is.double(x)) return(list(values = values, kind = "real"))
  kind <- if (is.logical(x)) "logical" else "integer"
  if (kind == "logical" && anyNA(x)) kind <- "integer"  # a logical formula has no NA
  storage.mode(values) <- "double"
  list(values = values, kind = kind)
}

# Returns the text to write in place of data that are not plain numbers.
numbers_instead <- function(x, argument) {
  argument <- sub("\\[.*", "", argument)  # for a place in brackets, the name of its array
  if (inherits(x, c("big.matrix", "ff", "FBM"))) return(paste0("; map_points(", argument, ") gives its matrix"))
  if (inherits(x, "dist")) return("; Vij(as.matrix(d)) takes the distances of all pairs, Vi() the points themselves")
  if (inherits(x, c("Date", "POSIXt"))) {
    return(paste0("; as.numeric(", argument, ") counts ", if (inherits(x, "Date")) "days" else "seconds"))
  }
  if (inherits(x, "difftime")) return(paste0("; as.numeric(", argument, ", units = \"secs\") counts seconds"))
  if (is.list(x) && !is.object(x)) return(paste0("; unlist(", argument, ") makes a vector of numbers"))
  if (!is.factor(x) && !is.character(x)) return("")
  codes <- if (is.factor(x)) "as.integer(%1$s)" else "match(%1$s, unique(%1$s))"
  remedies <- paste("; write", codes, "for codes, to be compared by ==, or model.matrix(~ %1$s - 1)",
                    "for one component per", if (is.factor(x)) "level" else "value")
  sprintf(remedies, if (make.names(argument) == argument) argument else "x")
}

# Drops the class of an array without a copy.
array_or_vector <- function(x) {
  attributes(x) <- attributes(x)[intersect(c("dim", "dimnames", "names"), names(attributes(x)))]
  x
}

# Returns points as rows: values, number of components, kind.
as_points <- function(x, argument = "x") {
  if (is.object(x)) x <- unwrapped(x, argument)
  numbers <- check_numbers(x, argument)
  extents <- dim(numbers$values)
  width <- if (length(extents) < 2) 1L else extents[2]
  if (width == 0) abort("shape", "`", argument, "` has no columns")
  c(numbers, width = width)
}

refuse_batches <- function(extents, argument) {
  if (length(extents) <= 2) return(invisible())
  abort("unsupported", "`", argument, "` is an array of ", paste(extents, collapse = " x "),
        "; only Vi(), Vj() and Pm() take batches: give a matrix")
}

# Returns the numbers of an object whose class is known to hold numbers.
unwrapped <- function(x, argument) {
  if (is_lazy(x)) abort("input", "`", argument, "` is a lazy tensor already")
  if (is.data.frame(x)) return(frame_matrix(x, argument))
  if (isS4(x) && methods::is(x, "Matrix")) as.matrix(x) else x
}

frame_matrix <- function(x, argument) {
  numeric <- vapply(x, function(column) is.numeric(column) || is.logical(column), NA)
  if (!all(numeric)) {
    abort("input", "`", argument, "` has a column that is not numeric: `", names(x)[!numeric][1],
          "`; leave it out, or model.matrix(~ . - 1, ", argument, ") makes numbers of factors")
  }
  as.matrix(x)
}

# Checks the data of a placeholder, which must have the operand's shape.
as_operand_data <- function(value, operand) {
  if (is.null(value)) abort("no_data", "`", operand$name, "` has no data")
  if (operand$axis == "param") {
    values <- check_numbers(value, operand$name)$values
    batched <- length(dim(values)) > 2 && dim(values)[1] == 1
    if (!batched) values <- as.vector(values)
    fits(if (batched) dim(values)[2] else length(values), operand, "components")
    return(values)
  }
  if (operand$axis == "pair" && methods::is(value, "Matrix")) return(pair_numbers(value, operand$name)$values)
  points <- as_points(value, operand$name)
  if (operand$axis == "pair") return(points$values)
  fits(points$width, operand, "columns")
  points$values
}

fits <- function(given, operand, what) {
  if (given == operand$width) return(invisible())
  abort("shape", "`", operand$name, "` has ", given, " ", what, ", but the formula was built for ", operand$width)
}
