# Blocks of rows: together they are the whole, bit for bit.

set.seed(8)
x <- matrix(stats::runif(3 * 5003), ncol = 3)
y <- matrix(stats::runif(3 * 300), ncol = 3)
g <- sample(1:7, 5003, TRUE)
h <- sample(2:7, 300, TRUE)  # some rows have no pairs

reductions <- list(
  sum = function() reduction(exp(-sqdist(Vi(x), Vj(y))), "sum", call = FALSE),
  `positions along i` = function() reduction(abs(Vi(y[, 1]) - Vj(x[, 1])), "argmax", index = "i", call = FALSE),
  groups = function() min(restrict(sqdist(Vi(x), Vj(y)), by = list(g, h)), index = "j", call = FALSE),
  batches = function() sum(abs(Vi(array(x[1:5000, ], c(1250, 3, 4))) - Vj(y)), index = "j", call = FALSE)
)

# Rows of all blocks, from each the part that `part()` takes.
together <- function(blocks, part = identity) {
  whole <- as.matrix(do.call(rbind, lapply(blocks, function(block) {
    found <- part(block)
    matrix(found, ncol = length(found) / max(1, length(attr(block, "rows"))))
  })[lengths(lapply(blocks, attr, "rows")) > 0]))
  whole[order(unlist(lapply(blocks, attr, "rows"))), , drop = FALSE]
}
flat <- function(x) matrix(x, NROW(x))

test_that("blocks together have the bits of the whole", {
  for (name in names(reductions)) for (of in c(1, 3, 25)) {
    R <- reductions[[name]]()
    blocks <- lapply(seq_len(of), function(k) reduction_block(R, k, of))
    expect_identical(together(blocks), flat(as.matrix(R)), label = paste(name, of))
  }
})

test_that("a block is a list where the reduction's results are", {
  R <- reduction(sqdist(Vi(x), Vj(y)), "Kmin_argKmin", K = 3, call = FALSE)
  blocks <- lapply(1:2, function(k) reduction_block(R, k, 2))
  expect_named(blocks[[1]], names(as.matrix(R)))
  for (part in names(as.matrix(R))) {
    expect_identical(together(blocks, function(block) block[[part]]), as.matrix(R)[[part]])
  }
})

test_that("a block has all rows at most once, and none where there are more blocks than rows allow", {
  R <- reduction(abs(Vi(y[1:5, ]) - Vj(x)), "sum", call = FALSE)
  blocks <- lapply(1:4, function(k) reduction_block(R, k, 4))
  expect_identical(sort(unlist(lapply(blocks, attr, "rows"))), 1:5)
  expect_identical(unique(vapply(blocks, ncol, 0L)), 3L)
  expect_true(any(vapply(blocks, nrow, 0L) == 0))
})

test_that("what has no blocks is refused by class", {
  R <- reductions$sum()
  expect_error(reduction_block(1, 1, 1), class = "kernweave_error_input")
  expect_error(reduction_block(R, 3, 2), "from 1 to `of`", class = "kernweave_error_input")
  expect_error(reduction_block(R, 0, 2), class = "kernweave_error_input")
  waits <- reduction(abs(Vi(x) - Vj(dim = 3)), "sum", call = FALSE)
  expect_error(reduction_block(waits, 1, 2), class = "kernweave_error_no_data")
  both <- reduction(abs(Vi(x) - Vj(y)), "sum", index = "ij", call = FALSE)
  expect_error(reduction_block(both, 1, 2), class = "kernweave_error_unsupported")
  axes <- reduction(s[i] ~ abs(x[i, a] - y[j, a]), "sum", call = FALSE)
  expect_error(reduction_block(axes, 1, 2), "index formula", class = "kernweave_error_unsupported")
  F <- reduction(exp(-sqdist(Vi(x, name = "x"), Vj(y))), "sum", call = FALSE)
  expect_error(reduction_block(vjp(F, "x", 1, call = FALSE), 1, 2), "gradient", class = "kernweave_error_unsupported")
})
