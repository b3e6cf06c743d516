# Functions that other packages call from C: the package tests/linking/kwlink is built, and its answers are those of R.

linked <- local({
  built <- NULL
  function() {
    skip_below("usual")
    if (is.null(built)) {
      into <- c(source = tempfile("kwlink"), library = tempfile("library"))
      for (folder in into) dir.create(folder)
      file.copy(testthat::test_path("..", "linking", "kwlink"), into[["source"]], recursive = TRUE)
      tool <- run_tool(file.path(R.home("bin"), "R"),
                       c("CMD", "INSTALL", "--no-docs", "--no-multiarch", paste0("--library=", into[["library"]]),
                         file.path(into[["source"]], "kwlink")))
      testthat::expect_true(tool$ok, label = tool$output)
      built <<- load_stand_in("kwlink", into[["library"]])
    }
    built
  }
})

sizes <- c(1L, 2L, 97L, 499L)
cloud <- function(n, d = 2) matrix(stats::rnorm(n * d), n, d)
bits <- function(f) for (threads in 1:3) expect_identical(f(threads), f(1L))

test_that("sums of named kernels from C are those of R", {
  link <- linked()
  set.seed(1)
  kernels <- list(gaussian = kernel_gaussian, laplacian = kernel_laplacian, cauchy = kernel_cauchy,
                  matern32 = function(x, y, scale) kernel_matern(x, y, scale, nu = 3 / 2),
                  matern52 = function(x, y, scale) kernel_matern(x, y, scale, nu = 5 / 2),
                  inverse_multiquadric = kernel_inverse_multiquadric, energy = kernel_energy,
                  thin_plate = kernel_thin_plate)
  for (name in names(kernels)) for (n in sizes) {
    x <- cloud(7, 3)
    y <- cloud(n, 3)
    b <- cloud(n, 1 + n %% 2)
    expect_equal(link$link_sum(name, 0.7, x, y, b), kernels[[name]](x, y, scale = 0.7) %*% b, tolerance = 1e-13,
                 label = paste(name, n))
  }
  bits(function(threads) link$link_sum("gaussian", 0.7, y, y, b, threads))
  y[3, 2] <- NaN
  b[9] <- Inf
  found <- link$link_sum("matern32", 2, y, y, b)
  expect_identical(is.nan(found), is.nan(kernel_matern(y, y, 2, nu = 3 / 2) %*% b))
  expect_identical(link$link_sum("gaussian", 1, x[0, ], y, b), matrix(0, 0, 1 + n %% 2))
  expect_identical(link$link_sum("gaussian", 1, x, y[0, ], b[0, , drop = FALSE]), matrix(0, 7, 1 + n %% 2))
})

test_that("failures are statuses and sentences, and the library goes on", {
  link <- linked()
  x <- cloud(5)
  expect_error(link$link_sum("gausian", 1, x, x, x), "1: no kernel is called `gausian`; did you mean `gaussian`?",
               fixed = TRUE)
  expect_error(link$link_sum("gaussian", 0, x, x, x), "14: `scale` must be a positive number, not 0", fixed = TRUE)
  expect_error(link$link_sum("gaussian", 1, x, cloud(5, 3), x), "2: points of 2 components and points of 3")
  expect_error(link$link_sum("gaussian", 1, x, x, cloud(4)), "2: `b` has 4 rows, and `y` has 5")
  expect_error(link$link_nearest(x, x, 5L, TRUE), "14: `k` is 5, and there are 4 points to be neighbours")
  expect_error(link$link_radius(x, x, NaN), "14: `radius`")
  expect_error(link$link_index_add(x, 6L, x[1, , drop = FALSE]), "9: .*from 1 to 5; number 1 is 6")
  expect_error(link$link_reduce(link$own$nearby, 4, x, x), "2: the result has 5 numbers, and there is room for 4")
  expect_error(link$link_reduce(link$own$nearby, 5, x), "2: the reduction waits for 2 operands, and there are 1")
  expect_error(link$link_reduce(link$own$nearby, 5, x, cloud(3, 3)), "2: `y` has 3 columns")
  expect_error(link$link_reduce(methods::new("externalptr"), 5, x, x), "1: no reduction")
  many <- cloud(4e4)
  setTimeLimit(elapsed = 0.3, transient = TRUE)
  expect_error(link$link_sum("gaussian", 1, many, many, many[, 1, drop = FALSE], 1L), "13: .*time limit")
  setTimeLimit()
  expect_equal(link$link_sum("gaussian", 1, x, x, x), kernel_gaussian(x) %*% x)
})

test_that("a prepared reduction from C is the reduction in R, bit for bit", {
  link <- linked()
  set.seed(2)
  points <- list(x = Vi(dim = 2, name = "x"), y = Vj(dim = 2, name = "y"))
  b <- Vj(dim = 2, name = "b")
  s <- Pm(dim = 1, name = "s")
  K <- exp(-sqdist(points$x, points$y) / s)
  reductions <- list(sum(K * b, index = "j"), mean(K, index = "j"), logsumexp(log(K), index = "j"),
                     sum(K * b, index = "i"), sum(K * b, index = "ij"), max(K, index = "j"))
  for (n in sizes) {
    data <- list(x = cloud(11), y = cloud(n), s = 2, b = cloud(n))
    for (R in reductions) {
      pointer <- reduction_pointer(R)
      names <- sub(".*`(.*)`.*", "\\1", attr(pointer, "operands"))
      expected <- unname(do.call(as.function(R), data[names]))
      found <- do.call(link$link_reduce, c(list(pointer, length(expected)), unname(lapply(data[names], as.matrix))))
      expect_identical(found[, 1], as.vector(expected))
    }
    nearest <- Kmin_argKmin(sqdist(points$x, points$y), K = min(n, 3))
    expected <- as.function(nearest)(data$x, data$y)
    found <- link$link_reduce(reduction_pointer(nearest), length(expected$value), data$x, data$y)
    expect_identical(found[, 1], as.vector(expected$value))
    expect_identical(found[, 2], as.vector(expected$index) + 0)
    expect_identical(link$link_reduce(link$own$nearby, 11, data$x, data$y)[, 1],
                     as.vector(reduction(sqdist(Vi(data$x), Vj(data$y)) < 0.1, "count")))
  }
  fixed <- reduction_pointer(sum(exp(-sqdist(points$x, Vj(data$y))) * Vj(data$b), index = "j"))
  expect_output(print(fixed), "`x` along i (placeholder, width 2)", fixed = TRUE)
  gc()
  expect_identical(link$link_reduce(fixed, 22, data$x)[, 1],
                   as.vector(sum(exp(-sqdist(Vi(data$x), Vj(data$y))) * Vj(data$b), index = "j")))
})

test_that("neighbours from C are those of knn() and radius_nn()", {
  link <- linked()
  set.seed(3)
  for (n in setdiff(sizes, 1L)) for (self in c(FALSE, TRUE)) {
    x <- round(cloud(n), 1)  # with equal distances
    query <- if (self) x else cloud(13)
    k <- min(n - 1L, 6L)
    near <- knn(x, if (self) NULL else query, k = k)
    expect_identical(link$link_nearest(query, x, k, self), unname(unclass(near)[c("nn.index", "nn.dist")]),
                     ignore_attr = TRUE)
    for (radius in c(0, 0.2, 9)) {
      within <- radius_nn(x, if (self) NULL else query, radius = radius)
      expect_identical(link$link_radius(query, x, radius, self),
                       list(as.integer(unlist(within$id)), as.numeric(unlist(within$dist)), lengths(within$id)))
    }
  }
  bits(function(threads) link$link_nearest(x, x, 5L, TRUE, threads))
  x[c(2, 5), 1] <- c(NaN, Inf)
  found <- link$link_nearest(x, x[1:5, ], 4L)
  expected <- Kmin_argKmin(sqdist(Vi(x), Vj(x[1:5, ])), K = 4)
  expect_identical(found[[1]], expected$index)
  expect_identical(found[[2]], sqrt(expected$value))
  expect_identical(lengths(link$link_nearest(x[0, ], x, 1L)), c(0L, 0L))
  expect_identical(link$link_radius(x, x[0, ], 1)[[3]], integer(n))
})

test_that("orders and scattered sums from C are those of R", {
  link <- linked()
  set.seed(4)
  for (n in c(0L, sizes, 1e5L)) {
    for (x in list(round(stats::rnorm(n), 2), sample.int(50L, n, TRUE))) {
      x[sample.int(n, min(n, n %/% 10))] <- NA
      for (decreasing in c(FALSE, TRUE)) {
        expect_identical(link$link_order(x, decreasing), order(x, decreasing = decreasing, method = "radix"))
      }
    }
    to <- cloud(7, 3)
    from <- cloud(n, 3)
    index <- sample.int(7L, n, TRUE)
    expect_identical(link$link_index_add(to, index, from, 0.3), index_add(to, index, from, alpha = 0.3))
  }
  bits(function(threads) link$link_order(stats::setNames(x, NULL), FALSE, threads))
})

test_that("reduction_pointer() refuses what is no single pass over all pairs", {
  x <- Vi(dim = 2, name = "x")
  y <- Vj(dim = 2, name = "y")
  expect_error(reduction_pointer(sqdist(x, y)), "lazy_reduction", class = "kernweave_error_input")
  R <- sum(exp(-sqdist(x, y)), index = "j")
  refused <- list(reduction(sqdist(x, y), c("sum", "max")), vjp(R, wrt = "x"),
                  reduction(sqdist(x, y), "variance"),
                  sum(restrict(sqdist(x, y), where = row_index() < col_index()), index = "j"))
  for (one in refused) expect_error(reduction_pointer(one), "one pass", class = "kernweave_error_unsupported")
})

test_that("the header is C99 and C++17 without warnings, and at most 150 lines", {
  header <- file.path(include_dir(), "kernweave", "api.h")
  expect_lte(length(readLines(header)), 150)
  skip_below("usual")
  flags <- c("-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", paste0("-I", include_dir()),
             paste0("-I", R.home("include")))
  source <- tempfile(fileext = ".cpp")
  writeLines(c("#include <kernweave/api.h>", "int main() { return KERNWEAVE_OK; }"), source)
  cxx <- run_cxx(c(flags, source))
  expect_true(cxx$ok, label = cxx$output)
  cc <- run_tool("gcc", c("-std=c99", "-x", "c", flags, source))
  if (nzchar(Sys.which("gcc"))) expect_true(cc$ok, label = cc$output)
})
