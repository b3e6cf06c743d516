# What a worker does: it holds data and reductions under serials, and computes rows of a whole that was decided
# elsewhere.

held <- new.env(parent = emptyenv())

# What kind of process this is, for those who send it work.
worker_card <- function() {
  list(host = Sys.info()[["nodename"]], pid = Sys.getpid(), isa = r_use_instructions("present"),
       cores = r_allowance(0L)$cores, gpus = gpus_of_machine())
}

# The driver says so without being started: GPUs are chosen before that.
gpus_of_machine <- function() length(list.files("/proc/driver/nvidia/gpus"))

# Threads, and the GPU that is this worker's among several on its host.
worker_settle <- function(said) {
  options(kernweave.threads = said$threads)
  if (!is.na(said$gpu) && !nzchar(Sys.getenv("CUDA_VISIBLE_DEVICES"))) Sys.setenv(CUDA_VISIBLE_DEVICES = said$gpu)
  invisible()
}

# `task`: the serial of a reduction, one for each of its operands' data or these data; what is sent with it is kept,
# what nobody needs any more is forgotten. The answer is a list: `need`, serials that are not here; or `value`, the
# results of the rows; or `error`.
worker_block <- function(task) {
  rm(list = intersect(task$forget, names(held)), envir = held)
  for (serial in names(task$store)) assign(serial, task$store[[serial]], envir = held)
  serials <- c(task$job, unlist(lapply(task$data, `[[`, "serial")))
  need <- setdiff(serials, names(held))
  if (length(need)) return(list(need = need))
  start <- proc.time()[["elapsed"]]
  found <- tryCatch(list(value = rows_of_whole(held[[task$job]], task)), kernweave_error = function(e) {
    e$call <- NULL
    list(error = e)
  })
  c(found, list(seconds = proc.time()[["elapsed"]] - start, bytes = held_bytes()))
}

held_bytes <- function() sum(vapply(as.list(held), function(x) if (is.numeric(x)) 8 * length(x) else 0, 0))

rows_of_whole <- function(R, task) {
  options <- call_options(R$settings)
  options[names(task$settings)] <- task$settings
  ready <- prepared(R, options)
  data <- lapply(task$data, function(one) if (is.null(one$serial)) one$value else held[[one$serial]])
  pairs <- if (!is.null(R$pairs)) pair_argument(R$pairs, extent_of_call(R, data, ready$operands), options$precision)
  r_run_rows(ready$plan, data, ready$operands, R$extent, options, pairs, task$decision, task$rows, task$plainly)
}
