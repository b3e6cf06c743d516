# Decisions are values: they travel as bytes, and who is told one computes the same bits.

# Reductions of all kinds of plans: one pass and several, one step and two, all pairs and some of them.
decided_reductions <- function(m, n) {
  x <- cloud(m, 3)
  y <- cloud(n, 3, 0.2)
  X <- Vi(x, name = "x")
  d <- sqdist(X, Vj(y))
  a <- Vi(stats::rnorm(m))
  b <- Vj(cloud(n, 2))
  wide <- sqdist(Vi(cloud(m, 40)), Vj(cloud(n, 40)))
  window <- abs(row_index() - col_index()) < 40
  groups <- list(rep_len(1:4, m), rep_len(3:1, n))
  reduced <- function(F, op, ...) reduction(F, op, call = FALSE, ...)
  list(
    sum = sum_of(exp(-d)), weighed = sum_of(exp(-d) * b), wide = sum_of(exp(-wide / 40)),
    both = sum_of(d, index = "ij"), logsumexp = reduced(-d, "logsumexp"), product = reduced(1 - d / 100, "prod"),
    columns = sum_of(exp(-d), index = "i"), nearest = reduced(d, "min_argmin"),
    several = reduced(d, "Kmin_argKmin", K = 7, index = "i"),
    after = sum_of(a * exp(-d) * b), apart = sum_of(a * b), gathered = sum_of(X[rep_len(m:1, n), ] * Vj(y)),
    gradient = vjp(sum_of(exp(-d)), "x", 1, call = FALSE), window = sum_of(restrict(exp(-d), where = window)),
    near = reduced(restrict(d, where = window), "argKmin", K = 3), groups = sum_of(restrict(exp(-d), by = groups)),
    sorted = sum_of(restrict(exp(-d), by = lapply(groups, sort)))
  )
}
devices_of_decisions <- c("cpu", if ("gpu" %in% kernweave:::r_devices()) "gpu")

# Returns what the engine is given for a reduction.
as_call <- function(R, device = "cpu", precision = "float64") {
  ready <- kernweave:::prepared(lazy_set(R, device = device, precision = precision))
  data <- kernweave:::operand_data(ready$operands, list(), list())
  extent <- if (is.null(R$pairs)) R$extent else kernweave:::extent_of_call(R, data, ready$operands)
  list(ready$plan, data, extent, kernweave:::call_options(list(device = device, precision = precision)),
       kernweave:::pair_argument(R$pairs, extent, precision))
}
candidates_of <- function(call) do.call(through, c("candidates", call))
run_decided <- function(call, decision = NULL) do.call(through, c("run_decided", call, list(decision)))
decision_text <- function(bytes) through("decision", bytes, bytes)$text

for_decided <- function(m, n, test) {
  set.seed(3)
  cases <- decided_reductions(m, n)
  for (device in devices_of_decisions) for (precision in test_precisions()) for (name in names(cases)) {
    test(as_call(cases[[name]], device, precision), cases[[name]], precision, paste(device, precision, name))
  }
}

test_that("each candidate gives the oracle's numbers, and the first is the one that is chosen", {
  skip_below("quick")
  for_decided(211, 1009, function(call, R, precision, label) {
    oracle <- run_decided(as_call(R, "reference"))
    usual <- run_decided(call)
    candidates <- candidates_of(call)
    expect_gte(length(candidates), 4)
    expect_identical(usual$decision, candidates[[1]], label = label)
    for (candidate in candidates) {
      found <- run_decided(call, candidate)
      label_here <- paste(label, decision_text(candidate))
      expect_identical(found$decision, candidate, label = label_here)
      if (precision == "float64") expect_identical(found$index, oracle$index, label = label_here)
      else expect_identical(found$index, usual$index, label = label_here)
      expect_equal(found$value, oracle$value, label = label_here,
                   tolerance = if (precision == "float64") 1e-12 else 2e-5)
    }
  })
})

test_that("bytes of a decision come back as they were, and only the same decision is equal to it", {
  for_decided(41, 300, function(call, R, precision, label) {
    candidates <- candidates_of(call)
    for (one in candidates) {
      expect_identical(through("decision", one, one)$bytes, one, label = label)
      equal <- vapply(candidates, function(other) through("decision", one, other)$equal, NA)
      expect_identical(equal, vapply(candidates, identical, NA, one), label = label)
    }
    expect_identical(anyDuplicated(candidates), 0L, label = label)
  })
})

test_that("another execution that is told a decision finds the same bits and says the same", {
  for_decided(300, 211, function(call, R, precision, label) {
    first <- run_decided(call)
    expect_identical(run_decided(call, first$decision), first, label = label)
  })
})

test_that("another process that is told a decision finds the same bits", {
  skip_below("usual")
  set.seed(5)
  files <- replicate(2, tempfile(fileext = ".rds"))
  R <- sum_of(Vi(stats::rnorm(300)) * exp(-sqdist(Vi(cloud(300, 3)), Vj(cloud(2000, 3)))))
  first <- run_decided(as_call(R, precision = "float32"))
  saveRDS(R, files[1])
  saveRDS(first$decision, files[2])
  lines <- c("library(kernweave)", sprintf("as_call <- %s", deparse1(as_call, "\n")),
             sprintf("call <- as_call(readRDS(%s), precision = \"float32\")", deparse(files[1])),
             sprintf("source(%s)", deparse(normalizePath(testthat::test_path("helper-engine.R")))),
             sprintf("do.call(through, c(\"run_decided\", call, list(readRDS(%s))))", deparse(files[2])))
  expect_identical(in_new_process(lines), first)
})

test_that("what a trial of boxes has found is decided for whoever is told", {
  skip_below("quick")
  set.seed(4)
  clouds <- list(apart = cloud(30000, 3), equal = matrix(1, 30000, 3))
  said <- character()
  for (x in clouds) for (restricted in c(FALSE, TRUE)) for (precision in test_precisions()) {
    d <- sqdist(Vi(x), Vj(x))
    call <- as_call(reduction(if (restricted) exclude_diag(d) else d, "argKmin", K = 3, call = FALSE), "cpu", precision)
    expect_match(decision_text(candidates_of(call)[[1]]), "on trial")
    first <- run_decided(call)
    # If there are two plans, the boxes of the second plan spare the first plan its trial.
    said <- c(said, utils::tail(strsplit(decision_text(first$decision), "\n")[[1]], 1))
    expect_identical(run_decided(call, first$decision), first)
  }
  expect_no_match(said, "trial")
  expect_match(said[1], "by boxes of points, .* growing with 3 differences")
})

test_that("damaged bytes are an error with a class, wherever the damage is", {
  R <- sum_of(Vi(stats::rnorm(50)) * exp(-sqdist(Vi(cloud(50, 3)), Vj(cloud(70, 3)))))
  bytes <- run_decided(as_call(R, precision = "float32"))$decision
  expect_match(decision_text(bytes), "two steps.*\n")
  refused <- function(bytes) expect_error(decision_text(bytes), "damaged", class = "kernweave_error_input")
  for (at in seq_along(bytes)) {
    damaged <- bytes
    damaged[at] <- xor(damaged[at], as.raw(sample(255, 1)))
    refused(damaged)
  }
  for (size in c(0, sample(length(bytes), 50) - 1)) refused(bytes[seq_len(size)])
  refused(c(bytes, bytes[1]))
  refused(as.raw(sample(0:255, 500, replace = TRUE)))
})

test_that("a decision that cannot be carried out is refused", {
  x <- cloud(50, 3)
  y <- cloud(70, 3)
  F <- exp(-sqdist(Vi(x), Vj(y)))
  after <- sum_of(Vi(x[, 1]) * F)
  call <- as_call(sum_of(F))
  told <- function(R, ...) run_decided(call, run_decided(as_call(R, ...))$decision)
  refused <- function(code, class) expect_error(code, class = paste0("kernweave_error_", class))
  refused(told(sum_of(exp(-sqdist(Vi(x[-1, ]), Vj(y))))), "input")
  refused(told(sum_of(exp(-sqdist(Vi(x), Vj(y))) * Vj(y[, 1]))), "input")
  refused(told(after), "input")
  refused(told(sum_of(restrict(F, where = row_index() > col_index()))), "input")
  refused(told(sum_of(F), "reference"), "no_device")
  sets <- through("instruction_sets")
  if (length(sets) > 1) refused(run_decided(call, with_isa("base", run_decided(call)$decision)), "no_device")
  least <- function(F) as_call(reduction(F, "min", call = FALSE))
  d <- sqdist(Vi(x), Vj(y))
  old <- options(kernweave.boxes = TRUE)
  boxes <- run_decided(least(d))$decision
  options(old)
  expect_match(decision_text(boxes), "by boxes")
  expect_identical(run_decided(least(d), boxes)$decision, boxes)
  refused(run_decided(least(-d), boxes), "input")
})

test_that("a row number outside of its data is an error, whoever has decided", {
  X <- Vi(cloud(30, 2))
  gathered <- function(rows) sum_of(X[rows, ] * Vj(cloud(40, 2)))
  good <- run_decided(as_call(gathered(rep_len(1:30, 40))))$decision
  expect_error(run_decided(as_call(gathered(rep_len(1:31, 40))), good), class = "kernweave_error_index")
})

test_that("explain() prints all that is decided", {
  R <- lazy_set(sum_of(Vi(rep(1, 50)) * exp(-sqdist(Vi(cloud(50, 3)), Vj(cloud(70, 3))))), device = "cpu")
  old <- options(width = 200)
  on.exit(options(old))
  shown <- utils::capture.output(print(explain(R)))
  from <- which(shown == "decision")
  expect_length(from, 1)
  expect_match(shown[from + 1], "^  cpu [(][a-z0-9]+[)], variant [0-9], 50 x 70 points, two steps; all pairs")
  expect_no_match(shown, "strain")
  expect_match(shown[from + 2], "^  cpu .* 50 x 1 points")
  expect_identical(explain(R)$schedule$decision, decision_text(run_decided(as_call(R))$decision))
})
