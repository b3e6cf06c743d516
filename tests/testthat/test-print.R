# Tests that what is shown is short, true and readable.

x <- matrix(0.5, 4, 3)
y <- matrix(0.25, 5, 3)
X <- Vi(x)
Y <- Vj(y)
K <- exp(-sqdist(X, Y) / (0.1 * 0.2))
R <- sum(K, index = "j", call = FALSE)
lines_of <- function(code) utils::capture.output(code)

test_that("numbers are shown to as many digits as R's own, or as asked for", {
  expect_identical(format(K), "exp(-sqdist(x, y) / 0.02)")
  expect_match(format(K, digits = 17), "/ 0.0200000000000000", fixed = TRUE)
  for (number in c(pi, 1 / 3, 1e-20 / 3, 2^60 / 3, 12345678, 0.0001, 1e-5, 100)) {
    shown <- sub(".* [*] ", "", format(X * number))
    expect_equal(as.numeric(shown), number, tolerance = 1e-6, label = shown)
    expect_lte(nchar(shown), 12)
    expect_identical(as.numeric(sub(".* [*] ", "", format(X * number, digits = 17))), number)
    expect_equal(as.numeric(sub(".* [*] ", "", format(X * number, digits = 3))), as.numeric(format(number, digits = 3)))
  }
  expect_identical(format(Vi(1:3, name = "x1.23456789") * pi), "x1.23456789 * 3.141593")
  expect_match(lines_of(print(K * pi, digits = 3))[2], "* 3.14", fixed = TRUE)
  expect_match(format(sum(K * pi, index = "j", call = FALSE), digits = 3), "* 3.14", fixed = TRUE)
  expect_error(format(K, digits = -1), class = "kernweave_error_input")
})

test_that("an operand that is read along both axes is written with the axis, as written and as planned", {
  places <- matrix(c(1, 2, 4, 8, 3, 5), 3)
  P <- Vi(places)
  A <- Vij(diag(3))
  both <- "sqdist(Vi(places), Vj(places))"
  texts <- list(
    list(kernel_gaussian(P), paste0("exp(-0.5 * ", both, ")")),
    list(kernel_laplacian(P / 3), "exp(-sqrt(sqdist(Vi(places) / 3, Vj(places) / 3)))"),
    list(t(t(P) + 2) * t(P), "(Vi(places) + 2) * Vj(places)"), list(t(2 - P) / P, "(2 - Vj(places)) / Vi(places)"),
    list(t(P[3:1, ])[, 1:2], "Vj(places)[, rows][, columns]"),
    list(t(sqdist(P, Vj(y[1:3, 1:2]))), "t(sqdist(places, y))"),
    list(A - t(A), "A - t(A)"), list(t(row_index()) - row_index(), "col_index() - row_index()"),
    list(kernel_gaussian(places, y[1:4, 1:2]), "exp(-0.5 * sqdist(x, y))")
  )
  for (one in texts) expect_identical(format(one[[1]]), one[[2]])
  planned <- lines_of(print(explain(sqdist(P, t(P)) * (A - t(A)))))
  for (line in c(paste0("  sum over j of ", both, " * (A - t(A))"), paste0("  ", both, " * (A - t(A))"))) {
    expect_true(line %in% planned, label = line)
  }
  expect_match(planned, paste("=", both), fixed = TRUE, all = FALSE)
  expect_match(planned, "= subtract(A, t(A))", fixed = TRUE, all = FALSE)
})

test_that("the number 1 is no factor: nothing is built where real values are multiplied or divided by it", {
  for (same in list(K * 1, 1 * K, K / 1, kernel_matern(X, Y, nu = 1 / 2) / 1)) {
    expect_no_match(format(same), "[*/] 1|1 [*]")
  }
  expect_identical(K * 1, K)
  expect_identical(format(kernel_periodic(X, Y)), "exp(-2 * sum(square(sinpi(x - y))))")
  expect_identical(format(1 / K), paste("1 /", format(K)))
  expect_identical(format((K < 1) * 1), paste0("(", format(K), " < 1) * 1"))
  expect_equal(as.matrix((K < 1) * 1 + 1L * Vi(1:4)), (as.matrix(K) < 1) + matrix(1:4, 4, 5))
  scale <- gradient(function(s) sum(K * s, index = "ij"))(1)
  expect_equal(scale$s, sum(as.matrix(K)))
})

test_that("a long formula is cut where asked, a short one is whole", {
  long <- Reduce(`+`, rep(list(X), 300))
  text <- paste(trimws(grep("^  [^`]", lines_of(print(long)), value = TRUE)), collapse = " ")
  expect_lt(nchar(text), 520)
  expect_match(text, "[.]{3}$")
  expect_identical(lengths(regmatches(format(long), gregexpr("x", format(long)))), 300L)
})

test_that("explain() shows few digits and keeps all", {
  shown <- explain(K / 3)
  digits <- function(lines) max(nchar(gsub("[^0-9]", "", unlist(regmatches(lines, gregexpr("[0-9.]+", lines))))))
  formulas <- function(...) grep("exp2?[(]", lines_of(print(shown, ...)), value = TRUE)
  expect_lte(digits(formulas()), 8)
  expect_lte(digits(formulas(digits = 3)), 4)
  expect_match(paste(shown$passes$outcome, collapse = " "), "72.1347520444", fixed = TRUE)
})

test_that("other forms of a formula are shown without arithmetic of numbers", {
  points <- matrix(seq_len(60) / 60, 6)
  for (K in list(K, exp(-sqdist(Vi(points), Vj(points)) / 0.3))) {
    forms <- explain(K)$passes
    forms <- forms$outcome[forms$pass %in% c("contract", "expand", "scale")]
    expect_length(forms, 2)
    expect_no_match(forms, "sign|abs|sqrt|-[(]-")
  }
})

test_that("what folds components says that it is still lazy", {
  for (one in list(sum = sum(K), min = min(K), max = max(K), mean = mean(K), sum = sum(X - Y), mean = mean(X - Y))) {
    expect_match(tail(lines_of(print(one)), 1), "over components, still lazy; index = \"j\" reduces the pairs")
  }
  expect_match(tail(lines_of(print(mean(X - Y))), 1), "^  mean over")
  for (other in list(K, sqdist(X, Y), X, sum(X - Y) / 2, exp(sum(X - Y)), sum(X) / sum(Y), 3 / sum(X))) {
    expect_no_match(lines_of(print(other)), "still lazy")
  }
})

test_that("str() is a line, of a tensor, of a reduction, within a list", {
  gradient <- vjp(R, list(X, Y), call = FALSE)
  for (object in list(K, X, R, gradient, lazy_set(R, device = "cpu"))) expect_length(lines_of(str(object)), 1)
  expect_output(str(K), "<lazy tensor> 4 x 5 pairs, real: exp(-sqdist(x, y) / 0.02)", fixed = TRUE)
  expect_output(str(R), "<lazy reduction> sum over j of exp(-sqdist(x, y) / 0.02); ready", fixed = TRUE)
  expect_output(str(gradient), "and 1 more; waits for `cotangent`", fixed = TRUE)
  expect_length(lines_of(str(list(K = K, R = R))), 3)
  expect_lt(max(nchar(lines_of(str(Reduce(`+`, rep(list(K), 100)))))), 120)
})

test_that("functions of data show formula, variables and settings, and are called as any other", {
  f <- kernel_op("exp(-s * sqdist(x, y)) * 3.14159265358", c("x = Vi(3)", "y = Vj(3)", "s = Pm(1)"), threads = 2)
  lines <- c("<function> of `x`, `y`, `s`", "  sum over j of exp(-s * sqdist(x, y)) * 3.141593",
             "  `x` along i (placeholder, width 3)", "  `y` along j (placeholder, width 3)",
             "  `s` parameter (placeholder, width 1)", "  set: threads = 2")
  expect_identical(lines_of(print(f)), lines)
  expect_identical(lines_of(print(f, digits = 3))[2], sub("3.141593", "3.14", lines[2]))
  expect_identical(format(f), trimws(lines[2]))
  expect_identical(lines_of(str(f)), paste0(lines[1], ":", sub(" ", "", lines[2])))
  expect_true(is.function(f))
  expected <- rowSums(exp(-2 * as.matrix(sqdist(X, Y)))) * pi
  expect_equal(as.vector(f(x, y, 2)), expected)
  expect_equal(as.vector(do.call(f, list(s = 2, y = y, x = x))), expected)
  expect_equal(unlist(lapply(list(list(x, y, 2)), f)), expected)
  waits <- as.function(sum(exp(-sqdist(Vi(dim = 3, name = "z"), Y)), index = "j"))
  expect_identical(lines_of(print(waits))[1:2], c("<function> of `z`", "  sum over j of exp(-sqdist(z, y))"))
  expect_identical(names(formals(waits)), "z")
  expect_identical(lines_of(print(as.function(R)))[1], "<function> of no data")
  slope <- keops_grad(keops_kernel("Sum_Reduction((x | y), 1)", c("x = Vi(3)", "y = Vj(3)")), "x")
  expect_identical(lines_of(print(slope))[1], "<function> of `x`, `y`, `cotangent`")
})

test_that("the situation report says how many cores are used and why, and how to have all", {
  report <- kernweave_sitrep()
  expect_match(report$cpu[["threads"]], "^[0-9]+ of [0-9]+ cores?, .+")
  more_cores <- kernweave:::more_cores
  hint <- function(limit) with_variable("OMP_THREAD_LIMIT", limit, more_cores(1, 8))
  expect_match(hint(NA), "options(kernweave.threads = 8)", fixed = TRUE)
  expect_identical(hint("2"), "OMP_THREAD_LIMIT=2 in the environment limits calls to that many of 8 cores.")
  expect_null(more_cores(8, 8))
  expect_null(more_cores(1, 8, "in a node of a cluster"))
  cores <- threads_here()[2]
  limit <- suppressWarnings(as.integer(Sys.getenv("OMP_THREAD_LIMIT")))
  with_kernweave(threads = cores, expect_identical(threads_here()[1], min(cores, limit, na.rm = TRUE)))
  expect_false(any(grepl("Calls use", with_kernweave(kernweave_sitrep(), threads = cores)$problems)))
})

test_that("attaching tells threads and masked functions where somebody reads it, and only there", {
  said <- kernweave:::startup_text()
  had <- threads_here()
  about <- paste0("kernweave ", packageVersion("kernweave"), ": ", had[1], " of ", had[2], " core")
  expect_match(said, about, fixed = TRUE)
  masked <- intersect(ls("package:kernweave"), ls(baseenv()))
  for (name in masked) expect_match(said, name, fixed = TRUE)
  if (!interactive()) expect_silent(kernweave:::.onAttach("", "kernweave"))
})

test_that("no line that say() prints is wider than the console, and short lines stay as they are", {
  lines <- c("  a b   c d", "", "\tshort", paste(rep("word", 40), collapse = " "),
             paste(rep("two words", 20), collapse = "   "), paste0("    ", strrep("x", 90), " y"))
  words <- function(lines) strsplit(paste(lines, collapse = " "), "[[:space:]]+")
  for (width in c(40, 80)) {
    old <- options(width = width)
    shown <- utils::capture.output(kernweave:::say(paste(lines, collapse = "\n"), "\n"))
    options(old)
    expect_identical(shown[1:3], lines[1:3])
    expect_true(all(nchar(shown) <= width | !grepl("[^ ] ", trimws(shown))))
    expect_identical(words(shown), words(lines))
    expect_true(any(grepl("two words   two words", shown)))
  }
})

test_that("formulas, plans, operators and reports are printed whole, and no line is wider than the console", {
  terms <- Reduce(`+`, lapply(1:9, function(k) exp(-sqdist(X, Y) / k)))
  S <- sum(terms, index = "j", call = FALSE)
  points <- matrix((1:600 * 0.618) %% 1, 300)
  A <- approximate(kernel_matern(points, scale = 0.3, nu = 1.5), tol = 1e-3)
  shown <- list(terms, summary(terms), S, as.function(S), explain(S), Vi(1:4) * exp(2i * terms), A, explain(A),
                audit(A, rows = 20), preconditioner(kernel_gaussian(points), 0.1), logdet(kernel_gaussian(points), 1),
                restrict(terms, where = Vi(1:4) < Vj(1:5) & row_index() < col_index() & terms < 3 & terms > 0.001))
  for (width in c(70, 80)) {
    old <- options(width = width)
    printed <- lapply(shown, function(one) lines_of(print(one)))
    options(old)
    for (lines in printed) expect_lte(max(nchar(lines)), width)
    for (lines in printed[1:4]) expect_match(paste(trimws(lines), collapse = " "), format(terms), fixed = TRUE)
  }
})

test_that("a call that takes long says once how to have all cores", {
  skip_if(threads_here()[2] == 1 || gpu_is_ready(), "there is nothing to gain")
  seen <- kernweave:::seen_options
  before <- seen$told_of_cores
  on.exit(assign("told_of_cores", before, seen))
  assign("told_of_cores", NULL, seen)
  timed <- function(...) kernweave:::timed(function() 7, ...)
  expect_silent(timed(list(device = "cpu", threads = 1L)))
  expect_silent(timed(list(device = "cpu", threads = threads_here()[2]), patience = 0))
  assign("told_of_cores", NULL, seen)
  expect_silent(timed(list(device = "reference", threads = 1L), patience = 0))
  with_variable("OMP_THREAD_LIMIT", NA, {
    expect_message(out <- timed(list(device = "cpu", threads = 1L), patience = 0), "kernweave.threads = ")
  })
  expect_identical(out, 7)
  expect_silent(timed(list(device = "cpu", threads = 1L), patience = 0))
})

# --- pages ----------------------------------------------------------------------------------------------

source_root <- Sys.getenv("KERNWEAVE_SOURCE")
want_rows <- function(file) {
  rows <- grep("^(#' )?[|] .* [|] `", readLines(file.path(source_root, file)), value = TRUE)
  sub("^#' ", "", rows)
}

# The R code of a page, a vector of lines for each block.
code_blocks <- function(file) {
  lines <- readLines(file.path(source_root, file))
  opens <- which(lines == "```r")
  lapply(opens, function(at) lines[(at + 1):(at + match("```", lines[-seq_len(at)]) - 1)])
}

test_that("README and ?kernweave have one table of what is wanted, and all of it runs", {
  skip_if(!nzchar(source_root), "sources are not there")
  rows <- want_rows("README.md")
  expect_gt(length(rows), 15)
  expect_identical(rows, want_rows("R/house-package.R"))
  cells <- sub("^[|][^|]*", "", rows)
  code <- unlist(regmatches(cells, gregexpr("`[^`]+`", cells)))
  before <- options(kernweave.threads = NULL)
  grDevices::pdf(NULL)
  on.exit({
    grDevices::dev.off()
    options(before)
  })
  set.seed(1)
  given <- new.env()
  # Ten points for a thousand. The first example is a fit, and needs no running here.
  few <- function(lines) parse(text = gsub("\\b([1236])000\\b", "\\10", lines))
  blocks <- code_blocks("README.md")
  for (lines in blocks[c(2, grep("^D <- ", sapply(blocks, `[`, 1)))]) for (one in few(lines)) eval(one, given)
  expect_true(all(blocks[[grep("^D <- ", sapply(blocks, `[`, 1))]] %in%
                    sub("^#' ", "", readLines(file.path(source_root, "R/house-package.R")))))
  for (one in gsub("`", "", code)) {
    run <- function() eval(parse(text = one), new.env(parent = given))
    # Ten points are too few for a process, its posterior, and tests of pairs.
    too_few <- paste0("kernweave_warning_", c("boundary", "few", "approximate"))
    expect_error(suppressWarnings(run(), classes = too_few), NA, label = one)
  }
})

test_that("every help page says where to read on", {
  skip_if(!nzchar(source_root), "sources are not there")
  pages <- list.files(file.path(source_root, "man"), "[.]Rd$", full.names = TRUE)
  alone <- Filter(function(page) !any(grepl("\\seealso", readLines(page), fixed = TRUE)), pages)
  expect_identical(basename(alone), character())
})

test_that("the citation has a year and the version", {
  cited <- utils::citation("kernweave")
  expect_match(format(cited, style = "text"), "2026")
  expect_match(format(cited, style = "text"), as.character(utils::packageVersion("kernweave")), fixed = TRUE)
})
