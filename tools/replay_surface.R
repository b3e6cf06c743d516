# The surface of the package as text, for tools/replay.R: index formulas, signatures, errors, and what examples print.

# Results to 12 digits, or the error.
shown_result <- function(code) {
  tryCatch({
    value <- code
    if (is.numeric(value) || is.logical(value)) {
      c(paste(class(value)[1], paste(dim(value), collapse = " x ")), format(as.vector(value), digits = 12))
    } else utils::capture.output(print(value, digits = 12))
  }, error = shown_error)
}
shown_error <- function(e) c(paste("error", class(e)[1]), strsplit(conditionMessage(e), "\n", fixed = TRUE)[[1]])

# Returns index formulas of the tests' generators with their roles, loops and values, as text.
axis_texts <- function() {
  sys.source(at_root("tests/testthat/helper-index.R"), envir = helpers)
  of <- function(made, name, op, seed) {
    example <- made(seed)
    roles <- shown_result(explain(reduction(example$formula, op, data = example$data, call = FALSE)))
    text <- c("-- axes", deparse(example$formula), roles[!timed(roles)],
              shown_result(reduction(example$formula, op, data = example$data)))
    stats::setNames(list(text), paste("axes", name, op, seed))
  }
  seeds <- 1:60
  c(do.call(c, lapply(seeds, function(seed) of(helpers$random_contraction, "contraction", "sum", seed))),
    do.call(c, lapply(seeds, function(seed) of(helpers$random_index_formula, "formula", "sum", seed))),
    do.call(c, lapply(seeds, function(seed) of(helpers$random_index_formula, "formula", "max", 100 + seed))))
}

# Arguments of the wrong kind, one after the other in the first place of each function.
wrong_arguments <- list(nothing = NULL, text = "text", missing = NA_real_, infinite = Inf, negative = -1,
                        list = list(), `function` = mean, empty = matrix(0, 0, 2), formula = ~ x)

# Returns the signature of each export, and its errors: without arguments, and with each of the wrong kind.
api_texts <- function() {
  back <- setwd(tempdir())
  on.exit(setwd(back))
  names <- sort(getNamespaceExports("kernweave"), method = "radix")
  names <- setdiff(names, "kernweave_clear_cache")  # which would clear the cache of who asks
  names <- names[vapply(names, function(name) is.function(get(name, asNamespace("kernweave"))), NA)]
  texts <- lapply(names, function(name) {
    f <- get(name, asNamespace("kernweave"))
    calls <- c(list(list()), lapply(wrong_arguments, list))
    said <- lapply(calls, function(arguments) tryCatch({
      utils::capture.output(value <- suppressMessages(suppressWarnings(do.call(f, arguments))))
      paste("value of class", class(value)[1])
    }, error = shown_error))
    c("-- api", deparse(args(f)), unlist(Map(c, c("nothing given", names(wrong_arguments)), said), use.names = FALSE))
  })
  stats::setNames(texts, paste("api", names))
}

# Lines that name a time or a size of memory, which no two runs share.
timed <- function(lines) grepl("[0-9] ?(ns|us|ms|s|min|minutes|seconds|[kMG]B)\\b", lines)

# Returns the output of the examples of each help page.
page_texts <- function() {
  pages <- tools::Rd_db("kernweave")
  texts <- lapply(pages, function(page) {
    file <- tempfile(fileext = ".R")
    on.exit(unlink(file))
    tools::Rd2ex(page, file)
    if (!file.exists(file)) return(NULL)
    set.seed(1)
    lines <- tryCatch(utils::capture.output(suppressMessages(suppressWarnings({
      grDevices::pdf(NULL)
      source(file, local = new.env(parent = globalenv()), echo = FALSE, print.eval = TRUE)
    }))), error = shown_error, finally = grDevices::graphics.off())
    c("-- page", lines[!timed(lines)])
  })
  names(texts) <- paste("page", sub("[.]Rd$", "", names(pages)))
  Filter(Negate(is.null), texts)
}
