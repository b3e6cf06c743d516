# One table of options: name, default, environment twin, meaning; and the settings that travel with a formula.

options_table <- list(
  device = list(default = "auto",
                meaning = paste("where to compute: \"auto\", \"reference\", \"cpu\", \"gpu\", \"all\" GPUs,",
                                "or numbers of GPUs")),
  precision = list(default = "float64", meaning = "\"float64\", \"float32\" or \"tf32\""),
  threads = list(default = NULL, meaning = "number of CPU threads; NULL lets kernweave decide"),
  max_dense_mb = list(default = 1024,
                      meaning = paste("largest result of as.matrix(), par_expand(), par_move(), par_join() and knn(),",
                                      "in megabytes")),
  cache = list(default = TRUE,
               meaning = paste("keep compiled GPU kernels on disk? TRUE: in R's folder for that (tools::R_user_dir()),",
                               "or the name of a folder; nothing is written without a GPU")),
  cache_mb = list(default = 256, meaning = "largest size of that folder, in megabytes; the oldest kernels leave first"),
  gpu_mb = list(default = Inf,
                meaning = paste("most memory of each GPU that a call may take, in megabytes; larger calls are computed",
                                "part by part")),
  progress = list(default = NULL,
                  meaning = "say how far long work has come? NULL: in an interactive session"),
  check = list(default = FALSE, meaning = "verify formula and plan between the stages of the engine")
)

# What may travel with a formula, be given to a call, or be set for a while.
setting_names <- c("device", "precision", "threads")

#' Options
#'
#' Options are looked up in this order: argument of the call, [lazy_set()] on the formula,
#' [with_kernweave()], `options(kernweave.<name> = )`, the environment variable `KERNWEAVE_<NAME>`.
#'
#' Devices are `"cpu"`; `"gpu"`, the first NVIDIA GPU through its driver and the run-time compiler NVRTC, both opened
#' when first needed (without NVRTC, kernels run most formulas that were compiled at installation, if the CUDA Toolkit
#' was there then); `"all"` GPUs, or some of them by number (`1`, `c(0, 2)`: numbered from 0, as in
#' [kernweave_sitrep()]), which share the rows of a result among them; and `"reference"`, two plain loops that compute a
#' formula as it is written, in float64 on one thread: right before all else, and slow. `"auto"` takes the one of the
#' first two that is expected to be done first, transfers counted, and falls back to the CPU where the GPU cannot be
#' used ([kernweave_sitrep()] says why). Asking for a device that is not there is an error. What does not fit into the
#' memory of a GPU, or into the option `kernweave.gpu_mb` of it, is computed part by part, with the same bits. With
#' `precision = "float32"` points are rounded once, after differences have been centred, and sums are added up in
#' float64 between tiles; formulas with whole numbers in them (row numbers, codes) are computed in float64 all the same.
#' `"tf32"` is `"float32"` so far. On a GPU, float32 numbers below 1.2e-38 count as 0, and divisors beyond 8.5e37 as
#' infinite.
#'
#' By default half of the cores are used, within the limits of `OMP_THREAD_LIMIT` and `OMP_NUM_THREADS`, and
#' one in a forked process. Results have the same bits for any number of threads.
#'
#' @eval options_rd()
#' @return A data frame with one row per option: name, present value, meaning.
#' @seealso [lazy_set()], [with_kernweave()], [kernweave_sitrep()]
#' @export
#' @examples
#' kernweave_options()
kernweave_options <- function() {
  value <- vapply(names(options_table), function(name) paste(format(option(name)), collapse = " "), "")
  data.frame(option = paste0("kernweave.", names(options_table)), value = value,
             meaning = vapply(options_table, `[[`, "", "meaning"), row.names = NULL)
}

options_rd <- function() {
  rows <- vapply(names(options_table), function(name) {
    meaning <- gsub("\"", "", options_table[[name]]$meaning, fixed = TRUE)
    paste0("\\item{\\code{kernweave.", name, "}}{", meaning, ". Default: \\code{",
           deparse(options_table[[name]]$default), "}.}")
  }, "")
  c("@section Options:", "\\describe{", rows, "}")
}

option_names <- paste0("kernweave.", names(options_table))
option_twins <- paste0("KERNWEAVE_", toupper(names(options_table)))

# All options as they stand, checked. Kept until one of them, or an environment twin, is changed: a small
# reduction asks for them at every call.
current_options <- function() {
  raw <- r_raw_options(option_names, option_twins)
  if (identical(raw, seen_options$raw)) return(seen_options$value)
  value <- Map(chosen_option, names(options_table), raw[[1]], raw[[2]])
  checked <- check_settings(value[setting_names])
  value[names(checked)] <- checked
  for (limit in c("max_dense_mb", "cache_mb", "gpu_mb")) value[[limit]] <- check_limit(value[[limit]], limit)
  r_set_cache(cache_folder(value$cache), value$cache_mb * 1e6)
  seen_options$raw <- raw
  seen_options$value <- value
  value
}

check_limit <- function(mb, name) {
  if (!is.numeric(mb) || length(mb) != 1 || is.na(mb) || mb < 0) {
    abort("settings", "`", name, "` must be a number of megabytes, not ", format_value(mb))
  }
  mb
}

cache_folder <- function(cache) {
  if (isTRUE(cache)) return(tools::R_user_dir("kernweave", "cache"))
  if (isFALSE(cache)) return("")
  if (!is.character(cache) || length(cache) != 1 || is.na(cache) || !nzchar(cache)) {
    abort("settings", "`cache` must be TRUE, FALSE or the name of a folder, not ", format_value(cache))
  }
  normalizePath(cache, mustWork = FALSE)
}

#' Remove kernels kept on disk
#'
#' GPU kernels that were compiled for a formula are kept on disk and found by later sessions, in the folder that the
#' option `kernweave.cache` names; `FALSE` keeps none. The first time this is said in a message. Many sessions may do so at once; a file that has come to harm is removed and made again. This removes all
#' of them.
#'
#' @return The number of files removed, invisibly.
#' @seealso [kernweave_options()] for the option `kernweave.cache`
#' @export
#' @examples
#' with_kernweave(kernweave_clear_cache(), cache = tempfile())
kernweave_clear_cache <- function() {
  folder <- cache_folder(option("cache"))
  files <- if (nzchar(folder)) list.files(folder, "[.]kernels", full.names = TRUE) else character()
  invisible(sum(file.remove(files)))
}

seen_options <- new.env(parent = emptyenv())

chosen_option <- function(name, option, twin) {
  if (!is.null(option)) return(option)
  if (is.na(twin) || !nzchar(twin)) return(options_table[[name]]$default)
  utils::type.convert(twin, as.is = TRUE)
}

option <- function(name) current_options()[[name]]

# Settings as given, checked. NULL entries are dropped.
check_settings <- function(settings) {
  if (!length(settings)) return(list())
  settings <- settings[!vapply(settings, is.null, NA)]
  if (length(settings) && !all(nzchar(names(settings) %or% ""))) {
    abort("input", "an argument without a name is left over: ", describe(settings[[1]]))
  }
  unknown <- setdiff(names(settings), setting_names)
  if (length(unknown)) {
    abort("settings", "there is no setting `", unknown[1], "`; there are ",
          paste0("`", setting_names, "`", collapse = ", "),
          near_hint(unknown[1], setting_names))
  }
  if (!is.null(settings$precision)) one_of(settings$precision, c("float64", "float32", "tf32"), "precision", "settings")
  if (!is.null(settings$device)) settings$device <- check_device(settings$device)
  if (!is.null(settings$threads)) settings$threads <- check_count(settings$threads, "threads", "settings")
  settings
}

check_device <- function(device) {
  if (is.numeric(device) || (is.character(device) && any(grepl("^[0-9]", device)))) {
    return(check_numbers_of_devices(paste(device, collapse = ",")))
  }
  one_of(device, c("auto", "reference", "cpu", "gpu", "all"), "device", "settings")
}

check_numbers_of_devices <- function(device) {
  if (!grepl("^[0-9]{1,4}(,[0-9]{1,4})*$", device) || anyDuplicated(strsplit(device, ",")[[1]])) {
    abort("settings", "`device` must be the numbers of GPUs, from 0 and each once, not ", device)
  }
  device
}

check_count <- function(n, argument, class = "input", least = 1) {
  whole <- is.numeric(n) && length(n) == 1 && is.finite(n) && n >= least && n == round(n) && n <= .Machine$integer.max
  if (!whole) abort(class, "`", argument, "` must be a whole number of at least ", least, ", not ", format_value(n))
  as.integer(n)
}

check_degree <- function(n, argument) check_count(n, argument, least = 0)

# A list of whole numbers, as the engine keeps it: behind its length.
check_list <- function(x, argument) {
  whole <- is.null(x) || (is.numeric(x) && !is.object(x) && all(is.finite(x)) && all(x == round(x)) &&
                          all(abs(x) <= .Machine$integer.max))
  if (!whole) abort("input", "`", argument, "` must be whole numbers, not ", describe(x))
  c(length(x), as.integer(x))
}

format_value <- function(x) {
  x <- plain_value(x)
  if (is.character(x) && length(x) == 1) encodeString(x, quote = "\"")
  else if (is.atomic(x) && length(x) == 1) format(x)
  else describe(x)
}

# Two formulas meet: what one of them has set holds for both, unless they contradict each other.
merge_settings <- function(a, b) {
  if (is.null(a) || identical(a, b)) return(b)
  if (is.null(b)) return(a)
  for (name in intersect(names(a), names(b))) {
    if (!identical(a[[name]], b[[name]])) {
      abort("settings", "one formula was set to ", name, " = ", format(a[[name]]), ", the other to ", format(b[[name]]))
    }
  }
  a[names(b)] <- b
  a
}

# What holds for a call: the formula's own settings, else the options.
call_options <- function(settings) {
  options <- current_options()
  if (length(settings)) options[names(settings)] <- settings
  options
}

#' Set device, precision or threads for a formula
#'
#' Settings travel with the formula through every operation. Two formulas whose settings contradict
#' each other cannot meet.
#'
#' @param F a lazy tensor, a lazy reduction, or a linear operator: then of all lazy tensors in it
#' @param precision `"float64"`, `"float32"` or `"tf32"`
#' @param device `"auto"`, `"reference"`, `"cpu"`, `"gpu"`, `"all"`, or numbers of GPUs
#' @param threads number of CPU threads
#' @return `F` with the settings.
#' @seealso [kernweave_options()], [with_kernweave()]
#' @export
#' @examples
#' x <- matrix(runif(30), 10, 3)
#' K <- lazy_set(exp(-sqdist(Vi(x), Vj(x))), device = "reference")
#' sum(K, index = "j")
lazy_set <- function(F, precision = NULL, device = NULL, threads = NULL) {
  if (is_lazy_complex(F)) return(each_part(F, lazy_set, precision = precision, device = device, threads = threads))
  if (!inherits(F, c("lazy_tensor", "lazy_reduction", "linear_op"))) {
    abort("input", "`F` must be a lazy tensor, a lazy reduction or a linear operator, not ", describe(F))
  }
  if (is_op(F)) return(set_op(F, precision = precision, device = device, threads = threads))
  F <- with_settings(F, precision = precision, device = device, threads = threads)
  if (inherits(F, "lazy_reduction")) F$cache <- new.env(parent = emptyenv())
  F
}

# Settings of a call over those of the object.
with_settings <- function(F, ...) {
  if (...length() == 0) return(F)
  given <- check_settings(list(...))
  settings <- F$settings
  settings[names(given)] <- given
  if (length(settings)) F$settings <- settings
  F
}

#' Run code under options
#'
#' @param code what to run
#' @param ... options by their short names: `device`, `precision`, `threads`, `max_dense_mb`, `check`
#' @return The value of `code`.
#' @seealso [kernweave_options()], [lazy_set()]
#' @export
#' @examples
#' x <- matrix(runif(30), 10, 3)
#' with_kernweave(sum(exp(-sqdist(Vi(x), Vj(x))), index = "j"), device = "reference")
with_kernweave <- function(code, ...) {
  given <- list(...)
  if (!length(given)) return(code)
  unknown <- setdiff(names(given) %or% "", names(options_table))
  if (length(unknown)) {
    abort("settings", "there is no option `", unknown[1], "`",
          near_hint(unknown[1], names(options_table), "; see kernweave_options()"))
  }
  check_settings(given[intersect(names(given), setting_names)])
  names(given) <- paste0("kernweave.", names(given))
  before <- options(given)
  on.exit(options(before))
  force(code)
}
