# The saved operands of a gradient: results, norms and products of the forward pass, computed by other reductions.

# Returns the arguments of the engine's gradient rows: the formulas, and the saved operands of the forward pass.
reduced_form <- function(R, output) {
  if (identical(output$finish$results, "index")) {
    abort("no_gradient", output$label, "() has no gradient: its result does not vary smoothly with the formula")
  }
  saves <- reduction_row(output$op)$saves
  result <- if (saves %in% c("result", "softmax", "cofactor")) saved_result(R, "result")$formula
  saved <- switch(saves,
    softmax = kept_with(R, "norm", function() saved_result(beside(R, output, "LogSumExp"), "norm")),
    cofactor = product_of_others(R, output)
  )
  here <- if (saves %in% c("winner", "nan_or_winner")) winner_here(R, output)
  if (saves == "winners" && output$value$type[1] > 1) {
    abort("unsupported", "the gradient of ", output$label, "() of a formula of several components is not built yet")
  }
  # Tells whether the pair is the first, the second, ... of a list of K results.
  listed <- if (saves == "winners") winner_here(R, output)
  list(value = output$value, weight = output$weight, op = output$op, result = result, saved = saved$formula,
       here = here, listed = listed)
}

# Makes another reduction of a formula over the same pairs.
beside <- function(R, output, op, value = output$value, K = 1L) {
  R$outputs <- list(list(value = value, weight = NULL, op = op, keep = output$keep, K = K,
                         finish = finish_of(reduction_row(op), ""), label = op))
  R$cache <- new.env(parent = emptyenv())
  R
}

# Makes a value once for a reduction, so that all its derivatives share one operand, which is computed once.
kept_with <- function(R, name, make) {
  known <- R$cache$saved[[name]]
  if (!is.null(known) && identical(known$settings, R$settings)) return(known$value)
  value <- make()
  R$cache$saved[[name]] <- list(value = value, settings = R$settings)
  value
}

# Returns the result of a reduction with one output as an operand.
saved_result <- function(R, name) kept_with(R, "result", function() saved_operand(R, NULL, name, R$outputs[[1]]$keep))

# Computes the product of the other values for each value that is 0. If one value is 0: the product of all values that
# are not 0. If two values x and y are 0: this product times y = (x + y) - x, which is 0, but whose slope is not 0. If
# more values are 0: 0, since each product of others keeps two factors 0.
product_of_others <- function(R, output) {
  zero <- number_formula(0)
  is_zero <- r_apply("Equal", list(output$value, zero), NULL)
  where_zero <- function(yes, no) r_apply("Select", list(is_zero, yes, no), NULL)
  saved <- function(name, op, value) kept_with(R, name, function() saved_result(beside(R, output, op, value), name))
  others <- saved("others", "Prod", where_zero(number_formula(1), output$value))
  zeros <- saved("zeros", "Sum", where_zero(number_formula(1), zero))
  both <- saved("both", "Sum", where_zero(output$value, zero))
  other <- both - new_lazy(output$value, c(NA_real_, NA))
  lazy_if(zeros == 1, others, lazy_if(zeros == 2, others * other, 0))
}

# Makes an operand shaped like another, whose data are the result of R.
saved_like <- function(operand, name, R) {
  new_operand(name, operand$axis, operand$width, "real", from = list(reduction = R, part = NULL, flat = FALSE))
}

# Returns the saved results that depend on the targets, read by R or by such results, each before the saved results that
# it reads. A flat one has no slope where R reads it: the sum of squares about a mean is least at the mean.
moving_saved <- function(R, targets) {
  order <- still <- list()
  moves <- function(operand) {
    if (holds(targets, operand) || holds(order, operand)) return(TRUE)
    if (is.null(operand$from) || operand$kind != "real" || holds(still, operand)) return(FALSE)
    found <- reads_moving(operand$from$reduction)
    if (found) order <<- c(list(operand), order) else still <<- c(still, list(operand))
    found
  }
  reads_moving <- function(R) {
    read <- r_operands(formulas_of(R$outputs))
    flat <- is.null(R$derivative) & vapply(read, function(operand) isTRUE(operand$from$flat), NA)
    any(vapply(read[!flat], moves, NA))
  }
  reads_moving(R)
  order
}

holds <- function(operands, operand) !is.na(match_operands(list(operand), operands))
