# Analysis of variance by distances, against vegan and dense matrices.

hat <- function(X) {
  Q <- qr(X)
  tcrossprod(qr.Q(Q)[, seq_len(Q$rank), drop = FALSE])
}
gower <- function(D) -0.5 * centred(D^2)

# F of the columns `own` after `before`, of residuals under these in another order.
dense_F <- function(G, before, own, all, order = seq_len(nrow(G))) {
  n <- nrow(G)
  left <- diag(n) - hat(before)
  G <- (left %*% G %*% left)[order, order]
  ss <- sum(diag((hat(cbind(before, own)) - hat(before)) %*% G))
  df <- qr(cbind(before, own))$rank - qr(before)$rank
  residual <- sum(diag((diag(n) - hat(all)) %*% G))
  (ss / df) / (residual / (n - qr(all)$rank))
}

test_that("sums of squares and F are those of vegan and of variables themselves", {
  table <- permanova(iris[, 1:4] ~ Species, iris, R = 1)
  expect_equal(table$F[1], 487.330876375, tolerance = 1e-10)
  by_variables <- summary(stats::aov(as.matrix(iris[, 1:4]) ~ iris$Species))
  expect_equal(table$SumOfSqs[1], sum(vapply(by_variables, function(a) a[["Sum Sq"]][1], 0)))
  expect_s3_class(table, c("permanova", "anova", "data.frame"), exact = TRUE)
  skip_without_peer("vegan")
  found <- new.env()
  utils::data("dune", "dune.env", package = "vegan", envir = found)
  dune <- found$dune
  ours <- permanova(dune ~ Management * A1, found$dune.env, distance = "bray", R = 1)
  expect_equal(ours$SumOfSqs[1:4], c(1.468591751793, 0.440889243089, 0.589176276910, 1.800364598653),
               tolerance = 1e-9)
  expect_equal(ours$F[1:3], c(3.26287631492, 2.93866637959, 1.30901546798), tolerance = 1e-9)
  for (by in c("terms", "margin")) {
    peer <- vegan::adonis2(dune ~ Management + A1, found$dune.env, method = "bray", by = by, permutations = 9)
    ours <- permanova(dune ~ Management + A1, found$dune.env, distance = "bray", by = by, R = 1)
    for (column in c("Df", "SumOfSqs", "R2", "F")) expect_equal(ours[[column]], peer[[column]], label = by)
  }
})

test_that("replicates are those of dense matrices, residuals under the terms before in another order", {
  set.seed(3)
  frame <- data.frame(g = factor(rep(1:3, 5)), z = stats::rnorm(15))
  Y <- matrix(stats::rnorm(30), 15)
  G <- gower(dense_distance(Y))
  one <- matrix(1, 15)
  M <- stats::model.matrix(~ g, frame)
  all <- cbind(M, frame$z)
  set.seed(7)
  table <- permanova(Y ~ g + z, frame, R = 20)
  set.seed(7)
  orders <- replicate(20, sample.int(15))
  first <- apply(orders, 2, function(o) dense_F(G, one, M, all, o))
  second <- apply(orders, 2, function(o) dense_F(G, M, cbind(frame$z), all, o))
  expect_equal(attr(table, "replicates"), unname(cbind(first, second)))
  expect_equal(table$F[1:2], c(dense_F(G, one, M, all), dense_F(G, M, cbind(frame$z), all)))
  expect_equal(table[["Pr(>F)"]][1], (1 + sum(first >= table$F[1])) / 21)
  set.seed(7)
  margin <- permanova(Y ~ g + z, frame, R = 20, by = "margin")
  g_last <- apply(orders, 2, function(o) dense_F(G, cbind(1, frame$z), M, all, o))
  expect_equal(attr(margin, "replicates"), unname(cbind(g_last, second)))
  set.seed(7)
  model <- permanova(Y ~ g + z, frame, R = 20, by = "model")
  expect_equal(attr(model, "replicates")[, 1], apply(orders, 2, function(o) dense_F(G, one, all, all, o)))
})

test_that("moments are those of all permutations, and strata keep rows within them", {
  set.seed(2)
  Y <- matrix(stats::rexp(14), 7)
  z <- stats::rnorm(7)
  G <- gower(dense_distance(Y))
  P <- hat(stats::model.matrix(~ z)) - 1 / 7
  T <- apply(all_orders(7), 2, function(o) sum(P * G[o, o]))
  expect_equal(attr(permanova(Y ~ z, null = "moments"), "moments"), moments3(T))
  g <- factor(c(1, 1, 1, 2, 2, 3, 3))
  block <- rep(1:3, c(2, 3, 2))
  table <- permanova(Y ~ g, strata = block)
  orders <- all_orders(7)
  within <- orders[, apply(orders, 2, function(o) all(block[o] == block))]
  one <- matrix(1, 7)
  M <- stats::model.matrix(~ g)
  F <- apply(within, 2, function(o) dense_F(G, one, M, M, o))
  expect_equal(unique(sort(signif(F, 10))), sort(signif(attr(table, "replicates")[, 1], 10)))
  expect_equal(table[["Pr(>F)"]][1], mean(F >= table$F[1] * (1 - 1e-10)))
  expect_equal(permanova(Y ~ g, data.frame(b = block), strata = b)[["Pr(>F)"]], table[["Pr(>F)"]])
  expect_match(attr(table, "heading"), "all 3 permutations")
})

test_that("where rows that are alike leave few orders all are taken, by moments too, of each term", {
  skip_below("quick")
  set.seed(4)
  Y <- matrix(stats::rexp(14), 7)
  frame <- data.frame(g = factor(c(1, 1, 1, 2, 2, 3, 3)), h = factor(c(1, 2, 1, 1, 2, 2, 2)))
  G <- gower(dense_distance(Y))
  # For all orders that put rows of one design in the same places, one order stands.
  orders <- all_orders(7)
  orders <- orders[, !duplicated(apply(orders, 2, function(o) paste(frame$g, frame$h)[order(o)]), MARGIN = 2)]
  expect_identical(ncol(orders), 1260L)
  p_of <- function(before, own, all) {
    F <- apply(orders, 2, function(o) dense_F(G, before, own, all, o))
    mean(F >= dense_F(G, before, own, all) * (1 - 1e-10))
  }
  one <- matrix(1, 7)
  M <- stats::model.matrix(~ g, frame)
  exact <- p_of(one, M, M)
  expect_equal(permanova(Y ~ g, frame, null = "moments")[["Pr(>F)"]][1], exact)
  expect_equal(permanova(Y ~ g, frame)[["Pr(>F)"]][1], exact)
  all <- stats::model.matrix(~ g + h, frame)
  table <- permanova(Y ~ g + h, frame, R = 2000)
  expect_match(attr(table, "heading"), "all 1260 permutations")
  expect_equal(table[["Pr(>F)"]][1:2], c(p_of(one, M, all), p_of(M, all[, 4, drop = FALSE], all)))
  threes <- factor(rep(1:3, each = 3))
  apart <- permanova(10 * as.integer(threes) + 1:9 ~ threes, null = "moments")
  expect_equal(apart[["Pr(>F)"]][1], 1 / 280)
})

test_that("distances of one's own, missing rows, constant and aliased terms are taken care of", {
  cars <- mtcars
  cars$cyl[2] <- NA
  own <- permanova(cbind(mpg, wt) ~ factor(cyl), cars, distance = function(x, y) euclidean(x, y), R = 1)
  named <- permanova(cbind(mpg, wt) ~ factor(cyl), mtcars[-2, ], R = 1)
  expect_equal(own$F, named$F)
  expect_warning(table <- permanova(mpg ~ wt + I(2 * wt), mtcars, R = 1), class = "kernweave_warning_dropped")
  expect_equal(rownames(table), c("wt", "Residual", "Total"))
  expect_error(suppressWarnings(permanova(mpg ~ I(0 * wt), mtcars)), class = "kernweave_error_data")
  expect_error(permanova(mpg ~ factor(seq_along(wt)), mtcars), class = "kernweave_error_data")
  expect_error(permanova(I(0 * mpg) ~ wt, mtcars), class = "kernweave_error_data")
  expect_error(permanova(mpg ~ factor(cyl), cars, na.action = na.pass), class = "kernweave_error_data")
  expect_error(permanova(stats::dist(mtcars) ~ wt, mtcars), "dist", class = "kernweave_error_input")
  expect_error(permanova(rbind(0, 1, 0, 2) ~ c(1, 2, 1, 2), distance = "bray"), "1, 3", class = "kernweave_error_data")
  expect_error(permanova(mpg ~ wt + am, mtcars, null = "moments"), class = "kernweave_error_unsupported")
  expect_error(permanova(mpg ~ wt, mtcars, distance = "brey"), "bray", class = "kernweave_error_input")
  expect_error(permanova(~ wt, mtcars), class = "kernweave_error_input")
  expect_error(permanova(mtcars, mtcars$wt), "formula", class = "kernweave_error_input")
})

test_that("every row r times has r times the sums of squares", {
  r <- 4
  once <- permanova(iris[, 1:4] ~ Species, iris, R = 1)
  many <- iris[rep(1:150, r), ]
  table <- permanova(many[, 1:4] ~ Species, many, R = 1)
  expect_equal(table$SumOfSqs, r * once$SumOfSqs)
  expect_equal(table$F[1], (table$SumOfSqs[1] / 2) / (table$SumOfSqs[2] / (600 - 3)))
})

test_that("tests hold their level, in later terms too", {
  skip_below("quick")
  set.seed(21)
  p <- t(replicate(null_sets(), {
    frame <- data.frame(g = factor(rep(1:2, 10)), z = stats::rnorm(20))
    Y <- matrix(stats::rexp(40), 20) + as.integer(frame$g)
    c(permanova(Y ~ g + z, frame, R = 99)[["Pr(>F)"]][2], permanova(Y ~ z, frame, null = "moments")[["Pr(>F)"]][1])
  }))
  for (k in 1:2) expect_level(p[, k])
})

test_that("the table prints as anova tables do, and is drawn", {
  set.seed(1)
  table <- permanova(cbind(mpg, wt) ~ factor(cyl) + am, mtcars, R = 99)
  expect_output(print(table), "euclidean, 32 rows, 99 permutations, terms in order")
  expect_output(print(table), "factor[(]cyl[)] +2 .* 0.01")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(table), table)
})

test_that("an offset is refused, which a design of distances has no place for", {
  expect_error(permanova(mpg ~ am + offset(wt), mtcars, R = 9), "offset", class = "kernweave_error_input")
})

test_that("strata within which there is nothing to permute are said to leave none, in tests of samples, too", {
  for (call in expression(permanova(iris[-5] ~ Species, iris, strata = Species),
                          permanova(iris[-5] ~ Species, iris, strata = 1:150),
                          energy_test(iris[-5], groups = iris$Species, strata = iris$Species))) {
    expect_warning(found <- eval(call), "nothing to permute", class = "kernweave_warning_few")
    expect_identical((found$p.value %or% found[["Pr(>F)"]])[1], 1)
  }
  expect_silent(permanova(iris[-5] ~ Species, iris, strata = rep(1:2, 75), R = 9))
})
