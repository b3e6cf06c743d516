# Files of numbers, and what they take of memory.

# Megabytes of this process that no file is behind; NA where the system does not tell.
anonymous_mb <- function() {
  rollup <- "/proc/self/smaps_rollup"
  if (!file.exists(rollup)) return(NA_real_)
  as.numeric(gsub("[^0-9]", "", grep("^Anonymous:", readLines(rollup), value = TRUE))) / 1024
}

# A memory control group within ours, of so many megabytes; NULL where none can be made. Version 1 of control groups has
# a tree for memory alone, version 2 one for all.
new_memory_group <- function(mb) {
  lines <- tryCatch(readLines("/proc/self/cgroup"), error = function(e) character(), warning = function(e) character())
  within <- function(pattern) sub(pattern, "", grep(pattern, lines, value = TRUE)[1])
  trees <- c(memory.limit_in_bytes = paste0("/sys/fs/cgroup/memory", within("^[0-9]+:memory:")),
             memory.max = paste0("/sys/fs/cgroup", within("^0::")))
  for (limit in names(trees)) {
    group <- file.path(trees[[limit]], paste0("kernweave-", Sys.getpid()))
    if (!dir.exists(trees[[limit]]) || !suppressWarnings(dir.create(group))) next
    limited <- tryCatch({
      cat(mb * 2^20, file = file.path(group, limit))
      TRUE
    }, error = function(e) FALSE, warning = function(e) FALSE)
    if (limited) return(group)
    leave_memory_group(group)
  }
  NULL
}

# A folder of the system's, which file.remove() does not remove.
leave_memory_group <- function(group) system2("rmdir", shQuote(group))

# Changes of a file behind a mapped matrix's back.
file_changes <- list(
  written = function(file) {
    Sys.sleep(0.02)  # a file's time goes by ticks of the system
    at <- file(file, "r+b")
    seek(at, 80, rw = "write")
    writeBin(5, at)
    close(at)
  },
  cut = function(file) writeBin(as.double(1:3), file),
  emptied = function(file) writeBin(double(), file),
  grown = function(file) {
    at <- file(file, "ab")
    writeBin(5, at)
    close(at)
  },
  replaced = function(file) {
    beside <- paste0(file, "-new")
    writeBin(readBin(file, "double", file.size(file) / 8), beside)
    file.rename(beside, file)
  },
  removed = function(file) unlink(file)
)
