# Odd arguments of the verbs for arrays: an answer, or an error of a class, and never one of base R's.

odd <- list(NULL, list(), list(1, "a"), list(mean), factor(c("a", "b", "a")), as.Date("2024-01-01") + 0:2, "a",
            c("a", "b", "c"), NA, NaN, Inf, -1, c(1.5, 2, 3), 1e15, c(2^31, 2^31, 1), new.env(), mean, sum, ~ .x + .y,
            quote(x), expression(a, b), c(1i, 2, 3), as.raw(1:3), integer(), character(), matrix(1:6, 3),
            data.frame(u = 1:3, v = c("x", "y", "z")), data.frame(), Vi(matrix(1:6, 3)),
            sum(Vi(1:3) * Vj(1:3), index = "j", call = FALSE), identity_op(3), Matrix::Diagonal(3),
            par_segments(lengths = c(1, 2)), as.difftime(1:3, units = "mins"), structure(1:3, class = "odd"),
            as.POSIXlt("2024-01-01"), numeric_version(c("1.0", "2.0", "1.1")), I(list(1, 2, 3)))
s <- par_segments(lengths = c(1, 2))

calls <- expression(
  par_expand(o, c(1, 2, 1)), par_expand(1:3, o), par_expand(counts = o),
  par_insert(o, 1:3, 0), par_insert(1:3, o, 0), par_insert(1:3, 1:3, o),
  par_join(o, 1:3), par_join(o, o), par_join(1:3, 1:3, o), par_join(1:3, 1:3, na = o),
  par_merge(o, 1:3), par_merge(o, o), par_merge(1:3, 1:3, o), par_merge(1:3, 1:3, list(o, 1:3)),
  par_move(o, from = 1, counts = 2), par_move(1:3, from = o, counts = 1), par_move(1:3, to = o, counts = 1),
  par_move(1:3, to = o, counts = 3), par_move(1:3, to = 1, counts = o),
  par_move(1:3, from = 1, to = 1, counts = 1, into = o), par_move(o, from = 1, to = 1, counts = 1, into = o),
  par_order(o), par_order(1:3, o), par_order(1:3, s, o), par_order(1:3, nearly = o), par_order(list(o, 1:3)),
  par_sort(o), par_sort(1:3, o), par_sort(list(1:3, o)), par_sort(1:3, decreasing = o),
  par_reduce(o), par_reduce(1:3, o), par_reduce(1:3, "sum", o), par_reduce(1:3, "sum", s, o),
  par_reduce(1:3, "sum", na.rm = o), par_reduce(o, ~ .x + .y), par_reduce(o, "range", s), par_reduce(o, "any"),
  par_remove(o, 1), par_remove(1:3, o), par_remove(o, o),
  par_scan(o), par_scan(1:3, o), par_scan(1:3, "sum", o), par_scan(1:3, exclusive = o), par_scan(1:3, init = o),
  par_scan(o, "max", s), par_scan(1:3, ~ .x + .y, init = o, exclusive = TRUE),
  par_search(o, 1:3), par_search(1:3, o), par_search(o, o), par_search(1:3, 1:3, o), par_search(1:3, 1:3, match = o),
  par_segments(o), par_segments(offsets = o), par_segments(heads = o, n = 3), par_segments(heads = 1, n = o),
  par_segments(heads = c(TRUE, FALSE), n = o), par_segments(by = o),
  par_set(o, 1:3), par_set(o, o), par_set(1:3, 1:3, o), par_set(1:3, 1:3, multiset = o),
  index_add(o, 1, 1), index_add(1:3, o, 1), index_add(1:3, 1, o), index_add(1:3, 1, 1, o),
  index_add(1:3, 1, 1, alpha = o), index_add(1:3, 1, 1, op = o), index_add(1:3, , 1, plan = o)
)

test_that("every verb answers odd objects, or refuses them by class", {
  skip_below("quick")
  unclassed <- function(call, o) {
    failure <- tryCatch({
      suppressWarnings(eval(call), "kernweave_warning")
      NULL
    }, kernweave_error_internal = identity, kernweave_error = function(e) NULL, condition = identity)
    if (!is.null(failure)) paste(deparse1(call), "of", class(o)[1], "gives", conditionMessage(failure))
  }
  found <- unlist(lapply(calls, function(call) lapply(odd, function(o) unclassed(call, o))))
  expect_identical(found, NULL)
})

test_that("results that do not fit are refused with their size, before memory is taken", {
  skip_below("quick")
  refused <- function(code, message) expect_error(code, message, class = "kernweave_error_memory", fixed = TRUE)
  refused(par_expand(1:2, c(2^31, 2^31)), "4,294,967,296 items, which would take 16,384 MB; the limit is 1024 MB")
  refused(par_expand(counts = c(3, 1e15)), "1,000,000,000,000,003 items")
  refused(par_move(1:3, to = c(1, 2^40, 5), counts = 1), "`to` reaches to 1,099,511,627,776 items")
  refused(par_move(1:1000, from = rep(1, 1e6), counts = 1000), "1,000,000,000 items, which would take 3,815 MB")
  refused(par_join(rep(7L, 1e5), rep(7L, 2e4)), "2000000000 pairs of rows, which would take 15259 MB")
  with_kernweave(max_dense_mb = 1, {
    refused(par_expand("a", 2e5), "2 MB; the limit is 1 MB")
    expect_length(par_expand(TRUE, 2e5), 2e5)
  })
})

test_that("what goes into one vector is of one kind", {
  refused <- function(code, message) expect_error(code, message, class = "kernweave_error_input", fixed = TRUE)
  refused(par_move(1:3, 1, 1, 1, into = as.raw(1:3)), "and `into` is a raw vector of length 3")
  refused(par_insert(as.raw(1), 2, 0), "`x` is a raw vector of length 1, and `values`")
  refused(par_merge(1, 2, list(as.Date("2024-01-01"), 1)), "`values[[1]]` is an object of class Date")
  refused(par_merge(1, 2, list(data.frame(a = 1), data.frame(b = 1))), "these have a and b")
  expect_identical(par_insert(list(1), as.raw(2), 1), list(1, as.raw(2)))
  refused(par_sort(Vi(1:3)), "it is a lazy tensor")
})
