# The null engine: relabellings, p-values and moments against all permutations.

centred_kernel <- kernweave:::centred_kernel
kernel_invariants <- kernweave:::kernel_invariants
pearson_tail <- kernweave:::pearson_tail
replicate_p <- kernweave:::replicate_p
all_arrangements <- kernweave:::all_arrangements
swappable <- kernweave:::swappable

invariants_of <- function(A) {
  d <- diag(A)
  list(t1 = sum(d), t2 = sum(A^2), t3 = sum(diag(A %*% A %*% A)), s2 = sum(d^2), s3 = sum(d^3), u = sum(A^3),
       r = sum(d * rowSums(A^2)), b = sum(outer(d, d) * A))
}

test_that("the moments are those over all 5040 permutations of seven rows", {
  set.seed(2)
  A <- centred(crossprod(matrix(stats::rnorm(21), 3)))
  B <- centred(-dense_distance(matrix(stats::rnorm(14), 7)))
  orders <- all_orders(7)
  T <- apply(orders, 2, function(p) sum(A * B[p, p]))
  found <- kernweave:::permutation_moments(invariants_of(A), invariants_of(B), 7)
  expect_equal(found, moments3(T), tolerance = 1e-9)
  labels <- c(1, 1, 1, 2, 2, 3, 3)
  weights <- kernweave:::label_weights(c(3, 2, 2))
  L <- weights[labels, labels]
  expect_equal(kernweave:::block_invariants(weights, c(3, 2, 2)), invariants_of(L))
  Q <- qr.Q(qr(scale(matrix(stats::rnorm(14), 7), scale = FALSE)))
  for (q in 1:2) {
    P <- Q[, seq_len(q), drop = FALSE]
    expect_equal(kernweave:::projection_invariants(P), invariants_of(tcrossprod(P)))
  }
})

test_that("the invariants of a kernel are those of its centred matrix, by products too", {
  set.seed(3)
  x <- matrix(stats::rnorm(160), 80)
  K <- kernel_gaussian(x, scale = 1.5)
  A <- centred(as.matrix(K))
  expected <- invariants_of(A)
  centre <- centred_kernel(K)
  exact <- kernel_invariants(centre)
  expect_equal(exact[names(expected)], expected)
  expect_equal(exact$t3.se, 0)
  before <- .Random.seed
  sketched <- kernel_invariants(centre, exact_n = 0)
  expect_identical(.Random.seed, before)
  expect_lt(abs(sketched$t3 - expected$t3), 5 * sketched$t3.se + 1e-6 * expected$t3)
  plane <- centred_kernel(kernel_linear(x))
  flat <- kernel_invariants(plane, exact_n = 0)
  expect_equal(flat$t3 * plane$unit^3, sum(svd(scale(x, scale = FALSE))$d^6))
})

test_that("Pearson's curve has the tail of the gamma law that it is, of either sign, and of the normal one", {
  z <- c(-1, 0, 0.5, 2)
  g <- 0.8
  expect_equal(pearson_tail(z, g), stats::pgamma(4 / g^2 + 2 * z / g, 4 / g^2, lower.tail = FALSE))
  expect_equal(pearson_tail(z, -g), 1 - pearson_tail(-z, g))
  expect_equal(pearson_tail(z, 1e-9), stats::pnorm(-z))
  for (g in c(-0.5, 0, 1)) {
    moments <- c(mean = 3, variance = 4, skewness = g)
    tail <- function(t) pearson_tail((t - 3) / 2, g)
    expect_equal(kernweave:::pearson_density(4, moments), (tail(4 - 1e-5) - tail(4 + 1e-5)) / 2e-5, tolerance = 1e-6)
  }
})

test_that("ties count, and p-values are never 0", {
  expect_equal(replicate_p(5, c(5, 5 - 1e-13, 1, 2), FALSE), 3 / 5)
  expect_equal(replicate_p(9, 1:4, FALSE), 1 / 5)
  expect_equal(replicate_p(4, 1:4, TRUE), 1 / 4)
})

test_that("few relabellings are all taken, once each, within strata too", {
  all <- all_arrangements(c(1L, 1L, 2L, 3L), 100)
  expect_equal(ncol(all), 12)
  expect_false(any(duplicated(t(all))))
  expect_true(all(apply(all, 2, tabulate) == c(2, 1, 1)))
  within <- all_arrangements(c(1L, 2L, 1L, 2L, 2L), 100, strata = c(1, 1, 2, 2, 2))
  expect_equal(ncol(within), 6)
  expect_true(all(colSums(within[1:2, ] == 1) == 1))
  expect_null(all_arrangements(rep(1:2, 50), 999))
  set.seed(1)
  moved <- replicate(50, kernweave:::shuffled_rows(6, c(1, 2, 1, 2, 3, 3)))
  expect_true(all(moved[c(1, 3), ] %in% c(1, 3)) && all(moved[5:6, ] %in% 5:6))
})

test_that("arrangements are all there are, once each, and of labels that are alike one order stands for all", {
  for (codes in list(c(1, 1, 2, 2, 3, 3), c(1, 2, 3, 3, 3), c(2, 2, 2), c(3, 1, 2), 1)) {
    all <- all_arrangements(as.integer(codes), 1000)
    expect_equal(ncol(all), factorial(length(codes)) / prod(factorial(tabulate(codes))))
    expect_false(any(duplicated(t(all))))
    expect_true(all(apply(all, 2, sort) == sort(codes)))
  }
  few <- all_arrangements(rep(1:3, 2:4), 1000, alike = 1:3)
  expect_null(few)
  for (counts in list(c(2, 2, 2), c(3, 1, 3), c(1, 1, 2, 2))) {
    codes <- rep(seq_along(counts), counts)
    whole <- all_arrangements(codes, 1000)
    once <- all_arrangements(codes, ncol(whole) - 1, alike = counts)
    expect_equal(ncol(once) * prod(factorial(table(counts))), ncol(whole))
    # which rows are together, and in a group of how many, whatever its name
    together <- function(all) unique(apply(all, 2, function(v) paste(1 * outer(v, v, "=="), collapse = "")))
    expect_setequal(together(once), together(whole))
    expect_length(together(once), ncol(once))
  }
  expect_equal(ncol(all_arrangements(rep(1:2, c(1, 899)), 999)), 900)
  B <- matrix(c(0, 1, 2, 1, 0, 2, 2, 2, 5), 3)
  expect_equal(swappable(B, c(2, 2, 2)), c(1, 1, 3))
  expect_equal(swappable(B, c(2, 1, 2)), 1:3)
})

test_that("arrangements of labels that are alike are those of all orders, once each", {
  for (case in list(list(c(2, 2, 2), c(1, 1, 1)), list(c(1, 1, 1, 1, 2), c(1, 1, 1, 2, 3)), list(c(2, 0, 3, 2), 1:4),
                    list(c(2, 2, 3), c(1, 1, 2)), list(rep(1, 7), rep(1, 7)), list(c(1, 5, 1), c(1, 2, 1)))) {
    counts <- case[[1]]
    alike <- case[[2]]
    codes <- rep(seq_along(counts), counts)
    # names of labels that are alike are given in the order in which the labels appear
    named <- function(v) {
      first <- unique(v)
      among <- vapply(first, function(label) sum(alike[first[seq_len(match(label, first))]] == alike[label]), 0L)
      paste(alike[v], among[match(v, first)], collapse = " ")
    }
    expected <- unique(apply(all_orders(length(codes)), 2, function(order) named(codes[order])))
    found <- kernweave:::arrangements(counts, alike)
    expect_true(all(apply(found, 2, tabulate, length(counts)) == counts))
    expect_setequal(apply(found, 2, named), expected)
    expect_equal(ncol(found), length(expected))
  }
})

test_that("many groups of one row have one arrangement, which takes neither time nor memory", {
  setTimeLimit(elapsed = 30, transient = TRUE)
  on.exit(setTimeLimit())
  before <- gc(reset = TRUE)[2, 6]
  expect_equal(kernweave:::arrangements(rep(1L, 40), rep(1, 40)), matrix(1:40))
  expect_lt(gc()[2, 6] - before, 50)
  expect_warning(t <- mmd_test(ChickWeight$weight[1:40], groups = 1:40), class = "kernweave_warning_groups")
  expect_equal(t$p.value, 1)
  expect_warning(t <- energy_test(ChickWeight$weight[1:12], groups = c(1:11, 11)), class = "kernweave_warning_groups")
  expect_length(t$replicates, choose(12, 2))
})
