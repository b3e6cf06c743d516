# The pieces that restrictions are made of: rules and what they refuse, clusters, bounds of conditions, units of work.

set.seed(2)
x <- matrix(runif(60), 30)
y <- matrix(runif(50), 25)
g <- sample(4, 30, TRUE)
h <- sample(4, 25, TRUE)

test_that("what does not fit is an error that names the argument and the sizes", {
  F <- exp(-sqdist(Vi(x), Vj(y)))
  refused <- function(class, text, ...) expect_error(..., text, class = paste0("kernweave_error_", class))
  refused("shape", "30 points along i.*is of 29", restrict(F, by = list(g[-1], h)))
  refused("shape", "25 points along j.*is of 30", restrict(F, by = g))
  refused("value", "1 of 30 groups are NA", restrict(F, by = list(replace(g, 3, NA), h)))
  refused("input", "must be whole, not", restrict(F, by = list(g + 0.5, h)))
  refused("input", "`by` must be list", restrict(F, by = list(g)))
  refused("kind", "`where` must be logical", restrict(F, where = row_index()))
  refused("shape", "is of 4", restrict(F, where = Vi(1:4) < Vj(1:25)))
  refused("value", "1 of 750 entries are NA", restrict(F, where = replace(outer(g, h, "=="), 1, NA)))
  refused("input", "needs one of", restrict(F))
  refused("input", "must be made by ranges", restrict(F, ranges = list(1)))
  refused("input", "those along j have none", sum(exp(-sqdist(Vi(x, by = g), Vj(y))), index = "j"))
  refused("unsupported", "different pairs", restrict(F, by = list(g, h)) + exclude_diag(F))
  refused("unsupported", "different groups", Vi(x, by = g) * Vi(x, by = rev(g)))
  refused("value", "overlap at point 3", ranges(cbind(c(1, 3), c(3, 4)), 5, matrix(TRUE, 2)))
  refused("value", "range 1 goes from 0", ranges(cbind(0, 3), 5, matrix(TRUE)))
  refused("shape", "`pairs` is 1 x 1, but there are 2 and 1 ranges", ranges(c(2, 3), 5, matrix(TRUE)))
  refused("index", "row 2 names range 3 of i", ranges(c(2, 3), 5, cbind(c(1, 3), 1)))
  refused("value", "lengths are NA", ranges(c(2, NA), 5, matrix(TRUE, 2)))
  refused("value", "whole numbers, not 1.5", ranges(c(1.5, 2), 5, matrix(TRUE, 2)))
  refused("input", "do not lie together", ranges(factor(c(1, 2, 1)), 3, matrix(TRUE, 2)))
  refused("shape", "reach 5", ranges(cbind(1, 5), 3, matrix(TRUE), dim = c(4, 3)))
  refused("shape", "is of 5", restrict(F, ranges = ranges(5, 25, matrix(TRUE))))
})

test_that("clusters by a grid are cubes, and their ranges and centroids those of their points", {
  set.seed(4)
  z <- matrix(rnorm(300), 100)
  labels <- grid_cluster(z, c(0.7, 1, 2))
  cubes <- apply(floor(sweep(z, 2, c(0.7, 1, 2), "/")), 1, paste, collapse = " ")
  expect_identical(unname(tapply(labels, cubes, function(l) length(unique(l)))[TRUE]), array(rep(1L, max(labels))))
  expect_identical(sort(unique(labels)), seq_len(max(labels)))
  sorted <- sort_by_cluster(z, labels)
  expect_identical(sorted$x, z[order(labels), ])
  at <- cluster_ranges(sorted$labels)
  expect_identical(unname(at[, 2] - at[, 1] + 1), as.numeric(tabulate(labels)))
  w <- runif(100)
  means <- cluster_centroids(z, labels, w)
  expect_equal(means["3", ], colSums((z * w)[labels == 3, , drop = FALSE]) / sum(w[labels == 3]))
  expect_identical(grid_cluster(c(0.1, 0.9, 0.2), 0.5), c(1L, 2L, 1L))
})

test_that("bounds of a condition skip what they can and look at what they cannot tell", {
  F <- Vi(1:1000) * Vj(1:1000)
  shares <- function(where) pair_shares(restrict(F, where = where))
  expect_lt(shares(row_index() < col_index())[["partial"]], 0.2)
  expect_gt(shares(row_index() < col_index())[["full"]], 0.4)
  expect_lt(sum(shares(abs(row_index() - col_index()) < 5)), 0.25)
  t <- sort(runif(1000))
  expect_lt(sum(shares(abs(Vi(t) - Vj(t)) < 0.01)), 0.3)
  expect_identical(shares(Vi(t) < 2 & Vj(t) >= 0)[["full"]], 1)
  expect_identical(sum(shares(Vi(t) > 2 | row_index() %% 2 == 5)), 0)
  expect_gt(shares(Vi(replace(t, 500, NaN)) < 2)[["partial"]], 0)
  x <- c(NaN, 1, Inf)
  for (where in list(Vi(x) < Vj(x), !(Vi(x) < Vj(x)), Vi(x) - Vj(x) != 0, Vi(x) / Vj(0:2) > 1)) {
    expect_identical(as.matrix(restrict(Vi(1:3) + Vj(1:3), where = where)) != 0, as.matrix(where))
  }
})

test_that("a condition at whose border values lie leaves the pairs for which it is true, in either precision", {
  n <- 128
  ones <- Vi(rep(1, n)) * Vj(rep(1, n))
  ways <- list(
    function(u, v, x, y) list(Vi(u) - Vj(v), x - y),
    function(u, v, x, y) list(Vi(u) / Vj(v), x / y),
    function(u, v, x, y) list(exp(Vi(u)) + 0 * Vj(v), exp(x)),
    function(u, v, x, y) list(sin(Vi(u) * Vj(v)), sin(x * y)),
    function(u, v, x, y) list(log(Vi(u)) * tanh(Vj(v)), log(x) * tanh(y)),
    function(u, v, x, y) list((Vi(u) + Vj(v))^Pm(0.3), (x + y)^0.3),
    function(u, v, x, y) list(sqrt(Vi(u)) * 0.1 + Vj(v), sqrt(x) * 0.1 + y),
    function(u, v, x, y) list((10 * Vi(u)) %% 0.1 + 0 * Vj(v), (10 * x) %% 0.1),
    function(u, v, x, y) list(erf(Vi(u)) - gamma(1 + Vj(v)), 2 * pnorm(x * sqrt(2)) - 1 - gamma(1 + y))
  )
  set.seed(6)
  for (k in seq_len(by_tier(60, 150, 1500))) for (precision in c("float64", "float32")) {
    # All points of a stretch are the same, so that bounds are as tight as they get.
    u <- rep(runif(4, 0.1, 3), each = 32)
    v <- rep(runif(4, 0.1, 3), each = 32)
    way <- sample(length(ways), 1)
    said <- ways[[way]](u, v, u[40], v[90])
    border <- Pm(said[[2]] * (1 + sample(-2:2, 1) * sample(c(2^-52, 2^-23), 1)))
    where <- if (runif(1) < 0.5) said[[1]] <= border else !(said[[1]] < border)
    sums <- lapply(list(restrict(ones, where = where), lazy_if(where, ones, 0)), function(F) {
      as.vector(run_reduction(lazy_set(sum(F, index = "j", call = FALSE), device = "cpu", precision = precision)))
    })
    if (!identical(sums[[1]], sums[[2]])) fail(paste("problem", k, "way", way, precision))
  }
  succeed()
})

test_that("bounds know operations of every kind, and whole numbers exactly", {
  F <- Vi(1:1000) * Vj(1:1000)
  t <- sort(runif(1000))
  shares <- function(where, precision = "float64") pair_shares(restrict(F, where = where), precision)[["full"]]
  for (precision in c("float64", "float32")) {
    expect_identical(shares(row_index() + col_index() >= 2, precision), 1)
    expect_identical(shares(square(row_index()) <= 1000 * 1000, precision), 1)
    expect_identical(shares((row_index() - 1) %/% 1000 == 0, precision), 1)
    expect_identical(shares(row_index() %% 7 <= 7, precision), 1)
    expect_gt(shares(tanh(Vi(t)) - atan(Vj(t)) < 0.3, precision), 0.3)
    expect_gt(shares(log1p(Vi(t))^1.5 < erf(Vj(t)), precision), 0.3)
    expect_gt(shares(sin(3 * Vi(t)) > 0.5 & cos(Vj(t)) > 0.7, precision), 0.3)
  }
})

test_that("units have each pair once, in order, and tasks about as many", {
  skip_below("quick")
  set.seed(5)
  n <- 1500
  sizes <- rev(diff(c(0, round(n * cumsum(1 / 1:40) / sum(1 / 1:40)))))
  F <- Vi(seq_len(n)) * Vj(seq_len(n))
  kept <- list(restrict(F, by = rep(1:40, sizes)), exclude_diag(F), restrict(F, where = row_index() < col_index()),
               restrict(F, ranges = ranges(sizes, rev(sizes), matrix(runif(1600) < 0.1, 40))))
  cases <- combinations(kept = 1:4, along_i = c(TRUE, FALSE), tile = 1:2, times = 2)
  for (case in seq_len(nrow(cases))) {
    K <- kept[[cases$kept[case]]]
    along_i <- cases$along_i[case]
    tile <- list(c(128, 512), c(16, 32))[[cases$tile[case]]]
    of_pairs <- function(grouped) {
      through("units", pair_map_of(K), along_i, tile[1], tile[2], grouped)
    }
    units <- of_pairs(FALSE)
    met <- matrix(0, n, n)
    for (u in seq_len(ncol(units))) {
      rows <- units[2, u]:units[3, u]
      columns <- units[4, u]:units[5, u]
      met[rows, columns] <- met[rows, columns] + 1
    }
    there <- as.matrix(lazy_set(K, device = "cpu")) != 0
    if (!along_i) there <- t(there)
    expect_true(all(met <= 1) && all(met[there] == 1), label = "each pair once")
    work <- tapply((units[3, ] - units[2, ] + 1) * (units[5, ] - units[4, ] + 1), units[1, ], sum)
    if (tile[1] == 128) expect_lt(max(work), 2 * mean(work))
    expect_false(is.unsorted(units[1, ]))
    expect_false(is.unsorted(units[2, ] * 1e6 + units[4, ]))
    expect_identical(units[7:8, ], units[2:3, ])
    grouped <- of_pairs(TRUE)
    for (u in seq_len(ncol(grouped))) {
      rows <- grouped[2, u]:grouped[3, u]
      columns <- grouped[4, u]:grouped[5, u]
      met[rows, columns] <- met[rows, columns] - 1
    }
    expect_true(all(met == 0), label = "the same pairs in any order")
    expect_true(all(grouped[7, ] <= grouped[2, ] & grouped[3, ] <= grouped[8, ]))
    expect_true(all(grouped[8, ] - grouped[7, ] < tile[1]))
    expect_false(is.unsorted(grouped[7, ]))
  }
})

test_that("columns that small blocks share are folded for all of them, and the sums are those of the pairs", {
  skip_below("quick")
  set.seed(6)
  boxes <- rep(sample(c(1, 5, 17, 40), 60, TRUE), length.out = 60)
  n <- sum(boxes)
  near <- abs(outer(1:60, 1:60, "-")) < 9
  near[cbind(sample(60, 200, TRUE), sample(60, 200, TRUE))] <- FALSE
  x <- runif(n)
  y <- runif(n)
  there <- near[rep(1:60, boxes), rep(1:60, boxes)]
  K <- restrict(exp(-abs(Vi(x) - Vj(y))), ranges = ranges(boxes, boxes, near))
  units <- through("units", pair_map_of(K), TRUE, 128, 512, TRUE)
  expect_gt(sum((units[3, ] - units[2, ] + 1) * (units[5, ] - units[4, ] + 1) * (units[2, ] == units[7, ]) *
                  (units[3, ] == units[8, ])), 0.5 * sum(there))
  D <- exp(-abs(outer(x, y, "-")))
  w <- cbind(runif(n), rnorm(n))
  for (isa in instruction_sets) for (precision in c("float64", "float32")) with_isa(isa, {
    near_enough <- function(found, wanted) {
      expect_equal(as.vector(found), as.vector(wanted), tolerance = if (precision == "float64") 1e-13 else 1e-5)
    }
    of <- function(...) lazy_set(K, device = "cpu", precision = precision, ...)
    near_enough(of() %*% w, (D * there) %*% w)
    near_enough(t(of()) %*% w, t(D * there) %*% w)
    near_enough(sum(of(), index = "ij"), sum(D * there))
    near_enough(max(of(), index = "j"), apply(ifelse(there, D, -Inf), 1, max))
    expect_identical(argKmin(of(), K = 2), argKmin(lazy_set(K, device = "reference", precision = precision), K = 2))
    expect_identical(of(threads = 3) %*% w, of(threads = 1) %*% w)
  })
})

test_that("kernels of units give what plain loops give, as they are written for formulas", {
  F <- sqdist(Vi(runif(150)), Vj(runif(101)))
  K <- restrict(F, ranges = ranges(150, 101, matrix(TRUE)))
  cases <- list(c("sum", "j", "0", "row+term"), c("min", "j", "INFINITY", "term<row?term:row"),
                c("sum", "ij", "0", "row+term"), c("Kmin", "j", "INFINITY", "term<row?term:row"))
  # In both precisions at night, by turns before.
  tried <- combinations(case = seq_along(cases), precision = test_precisions())
  for (k in seq_len(by_tier(1, nrow(tried), nrow(tried)))) {
    case <- cases[[tried$case[k]]]
    precision <- tried$precision[k]
    places <- if (case[1] == "Kmin") 3
    R <- reduction(lazy_set(K, precision = precision), case[1], index = case[2], K = places, call = FALSE)
    source <- tempfile(fileext = ".inc")
    writeLines(text <- explain(R, cuda = TRUE)$cuda, source)
    at <- regmatches(text, gregexpr("(?<=a.data.)[0-9](?=., at)", text, perl = TRUE))[[1]]
    defines <- c(paste0("FORMULA='\"", source, "\"'"), paste0(c("ROWS_AT=", "COLUMNS_AT="), at), "NUMBERS=1.0",
                 paste0("TOTALS=", as.integer(case[2] == "ij")), paste0("START=", case[3]),
                 paste0("NEXT='", case[4], "'"))
    expect_right_on_host("units.cpp", paste0("-D", defines))
  }
})
