# Common helpers of the verbs for arrays (par_*): threads, and arguments that are whole numbers. The engine works on the
# device of the array: on a GPU or on the CPU.

# Returns the number of threads that the user asked for, as C++ takes it: 0 lets the engine decide.
array_threads <- function() option("threads") %or% 0L

# Returns an array unchanged. If it is on a GPU, the user is told once that the engine will copy it.
wherever <- function(x) {
  if (is_on_device(x)) {
    say_once("arrays", "Arrays that lie on a GPU are fetched, and worked on by the CPU. (Said once.)")
  }
  x
}

# Returns whole numbers from `least` to `most`, none missing, as integers or doubles without attributes; else an error
# names the first invalid number. `class`: the class of the error for a whole number out of range.
check_whole <- function(x, argument, least = 0, most = Inf, class = "value") {
  if (!is.numeric(x) || is.factor(x) || inherits(x, "integer64")) {
    abort("input", "`", argument, "` must be whole numbers, not ", describe(x))
  }
  found <- r_first_not_whole(x, least, most)
  if (found$at == 0) return(if (is.object(x) || !is.null(attributes(x))) as.vector(unclass(x)) else x)
  text <- format(x[[found$at]], digits = 15)
  abort(if (found$whole) class else "value", "`", argument, "` must be whole numbers of at least ", least,
        if (is.finite(most)) paste(" and at most", number_text(most)), "; number ", number_text(found$at), " of ",
        number_text(length(x)), " is ", text)
}

# Refuses results that exceed the limit of as.matrix(): a result may be much larger than its arguments.
check_room_for <- function(items, bytes, what) {
  limit <- option("max_dense_mb")
  if (items * bytes <= limit * 2^20) return(invisible())
  abort("memory", what, " ", count_text(items, "item"), ", which would take ",
        number_text(ceiling(items * bytes / 2^20)), " MB; the limit is ", limit, " MB. ",
        "options(kernweave.max_dense_mb = ) raises it")
}

number_text <- function(n) format(n, big.mark = ",", scientific = FALSE, trim = TRUE)

# Returns numbers of items or places: as integers if they fit, else as doubles.
as_count <- function(n) if (all(n <= .Machine$integer.max)) as.integer(n) else as.numeric(n)
