# Nests: every way in which the loops of an index formula may lie gives the same numbers.

random_nested <- function(seed) {
  set.seed(seed)
  axes <- letters[9:(11 + seed %% 2)]
  extents <- structure(sample(c(1:9, 17), length(axes), TRUE), names = axes)
  read <- lapply(1:3, function(k) sample(axes, sample(min(3, length(axes)), 1)))
  read[[1]] <- union(read[[1]], setdiff(axes, unlist(read)))
  data <- lapply(read, function(own) array(stats::rnorm(prod(extents[own])), extents[own]))
  names(data) <- LETTERS[1:3]
  terms <- mapply(function(name, own) paste0(name, "[", paste(own, collapse = ", "), "]"), LETTERS[1:3], read)
  right <- switch(1 + seed %% 3, paste(terms, collapse = " * "),
                  paste0("exp(-abs(", paste(terms, collapse = " - "), "))"),
                  paste(terms[1], "* (", terms[2], "<", terms[3], ")"))
  kept <- sample(axes, sample(0:length(axes), 1))
  left <- if (length(kept)) paste0("R[", paste(kept, collapse = ", "), "]") else "R"
  list(formula = stats::as.formula(paste(left, "~", right)), data = data)
}

test_that("every nest of random formulas gives the same numbers, in any order of the outer loops", {
  ops <- c("sum", "max", "argmin", "logsumexp", "Kmin", "mean")
  for (seed in seq_len(by_tier(quick = 40, usual = 80, all = 400))) {
    case <- random_nested(seed)
    op <- ops[1 + seed %% length(ops)]
    R <- reduction(case$formula, op, K = if (op == "Kmin") 2, call = FALSE, data = case$data)
    expected <- as.array(R)
    for (nest in R$axes$nests) {
      outer <- setdiff(names(R$axes$all), unlist(nest))
      for (outer in list(outer, rev(outer))) {
        found <- as.array(R$axes$again(c(nest, list(outer = outer))))
        expect_equal(found, expected, tolerance = 1e-12, label = paste(deparse1(case$formula), op))
      }
    }
  }
})

test_that("schedule() lists nests, the chosen one among them, and makes the reduction of an order", {
  A <- matrix(stats::rnorm(35), 5)
  B <- matrix(stats::rnorm(77), 7)
  R <- reduction(C[i, j] ~ A[i, k] * B[k, j], "sum", call = FALSE)
  found <- schedule(R, measure = TRUE)
  expect_identical(names(found), c("nest", "seconds", "measured", "chosen"))
  expect_identical(sum(found$chosen), 1L)
  expect_false(is.unsorted(found$seconds))
  expect_setequal(found$nest, c("j 11 | i 5 lanes x k 7 sweep", "i 5 | j 11 lanes x k 7 sweep",
                                "i 5 lanes x k 7 sweep x j 11 components", "j 11 lanes x k 7 sweep x i 5 components"))
  expect_equal(as.array(schedule(R, order = c("j", "k", "i"))), A %*% B)
  expect_equal(as.array(schedule(R, c("j", "k", "i"), components = "j")), A %*% B)
  S <- schedule(R, order = c("i", "k", "j"))
  expect_identical(schedule(S)$nest[schedule(S)$chosen], "i 5 | j 11 lanes x k 7 sweep")
  expect_equal(as.array(unserialize(serialize(S, NULL))), A %*% B)
})

test_that("an order that no nest has is refused by class, with those that there are", {
  A <- matrix(0, 5, 7)
  R <- reduction(C[i] ~ A[i, k], "sum", call = FALSE)
  for (order in list(c("i", "i"), "k", c("i", "k", "l"), 1:2))
    expect_error(schedule(R, order = order), "i, k", class = "kernweave_error_input")
  expect_error(schedule(R, order = c("i", "k")), "i 5 lanes x k 7 sweep", class = "kernweave_error_unsupported")
  expect_error(schedule(sum(Vi(A), index = "i")), class = "kernweave_error_input")
  expect_error(schedule(R, measure = NA), "measure", class = "kernweave_error_input")
})

test_that("the model chooses nests whose runs are long", {
  long <- function(extents) {
    P <- array(0, extents[c("i", "k", "b")])
    Q <- array(0, extents[c("k", "j", "b")])
    R <- reduction(C[i, j, b] ~ P[i, k, b] * Q[k, j, b], "sum", call = FALSE)
    R$axes$roles$lane
  }
  expect_identical(long(c(i = 200, j = 2, k = 30, b = 2)), "i")
  expect_identical(long(c(i = 2, j = 2, k = 3, b = 5000)), "b")
})
