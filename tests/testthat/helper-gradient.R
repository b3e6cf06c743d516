# Gradients against central differences, reverse mode against forward mode, second order against first.

# The pairing of two lists of arrays.
pairing <- function(a, b) sum(mapply(function(p, q) sum(as.vector(p) * as.vector(q)), a, b))

replaced <- function(argument, data) {
  argument$data <- data
  argument$lazy <- operand_on(argument$axis, data, name = paste0("arg_", argument$axis))
  argument
}

# `build` makes the formula from arguments; it is summed over the axes it has.
check_gradient <- function(build, arguments, label, h = 1e-5, tolerance = 1e-6) {
  smooth <- vapply(arguments, function(a) !is.logical(a$data), NA)
  value <- build(arguments)
  axis <- c("j", "i")[rev(dim(value)) > 1][1]
  if (is.na(axis)) return(invisible())
  total <- function(args) sum(cotangent * reduction(build(args), "sum", index = axis))
  R <- reduction(value, "sum", index = axis, call = FALSE)
  result <- as.function(R)()
  cotangent <- array(stats::rnorm(length(result)), dim(result))
  wrt <- lapply(arguments[smooth], `[[`, "lazy")
  gradient <- vjp(R, wrt, cotangent)
  along <- lapply(arguments[smooth], function(a) array(stats::rnorm(length(a$data)), dim(a$data)))
  moved <- function(step) {
    arguments[smooth] <- Map(function(a, t) replaced(a, a$data + step * t), arguments[smooth], along)
    total(arguments)
  }
  slope <- (moved(h) - moved(-h)) / (2 * h)
  expect_close(pairing(gradient, along), slope, tolerance, scale = 1 + abs(slope), label = paste(label, "reverse mode"))
  tangents <- Map(function(a, t) if (a$axis == "param") as.vector(t) else t, arguments[smooth], along)
  forward <- jvp(R, wrt, unname(tangents))
  expect_close(sum(cotangent * forward), slope, tolerance, scale = 1 + abs(slope), label = paste(label, "forward mode"))
  for (k in seq_along(wrt)) {
    check_second_order(R, wrt[[k]], arguments[smooth][[k]], cotangent, along[[k]], label, build, arguments,
                       which(smooth)[k], axis)
  }
}

# The forward derivative of a gradient against differences of gradients.
check_second_order <- function(R, wrt, argument, cotangent, along, label, build, arguments, place, axis, h = 1e-5) {
  first <- vjp(R, wrt, cotangent, call = FALSE)
  tangent <- if (argument$axis == "param") as.vector(along) else along
  second <- jvp(first, wrt, tangent)
  gradient_at <- function(step) {
    arguments[[place]] <- replaced(argument, argument$data + step * along)
    vjp(reduction(build(arguments), "sum", index = axis, call = FALSE), arguments[[place]]$lazy, cotangent)
  }
  slope <- (gradient_at(h) - gradient_at(-h)) / (2 * h)
  expect_close(second, slope, 1e-5, scale = 1 + max(0, abs(slope)), label = paste(label, "second order"))
}

# The gradient of a text formula, with respect to all operands at once, against differences by the oracle.
check_random_gradient <- function(formula, operands, seed, h = 1e-6) {
  names <- vapply(formula$operands, `[[`, "", "name")
  lazy <- lapply(formula$operands, function(o) operand_on(o$axis, operands[[o$name]], o$name))
  R <- text_sum(read_text(formula$text, stats::setNames(lazy, names)), lazy, extent = c(2, 3))
  set.seed(seed)
  along <- lapply(operands[names], function(data) array(stats::rnorm(length(data)), dim(data) %||% length(data)))
  value_at <- function(step) {
    operands[names] <- Map(function(data, t) data + step * t, operands[names], along)
    by_oracle(formula, operands, 2, 3)
  }
  total <- value_at(0)
  cotangent <- matrix(stats::rnorm(length(total)), nrow(total))
  forth <- value_at(h)
  back <- value_at(-h)
  straight <- (forth - total) / h
  # A kink or a pole between the points is no test of a derivative.
  if (!all(is.finite(c(forth, back))) || max(abs(straight - (total - back) / h)) > 1e-3 * (1 + max(abs(straight)))) {
    return(invisible())
  }
  slope <- sum(cotangent * (forth - back)) / (2 * h)
  gradient <- vjp(R, lazy, cotangent)
  expect_close(pairing(gradient, along), slope, 1e-5, scale = 1 + abs(slope) + max(abs(total)),
               label = paste0("random_formula(", seed, ") ", formula$text))
  forward <- jvp(R, lazy, unname(lapply(along, function(t) if (is.matrix(t)) t else as.vector(t))))
  expect_close(sum(cotangent * forward), pairing(gradient, along), 1e-9, scale = 1 + abs(slope),
               label = paste0("random_formula(", seed, ") forward"))
}

# Checks on the reference and on the best device, in both precisions.
everywhere <- function(check) {
  for (device in c("reference", "auto")) {
    for (precision in test_precisions()) check(device = device, precision = precision)
  }
}

`%||%` <- function(a, b) if (is.null(a)) b else a

# A gradient against differences along two random directions: a few evaluations, however many numbers there are.
expect_slopes <- function(gradient, f, at, label, h = 1e-6) {
  for (k in 1:2) {
    along <- replace(at, seq_along(at), stats::rnorm(length(at)))
    parts <- as.vector(gradient) * as.vector(along)
    expect_close(sum(parts), (f(at + h * along) - f(at - h * along)) / (2 * h), 1e-6, scale = sum(abs(parts)),
                 label = label)
  }
}

# The gradient of a number by central differences, shaped like the point.
differences <- function(f, at, h = 1e-6) {
  out <- at
  for (k in seq_along(at)) {
    up <- down <- at
    up[k] <- up[k] + h
    down[k] <- down[k] - h
    out[k] <- (f(up) - f(down)) / (2 * h)
  }
  out
}
