# Rows of a call may be computed anywhere, a few at a time: what comes together has the bits of the plain call.

test_that("every reduction has the bits of the plain call, whichever axis is kept", {
  skip_below("quick")
  set.seed(11)
  x <- cloud(2003, 3)
  y <- cloud(1009, 3, 0.1)
  rownames(x) <- paste0("r", seq_len(nrow(x)))
  d <- sqdist(Vi(x), Vj(y))
  rows <- kernweave:::reduction_rows
  for (k in seq_along(rows$fn)) for (index in c("j", "i")) {
    row <- lapply(rows, `[`, k)
    F <- if (row$kind == "logical" || wants_logical(row)) d < 0.3 else exp(-d)
    weight <- if (row$name == "SumSoftMaxWeight") if (index == "j") Vj(cloud(1009, 2)) else Vi(cloud(2003, 2))
    K <- if (row$inputs == "value_k") 3
    R <- reduction(F, row$fn, index = index, K = K, weight = weight, call = FALSE)
    if (row$name == row$of) for_cases(stats::setNames(list(R), paste(row$fn, index)), blocks = list(2, "ragged"))
  }
})

test_that("weights of several columns, wide points and many columns are no exception", {
  skip_below("quick")
  set.seed(12)
  x <- cloud(3001, 2)
  y <- cloud(700, 2)
  K <- exp(-sqdist(Vi(x), Vj(y)))
  infinite <- cloud(70, 30)
  infinite[5, 3] <- Inf  # tensor cores cannot tell it: rows are computed plainly, whose blocks have other borders
  for_cases(list(
    infinite = reduced(exp(-sqdist(Vi(cloud(1301, 2)), Vj(cloud(70, 2)))) * Vj(infinite)),
    columns = reduced(K * Vj(cloud(700, 9))), weighed = reduced(K * Vj(cloud(700, 2))),
    wide = reduced(exp(-sqdist(Vi(cloud(901, 50)), Vj(cloud(1200, 50))) / 50)),
    one = reduced(exp(-sqdist(Vi(cloud(4000, 1)), Vj(cloud(100, 1))))),
    long = reduced(exp(-sqdist(Vi(cloud(300, 2)), Vj(cloud(60013, 2)))))
  ))
})

test_that("results of one plan that keep different axes are dealt out one after the other", {
  skip_below("quick")
  set.seed(13)
  x <- Vi(cloud(2500, 3), name = "x")
  y <- Vj(cloud(1300, 3), name = "y")
  K <- exp(-sqdist(x, y))
  several <- reduction(K, c("sum", "max", "argmax"), call = FALSE)
  both <- reduction(list(K, sqdist(x, y)), c("sum", "min_argmin"), call = FALSE)
  for_cases(list(several = several, both = both))
  for_cases(list(gradient = vjp(reduced(K), list("x", "y"), 1, call = FALSE)))
  S <- reduced(exp(-sqdist(x, y) * Pm(0.7, name = "s")))
  # Results without rows beside others: all are states.
  mixed <- values_of(K, c("none", "i", "j"))
  expect_true(decide(row_call(mixed, "float64"))$folded)
  expect_match(decide(row_call(values_of(K, c("none", "both")), "float64"))$why, "beside results without rows")
  for_cases(list(parameters = vjp(S, list("s", "x", "y"), 1, call = FALSE), mixed = mixed,
                 masked = values_of(restrict(K, where = row_index() > col_index()), c("none", "i", "j"))))
})

test_that("values of all pairs come row by row", {
  skip_below("quick")
  set.seed(14)
  x <- cloud(1500, 2)
  y <- cloud(311, 2)
  rownames(y) <- paste0("c", seq_len(nrow(y)))
  for (precision in test_precisions()) {
    K <- exp(-sqdist(Vi(x), Vj(y)))
    expect_rows(values_of(K, "both"), precision, "values")
    expect_rows(values_of(restrict(K, where = row_index() > col_index()), "both"), precision, "lower")
  }
})

test_that("rows of a batch are those of each of its runs, of folded axes too", {
  skip_below("quick")
  set.seed(15)
  x <- array(stats::rnorm(3000 * 2 * 3), c(3000, 2, 3))
  y <- array(stats::rnorm(170 * 2 * 2), c(170, 2, 1, 2))
  small <- array(stats::rnorm(1400 * 2 * 3), c(1400, 2, 3))
  few <- array(stats::rnorm(40 * 2), c(40, 2))
  for_cases(list(
    sum = reduced(exp(-sqdist(Vi(x), Vj(y)))),
    columns = reduced(sqdist(Vj(x), Vi(y)), "Kmin_argKmin", K = 3, index = "i"),
    small = reduced(exp(-sqdist(Vi(small), Vj(few)))), near = reduced(sqdist(Vi(small), Vj(few)), "min_argmin"),
    masked = reduced(restrict(exp(-sqdist(Vi(x), Vj(y))), where = row_index() > col_index())),
    both = reduced(restrict(exp(-sqdist(Vi(x), Vj(y))), where = row_index() > col_index()), index = "ij"),
    after = reduced(Vi(stats::rnorm(1400)) * exp(-sqdist(Vi(small), Vj(y))))
  ))
  for (precision in test_precisions()) {
    expect_rows(reduced(exp(-sqdist(Vi(small), Vj(few)))), precision, "folded", folded = 1L)
    expect_rows(reduced(exp(-sqdist(Vi(small), Vj(few))), index = "ij"), precision, "all folded", folded = 1L)
  }
})

test_that("sums with factors of the rows are finished row by row", {
  skip_below("quick")
  set.seed(16)
  x <- cloud(2600, 3)
  K <- exp(-sqdist(Vi(x, name = "x"), Vj(cloud(1009, 3), name = "y")))
  after <- reduced(Vi(stats::rnorm(2600)) * K * Vj(cloud(1009, 2)))
  columns <- reduced(Vj(stats::rnorm(1009)) * K, index = "i")
  gradient <- vjp(reduced(K), "x", matrix(stats::rnorm(2600)), call = FALSE)
  expect_match(explain(lazy_set(after, device = "cpu"))$schedule$decision, "two steps")
  for_cases(list(after = after, columns = columns, gradient = gradient))
  apart <- decide(row_call(reduced(Vi(stats::rnorm(300)) * Vj(stats::rnorm(1009))), "float64"))
  expect_identical(apart$grain, 0)
  expect_match(apart$why, "separable")
})

test_that("restricted pairs are dealt out by blocks of their map", {
  skip_below("quick")
  set.seed(17)
  m <- 2100
  n <- 1300
  x <- cloud(m, 3)
  y <- cloud(n, 3)
  d <- sqdist(Vi(x), Vj(y))
  groups <- list(rep_len(1:4, m), rep_len(3:1, n))
  window <- abs(row_index() - col_index()) < 200
  by <- list(window = restrict(d, where = window), lower = restrict(d, where = row_index() > col_index()),
             groups = restrict(d, by = groups), sorted = restrict(d, by = lapply(groups, sort)),
             self = exclude_diag(sqdist(Vi(x), Vj(x))))
  for (name in names(by)) for (index in c("j", "i", "ij")) {
    for_cases(stats::setNames(list(reduced(exp(-by[[name]]), index = index),
                                   reduced(by[[name]], "Kmin_argKmin", K = 3, index = index)),
                              paste(name, index, c("sum", "nearest"))), blocks = list(2, 3, "ragged"))
  }
  for_cases(list(several = reduction(exp(-by$window), c("sum", "max", "argmax"), call = FALSE),
                 gradient = vjp(reduced(exp(-restrict(sqdist(Vi(x, name = "x"), Vj(y)), by = groups))), "x", 1,
                                call = FALSE)))
})

test_that("boxes of points are walked by stretches of their order", {
  skip_below("quick")
  set.seed(18)
  old <- options(kernweave.boxes = TRUE)
  on.exit(options(old))
  x <- cloud(9001, 3)
  y <- cloud(4003, 3)
  d <- sqdist(Vi(x), Vj(y))
  cases <- list(nearest = reduced(d, "Kmin_argKmin", K = 3), least = reduced(d, "min"),
                columns = reduced(d, "argKmin", K = 2, index = "i"), near = reduced(d < 0.01, "count"),
                several = reduction(list(d, d), c("min_argmin", "Kmin"), K = 2, call = FALSE),
                self = reduced(exclude_diag(sqdist(Vi(x), Vj(x))), "argKmin", K = 2),
                all = reduced(d, "min", index = "ij"),
                groups = reduced(restrict(d, by = list(rep_len(1:2, 9001), rep_len(1:2, 4003))), "min_argmin"))
  for (name in names(cases)) {
    decided <- lapply(test_precisions(), expect_rows, R = cases[[name]], label = name, blocks = list(1, 3, "ragged"))
    expect_match(through("decision", decided[[1]]$decision, decided[[1]]$decision)$text, "by boxes", label = name)
  }
})

test_that("states of blocks become results where both axes are folded", {
  skip_below("quick")
  set.seed(19)
  x <- Vi(cloud(2500, 2))
  y <- Vj(cloud(3001, 2))
  d <- sqdist(x, y)
  for_cases(list(sum = reduced(exp(-d), index = "ij"), least = reduced(d, "min_argmin", index = "ij"),
                 most = reduced(d, "argKmin", K = 4, index = "ij"), logsumexp = reduced(-d, "logsumexp", index = "ij")))
})

test_that("no points at all, and fewer than a block has, are rows, too", {
  set.seed(21)
  for (sizes in list(c(0, 5), c(5, 0), c(1, 1), c(3, 700))) {
    points <- lapply(sizes, numbers_between, 2, 0, 1)
    d <- sqdist(Vi(points[[1]]), Vj(points[[2]]))
    for (index in c("j", "i", "ij")) {
      for_cases(list(sum = reduced(exp(-d), index = index), least = reduced(d, "min_argmin", index = index)),
                blocks = list(1, "ragged"))
    }
  }
})

test_that("a trial of boxes is held once, by whoever decides", {
  skip_below("quick")
  set.seed(22)
  x <- cloud(30000, 3)
  decided <- decide(row_call(reduced(sqdist(Vi(x), Vj(x)), "argKmin", K = 3), "float64"))
  expect_no_match(through("decision", decided$decision, decided$decision)$text, "trial")
  expect_gt(decided$seconds, 0)
  expect_identical(decided$device, "cpu")
})

test_that("any number of threads computes the same rows", {
  skip_below("quick")
  set.seed(23)
  R <- reduced(exp(-sqdist(Vi(cloud(4000, 3)), Vj(cloud(3000, 3)))))
  for (threads in 1:2) expect_rows(R, "float32", threads, threads = threads)
})

test_that("rows that are none, and damaged states, are refused", {
  set.seed(24)
  d <- sqdist(Vi(cloud(2000, 2)), Vj(cloud(1000, 2)))
  call <- row_call(reduced(d), "float64")
  decided <- decide(call)
  rows <- function(first, last) run_rows(call, decided, c(first, last))
  for (wrong in list(c(2, 2000), c(1, 2001), c(1, 5), c(2001, 1))) expect_error(rows(wrong[1], wrong[2]), "rows from")
  call <- row_call(reduced(d, index = "ij"), "float64")
  decided <- decide(call)
  states <- rows(1, 2000)$states
  merge <- function(states) merge_states(call, decided, states)
  expect_identical(merge(list(states)), run_plainly(call))
  expect_error(merge(list(list(states[[1]][-9]))), "damaged", class = "kernweave_error_input")
  expect_error(merge(list(list())), class = "kernweave_error_input")
})

test_that("another process that is told what was decided computes rows with the same bits", {
  skip_below("usual")
  set.seed(20)
  R <- reduced(Vi(stats::rnorm(2300)) * exp(-sqdist(Vi(cloud(2300, 3)), Vj(cloud(2000, 3)))))
  call <- row_call(R, "float32")
  decided <- decide(call)
  at <- borders(decided, 2)
  files <- replicate(2, tempfile(fileext = ".rds"))
  saveRDS(R, files[1])
  saveRDS(list(decided["decision"], c(at[2] + 1, at[3])), files[2])
  lines <- c("library(kernweave)", sprintf("row_call <- %s", deparse1(row_call, "\n")),
             sprintf("run_rows <- %s", deparse1(run_rows, "\n")),
             sprintf("call <- row_call(readRDS(%s), \"float32\")", deparse(files[1])),
             sprintf("told <- readRDS(%s)", deparse(files[2])),
             "run_rows(call, told[[1]], told[[2]])")
  elsewhere <- in_new_process(lines)
  expect_identical(elsewhere$results[[1]], run_plainly(call)[[1]][(at[2] + 1):at[3], , drop = FALSE])
})

test_that("blocks of most calls read their own rows only of points on that side", {
  skip_below("quick")
  expect_gt(rows_only$cases, if (under_driver()) 50 else 100)
})

test_that("blocks of columns have the bits of the plain call, and read their own columns only", {
  skip_below("quick")
  set.seed(25)
  y <- cloud(40011, 3)
  d <- sqdist(Vi(cloud(70, 3)), Vj(y))
  cases <- list(sum = reduced(exp(-d)), weighed = reduced(exp(-d) * Vj(cloud(40011, 2))),
                logsumexp = reduced(-d, "logsumexp"), extremes = reduced(sqrt(d), "Kmin_argKmin", K = 3),
                mean = reduced(d, "mean"), count = reduced(d < 0.1, "count"), product = reduced(1 + d / 1e4, "prod"),
                columns = reduced(exp(-sqdist(Vj(cloud(70, 3)), Vi(y))), index = "i"))
  for (name in names(cases)) for (precision in test_precisions()) {
    call <- row_call(cases[[name]], precision)
    decided <- decide(call)
    expect_gt(decided$columns[1], 2 * decided$columns[2], label = name)
    if (decided$columns[2] == 0) next
    plain <- run_plainly(call)
    for (blocks in c(1, 2, 5)) {
      expect_identical(in_columns(call, decided, blocks), plain, label = paste(name, precision, blocks))
    }
  }
})
