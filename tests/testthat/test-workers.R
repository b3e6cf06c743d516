# Workers: results are those of one process, bit for bit; workers that end or stall lose their block and nothing else.

set.seed(5)
x <- matrix(stats::runif(3 * 4001), ncol = 3)
y <- matrix(stats::runif(3 * 3007), ncol = 3)
b <- matrix(stats::rnorm(2 * 3007), ncol = 2)
g <- sample(1:7, 4001, TRUE)
h <- sample(1:7, 3007, TRUE)

calls <- list(
  `a product` = function() exp(-sqdist(Vi(x), Vj(y))) %*% b,
  `its transpose` = function() t(exp(-sqdist(Vi(x), Vj(y)))) %*% x[, 1],
  `a sum of several components` = function() sum(exp(-sqdist(Vi(x), Vj(y))) * Vj(y), index = "j"),
  logsumexp = function() reduction(-sqdist(Vi(x), Vj(y)), "logsumexp"),
  `nearest points` = function() reduction(sqdist(Vi(x), Vj(y)), "Kmin_argKmin", K = 4),
  `positions along i` = function() reduction(abs(Vi(x[, 1]) - Vj(y[, 1])), "argmax", index = "i"),
  `a matrix` = function() as.matrix(sqdist(Vi(x[1:700, ]), Vj(y[1:300, ]))),
  `both axes` = function() reduction(sqrt(sqdist(Vi(x), Vj(y))), "sum", index = "ij"),
  groups = function() sum(restrict(exp(-sqdist(Vi(x), Vj(y))), by = list(g, h)), index = "j"),
  batches = function() sum(abs(Vi(array(x[1:4000, ], c(1000, 3, 4))) - Vj(y)), index = "j"),
  `a gradient` = function() gradient(function(x) sum((exp(-sqdist(Vi(x), Vj(y))) %*% b[, 1])^2))(x),
  `an index formula` = function() reduction(C[i, j] ~ (x[i, a] - y[j, a])^2 * b[j, 1], "sum")
)

test_that("results by workers have the bits of one process", {
  with_workers(3, function(w) {
    cases <- combinations(name = names(calls), precision = c("float64", "float32"))
    for (case in seq_len(nrow(cases))) {
      name <- cases$name[case]
      precision <- cases$precision[case]
      here <- with_kernweave(calls[[name]](), precision = precision)
      there <- with_kernweave(calls[[name]](), precision = precision, workers = w)
      expect_identical(there, here, label = paste(name, precision))
    }
    expect_true(all(w$blocks > 0))
  })
})

test_that("solvers and models have workers by their formulas' setting", {
  K <- exp(-sqdist(Vi(x[1:1500, ]), Vj(x[1:1500, ])) / 0.02)
  data <- data.frame(x[1:400, ], y = stats::rnorm(400))
  with_workers(2, function(w) {
    far <- lazy_set(K, workers = w)
    expect_identical(as.vector(solve(far, x[1:1500, 1], ridge = 0.1)), as.vector(solve(K, x[1:1500, 1], ridge = 0.1)))
    expect_identical(keigen(far, 3)$values, keigen(K, 3)$values)
    fit <- function() kernel_ridge(y ~ X1 + X2 + X3, data, lambda = 0.1)
    expect_identical(with_kernweave(stats::fitted(fit()), workers = w), stats::fitted(fit()))
    expect_gt(sum(w$blocks), 10)
  })
})

test_that("points are sent once, a product sends its vector, and what is dropped is forgotten", {
  with_workers(2, function(w) {
    K <- lazy_set(exp(-sqdist(Vi(x), Vj(y))), workers = w)
    first <- K %*% b[, 1]
    messages <- list()
    known <- w$known
    expect_identical(K %*% b[, 1], first)
    expect_identical(w$known, known)  # nothing that stays was sent again
    product <- waiting_product(K, 1L)
    ready <- prepared(product)
    task <- list(job = serial_of(product$cache), dealt = "rows", rows = c(1, 2048), count = 4001,
                 data = data_of_tasks(ready$operands, list(x, y, b[, 1]), c(TRUE, FALSE, FALSE)))
    expect_lt(length(serialize(with_store(task, list(), names(needs_of(task))), NULL)), 8 * 3007 + 64000)
    expect_gt(min(w$bytes), 8 * length(y))
    expect_lt(sum(w$bytes), 8 * (1.1 * length(x) + 2 * length(y)))  # each has its own rows of x
    S <- lazy_set(exp(-sqdist(Vi(x), Vj(x))), workers = w)  # both sides are one matrix
    before <- w$bytes
    sum(S, index = "j")
    expect_lt(max(w$bytes - before), 1.5 * 8 * length(x))
    rm(S)
    rm(K, product, ready, task)
    gc()
    small <- lazy_set(abs(Vi(x[, 1]) - Vj(y[, 1])), workers = w)
    sum(small, index = "j")
    expect_lt(max(w$bytes), 8 * length(x))
  })
})

test_that("a worker holds no more than it may, and is sent again what it let go", {
  old <- options(kernweave.worker_mb = 0.1)
  on.exit(options(old))
  with_workers(2, function(w) {
    far <- lapply(1:3, function(k) lazy_set(exp(-sqdist(Vi(x), Vj(y))) * k, workers = w))
    far[[2]] <- lazy_set(exp(-sqdist(Vi(x + 1), Vj(y + 1))), workers = w)
    here <- list(exp(-sqdist(Vi(x), Vj(y))) %*% b, exp(-sqdist(Vi(x + 1), Vj(y + 1))) %*% b)
    for (k in c(1, 2, 1, 2)) expect_identical(far[[k]] %*% b, here[[k]])
    expect_lt(max(w$bytes), 8 * (length(y) + length(x)))  # what one call needs
  })
})

test_that("where there are few rows, columns are dealt out, and a worker has its own", {
  skip_below("quick")
  set.seed(6)
  far <- matrix(stats::runif(3e5), ncol = 3)
  flat <- exp(-sqdist(Vi(x[1:50, ]), Vj(far)))
  with_workers(2, function(w) {
    for (op in c("sum", "logsumexp", "argKmin")) {
      K <- if (op == "argKmin") 3
      R <- function(...) reduction(lazy_set(flat, ...), op, K = K)
      expect_identical(R(workers = w), R(), label = op)
    }
    expect_true(all(w$blocks > 1))
    expect_lt(sum(w$bytes), 1.6 * 8 * length(far))  # borders of blocks move with speeds
  })
})

test_that("near pairs of an approximation are dealt out, and lie in the order of its boxes", {
  set.seed(9)
  x <- matrix(stats::runif(12000), ncol = 2)
  b <- matrix(stats::rnorm(12000), ncol = 2)
  K <- exp(-sqrt(sqdist(Vi(x), Vj(x))))
  with_workers(2, function(w) {
    A <- approximate(lazy_set(K, workers = w), tol = 1e-8)
    expect_identical(A %*% b, approximate(K, tol = 1e-8) %*% b)
    expect_true(all(w$blocks > 0))
    solved <- function(A) as.vector(solve(A, b[, 1], ridge = 1))
    expect_identical(solved(A), solved(approximate(K, tol = 1e-8)))
  })
})

test_that("a worker that is killed loses its block and nothing else", {
  skip_on_os("windows")
  K <- exp(-sqdist(Vi(x), Vj(y)))
  here <- K %*% b
  with_workers(3, function(w) {
    far <- lazy_set(K, workers = w)
    expect_identical(far %*% b, here)
    tools::pskill(pid_of(w, 2), tools::SIGKILL)
    expect_identical(far %*% b, here)
    expect_identical(w$lost$node, 2L)
    expect_output(print(w), "died")
    expect_identical(far %*% b, here)
  })
})

test_that("a worker that stands still is left out after some patience", {
  skip_on_os("windows")
  K <- exp(-sqdist(Vi(x), Vj(y)))
  here <- K %*% b
  with_workers(2, patience = 1.5, function(w) {
    far <- lazy_set(K, workers = w)
    tools::pskill(pid_of(w, 1), tools::SIGSTOP)
    on.exit(tools::pskill(pid_of(w, 1), tools::SIGKILL))
    expect_identical(far %*% b, here)
    expect_output(print(w), "did not answer")
  })
})

test_that("where all workers are lost there is an error, or a function makes them again", {
  skip_on_os("windows")
  K <- exp(-sqdist(Vi(x), Vj(y)))
  here <- K %*% b
  end <- function(w) for (node in seq_along(w$cluster)) tools::pskill(pid_of(w, node), tools::SIGKILL)
  with_workers(2, function(w) {
    end(w)
    expect_error(lazy_set(K, workers = w) %*% b, "all workers are lost", class = "kernweave_error_worker_lost")
    expect_error(lazy_set(K, workers = w) %*% b, class = "kernweave_error_worker_lost")
  })
  made <- list()
  make <- function() made[[length(made) + 1]] <<- new_cluster(2)
  w <- kernweave_workers(make, threads = 1, always = TRUE)
  end(w)
  expect_identical(lazy_set(K, workers = w) %*% b, here)
  expect_length(made, 2)
  end_cluster(made[[1]])
  end_cluster(w$cluster)
})

test_that("errors on a worker keep their class, and the next call is answered by what it asked", {
  with_workers(2, function(w) {
    far <- lazy_set(exp(-sqdist(Vi(x), Vj(y))), workers = w)
    lacking <- parallel::clusterCall(w$cluster[1], worker_block, list(job = "none", data = list()))
    expect_identical(lacking[[1]]$need, "none")
    expect_identical(far %*% b, exp(-sqdist(Vi(x), Vj(y))) %*% b)
    expect_identical(parallel::clusterCall(w$cluster, function() "alive"), list("alive", "alive"))
  })
})

test_that("small reductions stay at home unless always is said", {
  with_workers(2, always = FALSE, function(w) {
    sum(lazy_set(abs(Vi(1:10) - Vj(1:9)), workers = w), index = "j")
    expect_identical(w$blocks, c(0L, 0L))
  })
})

test_that("a formula with workers is saved without them", {
  with_workers(1, function(w) {
    far <- lazy_set(exp(-sqdist(Vi(x), Vj(y))), workers = w)
    loaded <- unserialize(serialize(far, NULL))
    expect_identical(loaded %*% b, far %*% b)
    found <- parallel::clusterCall(w$cluster, function(far, b) {
      loadNamespace("kernweave")
      as.matrix(far %*% b)
    }, far, b)
    expect_identical(found[[1]], as.matrix(far %*% b))
  })
})

test_that("what is no set of workers is refused by class", {
  expect_error(kernweave_workers(3), class = "kernweave_error_input")
  expect_error(kernweave_workers(function() NULL), class = "kernweave_error_input")
  K <- abs(Vi(1:3) - Vj(1:3))
  expect_error(lazy_set(K, workers = 3), "makeCluster", class = "kernweave_error_settings")
  expect_error(kernweave_workers("future", patience = 0), class = "kernweave_error_input")
  with_workers(1, function(w) {
    expect_error(lazy_set(K, workers = w, device = 1), class = "kernweave_error_settings")
    expect_error(check_versions(list(c(version = "0.0.1", libraries = "/lib", host = "h"))), "0.0.1 .*/lib",
                 class = "kernweave_error_worker_version")
    expect_error(check_versions(list(c(version = "", libraries = "/lib", host = "h"))), "no kernweave",
                 class = "kernweave_error_worker_version")
    expect_output(print(w), "1 worker")
    expect_match(kernweave_options()$value[kernweave_options()$option == "kernweave.workers"], "NULL")
  })
})

test_that("futures of the user's plan give the same bits", {
  skip_if_not_installed("future")
  old <- future::plan(future::cluster, workers = cluster <- new_cluster(2))
  on.exit({
    future::plan(old)
    end_cluster(cluster)
  })
  w <- kernweave_workers("future", always = TRUE)
  for (name in c("a product", "nearest points", "both axes")) {
    expect_identical(with_kernweave(calls[[name]](), workers = w), calls[[name]](), label = name)
  }
})
