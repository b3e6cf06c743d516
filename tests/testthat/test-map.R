# Points in files: the numbers are those in memory, whatever computes with them, and a file that changes is noticed.

set.seed(28)
m <- matrix(stats::rnorm(3 * 2000), ncol = 3)
y <- matrix(stats::rnorm(3 * 40), ncol = 3)
b <- stats::rnorm(2000)
file <- tempfile(fileext = ".dbl")
x <- write_points(file, m)
bytes <- function(x) length(serialize(x, NULL))

test_that("a mapped file is the matrix that was written, to all of R", {
  expect_identical(file.size(file), 48000)
  expect_identical(x, m)
  expect_identical(x[c(3, 1), -1], m[c(3, 1), -1])
  expect_identical(x[x[, 1] > 2, ], m[m[, 1] > 2, ])
  expect_identical(x[5:7], m[5:7])
  expect_identical(x + 1, m + 1)
  expect_identical(x %*% diag(3), m %*% diag(3))
  expect_identical(crossprod(x), crossprod(m))
  expect_identical(apply(x, 2, range), apply(m, 2, range))
  expect_identical(as.data.frame(x), as.data.frame(m))
  expect_identical(rbind(x, y), rbind(m, y))
  expect_identical(rowsum(x, b > 0), rowsum(m, b > 0))
  expect_identical(stats::lm.fit(x, b)$coefficients, stats::lm.fit(m, b)$coefficients)
  expect_identical(utils::capture.output(utils::str(x), summary(x)), utils::capture.output(utils::str(m), summary(m)))
})

test_that("what writes into a mapped matrix has a copy, and the file stays as it is", {
  changed <- x
  changed[1, 1] <- 7
  expect_identical(changed[1:2, 1], c(7, m[2, 1]))
  named <- x
  colnames(named) <- c("a", "b", "c")
  named[2, "b"] <- 8
  dim(named) <- NULL
  vector <- x
  vector[[9]] <- NA
  sorted <- sort(x)
  expect_identical(x, m)
  expect_identical(readBin(file, "double", 6000), as.vector(m))
})

reductions <- list(
  sums = function(x) sum(exp(-sqdist(Vi(x), Vj(y))), index = "j"),
  columns = function(x) sum(exp(-sqdist(Vi(y), Vj(x))), index = "j"),
  total = function(x) sum(exp(-sqdist(Vi(x), Vj(x))), index = "ij"),
  product = function(x) kernel_matern(x, scale = 0.5, nu = 1.5) %*% b,
  logsumexp = function(x) logsumexp(-sqdist(Vi(y), Vj(x))),
  nearest = function(x) argKmin(sqdist(Vi(y), Vj(x)), K = 3),
  extremes = function(x) reduction(euclidean(Vi(y), Vj(x)), c("min_argmin", "max", "mean", "variance")),
  counts = function(x) reduction(sqdist(Vi(x), Vj(x)) < 0.01, "count"),
  weighted = function(x) reduction(-sqdist(Vi(y), Vj(x)), "sumsoftmaxweight", weight = Vj(x)),
  restricted = function(x) sum(restrict(sqdist(Vi(x), Vj(x)), by = b > 1), index = "j"),
  groups = function(x) sum(sqdist(Vi(x), Vj(y)), index = "j", by = b > 0),
  index_formula = function(x) reduction(c[a, k] ~ x[i, a] * x[i, k], "sum"),
  pairs = function(x) sum(Vij(x) * Vi(b) * Vj(1:3), index = "ij"),
  parameter = function(x) sum(sum(Vi(y[, 1]) * Pm(x[1, ])), index = "i"),
  approximation = function(x) sum(exp(-sqdist(Vi(x), Vj(x))), index = "j", tol = 1e-4),
  gradient = function(x) {
    X <- Vi(x)
    vjp(sum(exp(-sqdist(X, Vj(y))), index = "ij", call = FALSE), wrt = X)
  },
  traced = function(x) gradient(function(x, s) sum(exp(-sqdist(Vi(x), Vj(y)) / s), index = "ij"))(x, 0.5),
  neighbours = function(x) knn(x, k = 4)[c("index", "dist")],
  clusters = function(x) kmeans_fit(x, y[1:4, ])[c("cluster", "centers")],
  arrays = function(x) list(par_sort(x[, 2]), par_reduce(x, "sum"), par_order(x))
)

test_that("each reduction of a mapped matrix has the bits of that in memory", {
  for (name in names(reductions)) {
    f <- reductions[[name]]
    expect_identical(f(x), f(m), label = name)
  }
})

test_that("so it is in single precision, on the reference and on other numbers of threads", {
  under <- list(
    float32 = function(code) with_kernweave(code, precision = "float32"),
    reference = function(code) with_kernweave(code, device = "reference"),
    threads = function(code) with_kernweave(code, threads = 2)
  )
  for (name in setdiff(names(reductions), c("arrays", "traced", "clusters", "neighbours"))) {
    f <- reductions[[name]]
    for (set in names(under)) expect_identical(under[[set]](f(x)), under[[set]](f(m)), label = paste(name, set))
  }
})

test_that("neither operands nor reductions copy a mapped matrix", {
  skip_below("quick")
  if (is.na(anonymous_mb())) skip("this system does not tell what memory has no file behind it")
  grown <- in_new_process(c(
    "library(kernweave)",
    paste("anonymous_mb <-", paste(deparse(anonymous_mb), collapse = "\n")),
    "file <- tempfile()",
    "y <- matrix(runif(30), 10)",
    "use <- function(x) {",
    "  X <- Vj(x)",
    "  K <- exp(-sqdist(Vi(y), X))",
    "  sum(K, index = 'j', precision = 'float32')",
    "  R <- sum(K, index = 'j', call = FALSE)",
    "  list(as.matrix(R), reduction(K, c('max', 'argmin')), sum(x), colMeans(x), range(x))",
    "}",
    "invisible(use(write_points(file, matrix(runif(3000), 1000))))",
    "read <- function(from, to) matrix(runif(3 * (to - from + 1)), ncol = 3)",
    "x <- write_points(file, n = 1e6, width = 3, read = read)",
    "invisible(gc())",
    "before <- anonymous_mb()",
    "results <- use(x)",
    "colnames(x) <- c('a', 'b', 'c')",
    "more <- sum(sqdist(Vi(y), Vj(x)), index = 'j')",
    "invisible(gc())",
    "unlink(file)",
    "anonymous_mb() - before"))
  expect_lt(grown, 6)  # the file has 24 MB
})

test_that("code that asks for the right to write reads without harm, and what it writes stays with it", {
  skip_on_os("windows")
  rude <- map_points(file, 3)
  expect_identical(through("write_rudely", rude, 99), m[1])
  expect_identical(rude[1:2], c(99, m[2]))
  expect_identical(x, m)
  expect_identical(map_points(file, 3), m)
})

test_that("saved or sent, a mapped matrix is the name of its file", {
  expect_lt(bytes(x), 500)
  expect_identical(unserialize(serialize(x, NULL)), m)
  expect_identical(unserialize(serialize(x, NULL, ascii = TRUE)), m)
  named <- x
  dimnames(named) <- list(NULL, c("a", "b", "c"))
  expect_lt(bytes(named), 800)
  expect_identical(unserialize(serialize(named, NULL))[1:2, "b"], m[1:2, 2])
  saved <- tempfile()
  saveRDS(list(sqdist(Vi(x), Vj(y)), x), saved)
  expect_lt(file.size(saved), 3000)
  loaded <- readRDS(saved)
  expect_identical(sum(loaded[[1]], index = "j"), sum(sqdist(Vi(m), Vj(y)), index = "j"))
  elsewhere <- in_new_process(sprintf("x <- readRDS(%s)[[2]]; x[1:5, ]", deparse(saved)))
  expect_identical(elsewhere, m[1:5, ])
  expect_identical(unserialize(serialize(x, NULL, version = 2)), m)
})

# Returns x as if it came from another host, whose name has as many letters.
from_elsewhere <- function(x) {
  host <- Sys.info()[["nodename"]]
  lines <- function(name) paste0("\n", name, "\n")
  letters <- rawToChar(serialize(x, NULL, ascii = TRUE))
  unserialize(charToRaw(sub(lines(host), lines(strrep("q", nchar(host))), letters, fixed = TRUE)))
}

test_that("on another host the file is one of the same size and time, and an error names path and host", {
  skip_on_os("windows")
  copied <- tempfile()
  file.copy(file, copied, copy.date = TRUE)
  sent <- serialize(write_points(copied, m), NULL)
  Sys.setFileTime(copied, trunc(Sys.time()))
  away <- from_elsewhere(map_points(copied, 3))
  expect_identical(away, m)
  again <- from_elsewhere(map_points(copied, 3))
  file.copy(file, copied, overwrite = TRUE)
  Sys.setFileTime(copied, trunc(Sys.time()) - 60)
  expect_error(again[1, ], "is not of the same time on", class = "kernweave_error_file_changed")
  unlink(copied)
  lost <- from_elsewhere(unserialize(sent))
  expect_identical(dim(lost), c(2000L, 3L))
  said <- tryCatch(sum(sqdist(Vi(lost), Vj(y)), index = "ij"), kernweave_error_file_changed = conditionMessage)
  expect_match(said, copied, fixed = TRUE)
  expect_match(said, strrep("q", nchar(Sys.info()[["nodename"]])), fixed = TRUE)
  expect_match(said, Sys.info()[["nodename"]], fixed = TRUE)
})

test_that("a file that was written, cut, emptied, grown, replaced or removed is an error of its class, and no crash", {
  for (change in names(file_changes)) {
    if (.Platform$OS.type == "windows" && change %in% c("cut", "emptied", "replaced", "removed")) next
    path <- tempfile()
    x <- write_points(path, m)
    K <- exp(-sqdist(Vi(y), Vj(x)))
    first <- K %*% b
    R <- sum(K, index = "j", call = FALSE)
    sent <- serialize(x, NULL)
    named <- x
    colnames(named) <- c("a", "b", "c")
    file_changes[[change]](path)
    changed <- function(code) expect_error(code, class = "kernweave_error_file_changed", label = change)
    changed(K %*% b)
    changed(as.matrix(R))
    changed(sum(sqdist(Vi(y), Vj(named)), index = "j"))
    changed(solve(kernel_gaussian(x, scale = 1), b, ridge = 1))
    changed(knn(x, k = 2))
    changed(par_reduce(x, "sum"))
    changed(index_add(matrix(0, 2, 3), rep(1:2, 1000), x))
    changed(par_order(x))
    changed(x[1, 1])
    changed(x + 1)
    changed(sum(x))
    changed(unserialize(sent)[1])
    expect_identical(dim(unserialize(sent)), c(2000L, 3L))
    unlink(path)
  }
})

test_that("a file that is mapped again after it was written has its new numbers", {
  skip_on_os("windows")  # which replaces no mapped file
  path <- tempfile()
  old <- write_points(path, m)
  new <- write_points(path, m + 1)
  expect_identical(new, m + 1)
  expect_error(old[1], class = "kernweave_error_file_changed")
  again <- write_points(path, new)  # from itself
  expect_identical(again, m + 1)
})

test_that("a header is left out, and a file of no rows is a matrix of none", {
  numbers <- function(values) {
    path <- tempfile()
    writeBin(values, path)
    path
  }
  few <- numbers(c(0, 0, 1:6 + 0))
  expect_identical(map_points(few, 3, offset = 16), matrix(1:6 + 0, 2))
  expect_identical(map_points(few, 2, offset = 64), matrix(0, 0, 2))
  many <- numbers(c(seq_len(600) + 0, m))  # further than a page
  expect_identical(map_points(many, 3, offset = 4800), m)
  expect_identical(map_points(numbers(double()), 4), matrix(0, 0, 4))
})

test_that("files that are none of so many columns are errors that name sizes", {
  path <- tempfile()
  writeBin(1:7 + 0, path)
  says <- function(code, class, message) expect_error(code, message, class = paste0("kernweave_error_", class))
  says(map_points(path, 3), "shape", "56 bytes of numbers.*`width` = 3 doubles, 24 bytes each")
  says(map_points(path, 1, offset = 64), "shape", "`offset` is 64 bytes, and the file has 56")
  says(map_points(path), "input", "`width`, the number of columns, is not given")
  for (width in list(0, -1, NA, 1.5, "a", NULL, 1:2)) says(map_points(path, width), "input", "`width` must be")
  for (offset in list(4, -8, NA, "a", NULL, Inf, 2^70)) says(map_points(path, 7, offset), "input", "`offset` must be")
  says(map_points(file.path(tempdir(), "none"), 1), "input", "there is no file `.*none`$")
  says(map_points("none", 1), "input", "there is no file `none` in ")
  says(map_points(tempdir(), 1), "input", "is a folder")
  for (file in list(1, NULL, NA_character_, "", c(path, path))) says(map_points(file, 1), "input", "`file` must be")
  says(map_points(quakes, 1), "input", "`file` must be the name of a file, or an object that has one")
  skip_on_os("windows")
  Sys.chmod(path, "000")
  if (file.access(path, 4) != 0) says(map_points(path, 7), "input", "cannot be")
})

test_that("points twice as large as memory are summed in it, to the bit, and written in it", {
  skip_below("all")
  group <- new_memory_group(300)
  if (is.null(group)) skip("no group of bounded memory can be made here")
  on.exit(leave_memory_group(group))
  file <- tempfile()
  on.exit(unlink(file), add = TRUE)
  answer <- in_new_process(c(
    sprintf("cat(Sys.getpid(), file = '%s/cgroup.procs')", group),
    "library(kernweave)",
    paste("anonymous_mb <-", paste(deparse(anonymous_mb), collapse = "\n")),
    sprintf("file <- %s", deparse(file)),
    "read <- function(from, to) outer(from:to, 1:8, function(i, a) sin(i * a))",
    "x <- write_points(file, n = 1e7, width = 8, read = read, rows = 2e5)",
    "y <- matrix(1:80 / 80, 10)",
    "K <- exp(-sqdist(Vi(y), Vj(x)))",
    "invisible(gc())",
    "before <- anonymous_mb()",
    "cold <- system.time(sums <- sum(K, index = 'j'))[['elapsed']]",
    "again <- system.time(sum(K, index = 'j'))[['elapsed']]",
    "list(sums = sums, grown = anonymous_mb() - before, cold = cold, again = again)"))
  y <- matrix(1:80 / 80, 10)
  here <- map_points(file, 8) + 0
  K <- exp(-sqdist(Vi(y), Vj(here)))
  sum(K, index = "j")
  in_memory <- system.time(sums <- sum(K, index = "j"))[["elapsed"]]
  expect_identical(answer$sums, sums)
  expect_lt(answer$grown, 64)
  expect_lt(answer$again, 4 * in_memory + 2)
})
