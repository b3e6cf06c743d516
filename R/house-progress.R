# Progress of long computations: expected time, the part that is done, and an argument that makes them faster.

working <- new.env(parent = emptyenv())
working$now <- NULL  # the outermost computation, whose progress is shown
working$clock <- function() proc.time()[["elapsed"]]

# Begins the computation `what` of `steps` steps (NA if unknown), which is expected to take `expected` seconds.
# `quicker`, a way to save time, is told if the time exceeds a minute. Among nested computations the outermost alone is
# shown and counts steps. `whole`: a step has many sums, and counts when it has ended.
begin_work <- function(what, steps = NA, quicker = NULL, expected = 0, whole = FALSE) {
  if (!is.null(working$now)) return(invisible())
  force(expected)  # an error here leaves nothing begun
  # If progressr is loaded, its handlers show the progress.
  signal <- if (!is.na(steps) && isNamespaceLoaded("progressr")) {
    getExportedValue("progressr", "progressor")(steps = steps, on_exit = FALSE)
  }
  working$now <- list2env(list(what = what, steps = steps, quicker = quicker, count = 0, within = 0,
                               whole = whole, note = NULL, left = NA, at = c(0, 0), before = c(0, 0), said = FALSE,
                               shown = FALSE, begun = now(), next_look = now() + 2, signal = signal),
                          parent = emptyenv())
  say_expected(working$now, expected)
}

# Announces the expected time of a computation that has begun, if the time is known only after the first part.
expect_work <- function(what, expected, quicker = NULL) {
  if (!is_working(what)) return(invisible())
  working$now$quicker <- quicker
  say_expected(working$now, working$clock() - working$now$begun + expected)
}

is_working <- function(what) identical(working$now$what, what)

# Counts a step. `left`: seconds to go, if the caller knows more than the number of steps.
step_work <- function(what, note = NULL, left = NA) {
  if (!is_working(what)) return(invisible())
  work <- working$now
  work$count <- work$count + 1
  work$within <- 0
  work$note <- note
  work$left <- left
  if (!is.null(work$signal)) work$signal(message = note %or% what)
  show_work(work)
}

end_work <- function(what) {
  if (!is_working(what)) return(invisible())
  wipe_line(working$now)
  working$now <- NULL
}

# Evaluates a call, with its progress shown.
with_work <- function(what, call, ...) {
  begin_work(what, ...)
  on.exit(end_work(what))
  call
}

now <- function() working$clock()

shows_progress <- function() option("progress") %or% interactive()

# Shows how far work has come, every half second from the third second on.
show_work <- function(work) {
  if (now() < work$next_look) return(invisible())
  work$next_look <- now() + 0.5
  spent <- now() - work$begun
  done <- (work$count + work$within) / work$steps  # the engine tells `within`; NA if `steps` is NA
  left <- if (isTRUE(done > 0)) left_by_rate(work, spent, done) else if (isTRUE(work$left >= 0)) work$left
  say_expected(work, spent + (left %or% 0), if (is.null(left)) " takes more than " else " takes about ")
  if (!shows_progress()) return(invisible())
  far <- c(if (isTRUE(done > 0)) paste(round(100 * done), "%") else work$note,
           if (is.null(left)) in_words(spent) else paste("about", in_words(left), "to go"))
  show_line(work$what, ": ", paste(far, collapse = ", "))
  work$shown <- TRUE
}

# Returns the seconds to go, by the rate of the last part, at least a third of the computation so far, since the first
# part may be faster or slower than the rest. Between two steps the seconds count down. `at`: seconds and share at the
# last progress; `before`: seconds and share at the point from which the rate is computed.
left_by_rate <- function(work, spent, done) {
  if (done > work$at[2]) {
    if (spent > 1.5 * work$before[1] + 2) work$before <- work$at
    work$at <- c(spent, done)
    work$end <- spent + (1 - done) * (spent - work$before[1]) / (done - work$before[2])
  }
  max(work$end - spent, 0.02 * spent * (done < 1))
}

line_width <- 78
wipe_line <- function(work) if (work$shown) cat("\r", strrep(" ", line_width), "\r", sep = "", file = stderr())
show_line <- function(...) cat("\r", formatC(paste0(...), width = -line_width), sep = "", file = stderr())

in_words <- function(seconds) {
  if (seconds < 100) paste(format(seconds, digits = 2), "s")
  else if (seconds < 6000) paste(round(seconds / 60), "minutes")
  else paste(format(seconds / 3600, digits = 2), "hours")
}

# Announces, once, a computation that takes more than a minute.
say_expected <- function(work, seconds, takes = " takes about ") {
  if (work$said || seconds < 60 || isFALSE(option("progress"))) return(invisible())
  work$said <- TRUE
  wipe_line(work)
  tell(work$what, takes, in_words(seconds), " in all",
       if (!is.null(work$quicker)) paste0("; ", work$quicker, " would be quicker"))
}

# Shows progress; the engine calls progress_polled() while it computes. `share`: the part of a sum that is done after
# `spent` seconds, or NA. If a step has several sums, the share of the step is the largest share.
progress_polled <- function(share, spent) {
  if (!is.null(working$now)) {
    if (!working$now$whole) working$now$within <- max(working$now$within, share, na.rm = TRUE)
    show_work(working$now)
  } else if (!is.na(share) && shows_progress()) {
    show_line("kernweave: ", round(100 * share), " %, about ", in_words(if (share > 0) spent / share - spent else 0),
              " to go")
    return(TRUE)
  }
  FALSE
}
