# The form in which C++ reads an approximation, as it reads any operator (R/op-native.R): the plan of far pairs, and the
# near pairs as a formula whose data are in the order of boxes.

native_approximation <- function(state, width, ladder = FALSE, options = call_options(state$tensor$settings)) {
  plan <- plan_of_approximation(state)
  if (!is.null(plan$parts)) {
    parts <- lapply(plan$parts, native_approximation, width, ladder, options)
    return(list(kind = "sum", parts = parts, coefficients = rep(1, length(parts)),
                work = unlist(lapply(parts, `[[`, "work"))))
  }
  gpu <- gpu_of(options)
  precision <- precision_beside(state, plan)
  asked <- list(plan$pointer, precision, width, ladder, options, gpu)
  made_once(state$all, asked, sort = "native", most = 2, make = function() {
    near <- if (plan$near_pairs > 0) near_pairs(state, plan, precision, gpu)
    in_order <- is.null(near) || near$in_order
    work <- work_of_product(state, plan, gpu)
    list(kind = "far", pointer = plan$pointer, in_order = in_order, diagonal = plan$diagonal,
         near = if (!is.null(near)) native_lazy(near$F, width, ladder, here = in_order && !is.null(gpu)),
         threads = options$threads %or% 0L, near_share = work[["near"]] / max(sum(work), 1), work = work,
         device = if (in_order) gpu %or% -1L else -1L)
  })
}

# Returns the formula over near pairs alone. Boxes are ranges of points in box order. The data are put in this order
# once or, if that is impossible (`in_order` FALSE), at each product. The formula keeps the result among the parts that
# are not saved, since its data are copies.
near_pairs <- function(state, plan, precision, gpu) {
  made_once(state$all, list(plan$pointer, precision, gpu), sort = "near", most = 2, make = function() {
    in_order <- can_be_in_order(state, plan)
    F <- if (in_order) formula_in_order(state, plan, gpu) else state$all
    near <- restrict(F, exclude_diag = !is.null(state$tensor$pairs),
                     ranges = ranges_in_order(plan$pointer, if (!in_order) r_far_orders(plan$pointer), F$extent))
    list(F = lazy_set(near, precision = precision), in_order = in_order)
  })
}

# Tells whether points may be put in order. If pairs of a point with itself are left out, both sides need one order.
can_be_in_order <- function(state, plan) {
  same <- function() do.call(identical, unname(r_far_orders(plan$pointer)))
  !is.null(sides_of_operands(state)) && (is.null(state$tensor$pairs) || same())
}

# Returns the formula of points in the order of boxes. The data are on the device that computes the products.
formula_in_order <- function(state, plan, gpu) {
  K <- state$all
  operands <- written_plan(state)$operands
  orders <- r_far_orders(plan$pointer)
  sorted <- Map(function(operand, side) {
    if (side == 0) return(operand)
    numbers <- if (is.null(gpu)) as.matrix(operand$data)[orders[[side]], , drop = FALSE]
               else r_far_in_order_gpu(plan$pointer, gpu, threads_of(K), side == 1, operand$data, NCOL(operand$data))
    new_operand(operand$name, operand$axis, operand$width, operand$kind, numbers)
  }, operands, sides_of_operands(state))
  formula <- home_bound(r_with_operands(list(K$formula), operands, sorted)[[1]])
  new_lazy(formula, K$extent, K$settings)
}

# Returns the number of the GPU that computes the products, or NULL for the CPU.
gpu_of <- function(options) {
  number <- r_far_device(options$device)
  if (number >= 0) number
}

# Returns the axis of each operand in the matrix, also in transposed formulas: 1 for i, 2 for j. NULL if an operand
# varies along both axes, is read by row numbers, or is not a matrix of numbers.
sides_of_operands <- function(state) {
  if (is.null(state$sides)) {
    operands <- written_plan(state)$operands
    plain <- vapply(operands, function(operand) is.double(operand$data), NA)
    state$sides <- list(if (all(plain)) r_far_sides(written_plan(state)$plan, length(operands)))
  }
  sides <- state$sides[[1]]
  if (!any(sides == 3)) sides
}

# Returns the lazy tensor that has the entries of a matrix: the matrix itself, or the tensor that it approximates.
kernel_tensor <- function(K) if (is_op(K)) K$tensor %or% approximation_of(K)$tensor else K
