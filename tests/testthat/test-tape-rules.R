# Every function that knows traced values: its value, its derivative and its second derivative, against base R's own
# function and differences.

# A weighted sum, so that no cotangent is like another.
weighted <- function(f) {
  force(f)
  function(x) {
    r <- f(x)
    sum(as.vector(r) * (1 + sin(seq_len(length(r)))))
  }
}

each_call <- function(check) {
  for (name in names(rule_calls)) {
    calls <- rule_calls[[name]]
    x <- calls[[length(calls)]]
    for (f in calls[-length(calls)]) check(f, x, paste0(name, ": ", paste(deparse(body(f)), collapse = " ")))
  }
}

test_that("every function of the overlay has a call here", {
  expect_identical(setdiff(names(overlay), c(names(rule_calls), "::")), character())
  expect_identical(setdiff(names(kernweave:::math_adjoints), names(rule_calls)), character())
  expect_identical(setdiff(names(kernweave:::binary_adjoints), names(rule_calls)), character())
})

test_that("values, names and extents are those of base R", {
  skip_below("quick")
  each_call(function(f, x, label) {
    traced <- NULL
    gradient(function(x) {
      traced <<- f(x)
      sum(x)
    })(x)
    expect_true(is_traced(traced), info = label)
    expect_equal(plain(traced), f(x), tolerance = 1e-15, info = label)
  })
})

test_that("derivatives are those of central differences", {
  skip_below("quick")
  each_call(function(f, x, label) {
    slope <- differences(weighted(f), x)
    expect_equal(as.vector(gradient(weighted(f))(x)[[1]]), as.vector(slope), tolerance = 1e-6, info = label)
  })
})

test_that("second derivatives are differences of first ones", {
  skip_below("quick")
  each_call(function(f, x, label) {
    g <- gradient(weighted(f))
    v <- cos(seq_along(x))
    slope <- (g(x + 1e-5 * v)[[1]] - g(x - 1e-5 * v)[[1]]) / 2e-5
    expect_equal(as.vector(hvp(weighted(f))(x, array(v, dim(x) %||% length(x)))[[1]]), as.vector(slope),
                 tolerance = 1e-5, info = label)
  })
})

test_that("forward mode agrees with reverse mode", {
  skip_below("quick")
  each_call(function(f, x, label) {
    r <- f(x)
    v <- cos(seq_along(x))
    g <- sin(1 + seq_along(r))
    backward <- sum(v * vjp(f)(x, cotangent = g)[[1]])
    expect_equal(sum(g * jvp(f)(x, tangent = v)), backward, tolerance = 1e-9, info = label)
  })
})
