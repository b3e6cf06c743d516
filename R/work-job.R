# A job: a reduction whose blocks of rows are files in a folder, so that an interrupted job can be resumed.

#' Resumable computation of a reduction
#'
#' Computes a reduction block by block, and keeps each block in a file. If R ends before all blocks are complete, call
#' `kernweave_job()` again with the same reduction and folder: complete blocks are read, the others are computed. The
#' result is identical, bit for bit, to that of [as.matrix()][as.matrix.lazy_reduction]. A message says how many blocks
#' were there.
#'
#' The folder belongs to one reduction with its data. Another reduction is refused, and so is a second process while the
#' first is running. A block file that is damaged is computed again. Delete the folder when you have the result.
#'
#' @param R a reduction made with `call = FALSE` that gives one result for each point (not over both axes)
#' @param folder the folder for the blocks; created if it does not exist
#' @param workers [kernweave_workers()] that compute the blocks; by default those set for `R`, if any, or this process
#' @return The numbers, as [reduction()] with `call = TRUE` returns them.
#' @seealso [reduction()], [kernweave_workers()], [map_points()] for points in files
#' @concept checkpoint
#' @concept resume
#' @export
#' @examples
#' x <- matrix(runif(3000), 1000)
#' R <- reduction(exp(-sqdist(Vi(x), Vj(x))), "sum", call = FALSE)
#' folder <- tempfile()
#' s <- kernweave_job(R, folder)
#' list.files(folder)
#' identical(s, as.matrix(R))
#' unlink(folder, recursive = TRUE)
kernweave_job <- function(R, folder, workers = NULL) {
  if (!is_word(folder)) abort("input", "`folder` must be the name of a folder, not ", format_value(folder))
  whole <- whole_by_rows(R)
  w <- if (is.null(workers)) present_workers(whole$settings) else check_workers(workers, whole$settings$device)
  unlock <- lock_folder(folder)
  on.exit(unlock())
  out <- finish_results(R, run_job(whole, folder, w), whole$data, whole$operands)
  if (is.null(R$axes)) out else in_axes(out, R$axes)
}

# Returns a reduction with all its data and with its plan, for computations by rows.
whole_by_rows <- function(R) {
  if (!is_reduction(R)) abort("input", "`R` must be a reduction, made with call = FALSE, not ", describe(R))
  free <- free_operands(R)
  if (length(free)) abort("no_data", "the reduction waits for `", free[[1]]$name, "`; here it has all its data")
  options <- call_options(R$settings)
  ready <- prepared(R, options)
  call <- engine_call(R, ready, operand_data(ready$operands), options)
  decided <- r_decide(call)
  if (decided$grain == 0 || decided$folded) {
    abort("unsupported", "this reduction cannot be dealt out by rows", if (nzchar(decided$why %or% "")) ": ",
          decided$why)
  }
  c(list(R = R), call, decided)
}

# Computes a range of rows by the plan of all rows.
rows_decided <- function(whole, rows) told_by_rows(run_rows(whole, as.numeric(rows), FALSE))

# Computes rows of a planned call. The other rows of the engine's results are not filled in, and are cut off.
run_rows <- function(call, rows, plainly, columns = NULL) {
  found <- r_run_rows(call, rows, plainly, columns)
  cut <- Map(function(x, rows) rows_among(x, numbers_of_rows(rows)), found$results, found$rows)
  replace(found, "results", list(cut))
}

told_by_rows <- function(found) {
  if (!found$plainly) return(found)
  abort("unsupported", "this reduction is to be computed plainly; take precision = \"float64\"")
}

run_job <- function(whole, folder, w) {
  job <- known_job(folder, stamp_of_job(whole$R, whole$operands, whole$data, whole$settings), whole)
  # The name of a block contains the checksum of its file; a file that is truncated or damaged has another checksum.
  files <- list.files(folder, "^block-[0-9]{6}-[0-9a-f]{32}[.]rds$", full.names = TRUE)
  whole_ones <- tools::md5sum(files) == sub(".*-([0-9a-f]{32})[.]rds$", "\\1", files)
  unlink(files[!whole_ones])
  left <- setdiff(seq_along(job$blocks), as.integer(sub(".*block-([0-9]{6})-.*", "\\1", files[whole_ones])))
  decided <- replace(whole, "decision", list(job$decision))
  there <- length(job$blocks) - length(left)
  if (there) tell("kernweave_job(): ", there, " of ", counted(length(job$blocks), "block"), " were there")
  begin_work("kernweave_job()", steps = length(left),
             expected = if (is.null(w)) whole$seconds * length(left) / length(job$blocks) else 0)
  on.exit(end_work("kernweave_job()"))
  write <- function(k, value) {
    write_block(folder, k, value)
    step_work("kernweave_job()")
  }
  if (length(left) && is.null(w)) {
    for (k in left) write(k, rows_decided(decided, job$blocks[[k]]))
  } else if (length(left)) {
    task <- task_of(whole$R, whole$operands, whole$data, decided, whole$settings)
    store <- store_of_job(whole$R, whole$operands, whole$data, task)
    run_blocks(w, task, job$blocks[left], store, whole$seconds,
               function(k, value) write(left[k], told_by_rows(value)))
  }
  bind_blocks(lapply(seq_along(job$blocks), function(k) {
    readRDS(list.files(folder, paste0("^", block_name(k), ".*[.]rds$"), full.names = TRUE)[1])
  }))
}

# --- the folder ---------------------------------------------------------------------------------------------------

# Identifies the reduction of the blocks in a folder. Data are identified by checksums.
stamp_of_job <- function(R, operands, data, options) {
  options$check <- FALSE  # does not change the results
  list(version = as.character(utils::packageVersion("kernweave")),
       structure = r_structure(job_of(R, options))$key, extent = R$extent,
       dim = lapply(data, extents_of), sums = vapply(data, sum_of_data, ""),
       pairs = if (!is.null(R$pairs)) stamp_of_pairs(R$pairs, extent_of_call(R, data, operands)))
}

# Identifies the pairs of a restriction: orders and rectangles of points, a pattern, a condition with its data.
stamp_of_pairs <- function(pairs, extent) {
  extent <- if (pairs$swapped) extent[2:1] else extent[1:2]
  extent[is.na(extent)] <- 1
  parts <- rule_parts(pairs$rule, extent)
  numbers <- list(parts$order_i, parts$order_j, unlist(parts$rectangles), parts$pattern)
  where <- if (!is.null(parts$where)) {
    c(formula_text(parts$where, 100000L, 15), vapply(operands_of(parts$where), function(o) sum_of_data(o$data), ""))
  }
  c(pairs$swapped, vapply(numbers, sum_of_data, ""), where)
}

# Sums the bytes of data, including the places of a sparse matrix's values and the overlap of a window.
sum_of_data <- function(x) {
  numbers <- c(list(x), Filter(is.numeric, attr(x, "sparse")), list(attr(x, "window")))
  sums <- vapply(numbers, function(one) r_sum_of_bytes(if (is.double(one)) one else as.double(one)), "")
  paste(sums, collapse = " ")
}

# Reads the job of the folder, planned when the job was begun; makes a new job if the folder has none.
known_job <- function(folder, stamp, whole) {
  file <- file.path(folder, "job.rds")
  if (file.exists(file)) {
    job <- tryCatch(readRDS(file), error = function(e) NULL)
    if (!is.null(job) && identical(job$stamp, stamp)) return(job)
    abort("job_changed", "the folder ", folder, " has blocks of another reduction, or of other data; take another one")
  }
  each <- max(1, ceiling(whole$rows / whole$grain / max(12, whole$seconds)))
  ends <- unique(pmin(whole$rows, whole$grain * seq_len(ceiling(whole$rows / whole$grain / each)) * each))
  job <- list(stamp = stamp, decision = whole$decision, blocks = ranges_up_to(ends))
  save_whole(job, file)
  job
}

block_name <- function(k) sprintf("block-%06d-", k)

write_block <- function(folder, k, value) {
  part <- file.path(folder, paste0(block_name(k), "new.part"))
  save_whole(value, part)
  whole <- file.path(folder, paste0(block_name(k), tools::md5sum(part), ".rds"))
  if (!file.rename(part, whole)) abort("disk", "a file of the job cannot be renamed to ", whole)
}

# Saves an object in a file. No part of the file is left if the disk is full.
save_whole <- function(x, file) {
  part <- paste0(file, ".part")
  tryCatch({
    saveRDS(x, part, compress = FALSE)
    if (!file.rename(part, file)) abort("disk", "it cannot be renamed")
  }, warning = function(w) disk_failed(part, w), error = function(e) disk_failed(part, e))
}

disk_failed <- function(part, condition) {
  unlink(part)
  abort("disk", "a file of the job cannot be written: ", message_of(condition))
}

# Locks a folder by making a folder in it, which is atomic, so that one process works at a time. A lock is taken over if
# its process ran on this machine and has ended.
lock_folder <- function(folder) {
  dir.create(folder, recursive = TRUE, showWarnings = FALSE)
  if (!dir.exists(folder)) abort("disk", "the folder ", folder, " cannot be made")
  lock <- file.path(folder, "lock")
  owner <- file.path(lock, "owner")
  mine <- c(Sys.info()[["nodename"]], Sys.getpid())
  if (!dir.create(lock, showWarnings = FALSE)) {
    if (!dir.exists(lock)) abort("disk", "nothing can be written in the folder ", folder)
    of <- tryCatch(readLines(owner), error = function(e) "", warning = function(w) "")
    gone <- length(of) < 2 || of[1] == mine[1] && (of[2] == mine[2] || has_ended(as.integer(of[2])))
    if (!gone) {
      abort("job_changed", "process ", of[2], " on ", of[1], " is at work in ", folder, "; if it is no more, delete ",
            lock)
    }
  }
  unlock <- function() unlink(lock, recursive = TRUE)
  cannot <- function(condition) {
    unlock()
    disk_failed(owner, condition)
  }
  tryCatch(writeLines(as.character(mine), owner), warning = cannot, error = cannot)
  unlock
}

# Tells whether a process has ended. Windows has no signal 0, so there the answer is FALSE. On Linux a killed process
# keeps its number, as a zombie (state Z), until its parent reads its exit status.
has_ended <- function(pid) {
  if (.Platform$OS.type == "windows") return(FALSE)
  state <- tryCatch(readLines(file.path("/proc", pid, "stat"), 1), error = function(e) "", warning = function(w) "")
  !tools::pskill(pid, 0) || grepl("^[^)]*[)] Z", state)
}
