# Products of approximations on a GPU: points, boxes and series lie there in the order of boxes, and so do weights
# between the two parts of a product.

# The GPU that products go to, by its number; NULL for the CPU.
gpu_of_approximation <- function(state) {
  number <- r_far_device(call_options(state$tensor$settings)$device)
  if (number >= 0 && !is.null(sides_of_operands(state))) number
}

# The axis of each operand in the matrix, where formulas are transposed, too: 1 for i, 2 for j. NULL where one is along
# both, is read by row numbers, or is no matrix of numbers.
sides_of_operands <- function(state) {
  if (is.null(state$sides)) {
    operands <- written_plan(state)$operands
    plain <- vapply(operands, function(operand) is.double(operand$data), NA)
    state$sides <- list(if (all(plain)) r_far_sides(state$written$plan, length(operands)))
  }
  sides <- state$sides[[1]]
  if (!any(sides == 3)) sides
}

# A GPU knows points by their places in the order of boxes: those of a point on both sides must be the same, where pairs
# of a point with itself are left out.
knows_diagonal_in_order <- function(state, plan) {
  is.null(state$tensor$pairs) || do.call(identical, unname(r_far_orders(plan$pointer)))
}

product_there <- function(state, plan, gpu, v, u = NULL) {
  there <- boxes_there(state, plan, gpu)
  columns <- NCOL(v)
  sums <- if (length(plan$near$i_from)) near_sums(state, plan, there, columns, !is.null(u))
  found <- r_far_product_there(there$pointer, v, u, columns)
  if (is.null(found)) refuse_infinite_weights()
  near <- if (!is.null(sums)) {
    if (is.null(u)) sums(found$sorted) else sums(weights = found$sorted, numbers = found$by)
  }
  r_far_put_back_there(there$pointer, found$sums, near, if (is.null(u)) columns else 1L)
}

# What lies on a GPU, sent once: `pointer` to boxes and series, the `near` pairs of the formula, and the functions that
# sum these, by the number of columns, with and without numbers of the rows.
boxes_there <- function(state, plan, gpu) {
  key <- as.character(gpu)
  kept <- plan$there[[key]]
  if (!is.null(kept)) return(kept)
  there <- new.env(parent = topenv())
  there$pointer <- r_far_there(plan$pointer, gpu, threads_of(state$tensor))
  there$sums <- list()
  state$plan$there[[key]] <- there
}

# Near pairs times weights of so many columns, and numbers of the rows, if there are any, all in the order of boxes.
near_sums <- function(state, plan, there, columns, has_rows) {
  key <- paste(columns, has_rows)
  if (is.null(there$near)) there$near <- near_in_order(state, plan, there$pointer)
  if (is.null(there$sums[[key]])) {
    numbers <- if (has_rows) Vi(dim = columns, name = "numbers")
    terms <- weighed(there$near, Vj(dim = columns, name = "weights"), numbers)
    there$sums[[key]] <- as.function(reduction(terms, "sum", index = "j", call = FALSE))
  }
  there$sums[[key]]
}

# The formula over near pairs, of points in the order of boxes.
near_in_order <- function(state, plan, pointer) {
  K <- state$all
  operands <- written_plan(state)$operands
  sorted <- Map(operand_in_order, operands, sides_of_operands(state), MoreArgs = list(pointer = pointer))
  formula <- home_bound(r_restate(list(K$formula), operands, sorted)[[1]])
  near <- restrict(new_lazy(formula, K$extent, K$settings), ranges = ranges_in_order(plan$near, NULL, K$extent),
                   exclude_diag = !is.null(state$tensor$pairs))
  lazy_set(near, precision = precision_beside(state, plan))
}

operand_in_order <- function(operand, side, pointer) {
  if (side == 0) return(operand)
  numbers <- r_far_in_order_there(pointer, side == 1, operand$data, NCOL(operand$data))
  new_operand(operand$name, operand$axis, operand$width, operand$kind, numbers)
}
