# The nearest on a GPU: inner products, of tensor cores where points are wide, tell which distances are worth computing,
# and change no answer.

nearest <- function(x, y, K, index = "j", ...) reduction(sqdist(Vi(x), Vj(y)), "argKmin", K = K, index = index, ...)
grid_points <- function(n, d, most = 3) matrix(sample(0:most, n * d, replace = TRUE) + 0, n)

# Checks that `actual` are the K nearest, up to float32's rounding of their distances.
expect_nearest <- function(actual, x, y, label, tolerance = 2e-6) {
  for (i in unique(round(seq(1, nrow(x), length.out = min(nrow(x), 25))))) {
    distance <- colSums((t(y) - x[i, ])^2)
    least <- sort(distance)[seq_len(ncol(actual))]
    expect_lt(max(abs(distance[actual[i, ]] - least) / pmax(abs(least), 1e-30)), tolerance,
              label = paste(label, "row", i))
    expect_false(anyDuplicated(actual[i, ]) > 0)
  }
}

test_that("tensor cores look for the nearest of wide points in float32, and for nothing else", {
  way <- function(d, K = 3, precision = "float32") {
    R <- nearest(matrix(0, 5, d), matrix(0, 4, d), K, call = FALSE, precision = precision)
    any(grepl("sweep_nearest", sources_of(R)))
  }
  expect_identical(vapply(c(3, 14, 15, 17, 100), way, NA), c(FALSE, FALSE, TRUE, TRUE, TRUE))
  expect_identical(c(way(25, 10), way(26, 10), way(500, 40), way(500, precision = "float64")),
                   c(FALSE, TRUE, FALSE, FALSE))
  wide <- sqdist(Vi(matrix(0, 5, 50)), Vj(matrix(0, 4, 50)))
  for (R in list(min(wide + 1, index = "j", call = FALSE),
                 reduction(wide, "argKmin", K = 2, index = "ij", call = FALSE), sum(wide, index = "j", call = FALSE)))
    expect_false(any(grepl("sweep_nearest", sources_of(lazy_set(R, precision = "float32")))))
})

test_that("few components are told by the threads' own instructions, where a list lies in registers", {
  screened <- function(d, K = 3, precision = "float32") {
    any(grepl("sweep_screened",
              sources_of(nearest(matrix(0, 5, d), matrix(0, 4, d), K, call = FALSE, precision = precision))))
  }
  expect_identical(vapply(c(1, 2, 3, 4, 14, 15), screened, NA), c(FALSE, TRUE, TRUE, TRUE, TRUE, FALSE))
  expect_identical(c(screened(15, 10), screened(16, 10), screened(3, 16), screened(3, 17),
                     screened(3, precision = "float64")), c(TRUE, FALSE, TRUE, FALSE, FALSE))
})

test_that("the search for the nearest compiles for a GPU", {
  skip_without_compiler()
  expect_min_compiles <- function(d, ...) {
    R <- min_argmin(sqdist(Vi(matrix(0, 5, d)), Vj(matrix(0, 4, d))), call = FALSE)
    expect_compiles(R, paste("least of", d), ...)
  }
  expect_search_compiles <- function(d, K, ...) {
    expect_compiles(nearest(matrix(0, 5, d), matrix(0, 4, d), K, call = FALSE), paste(K, "nearest of", d), ...)
  }
  # Screened in float32 alone.
  expect_min_compiles(3, "float32")
  for (d in by_tier(4, c(2, 15), c(2, 4, 15))) expect_search_compiles(d, 10, "float32")
  if (reaches("usual")) {
    expect_min_compiles(20)
    for (K in if (reaches("all")) c(1, 10, 14) else c(1, 14)) expect_search_compiles(33, K)
  }
})

test_that("the screen, carried out on the host, finds what all distances find, and gives up what it must", {
  expect_right_on_host("screen.cpp")
})

test_that("the nearest are the nearest at every size, width and length of list", {
  skip_without_gpu()
  set.seed(21)
  with_kernweave(device = "gpu", precision = "float32", {
    for (d in c(3, 12, 16, 37, 100, 300))
    for (size in list(c(1, 1), c(3, 127), c(129, 128), c(257, 1001), c(40, 9001))) for (K in c(1, 10, 16)) {
      x <- matrix(stats::rnorm(size[1] * d), ncol = d)
      y <- matrix(stats::rnorm(size[2] * d), ncol = d)
      actual <- nearest(x, y, K)
      expect_identical(is.na(actual), matrix(seq_len(K) > size[2], size[1], K, byrow = TRUE))
      expect_nearest(actual[, seq_len(min(K, size[2])), drop = FALSE], x, y, paste(d, size[1], size[2], K))
      turned <- nearest(y, x, K, index = "i")
      expect_nearest(turned[, seq_len(min(K, size[2])), drop = FALSE], x, y, paste("turned", d, size[1], size[2], K))
    }
  })
})

test_that("what is told first has the bits of distances that are all computed", {
  skip_without_gpu()
  set.seed(25)
  for (d in c(2, 3, 4, 7)) {
    x <- matrix(stats::rnorm(500 * d), ncol = d)
    y <- matrix(stats::rnorm(7001 * d), ncol = d)
    least <- function(K) {
      reduction(sqdist(Vi(x), Vj(y)), "Kmin_argKmin", K = K, index = "j", device = "gpu", precision = "float32")
    }
    few <- least(5)
    # Longer lists are not told.
    many <- least(20)
    for (k in 1:2) expect_identical(few[[k]], many[[k]][, 1:5], label = paste(d, names(few)[k]))
    one <- reduction(sqdist(Vi(x), Vj(y)), "min_argmin", index = "j", device = "gpu", precision = "float32")
    for (k in 1:2) expect_identical(as.vector(one[[k]]), few[[k]][, 1], label = paste(d, "the nearest", k))
  }
})

test_that("ties go to the smallest row number, and coincident points are found", {
  skip_without_gpu()
  set.seed(22)
  for (d in c(3, 16, 40)) for (n in c(300, 5003)) {
    x <- grid_points(200, d, 1)
    y <- rbind(grid_points(n, d, 1), x, x)
    with_kernweave(precision = "float32", {
      for (K in c(1, 3, 16)) expect_identical(nearest(x, y, K, device = "gpu"), nearest(x, y, K, device = "cpu"))
      expect_identical(min_argmin(sqdist(Vi(x), Vj(y)), device = "gpu"),
                       min_argmin(sqdist(Vi(x), Vj(y)), device = "cpu"))
    })
  }
})

test_that("units, offsets, outliers and an order that deceives change no answer", {
  skip_without_gpu()
  set.seed(23)
  for (d in c(3, 30)) {
    x <- matrix(stats::rnorm(300 * d), ncol = d)
    y <- matrix(stats::rnorm(30000 * d), ncol = d)
    # Each is nearer than all that came before: every distance has to be looked at.
    falling <- matrix(rep(seq(1000, 1, length.out = 30000), d), ncol = d)
    outlier <- rbind(y, 1e6)
    tight <- rbind(y, 1e4 + 1e-3 * y[1:500, ])
    settings <- list(plain = list(x, y), small = list(x * 1e-7, y * 1e-7), large = list(x * 1e7, y * 1e7),
                     offset = list(x + 100, y + 100),
                     falling = list(x, falling), outlier = list(x, outlier),
                     tight = list(rbind(x, 1e4 + 1e-3 * x), tight))
    for (name in names(settings)) {
      s <- settings[[name]]
      actual <- nearest(s[[1]], s[[2]], 10, device = "gpu", precision = "float32")
      # Points of 1e4 are rounded to 5e-4, and the others by what their centre is off; of three components, distances
      # are some hundredths.
      if (name != "tight") expect_nearest(actual, s[[1]], s[[2]], paste(name, d))
      else expect_nearest(actual[1:300, ], s[[1]][1:300, ], s[[2]], paste(name, d), if (d == 3) 1e-2 else 1e-3)
    }
  }
})

test_that("NaN is never near, and infinite numbers are told apart", {
  skip_without_gpu()
  set.seed(24)
  for (d in c(3, 20)) {
    x <- matrix(stats::rnorm(200 * d), ncol = d)
    y <- matrix(stats::rnorm(3000 * d), ncol = d)
    y[c(5, 700), 3] <- NaN
    x[7, 1] <- NaN
    with_kernweave(precision = "float32", {
      actual <- nearest(x, y, 5, device = "gpu")
      expect_true(all(is.na(actual[7, ])))
      expect_nearest(actual[-7, ], x[-7, ], replace(y, is.nan(y), 1e9), "NaN")
      y[setdiff(seq_len(3000), actual)[1], 2] <- Inf
      expect_identical(nearest(x, y, 5, device = "gpu"), actual)
      expect_true(all(is.na(nearest(x * NaN, y, 2, device = "gpu"))))
    })
  }
})
