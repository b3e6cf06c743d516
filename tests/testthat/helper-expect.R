# Expectations that hold, at a tenth of their price: for each, held or not, testthat's own set up how a difference would
# be printed (language, collation, width), which took half of all the time of the tests. What does not hold goes to
# testthat's own, so that failures read as ever.

# To report one takes 5 ms of the process that tests and the one that counts. The first of each test, whose environment
# testthat tells, is reported; the others are counted here.
expectations <- new.env()
expectations$count <- 0
it_holds <- function() {
  expectations$count <- expectations$count + 1
  test <- getOption("testthat_topenv")
  if (is.null(test) || !identical(test, expectations$test)) testthat::succeed()
  expectations$test <- test
}

expect_identical <- function(object, expected, ..., label = deparse1(substitute(object))) {
  if (identical(object, expected)) it_holds()
  else testthat::expect_identical(object, expected, ..., label = label)
  invisible(object)
}

# Numbers each of which is near enough: more than waldo asks for, which asks for their mean, at a third of its price.
surely_equal <- function(a, b, tolerance) {
  if (identical(a, b)) return(TRUE)
  plain <- is.double(a) && is.double(b) && !is.object(a) && identical(attributes(a), attributes(b))
  plain && length(a) == length(b) && is.numeric(tolerance) && isTRUE(all(abs(a - b) <= tolerance / 2 * abs(b)))
}

expect_equal <- function(object, expected, ..., label = deparse1(substitute(object)), info = NULL,
                         tolerance = testthat::testthat_tolerance()) {
  if (surely_equal(object, expected, tolerance)) it_holds()
  else if (!length(waldo::compare(object, expected, ..., tolerance = tolerance))) it_holds()
  else testthat::expect_equal(object, expected, ..., label = label, info = info, tolerance = tolerance)
  invisible(object)
}

expect_true <- function(object, ..., label = deparse1(substitute(object))) {
  if (identical(object, TRUE)) it_holds() else testthat::expect_true(object, ..., label = label)
  invisible(object)
}

expect_false <- function(object, ..., label = deparse1(substitute(object))) {
  if (identical(object, FALSE)) it_holds() else testthat::expect_false(object, ..., label = label)
  invisible(object)
}

comparison <- function(holds, otherwise) {
  function(object, expected, label = deparse1(substitute(object)), expected.label = deparse1(substitute(expected))) {
    if (isTRUE(holds(object, expected))) it_holds()
    else otherwise(object, expected, label = label, expected.label = expected.label)
    invisible(object)
  }
}
expect_lt <- comparison(`<`, testthat::expect_lt)
expect_lte <- comparison(`<=`, testthat::expect_lte)
expect_gt <- comparison(`>`, testthat::expect_gt)
expect_gte <- comparison(`>=`, testthat::expect_gte)

expect_error <- function(object, regexp = NULL, class = "error", ..., info = NULL,
                         label = deparse1(substitute(object))) {
  caught <- tryCatch({
    object
    NULL
  }, error = identity)
  asked <- inherits(caught, class) && (is.null(regexp) || isTRUE(grepl(regexp, conditionMessage(caught), ...)))
  if (asked) it_holds()
  else testthat::expect_error(if (!is.null(caught)) stop(caught), regexp, class, ..., info = info, label = label)
  invisible(caught)
}

# Conditions are shown in lines as wide as the console. Tests look at their text on one line.
conditionMessage <- function(c) {
  if (inherits(c, c("kernweave_error", "kernweave_warning"))) c$message
  else gsub("\n +", " ", base::conditionMessage(c))
}
registerS3method("conditionMessage", "on_one_line", function(c) c$message, baseenv())
on_one_line <- function(code) {
  joined <- function(signal, restart) {
    function(c) {
      if (inherits(c, "on_one_line")) return()
      c$message <- conditionMessage(c)
      signal(structure(c, class = c("on_one_line", class(c))))
      invokeRestart(restart)
    }
  }
  withCallingHandlers(code, message = joined(message, "muffleMessage"), warning = joined(warning, "muffleWarning"))
}
expect_warning <- function(object, ...) testthat::expect_warning(on_one_line(object), ...)
capture_warnings <- function(code, ...) testthat::capture_warnings(on_one_line(code), ...)
capture_messages <- function(code) testthat::capture_messages(on_one_line(code))
expect_message <- function(object, ...) testthat::expect_message(on_one_line(object), ...)

# Expects an error of a class whose message has all these words.
expect_said <- function(object, class, ...) {
  caught <- tryCatch(object, error = function(e) e)
  label <- paste(deparse(substitute(object)), collapse = " ")
  expect_s3_class(caught, paste0("kernweave_error_", class))
  if (!inherits(caught, "error")) return(invisible())
  for (words in c(...)) expect_match(conditionMessage(caught), words, fixed = TRUE, label = label)
}
