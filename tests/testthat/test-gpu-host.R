# The GPU engine where there is no GPU: its tests on a device whose memory and kernels are the host's
# (tests/testthat/cuda), so that no kernel, plan or executor goes unrun.

# Names of the tests of a file that failed there, or were skipped, and how many expectations held.
tests_on_host <- function(name, seconds, tier) {
  skip_if(identical(kernweave_sitrep()$configured[["Cuda"]], "yes"), "kernels of a GPU were compiled")
  found_under_driver(function(file, tier) {
    library(testthat)
    Sys.setenv(KERNWEAVE_TESTS = tier)
    helpers <- new.env(parent = asNamespace("kernweave"))
    run <- as.data.frame(test_file(file, reporter = "silent", package = "kernweave", load_package = "installed",
                                   env = helpers, stop_on_failure = FALSE))
    list(wrong = run$test[run$failed > 0 | run$error], right = sum(run$passed, helpers$expectations$count))
  }, list(list(normalizePath(test_path(paste0("test-", name, ".R"))), tier)), seconds)[[1]]
}
expect_right_there <- function(name, fewest, seconds = 600, tier = test_tier) {
  found <- tests_on_host(name, seconds, tier)
  expect_identical(found$wrong, character(), label = paste("wrong of", name))
  expect_gt(found$right, fewest)
}

test_that("arrays are what they are on the CPU, and stay there, by verbs that are the CPU's", {
  skip_below("quick")
  skip_without_windows()
  expect_right_there("arrays-gpu", 5000)
})

test_that("rows that are dealt out have the bits of the plain call, tensor cores and screens included", {
  skip_below("all")
  expect_right_there("rows", 600)
})

test_that("kernels that read tables are what they are on the CPU, in both precisions, beside other parameters", {
  skip_below("usual")
  product <- function(precision) {
    set.seed(1)
    x <- matrix(stats::runif(600), 200)
    b <- stats::rnorm(200)
    vapply(c("cpu", "gpu"), function(device) {
      K <- Pm(0.7, name = "v") * kernel_matern(x, x, scale = Pm(c(0.2, 0.3, 0.5), name = "s"), nu = 0.6)
      as.vector(lazy_set(K, device = device, precision = precision) %*% b)
    }, numeric(200))
  }
  found <- found_under_driver(product, list(list("float64"), list("float32")), 120)
  for (k in 1:2) expect_close(found[[k]][, "gpu"], found[[k]][, "cpu"], c(1e-12, 1e-5)[k])
})

test_that("batches, restricted pairs and axes beyond two are what they are on the CPU", {
  skip_below("all")
  expect_right_there("batches", 300)
  expect_right_there("pairs-gpu", 40000)
  expect_right_there("index-gpu", 50)
})

test_that("likelihoods by products are what they are on the CPU, of counts and by series, too", {
  skip_below("all")
  both <- function(series, family) {
    set.seed(1)
    d <- data.frame(a = stats::runif(500), b = stats::runif(500))
    eta <- sin(6 * d$a) * cos(5 * d$b)
    d$y <- if (family == "poisson") stats::rpois(500, exp(1 + eta)) else eta + stats::rnorm(500, sd = 0.3)
    sapply(c("cpu", "gpu"), function(device) {
      options(kernweave.device = device)
      given <- if (family == "gaussian") list(nugget = 0.09)
      fit <- do.call(gp_fit, c(list(y ~ a + b, d, kernel = kernel_spec("matern32", scale = 0.3), variance = 0.5,
                                    family = family, method = "ML",
                                    control = fit_control(dense_n = 0, approximate = if (series) TRUE)), given))
      c(logLik(fit), coef(fit), unlist(predict(fit, d[1:5, ], se.fit = TRUE, method = "exact")[1:2]))
    })
  }
  cases <- list(list(TRUE, "gaussian"), list(FALSE, "gaussian"), list(TRUE, "poisson"), list(FALSE, "poisson"))
  for (found in found_under_driver(both, cases, 600)) {
    expect_equal(found[, "gpu"], found[, "cpu"], tolerance = 1e-5)
  }
})

test_that("solvers, determinants, approximations and restricted pairs have the bits of one GPU on several", {
  skip_below("usual")
  on_gpus <- function(asked, engine) {
    sys.source(engine, environment())
    through("gpu_pretend", 3)
    set.seed(1)
    x <- matrix(stats::runif(3000), 1000)
    y <- cbind(sin(6 * x[, 1]), x[, 2])
    K <- kernel_matern(x, x, scale = 0.3)
    gaussian <- exp(-sqdist(Vi(x), Vj(x)))
    squares <- sqdist(Vi(x[1:600, 1, drop = FALSE]), Vj(x[1:600, 1, drop = FALSE]))
    waves <- exp(-squares)  # enough work for each pair to be worth a second GPU
    for (k in 1:10) waves <- waves + cos(k * squares) * exp(-k * squares) / 2^k
    likelihood <- function(scale) {
      K <- kernel_matern(x, x, scale = scale)
      sum(y[, 1] * solve(K, y[, 1], ridge = 0.1, tol = 1e-2, method = "cg", rank = 30)) +
        logdet(K, ridge = 0.1, probes = 4, seed = 1, method = "lanczos", rank = 30)
    }
    calls <- list(
      shared = function() solve(waves, y[1:600, ], ridge = 1, method = "cg", precondition = FALSE, tol = 1e-3),
      restricted = function() restrict(gaussian, exclude_diag = TRUE) %*% y,
      folded = function() reduction(s[j] ~ exp(-(x[i, k] - x[j, k])^2), "sum"),
      refined = function() solve(lazy_set(K, precision = "float32"), y, ridge = 0.1, method = "cg"),
      likelihood = function() unlist(value_and_gradient(likelihood)(0.3)),
      approximation = function() solve(approximate(gaussian, tol = 1e-6), y, ridge = 0.1, method = "cg"),
      plain = function() solve(K, y, ridge = 0.1, method = "cg", precondition = FALSE),
      block = function() solve(K, y, ridge = 0.1, method = "block", rank = 30, local = "always"),
      minimal = function() solve(K, y, ridge = 0.1, method = "minres"),
      eigenpairs = function() unlist(keigen(K, k = 3)[1:2])
    )
    said <- character()
    differ <- lapply(calls[asked], function(call) withCallingHandlers({
      one <- with_kernweave(call(), device = 0)
      vapply(list(0:1, c(0, 2, 1)), function(device) max(abs(with_kernweave(call(), device = device) - one)), 0)
    }, message = function(m) said <<- c(said, conditionMessage(m))))
    c(differ, on_cpu = sum(grepl("computes on the CPU", said)))
  }
  asked <- if (reaches("all")) 1:10 else 1:2
  found <- found_under_driver(on_gpus, list(list(asked, normalizePath(test_path("helper-engine.R")))), 300)[[1]]
  expect_length(found, length(asked) + 1)
  for (case in names(found)) expect_true(all(found[[case]] == 0), label = case)
})

test_that("a GPU that is lost in the middle of a call is a classed error at once, and what follows is the CPU's", {
  skip_below("usual")
  lost <- function(devices, launches, engine) {
    sys.source(engine, environment())
    through("gpu_pretend", length(devices))
    set.seed(1)
    K <- exp(-sqdist(Vi(matrix(stats::runif(6000), 2000)), Vj(matrix(stats::runif(3000), 1000))))
    run <- function(device) tryCatch(sum(K, index = "j", device = device), error = function(e) e)
    one <- run(0)
    several <- run(devices)
    Sys.setenv(ON_HOST_LOST = launches)
    seconds <- system.time(error <- run(devices))[["elapsed"]]
    list(same = identical(several, one), class = class(error)[1], text = conditionMessage(error), seconds = seconds,
         later = class(run(devices))[1], auto = isTRUE(all.equal(run("auto"), one)))
  }
  engine <- normalizePath(test_path("helper-engine.R"))
  cases <- list(list(0, 1), list(0:2, 2), list(0, 2), list(0:2, 1))
  for (case in utils::head(cases, if (reaches("all")) 4 else 2)) {
    found <- found_under_driver(lost, list(c(case, engine)), 120)[[1]]
    expect_match(found$text, "the GPU was lost at .*computes\\s+on the CPU from now on")
    expect_identical(found[c("same", "class", "later", "auto")],
                     list(same = TRUE, class = "kernweave_error_no_device", later = "kernweave_error_no_device",
                          auto = TRUE), label = paste(length(case[[1]]), "devices"))
    expect_lt(found$seconds, 10)
  }
})

test_that("lists are the same whatever part of the data a GPU's memory holds, and on several GPUs", {
  skip_below("usual")
  differ <- function(places, precision, engine) {
    sys.source(engine, environment())
    Sys.setenv(ON_HOST_PROCESSORS = 132)
    through("gpu_pretend", 3)
    set.seed(1)
    D <- sqdist(Vi(matrix(stats::runif(12003), 4001)), Vj(matrix(stats::runif(36009), 12003)))
    rows <- function(...) with_kernweave(argKmin(D, K = places), precision = precision, ...)
    all <- function(...) with_kernweave(reduction(D, "argKmin", K = places, index = "ij"), precision = precision, ...)
    found <- rows(device = "gpu")
    of_all <- all(device = "gpu")
    c(cpu = sum(found != rows(device = "cpu")), of_all = sum(of_all != all(device = "cpu")),
      vapply(c(2, 1.5, 1, 0.6), function(mb) sum(rows(device = "gpu", gpu_mb = mb) != found), 0),
      sum(rows(device = 0:2) != found), sum(all(device = 0:2) != of_all))
  }
  engine <- normalizePath(test_path("helper-engine.R"))
  cases <- list(list(5, "float32", engine), list(1, "float32", engine), list(3, "float64", engine))
  cases <- utils::head(cases, if (reaches("all")) 3 else 1)
  for (found in found_under_driver(differ, cases, 300)) expect_true(all(found == 0), label = deparse(found))
})
