# The house rules. Each gate returns the sentences of what breaks it; Rscript tools/house.R prints them all.
# Run by tests/testthat/test-house.R too.

root <- Sys.getenv("KERNWEAVE_SOURCE", ".")
source(file.path(root, "tools/rows.R"))
at_root <- function(...) file.path(root, ...)

# A room may include itself and what stands to its left. Rooms that share a place do not know each other: devices and
# formulas, the back ends.
rooms <- c(base = 1, device = 2, expr = 2, lanes = 2, arrays = 3, plan = 3, pairs = 3, schedule = 4, trees = 4,
           axes = 5, reference = 5, cpu = 5, cuda = 5, execute = 6, distance = 6, far = 7, solve = 8)
at_the_border <- 9

engine_files <- function() {
  files <- list.files(at_root("src"), pattern = "[.](cpp|hpp|cu|cuh)$", recursive = TRUE)
  grep("^(RcppExports.cpp$|rooms/)", files, value = TRUE, invert = TRUE)
}
header_files <- function() {
  list.files(at_root("inst/include/kernweave"), pattern = "[.](hpp|cuh|def|h)$", recursive = TRUE)
}
source_lines <- function(file) readLines(at_root(file), warn = FALSE)

room_of <- function(file) if (grepl("/", file)) sub("/.*", "", file) else ""
place_of <- function(file) if (nzchar(room_of(file))) rooms[[room_of(file)]] else at_the_border

included <- function(file) {
  lines <- grep("^\\s*#include", source_lines(file), value = TRUE)
  gsub("^.*[\"<](.*)[\">].*$", "\\1", lines)
}

gate_direction <- function() {
  unlist(lapply(engine_files(), function(file) {
    includes <- included(file.path("src", file))
    inside <- includes[sub("/.*", "", includes) %in% names(rooms) & grepl("/", includes)]
    own <- room_of(file)
    right <- inside[vapply(inside, place_of, 0) > place_of(file)]
    beside <- inside[vapply(inside, place_of, 0) == place_of(file) & vapply(inside, room_of, "") != own]
    r_inside <- if (nzchar(own)) grep("^(Rcpp|R|Rinternals)(Common|Eigen)?[.]h$", includes, value = TRUE)
    eigen <- if (own != "solve") grep("Eigen", includes, value = TRUE)
    wrong <- unique(c(right, beside, r_inside, eigen))
    if (length(wrong)) paste0("src/", file, " includes ", wrong)
  }))
}

# The rooms of R/, from the left. The prefix of a file is its room; `zzz.R` is what happens at loading. Uses of a room
# to the right are counted, and their number only falls: most are methods of formulas that a room to the right computes.
rooms_of_r <- c("house", "formula", "pair", "reduce", "tape", "array", "axis", "approx", "op", "solve", "work", "model",
                "tree", "rkeops", "zzz")
most_uses_to_the_right <- 44

# Names of functions and tables that expressions define, those of a file of R/, and names of functions that they call.
made_and_used <- function(expressions, names = called_in) {
  assigns <- function(x) {
    is.call(x) && identical(x[[1]], as.name("<-")) && (is.name(x[[2]]) || is.character(x[[2]]))
  }
  list(made = vapply(Filter(assigns, expressions), function(x) as.character(x[[2]]), ""),
       used = setdiff(unlist(lapply(expressions, names)), unlist(lapply(expressions, assigned_in))))
}
expressions_of <- function(file) as.list(parse(at_root(file), keep.source = FALSE))

makes_function <- function(x) {
  is.call(x) && identical(x[[1]], quote(`<-`)) && is.call(x[[3]]) && identical(x[[3]][[1]], quote(`function`))
}

# All names of an expression, those in the defaults of arguments, too.
symbols_in <- function(x) {
  if (is.name(x)) return(as.character(x))
  if (is.recursive(x)) unlist(lapply(as.list(x), symbols_in), use.names = FALSE)
}

# Collects `name(call)` over all calls of an expression.
names_in <- function(x, name) {
  if (!is.recursive(x)) return(NULL)
  c(if (is.call(x)) name(x), unlist(lapply(as.list(x), names_in, name), use.names = FALSE))
}
called_in <- function(x) names_in(x, function(call) if (is.name(call[[1]])) as.character(call[[1]]))
assigned_in <- function(x) {
  names_in(x, function(call) {
    if (identical(call[[1]], as.name("<-")) && is.name(call[[2]])) as.character(call[[2]])
  })
}

room_of_r <- function(file) sub("[-.].*", "", basename(file))

# All uses of one file of R/ by another: which file uses which name of which other.
uses_in_r <- function() {
  files <- stats::setNames(nm = Filter(Negate(is_generated), r_files()))
  found <- lapply(files, function(file) made_and_used(expressions_of(file)))
  home <- unlist(lapply(names(found), function(file) {
    stats::setNames(rep(file, length(found[[file]]$made)), found[[file]]$made)
  }))
  home <- home[!duplicated(names(home))]
  do.call(rbind, lapply(names(found), function(file) {
    to <- home[intersect(found[[file]]$used, names(home))]
    data.frame(from = rep(file, length(to)), name = as.character(names(to)), to = as.character(to))
  }))
}

uses_to_the_right <- function() {
  uses <- uses_in_r()
  uses <- uses[match(room_of_r(uses$to), rooms_of_r) > match(room_of_r(uses$from), rooms_of_r), ]
  sprintf("%s uses %s of %s", uses$from, uses$name, uses$to)
}

# Private functions that one other function alone uses, whose code is read in two places for one. Their number only
# falls.
one_caller <- 943

gate_callers <- function() {
  files <- Filter(Negate(is_generated), r_files())
  expressions <- unlist(lapply(files, expressions_of))
  each <- lapply(expressions, function(x) made_and_used(list(x), symbols_in))
  own <- vapply(expressions, function(x) makes_function(x) && !"UseMethod" %in% all.names(x), NA)
  made <- unlist(lapply(each[own], `[[`, "made"))
  private <- setdiff(made, c(exported_functions(), sub("^[a-z0-9]+::", "", methods_of_r())))
  callers <- table(unlist(lapply(each, function(one) intersect(unique(setdiff(one$used, one$made)), private))))
  count <- sum(callers == 1)
  if (count != one_caller) paste("one_caller is", one_caller, "and", count, "private functions have one caller")
}

# Files of one room that call each other in a circle: five at most. Rooms with larger circles, whose sizes only fall.
most_in_a_circle <- 5
larger_circles <- c(approx = 6)

# The files of the largest circle of calls in each room.
circles_in_r <- function() {
  uses <- uses_in_r()
  uses <- uses[room_of_r(uses$from) == room_of_r(uses$to), ]
  files <- unique(c(uses$from, uses$to))
  reach <- unclass(table(factor(uses$from, files), factor(uses$to, files))) > 0
  diag(reach) <- TRUE
  while (!identical(further <- reach %*% reach > 0, reach)) reach <- further
  circles <- lapply(files, function(file) files[reach[file, ] & reach[, file]])
  lapply(split(circles, room_of_r(files)), function(of_room) of_room[[which.max(lengths(of_room))]])
}

gate_circles <- function() {
  circles <- circles_in_r()
  unlist(lapply(names(circles), function(room) {
    n <- length(circles[[room]])
    if (room %in% names(larger_circles)) {
      return(if (n != larger_circles[[room]]) paste0("larger_circles has ", larger_circles[[room]], " for ", room,
                                                     ", where ", n, " files call each other in a circle"))
    }
    if (n > most_in_a_circle) {
      paste0(n, " files of ", room, " call each other in a circle: ", paste(basename(circles[[room]]), collapse = ", "))
    }
  }))
}

gate_rooms <- function() {
  strange <- Filter(function(file) !is_generated(file) && !room_of_r(file) %in% rooms_of_r, r_files())
  right <- if (!length(strange)) uses_to_the_right()
  c(if (length(strange)) paste0(strange, " has no room: a name begins with that of one, as model-"),
    if (length(right) > most_uses_to_the_right) {
      c(paste0(length(right), " uses of rooms to the right in R/, more than ", most_uses_to_the_right), right)
    })
}

# Every source is compiled once: by a file of rooms/, or as an object of its own.
gate_objects <- function() {
  lines <- paste(source_lines("src/Makevars.in"), collapse = " ")
  objects <- unique(unlist(regmatches(lines, gregexpr("[A-Za-z0-9_/]+[.]o\\b", lines))))
  files <- list.files(at_root("src"), pattern = "[.]cpp$", recursive = TRUE)
  units <- grep("^rooms/", files, value = TRUE)
  files <- c(files, sub("^", "../../", pages_in("tests/windows", "[.]cpp$")))
  sources <- grep("[.]cpp$", unlist(lapply(file.path("src", units), included)), value = TRUE)
  compiled <- c(sub("[.]o$", ".cpp", objects), sources)
  c(if (length(missing <- setdiff(files, compiled))) paste(missing, "is compiled by no file of rooms/"),
    if (length(strange <- setdiff(compiled, files))) paste(strange, "is to be compiled, and is not there"),
    if (length(twice <- unique(compiled[duplicated(compiled)]))) paste(twice, "is compiled twice"))
}

gate_fresh <- function() {
  generator <- new.env()
  sys.source(at_root("tools/ops.R"), envir = generator)
  rendered <- generator$render_all(root)
  stale <- Filter(function(file) {
    text <- unlist(strsplit(paste(rendered[[file]], collapse = "\n"), "\n", fixed = TRUE))
    !identical(text, source_lines(file))
  }, names(rendered))
  if (length(stale)) paste(stale, "is stale: run Rscript tools/ops.R")
}

gate_complete <- function() {
  oracle <- new.env()
  for (helper in c("helper-oracle.R", "helper-oracle-reductions.R")) {
    sys.source(at_root("tests/testthat", helper), envir = oracle)
  }
  ops <- op_table(root)
  reductions <- reduction_table(root)
  names_of <- function(rows) vapply(rows, `[[`, "", "name")
  no_oracle <- c(setdiff(names_of(ops), names(oracle$oracle_ops)),
                 setdiff(names_of(reductions), names(oracle$oracle_reductions)))
  rows <- c(ops, reductions)
  no_doc <- names_of(rows[!vapply(rows, function(row) nzchar(row$doc), NA)])
  c(if (length(no_oracle)) paste(no_oracle, "has no oracle"), if (length(no_doc)) paste(no_doc, "has no doc"))
}

# Functions of R's C interface that R 4.6 no longer declares or checks against; older R's have them still. A file that
# asks for R's version may call them where R is old enough.
withdrawn <- c("ALTREP_LENGTH", "ALTVEC_DATAPTR", "ATTRIB", "BODY", "CLOENV", "DATAPTR", "DDVAL", "ENCLOS",
               "EXTPTR_PROT", "EXTPTR_PTR", "EXTPTR_TAG", "FORMALS", "FRAME", "HASHTAB", "INTERNAL", "IS_S4_OBJECT",
               "LEVELS", "NAMED", "OBJECT", "PRCODE", "PRENV", "PRVALUE", "RDEBUG", "REFCNT", "R_lsInternal",
               "SETLENGTH", "SETLEVELS",
               "SET_ATTRIB", "SET_BODY", "SET_CLOENV", "SET_ENCLOS", "SET_FORMALS", "SET_GROWABLE_BIT", "SET_NAMED",
               "SET_OBJECT", "SET_S4_OBJECT", "SET_TRUELENGTH", "SET_TYPEOF", "STRING_PTR", "SYMVALUE", "TRUELENGTH",
               "UNSET_S4_OBJECT", "VECTOR_PTR", "XLENGTH_EX", "allocSExp", "envlength", "findVar", "findVarInFrame",
               "findVarInFrame3", "gsetVar", "isFrame", "isValidString")

gate_withdrawn <- function() {
  called <- paste0("(?<![A-Za-z0-9_.:>])(Rf_)?(", paste(withdrawn, collapse = "|"), ")\\(")
  files <- c(file.path("src", engine_files()), file.path("inst/include/kernweave", header_files()))
  unlist(lapply(files, function(file) {
    lines <- source_lines(file)
    asked <- cumsum(grepl("^#if R_VERSION", lines)) > cumsum(grepl("^#endif", lines))
    at <- which(grepl(called, lines, perl = TRUE) & !asked)
    if (length(at)) paste0(file, ":", at, " calls what R has withdrawn: ", trimws(lines[at]))
  }))
}

# --- row grammar ---------------------------------------------------------------------------------------

# Functions of lanes, and those made of them.
made_functions <- function(header) {
  lines <- source_lines(file.path("inst/include/kernweave", header))
  sub("^KW_FN constexpr L (\\w+)\\(.*", "\\1", grep("^KW_FN constexpr L \\w+\\(", lines, value = TRUE))
}
primitives <- c("exp", "exp2", "exp2_minus", "log", "sqrt", "rsqrt", "inverse_sqrt", "square", "sin", "cos", "tanh",
                "abs", "pow", "select", "truth", "differs", "is_nan",
                made_functions("elementary.hpp"), made_functions("special.hpp"))
grammar <- c("+", "-", "*", "/", "(", "<", "<=", "==", "||")
formula_words <- c("metric", "alike", "whole_power_of", "latitude", "longitude", "kronecker", "tensor_dot", "b_spline",
                   "soft_dtw")
width_words <- c("repeated", "within", "placed", "quotient", "picked", "unpicked", "matrices",
                 "looked_up")

calls_in <- function(column) {
  if (!is.call(column)) return(character())
  c(as.character(column[[1]]), unlist(lapply(as.list(column)[-1], calls_in)))
}

gate_row_grammar <- function() {
  rows <- op_table(root)
  operations <- vapply(rows, `[[`, "", "fn")
  unlist(lapply(rows, function(row) {
    formula <- grepl("^ALIAS|^SMOOTH", row$class)
    in_value <- setdiff(calls_in(row$value), c(grammar, if (formula) c(operations, formula_words) else primitives))
    adjoints <- unlist(lapply(row[grepl("^adjoint", names(row))], calls_in))
    in_adjoint <- setdiff(adjoints, c(grammar, operations, "none", "width", "transpose", "power_below"))
    in_width <- setdiff(calls_in(row$width), c(grammar, width_words))
    wrong <- c(in_value, in_adjoint, in_width)
    if (length(wrong)) paste0("row ", row$name, " calls ", wrong, "()")
  }))
}

# --- R -------------------------------------------------------------------------------------------------

r_files <- function() file.path("R", setdiff(list.files(at_root("R"), pattern = "[.]R$"), "RcppExports.R"))

gate_errors <- function() {
  bare <- unlist(lapply(setdiff(r_files(), "R/house-conditions.R"), function(file) {
    lines <- source_lines(file)
    at <- grep("(^|[^.\\w])(stop|warning)\\(", lines, perl = TRUE)
    messages <- if (file != "R/house-text.R") grep("(^|[^.\\w])message\\(", lines, perl = TRUE)
    c(if (length(at)) paste0(file, ":", at, " signals without a class"),
      if (length(messages)) paste0(file, ":", messages, " has a message that is not by tell()"))
  }))
  text <- source_lines("R/house-conditions.R")
  assigned <- Filter(function(line) identical(line[[2]], quote(error_classes)), parse(text = text))
  classes <- eval(assigned[[1]][[3]])
  documented <- vapply(classes, function(class) any(grepl(paste0("^#' \\| `", class, "` \\|"), text)), NA)
  engine <- unlist(regmatches(source_lines("src/base/error.cpp"),
                              gregexpr("return \"[a-z_]+\"", source_lines("src/base/error.cpp"))))
  engine <- setdiff(gsub("return \"|\"", "", engine), classes)
  c(bare, if (any(!documented)) paste("condition class", classes[!documented], "is not on its help page"),
    if (length(engine)) paste("the engine's fault", engine, "is no condition class"))
}

exported_functions <- function() {
  gsub("^export[(]\"?|\"?[)]$", "", grep("^export[(]", source_lines("NAMESPACE"), value = TRUE))
}

methods_of_r <- function() {
  registered <- grep("^S3method", source_lines("NAMESPACE"), value = TRUE)
  sub("^S3method\\(\"?([^,\"]+)\"?, *\"?([^,\")]+).*", "\\1.\\2", registered)
}

gate_masks <- function() {
  names <- exported_functions()
  packages <- c("base", "stats", "utils", "methods", "graphics", "grDevices", "datasets")
  exported_by <- function(name) {
    function(package) name %in% getNamespaceExports(package) && exists(name, asNamespace(package), inherits = FALSE)
  }
  taken <- Filter(function(name) any(vapply(packages, exported_by(name), NA)), names)
  if (length(taken)) paste(taken, "would mask a function of R's default packages")
}

# The table of design/030-arguments.md: arguments that no function for users may have, and exceptions, f(argument).
argument_rules <- function() {
  rows <- strsplit(grep("^\\| [a-z]", source_lines("design/030-arguments.md"), value = TRUE), "|", fixed = TRUE)
  quoted <- function(column) {
    text <- unlist(lapply(rows, function(row) if (length(row) >= column) row[column]))
    gsub("`", "", unlist(regmatches(text, gregexpr("`[^`]+`", text))))
  }
  list(never = quoted(4), except = quoted(5))
}

gate_arguments <- function() {
  rules <- argument_rules()
  users <- c(exported_functions(), methods_of_r())
  of_file <- function(file) {
    made <- Filter(makes_function, expressions_of(file))
    unlist(lapply(Filter(function(x) as.character(x[[2]])[1] %in% users, made), function(x) {
      wrong <- intersect(names(x[[3]][[2]]), rules$never)
      if (length(wrong)) paste0(as.character(x[[2]]), "(", wrong, ")")
    }))
  }
  wrong <- setdiff(unlist(lapply(r_files(), of_file)), rules$except)
  if (length(wrong)) paste(wrong, "has a name that design/030-arguments.md does not know")
}

# A function written twice: the first is dead. A private function nobody calls: dead too.
gate_dead <- function() {
  text <- lapply(r_files(), source_lines)
  made_in <- function(lines) sub(" <- function.*", "", grep("^[A-Za-z_.]+ <- function", lines, value = TRUE))
  made <- unlist(lapply(text, made_in))
  everything <- c(unlist(text), unlist(lapply(file.path("src", engine_files()), source_lines)))
  words <- table(unlist(regmatches(everything, gregexpr("[A-Za-z_.]+", everything))))
  exported <- gsub("^export[(]\"?|\"?[)]$|^S3method[(]\"?|\"?[)]$", "", source_lines("NAMESPACE"))
  known <- c(gsub("\"|^[A-Za-z0-9]+::", "", gsub(",", ".", exported, fixed = TRUE)), "options_rd",
             ".onLoad", ".onAttach", ".onUnload")
  uses <- words[made]
  c(if (anyDuplicated(made)) paste(unique(made[duplicated(made)]), "is defined twice"),
    if (any(uses == 1 & !made %in% known)) paste(made[uses == 1 & !made %in% known], "is never used"))
}

# Models are R on what every user has: of the package's own functions they call those that are exported, and these few
# words of the house.
house_words <- c("enclose", "ready_kernel", "kernel_rows", "matern_name", "random_directions", "compare_slices",
                 "distance_sums", "quietly_solved")

gate_models <- function() {
  is_model <- grepl("^R/model-", r_files())
  inside <- c(grep("^R/house-", r_files()[!is_model], value = TRUE, invert = TRUE), "R/RcppExports.R")
  made <- unlist(lapply(inside, function(file) made_and_used(expressions_of(file))$made))
  inner <- setdiff(made, c(exported_functions(), house_words))
  unlist(lapply(r_files()[is_model], function(file) {
    code <- utils::getParseData(parse(at_root(file), keep.source = TRUE))
    named <- unique(code$text[code$token %in% c("SYMBOL_FUNCTION_CALL", "SPECIAL")])
    wrong <- intersect(named, inner)
    if (length(wrong)) paste0(file, " calls ", wrong, "(), which is not exported")
  }))
}

# Finds functions of C++ that nothing in R/ calls. A function that tests alone call belongs in tests/windows/.
gate_called <- function() {
  made <- sub(" <- .*", "", grep("^r_\\w+ <- ", source_lines("R/RcppExports.R"), value = TRUE))
  words <- unlist(strsplit(unlist(lapply(r_files(), source_lines)), "[^A-Za-z0-9_.]+"))
  if (length(idle <- setdiff(made, words))) paste0(idle, "() is called by nothing in R/")
}

# A comment begins with a verb, or with an article and a noun. These words begin an answer without its question.
no_subject <- paste0("^(How|Why|What|Of|Where|Those|The same|Is|Can|And|As|Are|Does|Do|Has|Have|Which|Who|Whose|That|",
                     "These|This|So|By|From|With|Without|But|Or|Not|At|On|When|Beyond|Up to|Than|There|It|They|Among|",
                     "Between|Beside|After|Before|Until|Since|Like|Such)\\b")

gate_openings <- function() {
  own <- function(folder) pages_in(folder, "[.](R|cpp|hpp|cuh|cu|def|h)$")
  files <- c(unlist(lapply(c("R", "src", "inst/include", "tests", "tools", "bench"), own)), pages_in("tools", "[.]sh$"),
             "Makefile", ".ci/run", "configure", "configure.win", "cleanup", "cleanup.win", "tools/hooks/pre-commit")
  unlist(lapply(Filter(Negate(is_generated), files), function(file) {
    mark <- if (grepl("[.](cpp|hpp|cuh|cu|def|h)$", file)) "^//(?! ---)" else "^#(?!'|!| ---)"
    lines <- trimws(source_lines(file))
    comment <- grepl(mark, lines, perl = TRUE)
    first <- comment & !c(FALSE, comment[-length(comment)])[seq_along(comment)]
    text <- trimws(gsub("^[#/]+", "", lines))
    at <- which(first & grepl(no_subject, text, perl = TRUE))
    if (length(at)) sprintf("%s:%d begins without a subject: %s", file, at, substr(text[at], 1, 40))
  }))
}

# --- size and lists ------------------------------------------------------------------------------------

is_generated <- function(file) grepl("-gen[.]|[.]def$|RcppExports", file)

gate_first_line <- function() {
  files <- c(file.path("src", engine_files()), file.path("inst/include/kernweave", header_files()), r_files())
  bare <- Filter(function(file) !grepl("^(//|#)", source_lines(file)[1]), files)
  if (length(bare)) paste(bare, "does not say its job in its first line")
}

gate_size <- function() {
  files <- c(file.path("src", engine_files()), file.path("inst/include/kernweave", header_files()), r_files(),
             file.path("tests/testthat", list.files(at_root("tests/testthat"), pattern = "[.]R$")))
  lines <- vapply(files, function(file) length(source_lines(file)), 0L)
  limit <- ifelse(grepl("^tests", files), 300L, 400L)
  long <- lines > limit & !is_generated(files)
  if (any(long)) paste0(files[long], " has ", lines[long], " lines, more than ", limit[long])
}

# Lines of code and of pages have 120 columns at most. Rows of tables are as long as they are.
gate_columns <- function() {
  code <- c(file.path("src", engine_files()), file.path("inst/include/kernweave", header_files()),
            pages_in("bench", "[.](cpp|hpp)$"), pages_in("tests", "[.](cpp|cu|hpp)$"))
  scripts <- c(r_files(), pages_in("bench", "[.]R$"), pages_in("tests/testthat", "[.]R$"),
               pages_in("tools", "[.](R|sh)$"))
  pages <- c("README.md", "NEWS.md", "CONTRIBUTING.md", pages_in("design", "[.]md$"), pages_in("bench/notes", "[.]md$"),
             pages_in("vignettes", "[.]Rmd$"))
  unlist(lapply(c(code, scripts, pages), function(file) {
    lines <- source_lines(file)
    row <- if (file %in% pages) "^([|]|```)" else if (is_generated(file)) "^[A-Z0-9_]+[(]" else "^$"
    wide <- which(nchar(lines) > 120 & !grepl(row, lines))
    if (length(wide)) paste0(file, ":", wide, " has more than 120 columns")
  }))
}

# Code that a page shows has 80 columns at most, since the site cuts off what is wider.
gate_listings <- function() {
  pages <- c("README.md", pages_in("vignettes", "[.]Rmd$"))
  unlist(lapply(pages, function(file) {
    lines <- source_lines(file)
    fence <- grepl("^ *```", lines)
    inside <- cumsum(fence) %% 2 == 1 & !fence
    hidden <- grepl("(echo|include) *= *FALSE", lines[fence])[cumsum(fence)[inside]]  # code that the page leaves out
    if (any(grepl("opts_chunk[$]set.*echo = FALSE", lines))) hidden[] <- TRUE
    wide <- which(inside)[!hidden & nchar(lines[inside]) > 80]
    c(if (length(wide)) paste0(file, ":", wide, " is code of more than 80 columns"),
      if (sum(fence) %% 2) paste(file, "has a listing without an end"))
  }))
}

# Finds files outside expr/ that know operations by their names, case by case: the row of an operation tells what it
# does. A condition may name one or two operations that a formula is made of.
gate_operations <- function() {
  by_name <- "case Op::[A-Z]|([=!]= Op::[A-Z].*){3}"
  unlist(lapply(grep("^expr/", engine_files(), value = TRUE, invert = TRUE), function(file) {
    at <- grep(by_name, source_lines(file.path("src", file)))
    if (length(at)) paste0("src/", file, ":", at, " knows operations by name")
  }))
}

# No compiled file has much more code than it had, where objects are there.
gate_compiled <- function() {
  compiled <- new.env()
  sys.source(at_root("tools/compiled.R"), envir = compiled)
  compiled$too_large(root)
}

# Lengths of the functions of a file: from a line that opens a brace at the margin (or one step in, for
# members) to the brace that closes it there.
function_lengths <- function(file) {
  lines <- source_lines(file)
  opens <- grep("^( {2})?[A-Za-z~].*[)].*[{]$|<- function.*[{]$", lines)
  opens <- opens[!grepl("^ *(struct|class|namespace|enum|for|if|while|switch|else)\\b", lines[opens])]
  closes <- grep("^( {2})?[}]", lines)
  vapply(opens, function(open) {
    indent <- sub("[^ ].*", "", lines[open])
    ends <- closes[closes > open & sub("[^ ].*", "", lines[closes]) == indent]
    if (length(ends)) ends[1] - open + 1 else 0
  }, 0)
}

gate_functions <- function() {
  files <- c(file.path("src", engine_files()), r_files())
  lengths <- unlist(lapply(files, function_lengths))
  names(lengths) <- rep(files, vapply(files, function(file) length(function_lengths(file)), 0L))
  tenth <- stats::quantile(lengths, 0.9)
  c(if (tenth > 30) paste("one function in ten has more than", tenth, "lines"),
    if (any(lengths > 60)) paste(names(lengths)[lengths > 60], "has a function of", lengths[lengths > 60], "lines"))
}

# Lines that a room may have. Who needs more takes them from elsewhere, or says in the commit why the house grows.
most_lines <- c(arrays = 3641, `arrays/cuda` = 2560, axes = 300, base = 1289, `r_*` = 4245, cpu = 6367, cuda = 3966,
                device = 1415, distance = 3240, execute = 1561, expr = 4636, far = 3915, lanes = 926, pairs = 1262,
                plan = 2609, reference = 400, schedule = 926, solve = 5396, trees = 848, `kernweave/arrays` = 280,
                kernweave = 2876, `kernweave/gpu` = 3710, R = 42480)

gate_totals <- function() {
  sizes <- room_sizes()
  own <- sub("^inst/include/", "", sub("^src/", "", sizes$room))
  most <- most_lines[own]
  over <- which(sizes$lines > most)
  if (length(over)) paste0(own[over], " has ", sizes$lines[over], " lines, more than ", most[over])
}

# Lines and functions of each room, for those who ask.
room_sizes <- function() {
  files <- c(file.path("src", engine_files()), file.path("inst/include/kernweave", header_files()), r_files(),
             file.path("tests/testthat", list.files(at_root("tests/testthat"), pattern = "[.]R$")))
  room <- ifelse(grepl("^src/[a-z]+/", files), sub("/[^/]*$", "", files),
                 ifelse(grepl("^src", files), "src/r_*", sub("/[^/]*$", "", files)))
  room <- sub("kernweave/(op|red)$", "kernweave", room)
  lines <- vapply(files, function(file) length(source_lines(file)), 0L)
  lengths <- lapply(files, function_lengths)
  do.call(rbind, lapply(unique(room), function(r) {
    own <- unlist(lengths[room == r])
    data.frame(room = r, files = sum(room == r), lines = sum(lines[room == r]), functions = length(own),
               median = if (length(own)) stats::median(own) else NA,
               p90 = if (length(own)) unname(stats::quantile(own, 0.9)) else NA)
  }))
}

# Lists pages. Names of files are looked for in whole pages, and in the comments alone of code. The log in bench/notes/
# keeps the names of its day, so only the results it names are looked for.
pages_in <- function(folder, pattern) {
  file.path(folder, list.files(at_root(folder), pattern = pattern, recursive = TRUE))
}

named_files <- function(file, pattern) {
  lines <- source_lines(file)
  mark <- if (grepl("[.](cpp|hpp|cu|cuh|def)$", file)) "//" else if (grepl("[.]R$", file)) "#"
  if (!is.null(mark)) {
    comments <- sub(paste0("^.*?", mark), "", lines, perl = TRUE)
    lines <- ifelse(grepl(mark, lines, fixed = TRUE), comments, "")
  }
  unique(unlist(regmatches(lines, gregexpr(pattern, lines, perl = TRUE))))
}

# Files that a page tells its reader to make.
made_by_readers <- c("inst/include/kernweave/red/energy.hpp")

# A file named in a page or a comment exists, by its whole path or the end of it.
gate_lists <- function() {
  folders <- c("R", "src", "inst", "tests", "tools", "bench", "design", "vignettes", "man")
  have <- c(list.files(root), unlist(lapply(folders, function(folder) pages_in(folder, ""))), made_by_readers)
  logs <- pages_in("bench/notes", "[.]md$")
  pages <- c("README.md", "NEWS.md", "CONTRIBUTING.md", "Makefile", pages_in("design", "[.]md$"),
             pages_in("vignettes", "[.]Rmd$"), r_files(), file.path("src", engine_files()),
             file.path("inst/include/kernweave", header_files()), pages_in("bench", "[.](R|cpp|hpp)$"),
             pages_in("tests/testthat", "[.](R|cpp|cu|hpp)$"))
  name <- "(?<![A-Za-z0-9_.*<>/-])[A-Za-z0-9_][A-Za-z0-9_./-]*[.](hpp|cpp|cuh|cu|def|Rmd|md|R|sh)(?![A-Za-z0-9_(])"
  result <- "bench/results/[A-Za-z0-9_.-]*[A-Za-z0-9]"
  exists <- function(named) vapply(named, function(one) any(endsWith(paste0("/", have), paste0("/", one))), NA)
  unlist(lapply(c(pages, logs), function(page) {
    named <- named_files(page, if (page %in% logs) result else name)
    gone <- named[!exists(named)]
    if (length(gone)) paste(page, "names", gone, "which does not exist")
  }))
}

# Checks that design notes name code that exists: a type or a function is in the file that is named with it, as in
# "`expand()` in `src/plan/contract.cpp`" or "(`Pass`, `src/cpu/pass.hpp`)", and other types are somewhere. The diary
# speaks to users, of the code as it was.
gate_words <- function() {
  words_of <- function(files) unique(unlist(strsplit(unlist(lapply(files, source_lines)), "[^A-Za-z0-9_]+")))
  everywhere <- words_of(c(file.path("src", engine_files()), file.path("inst/include/kernweave", header_files())))
  placed <- "`([A-Za-z_:]+)([(][)])?`(,| in) `((?:src|inst|R)/[^` ]+)`"
  unlist(lapply(setdiff(pages_in("design", "[.]md$"), "design/diary.md"), function(page) {
    text <- paste(source_lines(page), collapse = " ")
    pairs <- regmatches(text, gregexpr(placed, text, perl = TRUE))[[1]]
    names <- sub(placed, "\\1", pairs, perl = TRUE)
    files <- sub(placed, "\\4", pairs, perl = TRUE)
    there <- mapply(function(name, file) all(strsplit(name, "::")[[1]] %in% words_of(file)), names, files)
    types <- gsub("`", "", regmatches(text, gregexpr("`[A-Z][a-z]+([A-Z][a-z]+|::[a-z_]+)+`", text))[[1]])
    gone <- setdiff(unlist(strsplit(types, "::")), everywhere)
    c(if (!all(as.logical(there))) paste(page, "looks for", names[!there], "in", files[!there]),
      if (length(gone)) paste(page, "speaks of", gone, "which is nowhere in the code"))
  }))
}

# A type's name means one thing in the house. Both engines may have a pass, a panel or a strip each, arrays an operator
# for a reduction; what else is named twice is counted, and the count may only fall.
shared_types <- list(
  `in both engines` = c("Instruction", "Layout", "Operand", "Packed", "PairScope", "PairWriter", "Panel", "Pass",
                        "Passes", "PassRun", "Product", "Products", "ReadyPass", "Screen", "Strip", "Taken", "Unit",
                        "Written"),
  `on host and device` = c("Open", "Partners", "StayBefore"),
  `in two libraries of CUDA` = "Status", `in two states` = "Sums",
  `in the table and in instructions` = "Inputs")
# Each lane has its mask and what that answers; a reduction may be an operator of arrays, on host and device.
types_of_families <- c(Mask = 5, Answer = 2, Any = 2, ArgMin = 2, LogSumExp = 2, Max = 2, Mean = 2, Min = 3, Prod = 3,
                       Sum = 3)
types_named_twice <- 15

type_names <- function() {
  opens <- paste0("^\\s*(?:template\\s*<.*>\\s*)?(?:struct|class|enum(?: class)?)\\s+(?:alignas\\([^)]*\\)\\s*)?",
                  "([A-Z]\\w*)\\s*(?::[^:].*)?\\{.*")
  alias <- "^(?:template\\s*<.*>\\s*)?using\\s+([A-Z]\\w*)\\s*=.*"
  files <- c(file.path("src", engine_files()), file.path("inst/include/kernweave", header_files()))
  do.call(rbind, lapply(files, function(file) {
    lines <- source_lines(file)
    again <- grepl("^using\\s+(\\w+)\\s*=\\s*(\\w+::)*\\1\\b(<.*>)?;", lines, perl = TRUE)
    named <- lapply(c(opens, alias), function(pattern) {
      sub(pattern, "\\1", grep(pattern, lines[!again], value = TRUE, perl = TRUE), perl = TRUE)
    })
    if (length(unlist(named))) data.frame(file, name = unique(unlist(named)))
  }))
}

gate_types <- function() {
  found <- type_names()
  files <- tapply(found$file, found$name, c, simplify = FALSE)
  allowed <- stats::setNames(rep(1, length(files)), names(files))
  allowed[intersect(unlist(shared_types), names(files))] <- 2
  allowed[intersect(names(types_of_families), names(files))] <- types_of_families[intersect(names(types_of_families),
                                                                                            names(files))]
  twice <- files[lengths(files) > allowed]
  if (length(twice) == types_named_twice) return(NULL)
  c(paste("types_named_twice is", types_named_twice, "and", length(twice), "are"),
    if (length(twice) > types_named_twice) paste(names(twice), "is a type in", vapply(twice, toString, "")))
}

# The lines of a page's code in one language.
code_of_page <- function(page, language) {
  lines <- source_lines(page)
  fence <- grepl("^```", lines)
  opened_by <- c("", lines[fence])[cumsum(fence) + 1]
  lines[opened_by == paste0("```", language) & !fence]
}

# A function called in the README's code can be called by who reads it.
gate_readme <- function() {
  code <- parse(text = code_of_page("README.md", "r"))
  called <- unlist(lapply(code, function(line) setdiff(all.names(line), all.vars(line))))
  exports <- gsub("^export[A-Za-z]*[(]\"?|\"?[)]$", "", grep("^export", source_lines("NAMESPACE"), value = TRUE))
  unknown <- Filter(function(name) !exists(name, envir = globalenv()), setdiff(called, exports))
  if (length(unknown)) paste0("README.md calls ", unknown, "(), which is not exported")
}

# The site lists each help page and each article once.
gate_listed <- function() {
  listed <- gsub("^ *- |\"", "", grep("^  - ", source_lines("_pkgdown.yml"), value = TRUE))
  pages <- c(sub("^man/(.*)[.]Rd$", "`\\1`", pages_in("man", "[.]Rd$")),
             sub("^vignettes/(.*)[.]Rmd$", "\\1", pages_in("vignettes", "[.]Rmd$")))
  c(if (length(setdiff(pages, listed))) paste(setdiff(pages, listed), "is not listed in _pkgdown.yml"),
    if (length(setdiff(listed, pages))) paste(setdiff(listed, pages), "is listed in _pkgdown.yml and is no page"),
    if (anyDuplicated(listed)) paste(listed[duplicated(listed)], "is listed twice in _pkgdown.yml"))
}

# Lists the includes of each room: rooms to its left that its files name; last, the border.
room_includes <- function() {
  files <- engine_files()
  of <- vapply(files, room_of, "")
  lines <- tapply(files, ifelse(nzchar(of), of, "border"), function(own) {
    named <- unlist(lapply(file.path("src", own), included))
    sort(unique(sub("/.*", "", named[grepl("/", named)])), method = "radix")
  }, simplify = FALSE)
  order <- c(intersect(names(sort(rooms)), names(lines)), "border")
  vapply(order, function(room) {
    others <- setdiff(lines[[room]], room)
    sprintf("%-10s <- %s", room, paste(intersect(names(sort(rooms)), others), collapse = " "))
  }, "")
}

# Finds packages that tests name and DESCRIPTION does not: the check reports them after a quarter of an hour.
gate_packages <- function() {
  stated <- read.dcf(at_root("DESCRIPTION"), c("Package", "Depends", "Imports", "LinkingTo", "Suggests"))
  stated <- sub("[ (].*", "", trimws(unlist(strsplit(stated[!is.na(stated)], ","))))
  base <- rownames(utils::installed.packages(.Library, priority = "base"))
  unlist(lapply(list.files(at_root("tests/testthat"), "[.]R$", full.names = TRUE), function(file) {
    tokens <- utils::getParseData(parse(file, keep.source = TRUE))
    strange <- setdiff(tokens$text[tokens$token == "SYMBOL_PACKAGE"], c(stated, base))
    if (length(strange)) paste0(basename(file), " uses ", strange, ", which DESCRIPTION does not name")
  }))
}

# The page of the house says the same.
gate_page <- function() {
  lines <- trimws(source_lines("design/README.md"))
  missing <- setdiff(trimws(room_includes()), lines)
  if (length(missing)) paste0("design/README.md does not say: ", missing)
}

gates <- list(direction = gate_direction, rooms = gate_rooms, circles = gate_circles, callers = gate_callers,
              objects = gate_objects, fresh = gate_fresh, complete = gate_complete,
              row_grammar = gate_row_grammar, errors = gate_errors, dead = gate_dead, masks = gate_masks,
              withdrawn = gate_withdrawn, models = gate_models, called = gate_called, openings = gate_openings,
              first_line = gate_first_line, size = gate_size, totals = gate_totals, columns = gate_columns,
              listings = gate_listings,
              functions = gate_functions,
              operations = gate_operations, compiled = gate_compiled, lists = gate_lists,
              words = gate_words, types = gate_types, readme = gate_readme, page = gate_page, listed = gate_listed,
              packages = gate_packages, arguments = gate_arguments)

# All gates, or those that are named, which then alone are printed.
if (sys.nframe() == 0L) {
  named <- commandArgs(TRUE)
  held <- vapply(if (length(named)) named else names(gates), function(gate) {
    broken <- gates[[gate]]()
    cat(sprintf("%-12s %s\n", gate, if (length(broken)) paste(broken, collapse = "\n             ") else "holds"))
    !length(broken)
  }, NA)
  if (!length(named)) {
    print(room_sizes(), row.names = FALSE)
    writeLines(room_includes())
  }
  quit(status = if (all(held)) 0 else 1)
}
