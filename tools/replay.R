# Process replay: what the planner and both engines make of some thousand reductions, and the package's surface, as
# text. A change that is to change nothing leaves the text as it is; another one changes what it set out to.
#   Rscript tools/replay.R out.txt [pattern]             writes it, of the package that R finds, made with windows
#   Rscript tools/replay.R --compare a.txt b.txt [case]  a line for each case that differs, and its lines if it is named

root <- normalizePath(Sys.getenv("KERNWEAVE_SOURCE", "."))
at_root <- function(...) file.path(root, ...)
sections <- c("plan", "cpu", "cuda", "script", "price")
points_of_axis <- 1e5  # along both axes, as the engines are told
sys.source(at_root("tools/replay_surface.R"), envir = environment())

# --- cases --------------------------------------------------------------------------------------------------
# Each is a function that makes a reduction, or a list of some. Their data are small: no engine sees them.

helpers <- new.env()
load_helpers <- function() {
  for (file in c("cases", "formula", "random", "fused", "oracle", "oracle-reductions"))
    sys.source(at_root("tests/testthat", paste0("helper-", file, ".R")), envir = helpers)
}
cloud <- function(n, d = 3) matrix(stats::runif(n * d), n, d)

# The functions and tables that a script assigns at its top, without running the rest of it.
assigned_in <- function(file, into, until = NULL) {
  for (line in parse(at_root(file), keep.source = FALSE)) {
    is_assignment <- is.call(line) && identical(line[[1]], as.name("<-")) && is.name(line[[2]])
    if (is_assignment) try(eval(line, into), silent = TRUE)
    if (is_assignment && identical(as.character(line[[2]]), until)) break
  }
  into
}

pair_reductions <- function(table) {
  made <- lapply(table, function(case) function() {
    X <- Vi(cloud(7, case$D))
    B <- Vj(cloud(5, if (is.null(case$E)) 1 else case$E))
    op <- if (is.null(case$op)) "sum" else case$op
    R <- reduction(case$formula(X, Vj(cloud(5, case$D)), B), op, K = case$K, call = FALSE)
    if (isTRUE(case$gradient)) vjp(R, X, cotangent = cloud(7, 1), call = FALSE) else R
  })
  label <- function(case) paste0("bench ", case$name, " ", paste(unlist(case[c("D", "E", "M")]), collapse = " "))
  stats::setNames(made, make.unique(vapply(table, label, "")))
}

gpu_reductions <- function() {
  few <- new.env(parent = globalenv())
  few$on_device <- identity
  assigned_in("bench/gpu.R", few, "cases")
  few$unit_points <- function(n, d = 3) cloud(5, d)
  few$weights <- function(n, width = 1) Vj(cloud(5, width))
  stats::setNames(lapply(few$cases, `[[`, "make"), paste("gpu", vapply(few$cases, `[[`, "", "name")))
}

common_reductions <- function() {
  made <- list()
  for (index in c("j", "i")) local({
    index <- index
    w <- if (index == "j") 5 else 7
    made[[paste("common", index)]] <<- function() {
      helpers$common_pairs(cloud(7), cloud(5), cloud(w, 1), index, call = FALSE)
    }
    made[[paste("common wide", index)]] <<- function() {
      helpers$common_pairs(cloud(7, 12), cloud(5, 12), cloud(w, 4), index, call = FALSE)
    }
  })
  slopes <- assigned_in("tests/testthat/test-fused.R", new.env(parent = helpers))$slopes_of
  for (of in list("x", "y", "b", c("y", "b"), c("b", "x", "y"))) local({
    of <- of
    made[[paste("slopes", toString(of))]] <<- function() slopes(cloud(7), cloud(5), cloud(5, 1), of)
  })
  made
}

random_reductions <- function(seeds) {
  stats::setNames(lapply(seeds, function(seed) function() {
    formula <- helpers$random_formula(seed)
    helpers$reduction_behind(helpers$as_kernel(formula, "cpu"))
  }), paste("random", seeds))
}
random_gradients <- function(seeds) {
  stats::setNames(lapply(seeds, function(seed) function() {
    formula <- helpers$random_formula(seed)
    data <- helpers$random_operands(seed, 2, 3)
    names <- vapply(formula$operands, `[[`, "", "name")
    lazy <- lapply(formula$operands, function(o) helpers$operand_on(o$axis, data[[o$name]], o$name))
    parsed <- kernweave:::r_parse(formula$text, names, lapply(lazy, `[[`, "formula"), FALSE)$formula
    output <- kernweave:::sum_output(parsed, "i")
    R <- kernweave:::new_reduction(list(output), c(2, 3), extents = lapply(lazy, `[[`, "formula"))
    vjp(R, lazy, cloud(2, formula$width), call = FALSE)
  }), paste("random gradient", seeds))
}

operation_reductions <- function() {
  operations <- kernweave_operations()
  axes <- list(c("i", "j", "param"), c("j", "i", "i"), c("param", "j", "i"))
  stats::setNames(lapply(seq_len(nrow(operations)), function(k) function() {
    row <- operations[k, ]
    made <- list()
    for (shape in helpers$accepted_shapes(row, 3, most = 2)) for (order in axes) {
      rows <- c(i = 7, j = 5, param = 1)
      smooth <- shape$kinds == "real"
      arguments <- Map(function(width, kind, axis) {
        data <- cloud(rows[[axis]], width)
        helpers$operand_on(axis, if (kind == "logical") data > 0.5 else data, paste0("arg_", axis))
      }, shape$widths, shape$kinds, order[seq_along(shape$widths)])
      F <- kernweave:::r_lazy_call(row$name, unname(arguments), shape$attributes)
      index <- if (kernweave:::has_axis(F, "j")) "j" else if (kernweave:::has_axis(F, "i")) "i"
      if (is.null(index)) next
      R <- reduction(F, "sum", index = index, call = FALSE)
      kept <- c(i = 5, j = 7)[[index]]
      made <- c(made, list(R, if_there(vjp(R, unname(arguments[smooth]), cloud(kept, width(F)), call = FALSE))))
    }
    made
  }), paste("operation", operations$name))
}

reduction_reductions <- function() {
  reductions <- kernweave_reductions()
  stats::setNames(lapply(seq_len(nrow(reductions)), function(k) function() {
    row <- reductions[k, ]
    X <- Vi(cloud(7))
    Y <- Vj(cloud(5))
    logical <- helpers$wants_logical(row)
    d <- sqdist(X, Y)
    values <- list(d, -d / 2, sum(X * Y), exp(-sqrt(d)) * elem(Y, 1), X * Y, -sum(abs(X - Y)))
    if (logical) values <- lapply(values, function(F) F > 0.5)
    weights <- list(NULL, Vj(cloud(5, 1)), Vi(cloud(7, 2)))
    made <- list()
    for (F in values) for (index in c("j", "i", "ij")) for (weight in weights) for (K in list(NULL, 3)) {
      R <- if_there(reduction(F, row$fn, index = index, weight = weight, K = K, call = FALSE))
      made <- c(made, list(R))
    }
    made
  }), paste("reduction", reductions$fn))
}

# Factors of one axis, sums that separate, signs, numbers and points that stand in several places.
shaped_reductions <- function() {
  X <- Vi(cloud(7))
  Y <- Vj(cloud(5))
  a <- Vi(cloud(7, 1))
  b <- Vj(cloud(5, 1))
  B <- Vj(cloud(5, 4))
  p <- Pm(0.7)
  d <- sqdist(X, Y)
  middle <- sqdist(Vi(cloud(7, 6)), Vj(cloud(5, 6)))
  wide <- sqdist(Vi(cloud(7, 40)), Vj(cloud(5, 40)))
  rows <- c(1, 3, 2, 7, 5, 5, 1)
  formulas <- list(
    a * exp(-d) * b, exp(-d) / a * b, -exp(-d) * b, 2 * exp(-d) * b, -2 * p * a * exp(-p * d) * b, p * exp(-d / p) * B,
    a * b, a + b, (X | Y) * b, (a + 1) * (b + 2), a * exp(-d) * b + b, exp(-d) * b - exp(-2 * d) * b,
    a * exp(-wide) * b, exp(-wide) * B, a * exp(-wide / 2) * B, exp(a - d) * b, exp(b - d), exp(-d + a + b),
    exp(-p * d) * (X - Y), exp(-p * d) * (X - Y) * b, a * (X - Y) * exp(-sqrt(d)), 1 / (1 + p * d), 1 / sqrt(p + d),
    1 / (a + d) * b, log(1 + d) * b, d * log(d), sqrt(1 + d) * b, (1 + sqrt(3 * d)) * exp(-sqrt(3 * d)) * b,
    (sum(X * Y) + 0.5)^3 * b, tanh(p * sum(X * Y) + 1) * b, exp(sum(X * Y) - a) * b, (d + 1) * (d + 2) - d / (d + 3),
    exp(-d) * exp(-wide), sum((X - Y)^2 / (1 + (X - Y)^2)) * exp(-d), sum(abs(X - Y)) + a, sum(abs(X - Y)) + b * a,
    sqdist(X, Y) + sqdist(2 * X, Y) * a, min2(d, 1) * b, abs(sin(X) - sin(Y) * tanh(X * Y)), sqdist(p * X, p * Y) * b,
    exp(-sqdist(X / p, Y / p)) * b, exp(-weighted_sqdist(Pm(c(1, 2, 3)), X, Y)) * b, X[rows, ] * Y,
    sqdist(X[rows, ], Y) * a, b - d, exp(a * b - middle), exp(-middle + b) * a, 1 / (1 + middle) * b
  )
  made <- function(F) function() {
    reduced <- function(op, index) if_there(reduction(F, op, index = index, call = FALSE))
    sums <- lapply(c("j", "i", "ij"), function(index) reduced("sum", index))
    others <- lapply(c("mean", "min", "logsumexp"), function(op) reduced(op, "j"))
    gradient <- function(by) if_there(vjp(sums[[1]], by, cloud(7, width(F)), call = FALSE))
    gradients <- lapply(list(X, Y, a, b, p), gradient)
    c(sums, others, gradients)
  }
  stats::setNames(lapply(formulas, made), sprintf("shaped %02d", seq_along(formulas)))
}
if_there <- function(made) tryCatch(made, kernweave_error = function(e) NULL)

all_cases <- function() {
  load_helpers()
  counted <- assigned_in("bench/instructions.R", new.env(parent = globalenv()), "counted_cases")$counted_cases
  bench <- assigned_in("bench/cases.R", new.env(parent = globalenv()))$pair_cases
  c(pair_reductions(c(bench, counted)), gpu_reductions(), common_reductions(), shaped_reductions(),
    reduction_reductions(), operation_reductions(), random_reductions(1:200), random_gradients(1:60))
}

# Returns restrictions of pairs, in each way to say them.
pair_restrictions <- function() {
  i <- row_index()
  j <- col_index()
  sorted <- rep(1:9, times = c(1, 40, 3, 200, 7, 90, 300, 58, 1))
  some <- cbind(c(1, 101, 351), c(100, 350, 700))
  pattern <- with(list(at = (1:4000 * 7919) %% 350000), {
    Matrix::sparseMatrix(i = at %% 700 + 1, j = at %/% 700 + 1, dims = c(700, 500))
  })
  list(sorted = list(by = list(sorted[1:700], sorted[1:500])), groups = list(by = list((1:700) %% 5, (1:500) %% 7)),
       triangle = list(where = i < j), band = list(where = abs(i - j) < 30), diagonal = list(exclude_diag = TRUE),
       times = list(where = Vj(sort(cloud(500, 1))) < Vi(sort(cloud(700, 1)))), pattern = list(where = pattern),
       blocks = list(ranges = ranges(some, cbind(c(1, 201, 400), c(150, 320, 500)),
                                     cbind(c(1, 1, 2, 3), c(1, 3, 2, 3)))))
}

# Their units of work, as the CPU deals them out along either axis: rows and columns of each span of each unit.
work_texts <- function() {
  texts <- lapply(pair_restrictions(), function(said) {
    F <- do.call(restrict, c(list(sqdist(Vi(cloud(700, 2)), Vj(cloud(500, 2)))), said))
    map <- kernweave:::pair_argument(F$pairs, c(700, 500))
    of <- function(along_i, grouped) {
      units <- .External(kernweave:::window_units, map, along_i, 256L, 128L, grouped)
      c(paste(if (along_i) "along i" else "along j", if (grouped) "grouped"), apply(units, 2, paste, collapse = " "))
    }
    c("-- work", of(TRUE, FALSE), of(FALSE, FALSE), of(TRUE, TRUE))
  })
  stats::setNames(texts, paste("work", names(texts)))
}

# Returns the plans of approximations as text: the cut of the formula, levels, bounds.
far_texts <- function() {
  kernels <- list(gaussian = function(s) exp(-s), energy = function(s) -sqrt(s), factor = function(s) s * exp(-sqrt(s)),
                  matern = function(s) (1 + sqrt(3 * s)) * exp(-sqrt(3 * s)), cut = function(s) relu(1 - s))
  texts <- list()
  for (d in 1:3) for (name in names(kernels)) for (certify in c("audit", "proof")) {
    K <- Vi(cloud(3000, 1)) * kernels[[name]](sqdist(Vi(cloud(3000, d)), Vj(cloud(2000, d))) / 0.2^2)
    A <- approximate(lazy_set(K, device = "cpu"), c(1e-8, 1e-5, 1e-4)[d], certify)
    texts[[paste("far", name, d, certify)]] <- c("-- far", utils::capture.output(print(explain(A), digits = 12)))
  }
  texts
}

# --- text ---------------------------------------------------------------------------------------------------

text_of <- function(R, precision) {
  options <- list(precision = precision, rewrite = TRUE, checks = FALSE, pairs = !is.null(R$pairs))
  text <- tryCatch(.External(kernweave:::window_replay, R$outputs, R$extents, options, points_of_axis),
                   kernweave_error = function(e) c(plan = conditionMessage(e)))
  lines <- function(section) if (section %in% names(text)) strsplit(text[[section]], "\n", fixed = TRUE)[[1]]
  unlist(lapply(sections, function(section) c(paste("--", section), lines(section))))
}

# Reductions of a case, numbered where there are several.
reductions_of <- function(name, make) {
  set.seed(1)
  made <- make()
  if (inherits(made, "lazy_reduction")) return(stats::setNames(list(made), name))
  if (is.null(names(made))) names(made) <- sprintf("%02d", seq_along(made))
  made <- Filter(function(R) inherits(R, "lazy_reduction"), made)
  stats::setNames(made, paste(name, names(made), sep = ": "))
}

write_replay <- function(to, pattern = "") {
  library(kernweave)
  isa <- intersect(c("avx2", "base"), .External(kernweave:::window_instruction_sets))[1]
  kernweave:::r_use_instructions(isa)
  cases <- all_cases()
  cases <- cases[grepl(pattern, names(cases))]
  texts <- list()
  for (name in sort(names(cases), method = "radix")) {
    reductions <- reductions_of(name, cases[[name]])
    for (label in names(reductions)) for (precision in c("float64", "float32"))
      texts[[paste(label, precision)]] <- text_of(reductions[[label]], precision)
  }
  set.seed(1)
  others <- c(work_texts(), far_texts(), axis_texts(), api_texts(), page_texts())
  texts <- c(texts, others[grepl(pattern, names(others))])
  lines <- unlist(lapply(names(texts), function(name) c(paste("==", name), texts[[name]])))
  writeLines(c(paste("instructions of", isa), lines), to)
  cat(length(texts), "cases,", length(lines), "lines\n")
}

# --- comparison -----------------------------------------------------------------------------------------------

# Lines by case and section.
read_replay <- function(file) {
  lines <- readLines(file)
  lines <- lines[cumsum(startsWith(lines, "== ")) > 0]
  case <- cumsum(startsWith(lines, "== "))
  names <- substring(lines[startsWith(lines, "== ")], 4)
  lapply(stats::setNames(split(lines, case), names), function(text) {
    section <- cumsum(startsWith(text, "-- "))
    stats::setNames(split(text[section > 0], section[section > 0]), substring(text[startsWith(text, "-- ")], 4))
  })
}

# Lines that one has and the other has not, an arrow before each.
differing_lines <- function(a, b) {
  files <- c(tempfile(), tempfile())
  on.exit(unlink(files))
  writeLines(a, files[1])
  writeLines(b, files[2])
  suppressWarnings(system2("diff", files, stdout = TRUE))
}

compare_replays <- function(a, b, shown = NULL) {
  before <- read_replay(a)
  after <- read_replay(b)
  both <- intersect(names(before), names(after))
  for (name in setdiff(names(before), both)) cat(name, ": gone\n", sep = "")
  for (name in setdiff(names(after), both)) cat(name, ": new\n", sep = "")
  differing <- function(name) {
    known <- intersect(names(before[[name]]), names(after[[name]]))  # a section that is new differs from nothing
    known[!mapply(identical, before[[name]][known], after[[name]][known])]
  }
  differ <- Filter(function(name) length(differing(name)) > 0, both)
  for (name in differ) {
    where <- differing(name)
    found <- lapply(where, function(section) differing_lines(before[[name]][[section]], after[[name]][[section]]))
    counts <- vapply(found, function(l) sprintf("-%d +%d", sum(startsWith(l, "<")), sum(startsWith(l, ">"))), "")
    cat(name, ": ", paste(where, counts, collapse = ", "), "\n", sep = "")
    if (!is.null(shown) && grepl(shown, name)) writeLines(unlist(found))
  }
  cat(length(differ), "of", length(both), "cases differ\n")
}

if (sys.nframe() == 0L) {
  given <- commandArgs(TRUE)
  if (identical(given[1], "--compare")) do.call(compare_replays, as.list(given[-1]))
  else do.call(write_replay, as.list(given))
}
