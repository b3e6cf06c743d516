# The condition classes of the package, and the one place that signals conditions.

#' Classes of errors and warnings
#'
#' This page lists the classes of all errors and warnings, for use in [tryCatch()]. Every error of the package has the
#' class `kernweave_error` and one of these classes:
#'
#' | class `kernweave_error_...` | signalled when |
#' |---|---|
#' | `input` | an argument has an unsuitable type |
#' | `value` | an argument has numbers that are not finite or out of range; also of class `kernweave_error_input` |
#' | `shape` | widths, numbers of points or dimensions do not fit together |
#' | `kind` | a logical formula is needed but a numeric formula is given, or the reverse |
#' | `syntax` | a text formula cannot be parsed |
#' | `unknown_op` | there is no operation or reduction of this name |
#' | `index` | row numbers or components are out of bounds |
#' | `settings` | an option does not have the given value, or two settings contradict each other |
#' | `no_data` | numbers are requested from a formula with placeholders |
#' | `no_gradient` | a reduction, an operand or a function has no gradient, or the gradient would be lost |
#' | `no_device` | the requested device is not available |
#' | `unsupported` | the request is well-formed, but not implemented |
#' | `memory` | a result or workspace is too large |
#' | `data` | data have missing or infinite values, are too few or all alike, or a factor has a new level |
#' | `indefinite` | a matrix that must be positive definite is not |
#' | `singular` | a model has no unique solution: collinear or duplicated points, a kernel of too high an order |
#' | `not_a_distance` | a formula to approximate is not a function of one distance |
#' | `dimension` | points have too many components for a kernel or an approximation |
#' | `tolerance` | a tolerance cannot be reached |
#' | `file_changed` | the file of a mapped matrix was written, truncated or removed since [map_points()] |
#' | `disk` | a file cannot be written: the disk is full, or the folder not writable |
#' | `worker_version` | a worker has another version of kernweave, or none |
#' | `worker_lost` | all workers are lost, or three workers have ended at the same block of rows |
#' | `job_changed` | a folder has the blocks of another reduction, or another process is using it |
#' | `time_limit` | the limit set by [setTimeLimit()] is reached during a computation |
#' | `audit_failed` | recomputed rows differ from the result by more than the tolerance |
#' | `internal` | a bug in kernweave; please report it |
#'
#' Warnings have the class `kernweave_warning` and one of these classes:
#'
#' | class `kernweave_warning_...` | signalled when |
#' |---|---|
#' | `approximate` | the requested result is undefined or too slow, and its substitute is not close |
#' | `boundary` | an estimate, or a length-scale, lies at the end of its sensible range |
#' | `convergence` | an iteration stopped before it reached its tolerance; the message names a remedy |
#' | `dropped` | a term or column carries no information and is left out |
#' | `empty` | a cluster has lost all its points |
#' | `groups` | a test has nearly as many groups as rows, most likely numbers instead of labels |
#' | `few` | a test has so few relabellings that no p-value, adjusted for many pairs, can be small |
#' | `unreached` | a gradient is 0, because the result does not depend on an argument named in `wrt` |
#' | `score` | all scores of a test have one sign, most likely a density instead of the derivative of its logarithm |
#' | `overflow` | a running sum or total of integers is too large and therefore `NA` |
#'
#' The message names the argument and the sizes; `conditionCall()` returns the call that you made. For a condition `e`,
#' `conditionMessage(e)` has lines as wide as the console, and `e$message` is one line.
#'
#' @seealso [tryCatch()], [kernweave_sitrep()]
#' @concept error handling
#' @concept exceptions
#' @name kernweave-conditions
#' @examples
#' x <- matrix(0, 4, 3)
#' y <- matrix(0, 5, 2)
#' tryCatch(sqdist(Vi(x), Vj(y)), kernweave_error_shape = conditionMessage)
NULL

error_classes <- c("input", "value", "shape", "kind", "syntax", "unknown_op", "index", "settings", "no_data",
                   "no_gradient", "no_device", "unsupported", "memory", "data", "indefinite", "singular",
                   "not_a_distance", "dimension", "tolerance", "file_changed", "disk", "worker_version",
                   "worker_lost", "job_changed", "time_limit", "audit_failed", "internal")

abort <- function(class, ..., call = user_call()) {
  condition <- structure(
    class = c(paste0("kernweave_error_", c(match.arg(class, error_classes), if (class == "value") "input")),
              "kernweave_error", "error", "condition"),
    list(message = paste0(...), call = call)
  )
  stop(condition)
}

# Signals again an error that was caught elsewhere.
abort_again <- function(condition) stop(condition)

# Signals a warning of class kernweave_warning_<class>. `more`: further fields of the condition.
warn <- function(class, ..., more = NULL) {
  warning(structure(
    class = c(paste0("kernweave_warning_", class), "kernweave_warning", "warning", "condition"),
    c(list(message = paste0(...), call = user_call()), more)
  ))
}

# Messages are stored as one line, so that text can be appended, and are wrapped to the width of the console less 2.
#' @export
conditionMessage.kernweave_error <- function(c) broken_text(c$message, getOption("width") - 2)
#' @export
conditionMessage.kernweave_warning <- conditionMessage.kernweave_error

message_of <- function(condition) condition$message %or% conditionMessage(condition)

# Signals an error of the engine, which calls this function by name (src/border.hpp), also while R reads ALTREP vectors.
engine_failure <- function(class, message) {
  call <- user_call()
  abort(class, message, call = if (!identical(call[[1]], quote(engine_failure))) call)
}

# Returns the outermost call of a function of the package, the call that the user typed.
user_call <- function() {
  home <- topenv()
  for (frame in seq_len(sys.nframe())) {
    if (identical(topenv(environment(sys.function(frame))), home)) return(tidy_call(frame))
  }
  NULL
}

# Returns a call as typed: a group generic under its own name, and no data written out. Dispatch of primitive functions
# and do.call() put the values of arguments into the call.
tidy_call <- function(frame) {
  call <- sys.call(frame)
  generic <- get0(".Generic", sys.frame(frame), inherits = FALSE)
  if (!is.null(generic)) call[[1]] <- as.name(generic)
  else if (is.function(call[[1]])) call[[1]] <- name_of(call[[1]])
  if (length(call) > 1 && identical(call[[2]], quote(deparse.level))) call[[2]] <- NULL  # so R calls methods of cbind()
  if (is.call(call) && isFALSE(call$na.rm)) call$na.rm <- NULL  # R adds na.rm = FALSE to calls of the Summary group
  without_data(call, sys.frame(sys.parents()[frame]))
}

name_of <- function(f) {
  ours <- topenv()
  for (name in getNamespaceExports(ours)) if (identical(f, get(name, ours))) return(as.name(name))
  quote(f)
}

# Replaces values in a call. A formula or operator becomes the name of a variable of `frame` with this value, else `F`
# or `A`; data become `...`; code, and single numbers or words, stay.
without_data <- function(call, frame = NULL) {
  if (identical(call[[1]], quote(`function`))) return(call)  # the formals of a function are not a call
  for (k in seq_along(call)[-1]) {
    if (is.name(call[[k]]) || is.null(call[[k]])) next
    part <- call[[k]]
    if (is.call(part)) call[[k]] <- without_data(part, frame)
    else if (inherits(part, c("lazy_tensor", "lazy_reduction"))) call[[k]] <- variable_of(part, frame) %or% quote(F)
    else if (is_op(part)) call[[k]] <- variable_of(part, frame) %or% quote(A)
    else if (!is.atomic(part) || length(part) > 1 || is.object(part)) call[[k]] <- quote(...)
  }
  call
}

# Returns the name of the variable with this value that code in `frame` sees; NULL if there is none. Promises and active
# bindings are not evaluated: substitute() returns the code of a promise.
variable_of <- function(object, frame) {
  if (is.null(frame)) return(NULL)
  for (name in ls(frame)) {
    if (bindingIsActive(name, frame)) next
    value <- if (identical(frame, globalenv())) get0(name, frame, inherits = FALSE)
             else eval(call("substitute", as.name(name), frame))
    if (identical(class(value), class(object)) && identical(value, object)) return(as.name(name))
  }
  if (!identical(frame, topenv(frame))) variable_of(object, parent.env(frame))
}

# Returns the user's name for the formula that is taken apart or reduced: the variable, or `F`.
written_name <- function() {
  call <- user_call()
  if (length(call) > 1 && is.name(call[[2]]) && nzchar(as.character(call[[2]]))) as.character(call[[2]]) else "F"
}

not_given <- function(argument) abort("input", "`", argument, "` is not given")

# Evaluates `arguments`; if a required argument of the function of `frame` is missing, a classed error names it.
given <- function(arguments, frame) {
  without <- function(name) eval(call("missing", as.name(name)), frame)
  refuse <- function(condition) {
    if (inherits(condition, "kernweave_error")) return()
    called <- Find(function(k) identical(sys.frame(k), frame), seq_len(sys.nframe()))
    needed <- Filter(function(default) identical(default, quote(expr = )), formals(sys.function(called)))
    missing <- Filter(without, setdiff(names(needed), "..."))
    if (length(missing)) not_given(missing[1])
  }
  withCallingHandlers(arguments, error = refuse)
}

# Refuses arguments that a function with `...` does not know, most often misspelt: the error names the argument.
refuse_more <- function(...) {
  if (!...length()) return(invisible())
  names <- names(substitute(list(...)))[-1] %or% ""  # unevaluated: they may be columns of the data
  known <- setdiff(names(formals(sys.function(sys.parent()))), "...")
  if ("weights" %in% names && "null" %in% known) {
    abort("unsupported", "`weights`: rows of unequal weight cannot be permuted")
  }
  if (!nzchar(names[1])) abort("input", "there is an argument too many: ", deparse1(substitute(list(...))[[2]]))
  abort("input", "there is no argument `", names[1], "`", near_hint(names[1], known, there_are(known)))
}

# Names in other packages for arguments of this package, without points and underscores.
words_of_others <- list(R = c("permutations", "nperm", "npermutations", "permutation", "b", "nsim", "nboot", "nrep",
                              "replicates", "iterations"),
                        centers = c("k", "clusters", "nclust", "nclusters"), k = c("nneighbors", "neighbors", "nn"),
                        newdata = c("data", "new", "newx", "xnew", "x"), level = "conflevel",
                        groups = c("grouping", "by"), scale = c("lengthscale", "range", "sigma", "sd", "bandwidth"),
                        variance = c("sill", "psill", "sigma2", "amplitude"),
                        iter.max = c("maxiter", "maxit"), max_iter = c("maxiter", "maxit", "itermax"))

# Returns "; did you mean `x`?", or `otherwise` if no known name is near.
near_hint <- function(typed, known, otherwise = "") {
  typed <- as.character(typed)[1]
  plain <- function(text) tolower(gsub("[._]", "", text))
  letters_of <- function(text) vapply(strsplit(plain(text), ""), function(each) paste(sort(each), collapse = ""), "")
  meant <- names(Filter(function(words) plain(typed) %in% words, words_of_others[known]))
  swapped <- if (nchar(typed) > 2) known[letters_of(known) == letters_of(typed)]
  near <- c(meant, r_nearest(typed, known), swapped)
  near <- c(near[nzchar(near)], "")[1]
  longer <- known[nchar(typed) > 1 & startsWith(plain(known), plain(typed))]
  if (!nzchar(near) && length(longer) %in% 1:3) near <- paste(longer, collapse = "` or `")
  if (nzchar(near)) paste0("; did you mean `", near, "`?") else otherwise
}

# Returns a word of a set, or signals an error that lists the set.
one_of <- function(value, known, argument, class = "input") {
  if (is.character(value) && length(value) == 1 && value %in% known) return(value)
  shown <- if (is.character(value) && length(value) == 1) paste0("\"", value, "\"") else describe(value)
  abort(class, "`", argument, "` must be one of ", paste0("\"", known, "\"", collapse = ", "), ", not ", shown,
        if (is.character(value) && length(value) == 1) near_hint(value, known))
}

# Chooses a word as one_of() does, but accepts abbreviations, as match.arg() does: interval = "conf".
choice_of <- function(value, known, argument) {
  whole <- if (is.character(value) && length(value) == 1) pmatch(value, known) else NA
  if (is.na(whole)) one_of(value, known, argument) else known[whole]
}

# Describes a value: "a character vector of length 3".
describe <- function(x) {
  x <- plain_value(x)
  if (is.null(x)) return("NULL")
  if (inherits(x, c("lazy_tensor", "lazy_reduction"))) return(paste("a", sub("_", " ", class(x)[1])))
  if (is_lazy_complex(x)) return("a complex lazy tensor")
  if (is_op(x)) return(paste("a linear operator of", size_text(x)))
  if (is.matrix(x)) return(paste("a", nrow(x), "x", ncol(x), typeof(x), "matrix"))
  if (is.array(x) && !is.object(x)) return(paste("an array of", paste(dim(x), collapse = " x ")))
  if (is.object(x) || !is.atomic(x) && !is.list(x)) return(paste("an object of class", class(x)[1]))
  what <- if (is.list(x)) "list" else paste(typeof(x), "vector")
  paste(if (is.integer(x)) "an" else "a", what, "of length", length(x))
}
