# Calls that are dealt out by rows or by columns, and put together again.

devices_of_rows <- c(if (!under_driver()) "cpu", if (gpu_is_ready()) "gpu")

# The call of a reduction, which the engine's doors for rows take.
row_call <- function(R, precision, device = "cpu", ...) {
  R <- lazy_set(R, device = device, precision = precision)
  options <- kernweave:::call_options(R$settings)
  ready <- kernweave:::prepared(R, options)
  data <- kernweave:::operand_data(ready$operands, list(), list())
  kernweave:::engine_call(R, ready, data, utils::modifyList(options, list(...), keep.null = TRUE))
}
decide <- function(call) kernweave:::r_decide(call)
run_plainly <- function(call) kernweave:::r_run(call)
run_rows <- function(call, decided, rows, plainly = FALSE, columns = NULL) {
  kernweave:::run_rows(c(call, decided["decision"]), rows, plainly, columns)
}
merge_states <- function(call, decided, states) kernweave:::r_merge_states(c(call, decided["decision"]), states)

# Borders of so many blocks, multiples of a grain: even ones, or no rows, one grain and the rest.
borders <- function(decided, blocks) {
  units <- ceiling(decided$rows / decided$grain)
  at <- switch(as.character(blocks), ragged = c(0, 0, 1, units), round(seq(0, units, length.out = blocks + 1)))
  pmin(at * decided$grain, decided$rows)
}

# Results of blocks, each by itself, put together by the rows that they say they have.
in_rows <- function(call, decided, at, order, plainly = FALSE) {
  parts <- vector("list", length(order))
  for (k in order) {
    rows <- c(at[k] + 1, at[k + 1])
    parts[[k]] <- run_rows(with_rows_only(call, decided$by_rows, rows), decided, rows, plainly)
    if (parts[[k]]$plainly) return(in_rows(call, decided, at, order, TRUE))
  }
  if (decided$folded) return(merge_states(call, decided, lapply(parts, `[[`, "states")))
  lapply(seq_along(parts[[1]]$results), function(output) {
    rows <- lapply(parts, function(part) numbers_of(part$rows[[output]]))
    together(lapply(parts, function(part) part$results[[output]]), unlist(rows))
  })
}
# NaN stands in all points that a block is said not to read.
with_rows_only <- function(call, apart, rows) {
  others <- function(x) setdiff(seq_len(NROW(x)), seq_len(rows[2] - rows[1] + 1) + rows[1] - 1)
  mine <- apart & vapply(call$data, is.double, NA)
  call$data[mine] <- lapply(call$data[mine], function(x) {
    if (is.matrix(x)) x[others(x), ] <- NaN else x[others(x)] <- NaN
    x
  })
  call
}
numbers_of <- function(rows) if (is.list(rows)) rows[[1]] else seq_len(rows[2] - rows[1] + 1) + rows[1] - 1
# Arrays of rows, or lists of value and index, as one in order of the rows.
together <- function(parts, rows) {
  if (is.list(parts[[1]])) {
    return(sapply(names(parts[[1]]), function(name) together(lapply(parts, `[[`, name), rows), simplify = FALSE))
  }
  flat <- do.call(rbind, lapply(parts, function(part) matrix(part, nrow(part), prod(dim(part)[-1]))))
  names <- dimnames(c(Filter(nrow, parts), parts)[[1]])
  if (!is.null(names[[1]])) names[[1]] <- unlist(lapply(parts, rownames))[order(rows)]
  array(flat[order(rows), ], c(length(rows), dim(parts[[1]])[-1]), names)
}

expect_rows <- function(R, precision, label, blocks = list(1, 2, 3, "ragged"), device = "cpu", ...) {
  call <- row_call(R, precision, device, ...)
  decided <- decide(call)
  if (device != "cpu" && decided$grain == 0) return(expect_true(nzchar(decided$why), label = label))
  expect_gt(decided$grain, 0, label = paste(label, decided$why))
  rows_only$cases <- rows_only$cases + any(decided$by_rows)
  plain <- run_plainly(call)
  for (some in blocks) {
    at <- borders(decided, some)
    order <- sample(length(at) - 1)
    expect_identical(in_rows(call, decided, at, order), plain, label = paste(label, precision, some))
  }
  invisible(decided)
}
for_cases <- function(cases, ...) {
  for (device in devices_of_rows) for (precision in test_precisions()) for (name in names(cases)) {
    expect_rows(cases[[name]], precision, paste(name, device), device = device, ...)
  }
}
# Sums that keep some axes, or both.
values_of <- function(F, keep) {
  outputs <- lapply(keep, function(axis) kernweave:::sum_output(F$formula, axis))
  kernweave:::new_reduction(outputs, F$extent, F$settings, F$pairs)
}
reduced <- function(F, op = "sum", ...) reduction(F, op, call = FALSE, ...)

# The number of cases that had an operand of which blocks read their rows only.
rows_only <- new.env()
rows_only$cases <- 0


# Results from the states that blocks of columns leave.
in_columns <- function(call, decided, blocks) {
  grain <- decided$columns[2]
  units <- ceiling(decided$columns[1] / grain)
  at <- unique(pmin(round(seq(0, units, length.out = blocks + 1)) * grain, decided$columns[1]))
  states <- lapply(seq_len(length(at) - 1), function(k) {
    columns <- c(at[k] + 1, at[k + 1])
    apart <- with_rows_only(call, decided$by_columns, columns)
    run_rows(apart, decided, c(1, decided$rows), FALSE, columns)$states
  })
  merge_states(call, decided, states)
}
