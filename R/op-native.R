# Writes an operator for C++: the same tree, with each lazy tensor as the plans of its products.

# `width`: the most columns of a product. `ladder`: plans for fewer columns, too, as right-hand sides finish in turn.
native_operator <- function(op, width, ladder = FALSE) {
  switch(op$kind,
    lazy = native_lazy(op$tensor, width, ladder),
    diagonal = list(kind = "diagonal", values = refuse_traced(op$values)),
    dense = list(kind = "dense", matrix = refuse_traced(op$matrix)),
    lowrank = list(kind = "lowrank", factor = refuse_traced(op$factor)),
    `function` = native_function(op, width, ladder),
    sum = , product = , kronecker = {
      list(kind = op$kind, parts = lapply(op$parts, native_operator, width, ladder), coefficients = op$coefficients)
    },
    block = list(kind = "block", parts = lapply(op$parts, lapply, function(part) {
      if (!is.null(part)) native_operator(part, width, ladder)
    }))
  )
}

native_function <- function(op, width, ladder) {
  state <- approximation_of(op)
  if (is.null(state)) {
    return(list(kind = "function", dim = as.numeric(op$dim), apply = function(v) refuse_traced(op$apply(v))))
  }
  for (operand in traced_operands(op$tensor)) refuse_traced(operand$traced)
  # Single products of iterations are not audited.
  if (wants_audit(state)) approximated_product(state, random_signs(state$tensor$extent[2], 1, 1))
  native_approximation(state, width, ladder)
}

# Plans products of a lazy tensor, one plan for each number of columns. Each column has a product for each component.
# `here`: compute on the GPU of the other terms, and not by workers.
native_lazy <- function(K, width, ladder = FALSE, here = FALSE) {
  for (operand in traced_operands(K)) refuse_traced(operand$traced)
  options <- call_options(K$settings)
  if (!here && !is.null(present_workers(options)) && width(K) == 1) return(product_by_workers(K))
  last <- c(which(compiled_widths >= width), length(compiled_widths))[1]
  widths <- if (may_be_compiled(options)) compiled_widths[if (ladder) seq_len(last) else last]
            else c(if (ladder) product_widths[product_widths < width], min(width, widest_product))
  list(kind = "engine", dim = as.numeric(dim(K)[1:2]), extent = as.numeric(K$extent), settings = options,
       pairs = pair_argument(K$pairs, dim(K)[1:2], options$precision),
       plans = lapply(widths, product_plan, K = K))
}

# Makes a function of R for the products that workers may share.
product_by_workers <- function(K) {
  list(kind = "function", dim = as.numeric(dim(K)[1:2]), apply = function(v) {
    unname(run_reduction(waiting_product(K, ncol(v)), given = list(v)))
  })
}

# Sixteen columns take little more than twice the time of one column, 64 six times; more columns gain nothing.
widest_product <- 64L
product_widths <- c(1L, 2L, 3L, 4L, 6L, 8L, 12L, 16L, 24L, 32L, 48L)
# The compiled widths. On a GPU a new kernel takes a second to compile, and unused columns take almost no time: for 1e5
# points in three dimensions 1, 10, 16, 32 and 64 columns take 7, 11, 18, 24 and 65 ms on an H100, in float64 30, 41,
# 56, 67 and 203. Four widths are enough; wider products are computed as several of the widest.
compiled_widths <- c(1L, 4L, 16L, 32L)

may_be_compiled <- function(options) options$device != "cpu" && "gpu" %in% r_devices()

product_plan <- function(K, width) {
  by <- if (width(K) > 1 && width > 1) "TensorProd" else "Mult"
  ready <- prepared(waiting_product(K, as.integer(width), by = by))
  data <- operand_data(ready$operands, given = list(0))
  list(width = as.integer(width), components = width(K), plan = ready$plan, operands = ready$operands, data = data,
       vector = waiting_places(ready$operands) - 1L)
}

operator_product <- function(op, v) {
  if (!ncol(v)) return(matrix(0, op$dim[1], 0))
  # A function may hold traced values that are not visible.
  composed <- is_traced(v) || tracing$depth > 0L &&
    (any(vapply(op_leaves(op), function(leaf) leaf$kind == "function", NA)) || level_of_op(op) > 0L)
  if (composed) return(followed_product(op, v))
  if (!is.null(approximation_of(op))) return(op$apply(v))  # its result may stay on a GPU
  r_operator_product(native_operator(op, ncol(v)), v)
}

# Returns the system, after telling a GPU to compile its kernels during the work before the first product.
expected <- function(system, K) {
  if (may_be_compiled(call_options(kernel_tensor(K)$settings))) r_expect_products(system)
  system
}

# Returns K + V V' + ridge for `columns` columns, with sparse `effects` V.
native_system <- function(K, ridge, columns, effects = NULL) {
  product <- if (is_op(K)) native_operator(K, columns, ladder = TRUE) else native_lazy(K, columns, ladder = TRUE)
  beside <- c(if (any(ridge != 0)) list(list(kind = "diagonal", values = ridge)),
              if (!is.null(effects)) list(native_operator(sparse_gram(effects), columns)))
  if (!length(beside)) return(product)
  list(kind = "sum", parts = c(list(product), beside), coefficients = rep(1, 1 + length(beside)))
}
