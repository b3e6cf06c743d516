# Restricted pairs on a GPU: what the CPU finds.

skip_without_gpu()

test_that("reductions of restricted pairs on a GPU are those of the CPU", {
  set.seed(6)
  rows <- kernweave_reductions()
  for (size in list(c(9, 140), c(700, 1300))) for (precision in test_precisions()) {
    points <- lapply(size, function(n) matrix(sample(0:3, 2 * n, TRUE), n))
    w <- sample(1:3, size[2], TRUE) / 2
    layouts <- random_pairs(1.5 - sqdist(Vi(points[[1]]), Vj(points[[2]])) / 8, size[1], size[2])
    for (layout in names(layouts)) for (row in sample(nrow(rows), 2)) {
      index <- sample(c("i", "j", "ij"), 1)
      G <- layouts[[layout]][[1]]
      if (rows$fn[row] %in% c("any", "all", "count")) G <- G > 1
      weighed <- rows$inputs[row] == "value_weight"
      found <- function(device) {
        reduction(lazy_set(G, device = device, precision = precision), rows$name[row], index = index,
                  K = if (rows$name[row] %in% oracle_lists) 3L, weight = if (weighed) Vj(w))
      }
      label <- paste(layout, rows$name[row], index, size[1], precision)
      gpu <- suppressMessages(found("gpu"))
      cpu <- found("cpu")
      for (k in seq_along(as.list(cpu))) {
        expect_close(as.list(gpu)[[k]], as.list(cpu)[[k]], 4 * tolerance_of(precision), 30, label)
      }
    }
  }
})

test_that("gradients, resident data and what a GPU does not take", {
  x <- matrix(runif(3000), 1000)
  X <- Vi(x)
  for (precision in test_precisions()) {
    slope <- function(device) {
      K <- lazy_set(exclude_diag(exp(-sqdist(X, Vj(x[1:900, ])))), device = device, precision = precision)
      vjp(reduction(K, "mean", call = FALSE), X, cotangent = 1)
    }
    expect_close(slope("gpu"), slope("cpu"), 4 * tolerance_of(precision))
  }
  blocks <- ranges(c(500, 500), c(500, 500), diag(2) == 1)
  there <- restrict(kernel_gaussian(on_device(x)), ranges = blocks)
  here <- restrict(kernel_gaussian(x), ranges = blocks)
  expect_close(as.matrix(sum(there, index = "j", device = "gpu")), sum(here, index = "j", device = "cpu"), 1e-12)
  K <- exclude_diag(kernel_gaussian(x[1:50, ]))
  expect_identical(suppressMessages(as.matrix(lazy_set(K, device = "gpu"))), as.matrix(lazy_set(K, device = "cpu")))
})
