# The harness over reductions.def: every reduction over every axis at every size, against the oracle.

reductions <- kernweave_reductions()
indices <- c("j", "i", "ij")

# Values with ties, NaN and infinities where asked for; logical where the reduction wants it.
term_data <- function(row, M, N, width, spice) {
  x <- numbers_between(M, width, -2, 2)
  if (spice == "ties") x <- round(x)
  third <- ceiling(length(x) / 3)
  if (spice == "special" && length(x)) x[sample(length(x), third)] <- c(NaN, Inf, -Inf)[sample(3, third, TRUE)]
  x
}

lazy_term <- function(row, x, y) {
  F <- Vi(x, name = "x") * Vj(y, name = "y")
  if (wants_logical(row)) F > 1 else F
}

oracle_term <- function(row, x, y) {
  function(i, j) {
    value <- x[i, ] * y[j, ]
    if (wants_logical(row)) !is.na(value) & value > 1 else value
  }
}

expect_same_result <- function(actual, expected, tolerance, scale, label) {
  if (is.list(expected)) {
    expect_close(actual$value, expected$value, tolerance, scale, paste(label, "value"))
    expect_close(actual$index, expected$index, 0, 1, paste(label, "index"))
  } else {
    expect_close(actual, expected, tolerance, scale, label)
    expect_identical(dim(actual), dim(expected), label = paste(label, "dim"))
  }
}

test_that("every reduction has an oracle", {
  expect_setequal(reductions$name, names(oracle_reductions))
})

for (k in seq_len(nrow(reductions))) {
  row <- reductions[k, ]
  places <- if (row$inputs != "value_k") 1L else by_tier(c(1L, 8L), c(1L, 3L, 8L), c(1L, 3L, 8L), cran = 3L)

  test_that(paste0(row$fn, "(): every axis, size, width, device and precision, with ties and special values"), {
    set.seed(k)
    cases <- combinations(size = seq_along(test_sizes), width = c(1, 3), spice = c("plain", "ties", "special"))
    for (case in seq_len(nrow(cases))) {
      size <- test_sizes[[cases$size[case]]]
      width <- cases$width[case]
      spice <- cases$spice[case]
      # Components mix Inf and -Inf alike.
      if (row$name %in% c("LogSumExp", "SumSoftMaxWeight") && spice == "special" && width > 1) next
      x <- term_data(row, size[1], size[2], width, spice)
      y <- numbers_between(size[2], width, 0.5, 2)
      if (spice == "ties") y <- round(y)
      # Every length of list at every size at night; in a hurry an axis for each size, another axis for each row.
      for (index in if (reaches("quick")) indices else indices[1 + (case + k) %% 3])
      for (K in if (reaches("all")) places else places[1 + case %% length(places)]) {
        if (max(size) > 100 && (index == "ij" || width > 1)) next
        K_arg <- if (row$inputs == "value_k") K
        expected <- oracle_reduce(oracle_term(row, x, y), size[1], size[2], row$name, index, K = K, width = width)
        for (device in test_devices()) {
          weight <- if (row$name == "SumSoftMaxWeight") 1
          actual <- reduction(lazy_term(row, x, y), row$fn, index = index, K = K_arg, weight = weight, device = device)
          expect_same_result(actual, expected, 1e-13, scale = 4 * max(size),
                             paste(row$fn, index, device, spice, paste(size, collapse = "x")))
        }
      }
    }
  })

  # A derived reduction has no state of its own.
  if (row$name != row$of) next
  test_that(paste0(row$fn, "(): folded in pieces and merged, as in one go"), {
    set.seed(50 + k)
    for (n in c(0, 1, 2, 7, 31)) for (spice in c("plain", "ties", "special")) {
      values <- as.vector(term_data(row, n, 1, 1, spice))
      if (row$name == "Any") values <- as.numeric(!is.na(values) & values > 1)
      weights <- stats::runif(n)
      for (K in places) {
        expected <- do.call(oracle_reductions[[row$name]], list(values, weights, K))
        for (cuts in list(integer(), seq_len(n), sort(sample(n, n %/% 2)))) {
          actual <- through("fold", row$name, values, weights, K, as.integer(cuts))
          if (!is.null(expected$value)) expect_close(actual$value, expected$value, 1e-13, 4, paste(row$fn, n, spice))
          if (!is.null(expected$index)) expect_close(actual$index, expected$index, 0, 1, paste(row$fn, n, spice))
        }
      }
    }
  })
}

test_that("weights of 0, below 0 and NaN, and values of any size", {
  for (values in list(c(0, 1000), c(1000, 0), c(-Inf, 3), c(Inf, 2), c(NaN, 1))) {
    for (weights in list(c(1, 0), c(0, 1), c(0, 0), c(2, -1), c(NaN, 1))) {
      expected <- oracle_reductions$LogSumExp(values, weights, 1L)$value
      expect_close(through("fold", "LogSumExp", values, weights, 1L, integer())$value, expected, 1e-13, 4,
                   paste(c(values, weights), collapse = " "))
      expect_close(through("fold", "LogSumExp", values, weights, 1L, 1L)$value, expected, 1e-13, 4,
                   paste(c(values, weights), collapse = " "))
    }
  }
})

test_that("logsumexp takes weights of its own width, and numbers of any size", {
  set.seed(1)
  x <- matrix(stats::rnorm(5), 5)
  y <- matrix(stats::rnorm(7), 7)
  w <- matrix(stats::runif(21), 7)
  for (shift in c(0, 1000, -1e4)) {
    actual <- logsumexp(Vi(x) * Vj(y) + shift, weight = Vj(w))
    expect_close(actual, log(exp(x %*% t(y)) %*% w) + shift, 1e-12)
  }
  expect_equal(dim(logsumexp(Vi(x) * Vj(y), weight = Vj(w))), c(5, 3))
})

test_that("results keep their shape: nothing is ever dropped", {
  x <- matrix(stats::rnorm(6), 2)
  y <- matrix(stats::rnorm(12), 4)
  D <- sqdist(Vi(x), Vj(y))
  expect_identical(dim(sum(D, index = "j")), c(2L, 1L))
  expect_identical(dim(sum(D, index = "ij")), c(1L, 1L))
  expect_identical(dim(sum(Vi(x) - Vj(y), index = "i")), c(4L, 3L))
  expect_identical(dim(argKmin(D, K = 2)), c(2L, 2L))
  expect_identical(dim(argKmin(Vi(x) - Vj(y), K = 2)), c(2L, 2L, 3L))
  expect_named(min_argmin(D), c("value", "index"))
  expect_type(any(D < 1, index = "j"), "logical")
  expect_type(min_argmin(D)$index, "integer")
  expect_type(sum(D < 1, index = "j"), "double")
})

test_that("`drop` makes a vector of one column and leaves all else as it is, whatever the number of points", {
  for (n in c(1, 4)) {
    x <- matrix(seq_len(2 * n) / 7, n, dimnames = list(letters[seq_len(n)], NULL))
    X <- Vi(x)
    D <- sqdist(X, Vj(x))
    for (call in list(function(...) sum(D, index = "j", ...), function(...) mean(D, index = "j", ...),
                      function(...) argmin(D, ...),
                      function(...) logsumexp(D, ...), function(...) reduction(D < 1, "any", ...))) {
      expect_identical(call(drop = TRUE), call()[, 1])
      expect_identical(call(drop = FALSE), call())
    }
    expect_identical(sum(D, index = "ij", drop = TRUE), as.vector(sum(D, index = "ij")))
    expect_identical(Kmin(D, K = 1, drop = TRUE), stats::setNames(as.vector(Kmin(D, K = 1)), rownames(x)))
    expect_identical(Kmin(D, K = 2, drop = TRUE), Kmin(D, K = 2))
    expect_identical(sum(D * Vj(x), index = "j", drop = TRUE), sum(D * Vj(x), index = "j"))
    expect_identical(min_argmin(D, drop = TRUE), lapply(min_argmin(D), function(part) part[, 1]))
    lists <- Kmin(Vi(x) - Vj(x), K = 1)
    expect_identical(Kmin(Vi(x) - Vj(x), K = 1, drop = TRUE), lists)
    L <- function(drop) vjp(logsumexp(D, call = FALSE, drop = drop), X, cotangent = seq_len(n))
    expect_identical(L(TRUE), L(FALSE))
    R <- sum(D, index = "j", call = FALSE, drop = TRUE)
    expect_identical(as.matrix(R), sum(D, index = "j", drop = TRUE))
    expect_identical(as.matrix(unserialize(serialize(R, NULL))), as.matrix(R))
    expect_identical(vjp(R, X, cotangent = seq_len(n)),
                     vjp(sum(D, index = "j", call = FALSE), X, cotangent = seq_len(n)))
  }
})

# The K first of order(), which has ties in the order of their places, padded.
first_places <- function(values, K) {
  at <- order(values, na.last = NA)[seq_len(K)]
  list(value = ifelse(is.na(at), Inf, values[at]), index = at)
}

test_that("lists of any length are what order() says, through ties, NaN, infinities and both axes", {
  set.seed(31)
  values <- function(n) sample(c(-Inf, NaN, Inf, 0:40, stats::runif(200)), n, replace = TRUE)
  cases <- combinations(shape = 1:3, K = c(31:34, 41, 64, 100, 333), device = c("cpu", "reference"),
                        precision = c("float64", "float32"), times = 4)
  for (number in 1:3) {
    shape <- list(c(3, 700), c(11, 97), c(70, 5))[[number]]
    A <- matrix(values(prod(shape)), shape[1])
    for (case in which(cases$shape == number)) {
      K <- cases$K[case]
      device <- cases$device[case]
      precision <- cases$precision[case]
      B <- if (precision == "float32") round(A * 1024) / 1024 else A
      found <- Kmin_argKmin(Vij(B), K = K, device = device, precision = precision)
      expected <- apply(B, 1, first_places, K)
      label <- paste(shape[1], K, device, precision)
      expect_identical(found$value, t(vapply(expected, `[[`, numeric(K), "value")), label = label)
      expect_identical(found$index, t(vapply(expected, `[[`, integer(K), "index")), label = label)
      both <- Kmin_argKmin(Vij(B), K = K, index = "ij", device = device, precision = precision)
      expect_identical(as.vector(both$index), first_places(B, K)$index, label = label)
      expect_identical(Kmax(Vij(B), K = K, device = device, precision = precision),
                       -Kmin(Vij(-B), K = K, device = device, precision = precision), label = label)
    }
  }
})

test_that("long lists are found in columns that rise, fall, or are all alike, by any number of threads", {
  n <- 3000
  for (y in list(seq_len(n) + 0, rev(seq_len(n)) + 0, rep(1, n), rep(1:2, n / 2) + 0)) {
    F <- Vi(numeric(40)) + Vj(y)
    expected <- matrix(order(y)[1:500], 40, 500, byrow = TRUE)
    for (threads in 1:2) expect_identical(argKmin(F, K = 500, threads = threads), expected)
    expect_identical(argKmin(t(F), K = 500, index = "i"), expected)
  }
})

test_that("the time for a list does not grow with its square", {
  skip_on_cran()
  x <- matrix(stats::runif(6000), 2000)
  D <- sqdist(Vi(x[1:500, ]), Vj(x))
  time <- function(K) min(replicate(3, system.time(argKmin(D, K = K, device = "cpu"))[["user.self"]]))
  expect_lt(time(1000), 12 * time(100) + 0.1)
})

# --- the least and where it stands: lanes, strips, tiles and threads look for it, which.min() looks at all

first_least <- function(values) {
  at <- apply(values, 1, function(row) c(which.min(row), NA)[1])
  least <- values[cbind(seq_along(at), at)]
  none <- ifelse(rowSums(is.nan(values)) > 0, NaN, Inf)
  list(value = matrix(ifelse(is.na(at), none, least)), index = matrix(at))
}

test_that("the least is the first of its equals, and no NaN, wherever they stand", {
  set.seed(17)
  ends <- function(n, first, last) c(rep(first, ceiling(n / 2)), rep(last, n - ceiling(n / 2)))
  kinds <- list(
    ties = function(n) sample(0:3, n, TRUE), equal = function(n) rep(2, n), falling = function(n) n:1,
    all_nan = function(n) rep(NaN, n), all_inf = function(n) rep(Inf, n),
    nan_first = function(n) c(NaN, seq_len(n))[1:n],
    nan_then_inf = function(n) ends(n, NaN, Inf), inf_then_nan = function(n) ends(n, Inf, NaN),
    inf_then_ties = function(n) ends(n, Inf, 1), nan_last = function(n) ends(n, 3, NaN),
    mixed = function(n) sample(c(0:2, NaN, Inf, -Inf), n, TRUE)
  )
  x <- c(sample(0:3, 65, TRUE), NaN, Inf)
  cases <- combinations(kind = names(kinds), size = c(1, 4, 53, 1031), times = 2)
  for (case in seq_len(nrow(cases))) {
    size <- cases$size[case]
    kind <- cases$kind[case]
    y <- as.numeric(kinds[[kind]](size))
    squares <- outer(x, y, function(a, b) (a - b)^2)
    opposite <- first_least(-squares)
    for (isa in instruction_sets) for (precision in test_precisions()) for (index in c("j", if (size == 53) "i")) {
      at <- if (index == "j") list(Vi(x), Vj(y)) else list(Vi(y), Vj(x))
      found <- function(F, op, threads = 1) {
        with_isa(isa, reduction(F, op, index = index, precision = precision, device = "cpu", threads = threads))
      }
      label <- paste(kind, size, isa, precision, index)
      fused <- sqdist(at[[1]], at[[2]])
      expect_equal(found(fused, "min_argmin"), first_least(squares), tolerance = 0, label = label)
      expect_identical(found(fused, "min_argmin", 3), found(fused, "min_argmin"), label = label)
      expect_identical(found(fused * Pm(1), "argmin"), found(fused, "argmin"), label = label)
      most <- found(fused, "max_argmax")
      expect_equal(most, list(value = -opposite$value, index = opposite$index), tolerance = 0, label = label)
    }
  }
})

test_that("of all pairs the least has the place of the first in the matrix", {
  set.seed(18)
  for (size in list(c(1, 37), c(37, 1), c(37, 211), c(300, 5))) {
    x <- sample(0:9, size[1], TRUE)
    y <- sample(0:9, size[2], TRUE)
    squares <- outer(x, y, "-")^2
    for (isa in instruction_sets) for (op in c("argmin", "argmax")) {
      at <- with_isa(isa, reduction(sqdist(Vi(x), Vj(y)), op, index = "ij", device = "cpu"))
      expect_equal(c(at), if (op == "argmin") which.min(squares) else which.max(squares), label = paste(isa, op))
    }
  }
})

test_that("medians and quantiles are those of base R to the bit, through ties, infinities and sizes", {
  set.seed(19)
  x <- matrix(rnorm(60), 20, dimnames = list(letters[1:20], NULL))
  y <- matrix(rnorm(93), 31)
  D <- sqdist(Vi(x), Vj(y))
  probs <- c(0, 0.1, 1 / 3, 0.5, 0.9, 1)
  whole <- matrix(sample(1:3, 60, TRUE), 20)
  formulas <- list(D, exp(-300 * D), -exp(-300 * D), 1 / D, sqdist(Vi(whole), Vj(y) * 0), lazy_if(D < 5, D, Inf),
                   lazy_if(D < 5, -Inf, D), sin(D), lazy_if(D < 3, D, 0))
  for (F in formulas) {
    M <- as.matrix(F)
    expect_identical(unname(median(F, index = "j", drop = TRUE)), unname(apply(M, 1, median)))
    expect_identical(c(median(F, index = "i")), unname(apply(M, 2, median)))
    expect_identical(c(median(F, index = "ij")), median(M))
    values <- t(apply(M, 1, quantile, probs))
    expect_equal(quantile(F, probs, index = "j"), values, tolerance = 1e-15, ignore_attr = TRUE)
  }
  expect_identical(dimnames(quantile(D, 0.25, index = "j")), list(letters[1:20], "25%"))
  wide <- median(Vi(x) - Vj(y), index = "j")
  expect_identical(unname(wide[, 2]), unname(apply(outer(x[, 2], y[, 2], "-"), 1, median)))
  same <- rep(1:3, length.out = 20)
  M <- as.matrix(sqdist(Vi(x), Vj(x)))
  M[outer(same, same, "!=")] <- NA
  within <- restrict(sqdist(Vi(x), Vj(x)), by = same)
  expect_identical(median(within, index = "j", drop = TRUE), apply(M, 1, median, na.rm = TRUE))
  none <- restrict(D, where = Vj(y)[, , 1] > 99)
  expect_true(all(is.na(median(none, index = "j"))))
  rounded <- median(D, index = "j", precision = "float32")
  expect_equal(rounded, median(D, index = "j"), tolerance = 1e-5)
  expect_error(median(sqdist(Vi(dim = 3), Vj(y)), index = "j"), "placeholders", class = "kernweave_error_input")
  expect_error(quantile(D, 2, index = "j"), "`probs`", class = "kernweave_error_value")
})
