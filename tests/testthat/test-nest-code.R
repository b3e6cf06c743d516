# Loops as C++: what explain(code = TRUE) writes, compiled, gives the numbers of the reduction.

draw <- function(...) array(stats::rnorm(prod(...)), c(...))

# One reduction with the arrays that its function takes, in the order of mention, and the loops to try.
nest_case <- function(formula, arrays, op = "sum", orders = list(NULL), block = NULL, data = arrays, ...) {
  R <- reduction(formula, op, call = FALSE, data = data, ...)
  list(R = R, arrays = arrays, codes = lapply(orders, function(order) {
    as.character(explain(R, code = TRUE, order = order, block = block))
  }))
}

orders_of <- function(axes) {
  if (length(axes) < 2) return(list(axes))
  do.call(c, lapply(unique(axes), function(first) lapply(orders_of(axes[-match(first, axes)]), append, first, 0)))
}

# All functions are compiled in one source. Row numbers are whole numbers, all else is double.
expect_code_computes <- function(cases) {
  testthat::skip_if_not(nzchar(Sys.which(cxx17()[1])), "no compiler")
  codes <- do.call(c, lapply(cases, `[[`, "codes"))
  source <- tempfile("nests", fileext = ".cpp")
  writeLines(unlist(Map(sub, " nest(", sprintf(" f%d(", seq_along(codes)), codes, fixed = TRUE)), source)
  tool <- run_tool(file.path(R.home("bin"), "R"), c("CMD", "SHLIB", shQuote(source)))
  expect_true(tool$ok, label = tool$output)
  built <- sub("[.]cpp$", .Platform$dynlib.ext, source)
  dll <- dyn.load(built)
  on.exit(dyn.unload(built))
  k <- 0
  for (case in cases) {
    expected <- as.array(case$R)
    arrays <- lapply(case$arrays, function(x) if (is.integer(x)) x else as.double(x))
    names(arrays) <- NULL
    for (code in case$codes) {
      k <- k + 1
      call <- c(list(getNativeSymbolInfo(paste0("f", k), dll), as.integer(case$R$axes$all)), arrays,
                list(numeric(length(expected))), NAOK = TRUE)
      found <- utils::tail(do.call(.C, call), 1)[[1]]
      expect_equal(found, as.vector(expected), tolerance = 1e-12, label = paste(code, collapse = "\n"))
    }
  }
}

test_that("plain loops in every order of the axes, with blocks that leave tails, give the numbers of reduction()", {
  A <- draw(5, 7)
  B <- draw(7, 11)
  X <- draw(3, 4, 5)
  product <- C[i, j] ~ A[i, k] * B[k, j]
  wide <- C[j, i] ~ A[i, k] - abs(B[k, j])
  AB <- list(A = A, B = B)
  expect_code_computes(list(
    nest_case(product, AB, orders = c(list(NULL), orders_of(c("i", "j", "k")))),
    nest_case(wide, AB, "max", orders_of(c("i", "j", "k"))),
    nest_case(n ~ A[i, k] < B[k, j], AB, "count", orders_of(c("i", "j", "k"))),
    nest_case(product, AB, orders = orders_of(c("i", "j", "k", "k")), block = c(k = 3)),
    nest_case(product, AB, orders = orders_of(c("i", "j", "k", "i"))[c(1, 7, 12)], block = c(i = 50)),
    nest_case(wide, AB, "min", orders_of(c("i", "j", "k", "k", "k"))[c(1, 9, 20)], block = list(k = c(4, 3))),
    nest_case(product, AB, orders = orders_of(c("i", "i", "j", "j", "k", "k"))[c(1, 30, 60, 90)],
              block = c(i = 2, j = 4, k = 7)),
    nest_case(M[i, r] ~ X[i, j, k] * U[j, r] * V[k, r], list(X = X, U = draw(4, 2), V = draw(5, 2)),
              orders = orders_of(c("i", "j", "k", "r"))[1:24 %% 3 == 0])
  ))
})

test_that("places, numbers, counters and operations of a formula are what reduction() makes of them", {
  A <- draw(5, 5)
  x <- draw(20, 2)
  mu <- draw(4, 2)
  g <- rep(1:4, 5)
  N <- matrix(c(1L, 3L, 4L, 4L, 2L, 1L), 3)
  y <- draw(12)
  n.y <- draw(3)
  holes <- A
  holes[2, 3] <- NaN
  int <- list(int = A, k = y)
  expect_code_computes(list(
    nest_case(d[i] ~ A[i, i] + A[2, i] * A[i, 5], list(A = A)),
    nest_case(q[i] ~ (x[i, a] - mu[g[i], a])^2, list(x = x, mu = mu, g = g)),
    nest_case(q[i, k] ~ mu[N[i, k], a] + 0.1, list(mu = mu, N = N)),
    nest_case(m[t] ~ y[t + s - 1] * n.y[s], list(y = y, n.y = n.y)),
    nest_case(m[t] ~ y[2 * t - s + 3] * n.y[s], list(y = y, n.y = n.y)),
    nest_case(s ~ A[i, k] * (i < k) / i, list(A = A), orders = orders_of(c("i", "k"))),
    nest_case(R[k] ~ holes[i, k], list(holes = holes), "max", orders_of(c("i", "k"))),
    nest_case(R[k] ~ pmin(holes[i, k], 3L) - i / (k + 1), list(holes = holes), "min", orders_of(c("i", "k"))),
    nest_case(s ~ int[i, j] - (k[t] - (-(-int[i, j])) * (-0.5 - k[t])) * ((i < j) / (j + 1)), int),
    nest_case(R[i] ~ ifelse(A[i, j] > 0, A[i, j]^1.5, -1e-3 - A[i, j]) - -A[i, j] / (2 * A[i, j]), list(A = A)),
    nest_case(s ~ exp(-square(A[i, j])) + log1p(abs(A[i, j])) + sqrt(A[i, j]^2) + 5 %% A[i, j] + round(7 / 3, 2) +
                lazy_atan2(A[i, j], 2) + sign(A[i, j]) * floor(3 * A[i, j]) + relu(A[i, j]) + A[i, j] %/% 0.3 +
                sigmoid(A[i, j]) + tanh(A[i, j]) + log2(3 + i), list(A = A)),
    nest_case(n[i] ~ !(A[i, j] > 0 & j != 2 | i == j), list(A = A), "count")
  ))
})

test_that("code shows itself, and is the chosen nest's where no order is given", {
  A <- draw(4, 6)
  B <- draw(6, 3)
  R <- reduction(C[i, j] ~ A[i, k] * B[k, j], "sum", call = FALSE)
  code <- explain(R, code = TRUE, order = c("k", "j", "i"))
  expect_output(print(code), "result[i + n_i * j] += A[i + n_i * k] * B[k + n_k * j];", fixed = TRUE)
  S <- schedule(R, order = c("j", "k", "i"))
  expect_identical(explain(S, code = TRUE), explain(R, code = TRUE, order = c("j", "k", "i")))
})

test_that("orders, blocks and formulas that have no code are refused by class", {
  A <- draw(5, 7)
  refused <- function(class, message, ..., formula = s[i] ~ A[i, k], op = "sum") {
    R <- reduction(formula, op, call = FALSE, data = list(A = A))
    expect_error(explain(R, code = TRUE, ...), message, class = paste0("kernweave_error_", class))
  }
  for (order in list("i", c("i", "k", "l"), 1:2)) refused("input", "i, k", order = order)
  for (block in list(c(l = 2), 3, "a", list(3))) refused("input", "`block` has", order = c("i", "k"), block = block)
  refused("input", "1 size", order = c("i", "k", "k"))
  refused("input", "0 sizes", order = c("i", "k"), block = c(k = 2))
  for (size in list(0, 1.5, NA, "a")) refused("input", "from 1 on", order = c("k", "i", "k"), block = list(k = size))
  refused("input", "largest first", order = c("k", "k", "i", "k"), block = list(k = c(2, 4)))
  refused("unsupported", "code is written for sum", op = "logsumexp")
  refused("unsupported", "components", formula = s[i] ~ exp(A[i, ]), op = "sum")
  refused("unsupported", "Digamma", formula = s[i] ~ digamma(A[i, k]))
  R <- sum(Vi(A) * Vj(A), index = "j", call = FALSE)
  expect_error(explain(R, code = TRUE), "index formula", class = "kernweave_error_input")
  expect_error(explain(R, order = "i"), "code = TRUE", class = "kernweave_error_input")
  expect_error(explain(R, code = NA), "code", class = "kernweave_error_input")
})
