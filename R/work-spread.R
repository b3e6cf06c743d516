# A reduction among workers: this session plans it, the workers compute blocks of its rows, and this session joins the
# blocks.

# Returns the results of workers, in the form of r_run(); NULL if this session computes them in less time.
run_spread <- function(w, R, operands, call) {
  whole <- r_decide(call)
  if (whole$grain == 0 || whole$rows == 0 || !(w$always || pays(w, whole, call$data, call$settings))) return(NULL)
  # Columns are divided among workers if the rows have too few blocks to busy all workers, and the columns have more.
  rows <- units_of(dealt_side(whole, "rows"))
  flat <- !whole$folded && rows < 2 * length(shares_of(w)) && units_of(dealt_side(whole, "columns")) > rows
  dealt <- if (flat) "columns" else "rows"
  task <- task_of(R, operands, call$data, whole, call$settings, dealt)
  store <- store_of_job(R, operands, call$data, task)
  blocks <- blocks_of(w, whole, dealt)
  found <- run_blocks(w, task, blocks, store, whole$seconds)
  if (any(vapply(found, `[[`, NA, "plainly"))) {
    found <- run_blocks(w, replace(task, "plainly", TRUE), blocks, store, whole$seconds)
  }
  if (!whole$folded && dealt == "rows") return(bind_blocks(found))
  r_merge_states(c(call, whole["decision"]), lapply(found, `[[`, "states"))
}

# Describes the rows or the columns: `count`, their number; `grain`, of which bounds of blocks are multiples; `apart`,
# whether a block reads only its own rows or columns of each operand.
dealt_side <- function(whole, dealt) {
  if (dealt == "rows") list(count = whole$rows, grain = whole$grain, apart = whole$by_rows)
  else list(count = whole$columns[1], grain = whole$columns[2], apart = whole$by_columns)
}

units_of <- function(side) if (side$grain == 0) 0 else ceiling(side$count / side$grain)

# Returns the part of a task that is the same for all blocks of a call. `dealt`: "rows" or "columns" are dealt out.
task_of <- function(R, operands, data, whole, options, dealt = "rows") {
  side <- dealt_side(whole, dealt)
  list(job = serial_of(R$cache), data = data_of_tasks(operands, data, side$apart), decision = whole$decision,
       pairs = if (!is.null(R$pairs)) list(serial = serial_of(R$pairs$rule), swapped = R$pairs$swapped),
       settings = options[c("device", "precision")], plainly = FALSE, dealt = dealt, rows = c(1, whole$rows),
       count = side$count)
}

# Tells whether the work takes four times as long as sending it. One socket sends and receives a gigabyte a second; an
# empty block takes 0.2 ms, a future 50 ms.
pays <- function(w, whole, data, options) {
  inline <- 8 * sum(lengths(data[vapply(data, NCOL, 0L) == 1]))
  workers <- max(length(w$cluster), 2)
  sending <- (inline * workers + 8 * whole$rows) / 1e9 + workers * if (w$door == "future") 0.05 else 2e-4
  threads <- if (whole$device == "cpu") r_allowance(options$threads %or% 0L)$threads else 1
  whole$seconds / threads > 4 * sending
}

# --- what travels -----------------------------------------------------------------------------------------------

# Returns a serial number, unique over sessions. If the operand is deleted, workers are told to delete its data.
serial_of <- function(owner) {
  if (is.null(owner$serial) || !startsWith(owner$serial, session_mark())) {
    session$count <- (session$count %or% 0) + 1
    owner$serial <- paste(session_mark(), session$count)
    reg.finalizer(owner, dropped_serial(owner$serial))
  }
  owner$serial
}

# Makes a finalizer. Its enclosing frame must not contain `owner`, which would otherwise never be deleted.
dropped_serial <- function(serial) {
  force(serial)
  function(owner) session$dropped <- c(session$dropped, serial)
}

# Refers to an operand's own data by serial; if `apart`, only the rows of the block are sent. Data given for an operand
# in this call travel with each task.
data_of_tasks <- function(operands, data, apart) {
  sent <- function(operand, x, apart) {
    if (!identical(operand$data, x)) return(list(value = x))
    # Points used along i and along j have one owner. A mapped file travels as its name, never by rows.
    owner <- if (bindingIsActive("data", operand)) environment(activeBindingFunction("data", operand)) else operand
    dense <- is.double(x) && all(names(attributes(x)) %in% c("dim", "dimnames")) && r_home(x) != "file"
    list(serial = serial_of(owner), apart = apart && dense)
  }
  found <- Map(sent, operands, data, apart)
  wholly <- vapply(Filter(function(one) isFALSE(one$apart), found), `[[`, "", "serial")
  lapply(found, function(one) if (isTRUE(one$serial %in% wholly)) replace(one, "apart", FALSE) else one)
}

# Returns the values that workers store, by serial: the reduction, its pairs, data.
store_of_job <- function(R, operands, data, task) {
  kept <- !vapply(task$data, function(one) is.null(one$serial), NA)
  serials <- c(task$job, task$pairs$serial, vapply(task$data[kept], `[[`, "", "serial"))
  said <- R$pairs$rule$said
  # Near pairs of an approximation are listed, since workers do not have the approximation.
  if (typeof(said$ranges$rectangles) == "externalptr") said$ranges$rectangles <- r_far_near(said$ranges$rectangles)
  stats::setNames(c(list(bare_reduction(R, operands)), if (!is.null(R$pairs)) list(new_pairs(said)$rule), data[kept]),
                  serials)
}

# Returns the values that a task needs, by key: a serial, or a serial and some rows of its data.
needs_of <- function(task) {
  of_data <- lapply(Filter(function(one) !is.null(one$serial), task$data), function(one) {
    if (!one$apart) return(list(one["serial"]))
    # Rows are sent in 64 chunks: if the bounds of blocks move in a later call, few rows are sent again.
    each <- ceiling(task$count / 64)
    range <- range_of_task(task)
    k <- seq((range[1] - 1) %/% each, (range[2] - 1) %/% each)
    ends <- pmin((k + 1) * each, task$count)
    Map(function(from, to) list(serial = one$serial, rows = c(from, to)), k * each + 1, ends)
  })
  needs <- c(list(list(serial = task$job)), if (!is.null(task$pairs)) list(task$pairs["serial"]),
             unlist(unname(of_data), recursive = FALSE))
  names(needs) <- vapply(needs, key_of, "")
  needs[!duplicated(names(needs))]
}

key_of <- function(need) paste(c(need$serial, need$rows), collapse = " ")

# Adds to a task the values that it needs and the worker does not have.
with_store <- function(task, store, known = character()) {
  needs <- needs_of(task)
  task$store <- lapply(needs[setdiff(names(needs), known)], function(need) {
    x <- store[[need$serial]]
    if (is.null(need$rows)) return(c(need, list(value = x)))
    rows <- seq(need$rows[1], need$rows[2])
    c(need, list(count = task$count, value = unname(if (is.matrix(x)) x[rows, , drop = FALSE] else x[rows])))
  })
  task
}

# Copies a reduction without data: its operands have none, and its cached plan is left out.
bare_reduction <- function(R, operands) {
  leaves <- lapply(operands, function(operand) {
    bare <- new_operand(operand$name, operand$axis, operand$width, operand$kind, literal = operand$literal)
    lazy_operand(bare)$formula
  })
  bare <- function(formula) if (!is.null(formula)) r_with_operands(list(formula), operands, leaves)[[1]]
  outputs <- lapply(R$outputs, function(output) {
    output["value"] <- list(bare(output$value))
    output["weight"] <- list(bare(output$weight))
    output["rows"] <- list(NULL)
    output
  })
  settings <- R$settings[setdiff(names(R$settings), "workers")]
  new_reduction(outputs, R$extent, settings, extents = lapply(R$extents, bare))
}

# --- blocks -------------------------------------------------------------------------------------------------------

# Divides rows or columns into ranges at multiples of the grain: one for each worker, in proportion to its measured
# speed, and more if a block would take longer than two seconds.
blocks_of <- function(w, whole, dealt = "rows") {
  side <- dealt_side(whole, dealt)
  units <- units_of(side)
  share <- if (w$door == "future") rep(1, 16) else shares_of(w)
  each <- max(1, ceiling(whole$seconds / (2 * length(share))))
  share <- rep(share / each, each)
  ends <- unique(pmin(side$count, side$grain * round(units * cumsum(share) / sum(share))))
  ranges_up_to(ends[ends > 0])
}

# Returns the first and last rows of ranges, by their last rows.
ranges_up_to <- function(ends) Map(c, c(1, ends[-length(ends)] + 1), ends)

# Returns shares in proportion to speeds; they change only if a speed changes by more than 25 %, so that rows stay.
shares_of <- function(w) {
  speeds <- w$speed[ready_nodes(w)]
  if (!length(speeds)) speeds <- rep(1, length(w$cluster))
  speeds[is.na(speeds)] <- if (all(is.na(speeds))) 1 else mean(speeds, na.rm = TRUE)
  speeds <- speeds / sum(speeds)
  if (length(w$shares) != length(speeds) || any(abs(log(speeds / w$shares)) > log(1.25))) w$shares <- speeds
  w$shares
}

run_blocks <- function(w, task, blocks, store, seconds, keep = NULL) {
  tasks <- lapply(blocks, function(block) replace(task, task$dealt, list(as.numeric(block))))
  patience <- w$patience %or% max(60, 20 * seconds / length(blocks))
  if (w$door == "future") kept_results(by_futures(tasks, store), keep) else by_waves(w, tasks, store, patience, keep)
}

# Joins the results of blocks. A block tells its rows for each output: the first and the last row, or a list of row
# numbers. `count`: the number of all rows, if it is not the sum over blocks.
bind_blocks <- function(found, count = NULL) {
  lapply(seq_along(found[[1]]$results), function(k) {
    rows <- lapply(found, function(block) numbers_of_rows(block$rows[[k]]))
    parts <- lapply(found, function(block) block$results[[k]])
    if (!is.list(parts[[1]])) return(bind_rows(parts, rows, count))
    fields <- stats::setNames(names(parts[[1]]), names(parts[[1]]))
    lapply(fields, function(field) bind_rows(lapply(parts, `[[`, field), rows, count))
  })
}

numbers_of_rows <- function(rows) {
  if (is.list(rows)) rows[[1]] else if (rows[2] < rows[1]) numeric() else rows[1]:rows[2]
}

# Puts the rows of blocks into one array; the other axes are those of each block.
bind_rows <- function(parts, rows, count = NULL) {
  dim <- dim(parts[[1]])
  whole <- matrix(parts[[1]][NA_integer_], count %or% sum(lengths(rows)), prod(dim[-1]))
  for (k in seq_along(parts)) whole[rows[[k]], ] <- parts[[k]]
  names <- dimnames(parts[[1]])
  if (!is.null(names[[1]])) {
    names[[1]] <- character(nrow(whole))
    for (k in seq_along(parts)) names[[1]][rows[[k]]] <- dimnames(parts[[k]])[[1]]
  }
  dim(whole) <- c(nrow(whole), dim[-1])
  dimnames(whole) <- names
  whole
}
