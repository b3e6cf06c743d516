# The harness over ops.def: value and gradient of every row, on every device, at both precisions, by looping
# over the table. A row without an oracle fails.

operations <- kernweave_operations()
axes_of_args <- list(c("i", "j", "param"), c("j", "i", "i"), c("param", "j", "i"))

make_arguments <- function(shape, axes, M, N, from, to) {
  Map(function(width, kind, axis) {
    data <- numbers_between(c(i = M, j = N, param = 1)[[axis]], width, from, to)
    if (kind == "logical") data <- data > mean(c(from, to))
    list(axis = axis, data = data, lazy = operand_on(axis, data, name = paste0("arg_", axis)))
  }, shape$widths, shape$kinds, axes[seq_along(shape$widths)])
}

# Computes as the engine does: it also takes one component beside several, which R refuses as a likely mistake.
lazy_value <- function(row, arguments, attributes) {
  lazy_call(row$name, lapply(arguments, `[[`, "lazy"), attributes)
}

oracle_value <- function(row, arguments, attributes, M, N, width) {
  oracle_array(function(i, j) {
    parts <- lapply(arguments, function(a) at_pair(a$axis, a$data, i, j))
    do.call(oracle_ops[[row$name]], c(parts, as.list(attributes)))
  }, M, N, width)
}

# A lazy value as an M x N x width array, whichever axes it lacks.
dense_value <- function(F, M, N) {
  on_all <- F + 0 * (row_index(M) + col_index(N))
  array(as.matrix(on_all), c(M, N, width(F)))
}

test_that("every operation has an oracle", {
  expect_setequal(operations$name, names(oracle_ops))
})

# An operation that reads a table by place has no meaning for random numbers: test-radial.R has its tables.
for (k in which(operations$name != "RadialTable")) {
  row <- operations[k, ]

  test_that(paste0(row$fn, "(): value of every width, axis, sign, device and precision"), {
    set.seed(k)
    shapes <- unlist(lapply(test_widths(), function(widths) accepted_shapes(row, widths)), recursive = FALSE)
    ranges <- value_ranges(row)
    axes <- if (reaches("quick")) seq_along(axes_of_args) else 1 + k %% 3
    cases <- combinations(shape = seq_along(shapes), axes = axes, range = seq_along(ranges))
    for (case in seq_len(nrow(cases))) {
      shape <- shapes[[cases$shape[case]]]
      range <- ranges[[cases$range[case]]]
      arguments <- make_arguments(shape, axes_of_args[[cases$axes[case]]], 4, 5, range[1], range[2])
      value <- lazy_value(row, arguments, shape$attributes)
      expected <- oracle_value(row, arguments, shape$attributes, 4, 5, width(value))
      for (device in test_devices()) for (precision in test_precisions()) {
        actual <- dense_value(lazy_set(value, device = device, precision = precision), 4, 5)
        expect_close(actual, expected, tolerance_of(precision), label = paste(row$fn, device, precision))
      }
    }
  })

  test_that(paste0(row$fn, "(): gradient against differences, reverse against forward"), {
    set.seed(100 + k)
    shapes <- accepted_shapes(row, 3, most = by_tier(2, 2, 3, cran = 1))
    cases <- combinations(shape = seq_along(shapes), axes = if (reaches("quick")) 1:2 else 1 + k %% 2)
    for (case in seq_len(nrow(cases))) {
      shape <- shapes[[cases$shape[case]]]
      arguments <- make_arguments(shape, axes_of_args[[cases$axes[case]]], 3, 4, smooth_range(row)[1],
                                  smooth_range(row)[2])
      check_gradient(function(args) lazy_value(row, args, shape$attributes), arguments, paste0(row$fn, "()"))
    }
  })
}

test_that("operations of thousands of components need no more than a few numbers of work space", {
  x <- matrix(stats::runif(2 * 3000), 2)
  y <- matrix(stats::runif(3 * 3000), 3)
  F <- sum(sqrt((Vi(x) - Vj(y))^2 + 1) * 2)
  expect_close(as.matrix(F), outer(1:2, 1:3, Vectorize(function(i, j) sum(2 * sqrt((x[i, ] - y[j, ])^2 + 1)))), 1e-13,
               scale = 3000)
  steps <- explain(reduction(F, "sum", call = FALSE))$steps
  expect_true("each component" %in% steps$when)
})
