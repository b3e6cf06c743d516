# The work of a worker: it stores data and reductions by serial number, and computes rows of a reduction that the
# session has planned.

# The stored data, an environment for each serial: `value`, `bytes`; `whole`, or the keys of the `rows` that are stored;
# `used`, the number of the last task that used the data.
held <- new.env(parent = emptyenv())
# The most bytes to hold, and the number of the last task.
holding <- new.env(parent = emptyenv())

# Describes this process to the session that sends it tasks. GPUs are counted without starting the driver, since
# CUDA_VISIBLE_DEVICES is set later. `memory`: bytes, or the limit of the control group; Inf outside Linux.
worker_card <- function() {
  first <- function(file) suppressWarnings(tryCatch(readLines(file, 1), error = function(e) character()))
  all <- 1024 * as.numeric(gsub("[^0-9]", "", first("/proc/meminfo")))
  allowed <- c(first("/sys/fs/cgroup/memory.max"), first("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
  list(host = Sys.info()[["nodename"]], pid = Sys.getpid(), isa = r_use_instructions("present"),
       cores = r_allowance(0L)$cores, gpus = length(list.files("/proc/driver/nvidia/gpus")),
       memory = min(all, suppressWarnings(as.numeric(allowed)), Inf, na.rm = TRUE))
}

# Sets the threads, the GPU of this worker if its host has several, and the most bytes to store.
worker_settle <- function(said) {
  options(kernweave.threads = said$threads)
  if (!is.na(said$gpu) && !nzchar(Sys.getenv("CUDA_VISIBLE_DEVICES"))) Sys.setenv(CUDA_VISIBLE_DEVICES = said$gpu)
  holding$most <- said$most_bytes
  invisible()
}

# Computes a task: serials of a reduction and of the data of its operands, or the data. Data sent with the task are
# stored, data of dropped serials are deleted. Returns a list: `need`, the keys of missing data; or `value`, the results
# of the rows; or `error`.
worker_block <- function(task) {
  rm(list = intersect(task$forget, names(held)), envir = held)
  lapply(task$store, hold)
  needs <- needs_of(task)
  is_held <- function(need) isTRUE(held[[need$serial]]$whole) || key_of(need) %in% held[[need$serial]]$rows
  need <- names(needs)[!vapply(needs, is_held, NA)]
  if (length(need)) return(list(need = need))
  make_room(vapply(needs, `[[`, "", "serial"))
  start <- proc.time()[["elapsed"]]
  found <- tryCatch(list(value = rows_of_whole(held[[task$job]]$value, task)), kernweave_error = function(e) {
    e$call <- NULL
    list(error = e)
  })
  c(found, list(seconds = proc.time()[["elapsed"]] - start, bytes = held_bytes()))
}

# Stores data that were sent. Rows are put into an array of all rows, of which no other rows are read.
hold <- function(sent) {
  entry <- held[[sent$serial]] %or% list2env(list(bytes = 0, whole = FALSE), parent = emptyenv())
  if (is.null(sent$rows)) {
    entry$value <- sent$value
    entry$whole <- TRUE
    entry$bytes <- memory_of(sent$value)
  } else if (!entry$whole) {
    entry$value <- r_rows_of_whole(entry$value, sent$count, sent$rows[1], sent$value)
    entry$rows <- c(entry$rows, key_of(sent))
    entry$bytes <- entry$bytes + memory_of(sent$value)
  }
  assign(sent$serial, entry, envir = held)
}

memory_of <- function(x) {
  if (is.double(x)) return(if (r_home(x) == "file") 0 else 8 * length(x))
  if (is.environment(x)) as.numeric(utils::object.size(x$said)) else 0
}

held_bytes <- function() sum(vapply(as.list(held), `[[`, 0, "bytes"))

# Deletes the data that were unused for longest, if too many bytes are stored; a later task asks for them by `need`.
make_room <- function(used) {
  holding$tasks <- (holding$tasks %or% 0) + 1
  for (serial in used) held[[serial]]$used <- holding$tasks
  others <- setdiff(names(held), used)
  for (serial in others[order(vapply(others, function(serial) held[[serial]]$used, 0))]) {
    if (held_bytes() <= (holding$most %or% Inf)) break
    rm(list = serial, envir = held)
  }
}

rows_of_whole <- function(R, task) {
  options <- call_options(R$settings)
  options[names(task$settings)] <- task$settings
  if (!is.null(task$pairs)) R$pairs <- list(rule = held[[task$pairs$serial]]$value, swapped = task$pairs$swapped)
  ready <- prepared(R, options)
  data <- lapply(task$data, function(one) if (is.null(one$serial)) one$value else held[[one$serial]]$value)
  run_rows(c(engine_call(R, ready, data, options), task["decision"]), task$rows, task$plainly, task$columns)
}
