# Verbs for arrays on a GPU: what they make of vectors that lie there is what the CPU makes of the same numbers, to the
# last bit for whole numbers and orders, to rounding for sums; it stays there; and it has the same bits every time.

# Lengths that are hard to share out; more than a piece has, more than a tile, next to none.
layouts <- list(
  one = 300000L, equal = rep(7L, 30000), huge = c(1L, 200000L, 0L, 3L, 70000L),
  zeros = c(integer(70000), 5L, integer(40000)), tiles = c(352L, 351L, 1L, 353L, 64L, 65L, 704L, 705L, 5632L),
  zipf = as.integer(ceiling(60000 / seq_len(3000)^1.2)),
  singles = rep(1L, 50000), mixed = rep(c(0L, 1L, 2L, 0L, 9L, 400L), 500), few = c(2L, 0L, 4L)
)
items_of <- function(lengths, type, missing = FALSE) {
  n <- sum(lengths)
  x <- if (type == "double") stats::rnorm(n) else sample(-50:50, n, TRUE)
  if (missing) {
    x[sample(n, max(1, n / 1000))] <- NA
    if (type == "double") x[sample(n, max(1, n / 1000))] <- NaN
  }
  x
}

test_that("segments of every layout are reduced on the GPU as on the CPU, by every operator", {
  skip_without_gpu()
  set.seed(1)
  for (name in names(layouts)) for (type in c("double", "integer")) {
    x <- items_of(layouts[[name]], type)
    s <- par_segments(lengths = layouts[[name]])
    for (op in c("range", names(oracle_operators))) {
      close <- if (op %in% c("sum", "mean", "logsumexp")) 1e-11 else if (op == "prod") 1e-10 else 0
      # Sums of many numbers of either sign are next to 0.
      values <- if (op == "prod") sign(x) * 2^(x %% 3 - 1) else if (type == "double") abs(x) else x
      same_there(function(to) par_reduce(to(values), op, s), close, label = paste(op, name, type))
    }
  }
})

test_that("whole arrays, columns of matrices and beginnings are reduced on the GPU as on the CPU", {
  skip_without_gpu()
  set.seed(2)
  x <- abs(items_of(1e6, "double"))
  whole <- items_of(1e6, "integer")
  m <- matrix(whole[1:9000], 3000, 3, dimnames = list(NULL, c("a", "b", "c")))
  s <- par_segments(lengths = c(a = 1000, b = 0, c = 2000))
  for (op in setdiff(c("range", names(oracle_operators)), "prod")) {
    same_there(function(to) par_reduce(to(x), op), 1e-11, stays = FALSE, label = op)
    same_there(function(to) par_reduce(to(whole), op), 1e-11, stays = FALSE, label = paste(op, "of integers"))
    same_there(function(to) par_reduce(to(m), op, s), 1e-11, label = paste(op, "of a matrix"))
  }
  same_there(function(to) par_reduce(to(x[1:3000]), "sum", s, init = 5), 1e-11)
  same_there(function(to) par_reduce(to(x[1:3000]), "max", s, init = 1.5))
  same_there(function(to) par_reduce(to(x[1:3000]), "logsumexp", s, init = 3), 1e-11)
  same_there(function(to) par_reduce(to(1:3), "any", par_segments(lengths = c(1, 2))), stays = FALSE)
})

test_that("missing items, and sums too large for an integer, are on the GPU what they are on the CPU", {
  skip_without_gpu()
  set.seed(3)
  for (name in c("equal", "huge", "mixed")) for (type in c("double", "integer")) {
    x <- items_of(layouts[[name]], type, missing = TRUE)
    s <- par_segments(lengths = layouts[[name]])
    for (op in c("sum", "mean", "min", "max", "range", "argmax", "logsumexp")) for (na.rm in c(FALSE, TRUE)) {
      same_there(function(to) par_reduce(to(x), op, s, na.rm = na.rm), 1e-9, label = paste(op, name, type, na.rm))
    }
    if (type == "double") next
    same_there(function(to) par_scan(to(x), "sum", s))
  }
  large <- rep(.Machine$integer.max, 4)
  s <- par_segments(lengths = c(1, 3))
  for (to in list(identity, on_gpu)) {
    expect_identical(par_reduce(to(large), "sum", s), c(1, 3) * .Machine$integer.max)
    expect_warning(r <- suppressMessages(par_scan(to(large), "sum", s)), class = "kernweave_warning_overflow")
    expect_identical(r, c(rep(.Machine$integer.max, 2), NA, NA))
    # Nothing is known of what comes after it.
    expect_warning(r <- suppressMessages(par_scan(to(c(large[1:2], -9L, 7L)), "sum", par_segments(lengths = c(3, 1)))),
                   class = "kernweave_warning_overflow")
    expect_identical(r, c(.Machine$integer.max, NA, NA, 7L))
  }
})

test_that("running results on the GPU are those of the CPU, inclusive and exclusive", {
  skip_without_gpu()
  set.seed(4)
  for (name in names(layouts)) for (exclusive in c(FALSE, TRUE)) {
    whole <- items_of(layouts[[name]], "integer")
    s <- par_segments(lengths = layouts[[name]])
    x <- abs(items_of(layouts[[name]], "double"))
    for (op in c("sum", "max", "argmin", "any")) {
      same_there(function(to) par_scan(to(whole), op, s, exclusive = exclusive), label = paste(op, name, exclusive))
    }
    for (op in c("sum", "min", "mean", "logsumexp")) {
      same_there(function(to) par_scan(to(x), op, s, exclusive = exclusive), 1e-10, label = paste(op, name, exclusive))
    }
  }
  same_there(function(to) par_scan(to(x)), 1e-10)
  m <- matrix(whole[1:3000], 1000, 3)
  same_there(function(to) par_scan(to(m), init = 7L))
  same_there(function(to) par_scan(to(m), "sum", par_segments(lengths = c(400, 600))))
})

test_that("groups are found on the GPU, and reduced and scanned by", {
  skip_without_gpu()
  set.seed(5)
  n <- 50000
  x <- items_of(n, "integer")
  for (by in list(sample(10L, n, TRUE), sample(c(-2:2, NA), n, TRUE), sample.int(n, n, TRUE), round(stats::rnorm(n), 2),
                  sample(c(0, -0, 1, NA, NaN, -Inf), n, TRUE))) {
    here <- par_segments(by = by)
    there <- par_segments(by = on_gpu(by))
    expect_identical(lengths(there), lengths(here))
    expect_equal(unclass(there)$labels, unclass(here)$labels)
    expect_identical(as.vector(par_reduce(on_gpu(x), "sum", there)), as.vector(par_reduce(x, "sum", here)))
    expect_identical(as.vector(par_reduce(x, "sum", there)), as.vector(par_reduce(x, "sum", here)))
    same_there(function(to) par_reduce(to(x), "max", here))
    expect_identical(as.vector(par_scan(on_gpu(x), "sum", there)), as.vector(par_scan(x, "sum", here)))
    expect_identical(par_order(on_gpu(x), there)[1:n], par_order(x, here))
  }
})

test_that("items are removed, inserted, repeated and copied on the GPU as on the CPU", {
  skip_without_gpu()
  set.seed(6)
  for (n in c(1, 5, 1919, 1920, 1921, 70000)) for (type in c("double", "integer")) {
    x <- items_of(n, type, missing = TRUE)
    gone <- which(stats::runif(n) < 0.5)
    for (at in list(gone, rev(gone), c(gone, gone), seq_len(n), integer())) {
      same_there(function(to) par_remove(to(x), to(at)), label = paste("remove", n, length(at)))
      same_there(function(to) par_remove(to(x), as.numeric(at)), label = paste("remove, places here", n))
    }
    after <- sample(0:n, n %/% 2 + 1, TRUE)
    values <- x[rep_len(seq_len(n), length(after))]
    for (places in list(after, sort(after), 0L * after, 0L * after + as.integer(n))) {
      same_there(function(to) par_insert(to(x), to(values), to(places)), label = paste("insert", n))
      same_there(function(to) par_insert(to(x), values, places), label = paste("insert from here", n))
    }
    counts <- sample(c(0L, 0L, 1L, 3L, 40L), n, TRUE)
    same_there(function(to) par_expand(to(x), to(counts)), label = paste("expand", n))
    same_there(function(to) par_expand(counts = to(counts)), label = paste("walk", n))
  }
  same_there(function(to) par_remove(par_insert(par_expand(to(c(a = 1, b = 2)), c(2, 1)), c(3, 4), c(3, 0)), 1))
})

test_that("stretches are gathered and scattered on the GPU as on the CPU", {
  skip_without_gpu()
  set.seed(7)
  x <- stats::rnorm(5000)
  from <- sample(4900, 700, TRUE)
  counts <- sample(0:90, 700, TRUE)
  same_there(function(to) par_move(to(x), from = from, counts = counts))
  same_there(function(to) par_move(to(x), from = to(from), counts = 3))
  starts <- 1 + 10 * (sample(500, 500) - 1)
  same_there(function(to) par_move(to(x), to = starts, counts = 10))
  few <- sample(0:9, 500, TRUE)
  same_there(function(to) par_move(to(x), from = from[1:500], to = starts + 7, counts = few), label = "both")
  into <- stats::rnorm(6000)
  same_there(function(to) par_move(to(x), from = from[1:500], to = starts, counts = 9, into = to(into)))
})

test_that("orders, sorted vectors and segments in order are on the GPU what they are on the CPU", {
  skip_without_gpu()
  set.seed(8)
  for (n in c(1, 2, 1000, 1e5)) {
    keys <- list(stats::rnorm(n), sample(.Machine$integer.max, n, TRUE) * sample(c(-1L, 1L), n, TRUE),
                 sample(c(-3:3, NA), n, TRUE), sample(awkward_numbers, n, TRUE), rep(5, n), round(stats::runif(n), 2),
                 sort(sample.int(n, n, TRUE)))
    for (x in keys) for (decreasing in c(FALSE, TRUE)) {
      same_there(function(to) par_order(to(x), decreasing = decreasing), label = paste("order", n, typeof(x)))
      same_there(function(to) par_sort(to(x), decreasing = decreasing), label = paste("sort", n, typeof(x)))
    }
    same_there(function(to) par_order(lapply(keys[c(3, 4, 1)], to), decreasing = c(TRUE, FALSE, TRUE)))
    same_there(function(to) par_order(to(keys[[1]]), nearly = 5))
  }
  tiles <- list(windows = sample(0:300, 300, TRUE), one_each = c(1024L, 1000L, 1023L, 900L), longer = c(1025L, 0L, 3L))
  for (lengths in c(layouts, tiles)) for (type in c("double", "integer")) for (decreasing in c(FALSE, TRUE)) {
    x <- items_of(lengths, type, missing = TRUE)
    same_there(function(to) par_order(to(x), par_segments(lengths = lengths), decreasing), label = "order of segments")
  }
})

sorted_lists <- function(n, type) {
  draw <- function(n) switch(type, double = sort(stats::rnorm(n)), few = as.numeric(sort(sample(20, n, TRUE))),
                             integer = sort(sample.int(2L * n, n, TRUE)), equal = rep(1L, n))
  list(x = draw(n), y = draw(ceiling(n / 3)))
}

test_that("sorted vectors are merged, searched and joined into sets on the GPU as on the CPU", {
  skip_without_gpu()
  set.seed(9)
  for (n in c(1, 7, 1900, 50000)) for (type in c("double", "few", "integer", "equal")) {
    z <- sorted_lists(n, type)
    label <- function(verb) paste(verb, n, type)
    same_there(function(to) par_merge(to(z$x), to(z$y)), label = label("merge"))
    same_there(function(to) par_merge(to(z$x), to(z$y), list(seq_along(z$x), -seq_along(z$y)))$values, stays = FALSE,
               label = label("merge values"))
    for (side in c("lower", "upper")) {
      same_there(function(to) par_search(to(z$x), to(z$y), side), label = label(side))
      same_there(function(to) par_search(to(z$y), to(z$x), side, match = TRUE), label = label(paste(side, "match")))
      same_there(function(to) par_search(to(rev(z$y)), to(z$x), side), label = label(paste(side, "not sorted")))
    }
    for (op in c("union", "intersect", "setdiff", "symdiff")) for (multiset in c(TRUE, FALSE)) {
      same_there(function(to) par_set(to(z$x), to(z$y), op, multiset), label = label(op))
    }
  }
  with_missing <- c(-1, 0, 0, 2, NA, NaN)
  same_there(function(to) par_merge(to(with_missing), to(c(-0, NaN, NA))))
  same_there(function(to) par_search(to(with_missing), to(c(-0, 0.5)), "upper"))
  same_there(function(to) par_search(to(with_missing), to(c(-0, 0.5)), match = TRUE))
})

test_that("rows are joined on the GPU as on the CPU", {
  skip_without_gpu()
  set.seed(10)
  tables <- list(list(sample(3000L, 5000, TRUE), sample(4000L, 4000, TRUE)), list(c(1, 1, 2), c(2, 2, 3)),
                 list(sample(awkward_numbers, 50, TRUE), sample(awkward_numbers, 40, TRUE)),
                 list(rep(1L, 900), rep(1L, 800)), list(c(NA, 1L, 2L), c(2L, NA, NA)),
                 list(sort(sample(3000L, 5000, TRUE)), sort(sample(4000L, 4000, TRUE))),
                 list(rep(c(1, 2, 3), c(500, 1, 40)), rep(c(1, 2, 3), c(3, 700, 5))))
  for (table in tables) for (type in c("inner", "left", "right", "outer")) for (na in c("match", "never")) {
    same_there(function(to) par_join(to(table[[1]]), to(table[[2]]), type, na), label = paste("join", type, na))
  }
})

test_that("slices are added on the GPU as on the CPU, in all ways", {
  skip_without_gpu()
  set.seed(turn <- 11)
  shapes <- list(list(50, 1), list(c(5, 40), 2), list(c(300, 7), 1), list(c(7, 300), 2), list(c(3, 20, 5), 2),
                 list(c(200, 9), 2), list(c(130, 4, 2), 2))
  for (shape in shapes) for (items in c(1, 15, 64, 65, 1024, 1025, 20000)) for (type in c("double", "integer")) {
    extents <- shape[[1]]
    dim <- shape[[2]]
    turn <- turn + 1
    if (turn %% by_tier(9, 3, 1) != 0 || prod(extents[-dim]) * items > 3e6) next
    draw <- function(n) if (type == "double") round(stats::rnorm(n), 3) else sample(c(-9:9, NA), n, TRUE)
    x <- array(draw(prod(extents)), extents)
    source <- array(draw(prod(extents[-dim]) * items), replace(extents, dim, items))
    index <- sample.int(extents[dim], items, TRUE, prob = seq_len(extents[dim])^-1.1)
    for (op in c("sum", "min", "max", "mean", if (items < 20) "prod")) {
      label <- paste(op, paste(extents, collapse = " x "), dim, items, type)
      same_there(function(to) index_add(to(x), to(index), to(source), dim, op = op), 1e-10, label = label)
    }
    same_there(function(to) index_add(to(x), index, source, dim, alpha = -2), 1e-10, label = "alpha")
    same_there(function(to) index_add(to(x), index, 1.5, dim, op = "mean", include = TRUE), 1e-10, label = "one number")
    plan <- par_segments(by = index)
    same_there(function(to) index_add(to(x), , to(source), dim, plan = plan), 1e-10, label = "plan")
    same_there(function(to) index_add(to(x), , to(source), dim, plan = par_segments(by = to(index))), 1e-10,
               label = "plan there")
  }
})

test_that("the sign of 0, what is missing and what is too large are added on the GPU as on the CPU", {
  skip_without_gpu()
  x <- c(-0, 0, NA, NaN, 1, Inf)
  for (op in c("sum", "min", "max", "prod")) for (value in c(-0, 0, NA, NaN, -Inf)) {
    same_there(function(to) index_add(to(x), 1:6, value, op = op), label = paste(op, value))
  }
  for (to in list(identity, on_gpu)) {
    expect_warning(r <- index_add(to(c(1L, NA)), c(1, 2), .Machine$integer.max), class = "kernweave_warning_overflow")
    expect_identical(r, c(NA_integer_, NA))
  }
})

test_that("mistakes are found on the GPU before anything is written", {
  skip_without_gpu()
  x <- on_gpu(c(3, 1, 2))
  for (index in list(c(1, 4), c(0, 1), c(1, NA), c(1, 1.5), on_gpu(c(1, 4)), on_gpu(c(NA, 1L)))) {
    expect_error(index_add(x, index, 1), class = "kernweave_error_index")
  }
  expect_error(par_remove(x, on_gpu(c(1, 4))), "number 2 of 2 is 4", class = "kernweave_error_index")
  expect_error(par_remove(x, on_gpu(c(1, 1.5))), class = "kernweave_error_value")
  expect_error(par_insert(x, 1, on_gpu(5)), class = "kernweave_error_index")
  expect_error(par_expand(x, on_gpu(c(1, -1, 2))), class = "kernweave_error_value")
  expect_error(par_merge(x, on_gpu(c(1, 2))), "`x` must be sorted", class = "kernweave_error_value")
  expect_error(par_search(x, on_gpu(c(1, NA))), "missing", class = "kernweave_error_value")
  expect_error(par_set(on_gpu(c(1, 2)), x), "`y` must be sorted", class = "kernweave_error_value")
  expect_error(par_reduce(x, "any"), class = "kernweave_error_kind")
  expect_identical(x, c(3, 1, 2))
})

test_that("what stays on the GPU is what the next verb takes", {
  skip_without_gpu()
  set.seed(12)
  x <- stats::runif(1000)
  there <- on_gpu(x)
  order <- par_order(there)
  sorted <- par_sort(there)
  expect_true(is_on_device(order) && is_on_device(sorted))
  expect_identical(par_search(there, sorted)[order], 0:999)
  half <- par_remove(sorted, seq_len(sum(x < 0.5)))
  expect_true(is_on_device(half))
  expect_identical(half, sort(x[x >= 0.5]))
  expect_equal(as.vector((Vi(half) * Vj(matrix(2))) %*% 1), 2 * as.vector(half))
})

test_that("what R may have written to is there no longer, and can be sent again", {
  skip_without_gpu()
  x <- on_gpu(c(3, 1, 2))
  there <- x
  there[2] <- 5
  expect_false(is_on_device(there))
  expect_true(is_on_device(on_gpu(there)))
  same_there(function(to) par_sort(to(there)))
})
