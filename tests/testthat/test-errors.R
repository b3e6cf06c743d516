# One plausible mistake per case: its class here, its wording in the snapshot.

x <- matrix(0.5, 4, 3)
y <- matrix(0.25, 5, 3)
y2 <- y[, 1:2]
b <- numeric(5)
X <- Vi(x)
Y <- Vj(y)
K <- exp(-sqdist(X, Y))
R <- reduction(K, "sum", call = FALSE)
A <- exp(-sqdist(X, Vj(x))) + 0.1 * identity_op(4)

mistakes <- list(
  shape = quote(sqdist(X, Vj(y2))),
  shape = quote(X + Vi(y)),
  shape = quote(X - Vj(y2)),
  shape = quote(K %*% numeric(4)),
  shape = quote(K * c(1, 2)),
  shape = quote(K + matrix(0, 4, 4)),
  shape = quote(sum(X, index = "j")),
  shape = quote(matvecmult(X, Vj(y2))),
  shape = quote(extract(X, 3, 2)),
  shape = quote(Vi(matrix(0, 3, 0))),
  shape = quote(Pm(numeric())),
  shape = quote(logsumexp(X, weight = Vj(y2))),
  shape = quote(vjp(R, X, cotangent = matrix(0, 4, 2))),
  shape = quote(as.function(sum(sqdist(Vi(dim = 3), Vj(dim = 3)), index = "j"))(x, y2)),
  shape = quote(kernel_op("sum(x * y)", c("x = Vi(3)", "y = Vi(3)"))(x, y)),
  kind = quote(lazy_if(X, 1, 2)),
  kind = quote(any(K, index = "j")),
  kind = quote(K | K < 1),
  kind = quote(!K),
  index = quote(K[5, ]),
  index = quote(K[3]),
  index = quote(K[0.5, ]),
  index = quote(K[c(TRUE, FALSE), ]),
  index = quote(K[c(1, NA), ]),
  index = quote(X[, , 4]),
  input = quote(Vi("a")),
  input = quote(Vi(data.frame(u = 1:2, v = c("a", "b")))),
  input = quote(Vi()),
  input = quote(Vi(factor(1:3))),
  input = quote(sqdist(x, y)),
  input = quote(sum(K, index = "k")),
  input = quote(argKmin(K)),
  input = quote(argKmin(K, K = 0)),
  input = quote(vjp(R, Vi(x))),
  input = quote(vjp(R, K)),
  input = quote(vjp(R, "z")),
  input = quote(vjp(K, X)),
  input = quote(jvp(R, X)),
  input = quote(kernel_op("x", 3)),
  input = quote(kernel_op("sqdist(x, y)", c("x = Vi(3)", "y = Vj(3)"))(x)),
  input = quote(kernel_op("sqdist(x, y)", c("x = Vi(3)", "y = Vj(3)"))(list(x = x, z = y))),
  unknown_op = quote(reduction(K, "logsumexpp")),
  unknown_op = quote(cumsum(K)),
  unknown_op = quote(kernel_op("sqdst(x, y)", c("x = Vi(3)", "y = Vj(3)"))),
  unknown_op = quote(kernel_op("Summ_Reduction(x, 1)", "x = Vj(3)")),
  syntax = quote(kernel_op("exp(x", "x = Vi(3)")),
  syntax = quote(kernel_op("exp(z)", "x = Vi(3)")),
  syntax = quote(kernel_op("x $ y", "x = Vi(3)")),
  syntax = quote(kernel_op("x^y", c("x = Vi(3)", "y = Vj(3)"))),
  syntax = quote(kernel_op("exp(x, 2)", "x = Vi(3)")),
  syntax = quote(kernel_op("x", "x = Vk(3)")),
  syntax = quote(kernel_op("Sum_Reduction(x, 2)", "x = Vj(3)")),
  shape = quote(kernel_op("Elem(x, 0)", "x = Vj(3)")),
  shape = quote(keops_kernel("Sum_Reduction(Elem(x, 3), 1)", "x = Vj(3)")),
  input = quote(keops_kernel("Sum_Reduction(x * Var(3, 1, 1), 1)", "x = Vj(3)")),
  unsupported = quote(keops_kernel("Grad(LogSumExp_Reduction(x, 1), x, x)", "x = Vj(1)")),
  settings = quote(rkeops_use_cpu("0")),
  settings = quote(rkeops_use_gpu("x")),
  shape = quote(max2(1:3, 1:2)),
  settings = quote(lazy_set(K, precision = "double")),
  settings = quote(lazy_set(K, threads = 0)),
  settings = quote(reduction(K, "sum", divice = "cpu")),
  settings = quote(with_kernweave(K, devices = "cpu")),
  settings = quote(lazy_set(K, device = c(0, 0))),
  no_data = quote(as.matrix(Vi(dim = 3) - Y)),
  no_gradient = quote(vjp(argKmin(K, K = 2, call = FALSE), X)),
  input = quote(euclidean(X)),
  input = quote(explain(x)),
  input = quote(as.function(vjp(R, X, call = FALSE))()),
  input = quote(reduction(K, "sum", drop = NA)),
  unsupported = quote(ifelse(K < 1, 1, 0)),
  unsupported = quote(pmin(K, 0.5)),
  unsupported = quote(pmax(0.5, K)),
  unsupported = quote(cbind(K, 1)),
  unsupported = quote(prod(K)),
  unsupported = quote(is.na(K)),
  unsupported = quote(any(K)),
  unsupported = quote(range(K)),
  unsupported = quote(sum(K, index = "j", na.rm = TRUE)),
  unsupported = quote(sqdist(X, 1i)),
  unsupported = quote(min(K, index = "j", weight = 1)),
  input = quote(Vij(1:3)),
  kind = quote(all(K, index = "j")),
  kind = quote(reduction(K, "count")),
  shape = quote(weighted_sqnorm(c(1, 2), X)),
  shape = quote(onehot(X, 3)),
  shape = quote(haversine(X, Y)),
  input = quote(round(K, "two")),
  input = quote(kernel_gaussian(x, y, scale = 0)),
  shape = quote(kernel_gaussian(x, y2)),
  shape = quote(laplacian(X * Y, X)),
  input = quote(lazy_gradient(K, K)),
  no_gradient = quote(vjp(argmax(K, call = FALSE), X)),
  unsupported = quote(Kmax(K, K = 2, weight = 1)),
  memory = quote(as.matrix(Vi(numeric(1e5)) - Vj(numeric(1e5)))),
  input = quote(sum(K, K, index = "ij")),
  input = quote(max(K, 2, index = "ij")),
  input = quote(any(K > 2, TRUE, index = "ij")),
  input = quote(sum(K, precision = "float32")),
  input = quote(sum(K, axis = 1)),
  settings = quote(sum(K, index = "j", axis = 1)),
  input = quote(sumsoftmaxweight(K)),
  input = quote(sumsoftmaxweight(K, Vj(b))),
  input = quote(Vi(dist(x))),
  input = quote(Vj(c("a", "b"))),
  shape = quote(sqdist(Vi(x[1, ]), Y)),
  shape = quote(Vi(x[1, ]) | Y),
  shape = quote(1:9 %*% K),
  shape = quote(crossprod(K, 1:9)),
  index = quote(X[, 1]),
  index = quote(K["a", ]),
  index = quote(K$anything),
  index = quote(K[[1]]),
  unsupported = quote(Vij(array(0, c(2, 3, 4)))),
  unsupported = quote(eigen(K)),
  unsupported = quote(chol(K)),
  unsupported = quote(pmin(K, 0.5)),
  unsupported = quote(ifelse(K < 1, 1, 0)),
  unsupported = quote(unlist(K)),
  unsupported = quote(image(K)),
  unsupported = quote(max(exp(1i * K), index = "j")),
  unsupported = quote(rowSums(K, na.rm = TRUE)),
  shape = quote(K %*% K),
  shape = quote((X - Y) %*% t(K)),
  shape = quote(A %*% b),
  shape = quote(b %*% A),
  shape = quote(A + K),
  shape = quote(A + diag(3)),
  shape = quote(b * A),
  shape = quote(block_op(list(list(A, K), list(K, A)))),
  shape = quote(block_op(list(list(A, 0), list(NULL, 0)))),
  shape = quote(function_op(identity, c(2, 3), symmetric = TRUE)),
  shape = quote(function_op(sum, 3) %*% 1:3),
  shape = quote(as_op(X)),
  input = quote(as_op(1:3)),
  input = quote(as_op(mean)),
  input = quote(as_op("a")),
  input = quote(A + 1:4),
  input = quote(diagonal_op(diag(3))),
  input = quote(identity_op(-1)),
  input = quote(function_op(3, 3)),
  input = quote(function_op(identity, 3, symmetric = "yes")),
  input = quote(block_op(A)),
  input = quote(A %*% "a"),
  no_data = quote(as_op(exp(-sqdist(Vi(dim = 3), Y)))),
  no_data = quote(as_op(K * Pm(dim = 1, name = "s"))),
  index = quote(A[3]),
  index = quote(A[5, ]),
  index = quote(A["a", ]),
  index = quote(A$entries),
  unsupported = quote(A + 1),
  unsupported = quote(A * A),
  unsupported = quote(A / diag(4)),
  unsupported = quote(1 / A),
  unsupported = quote(A^2),
  unsupported = quote(exp(A)),
  unsupported = quote(sum(A)),
  unsupported = quote(eigen(A)),
  unsupported = quote(crossprod(function_op(identity, 3), 1:3)),
  unsupported = quote(kronecker(A, A, "+")),
  settings = quote(lazy_set(A, threads = 0)),
  settings = quote(lazy_set(K, threads = 1) %*% lazy_set(t(K), threads = 2)),
  memory = quote(as.matrix(identity_op(1e5)))
)

test_that("every mistake has its class", {
  skip_below("quick")
  for (k in seq_along(mistakes)) {
    class <- paste0("kernweave_error_", names(mistakes)[k])
    expect_error(eval(mistakes[[k]]), class = class, label = deparse(mistakes[[k]])[1])
  }
})

test_that("the wording of every mistake", {
  wording <- vapply(mistakes, function(call) {
    condition <- tryCatch(eval(call), kernweave_error = function(e) e)
    paste0("> ", paste(deparse(call), collapse = " "), "\n", conditionMessage(condition))
  }, "")
  expect_snapshot(cat(paste(wording, collapse = "\n\n")))
})

test_that("a condition names the call the user typed", {
  call_of <- function(code) deparse(conditionCall(tryCatch(code, kernweave_error = function(e) e)))[1]
  expect_match(call_of(sqdist(X, Vj(y2))), "sqdist(X, Vj(y2))", fixed = TRUE)
  expect_match(call_of(cumsum(K)), "cumsum(K)", fixed = TRUE)
  expect_match(call_of(sum(K, index = "k")), "index = \"k\"", fixed = TRUE)
  expect_match(call_of(K[9, ]), "9", fixed = TRUE)
  expect_identical(call_of(rbind(A, 1:3)), "rbind(...)")
  expect_match(call_of(function_op(function(v, k = 2) v, "a")), "function(v, k = 2)", fixed = TRUE)
  expect_identical(call_of(ifelse(K < 1, 1, 0)), "ifelse(K < 1, 1, 0)")
  expect_identical(call_of(pmax(0.5, K)), "pmax(0.5, K)")
})

test_that("a condition's call is short, however many numbers were given", {
  many <- numeric(1e5)
  call_of <- function(code) conditionCall(tryCatch(code, kernweave_error = function(e) e))
  calls <- list(call_of(sum(K, weight = many, index = "j")), call_of(do.call(kernel_gaussian, list(x, cbind(many)))),
                call_of(do.call("sum", list(K, index = "k"))), call_of(mean(K, index = many)), call_of(K + many),
                call_of(do.call(kernel_op, list("x", list(many)))))
  for (call in calls) expect_lt(utils::object.size(call), 5000)
  expect_identical(vapply(calls, function(call) deparse(call)[1], ""),
                   c("sum(K, weight = ..., index = \"j\")", "kernel_gaussian(..., ...)", "sum(K, index = \"k\")",
                     "mean(K, index = many)", "K + many", "kernel_op(\"x\", ...)"))
})

test_that("nothing is lost or half-written by an error", {
  before <- format(K)
  try(K[9, ], silent = TRUE)
  try(lazy_set(K, threads = -1), silent = TRUE)
  try(with_kernweave(stop("inside"), device = "reference"), silent = TRUE)
  expect_identical(format(K), before)
  expect_null(getOption("kernweave.device"))
  expect_identical(dim(K %*% b), c(4L, 1L))
})

test_that("base R's functions that cannot be right for a formula say so", {
  assign_to <- function(code) expect_error(eval(code), class = "kernweave_error_unsupported", label = deparse(code))
  for (code in expression({K[1, 1] <- 0}, {K[[1]] <- 0}, {dim(K) <- c(2, 2)}, {names(K) <- "a"}, {is.na(K) <- 1},
                          diag(K) <- 0,
                          as.list(K), sapply(K, class), rep(K, 2), as.numeric(K), as.logical(K), is.nan(K),
                          is.finite(K), median(K),
                          quantile(K), sort(K), order(K), duplicated(K), na.omit(K), as.data.frame(K),
                          K[1, , drop = TRUE], A[1, 1] <- 0, A$kind2 <- 1, dim(A) <- 1, as.list(A), lapply(A, class),
                          rep(A, 2), as.numeric(A), sort(A), is.na(A), median(A), mean(A), A == A, !A, Re(A), max(A),
                          A[1, , drop = TRUE], pmin(A, 1), ifelse(A, 1, 2), chol(A), svd(A), apply(A, 1, sum),
                          Matrix::Diagonal(4) * A, A > Matrix::Diagonal(4))) assign_to(code)
  expect_identical(length(K), 20L)
  for (code in expression(which.max(K), var(K), if (K < 1) 1)) expect_error(eval(code), label = deparse(code))
})

test_that("a lazy reduction is not taken for its numbers", {
  for (code in expression(t(R), R + 1, exp(R), max(R), mean(R), rbind(R, R), is.na(R), as.vector(R), rep(R, 2),
                          R == 1)) {
    expect_error(eval(code), class = "kernweave_error_unsupported", label = deparse(code))
  }
  expect_identical(as.matrix(R), sum(K, index = "j"))
  expect_error(as.matrix(sum(sqdist(Vi(dim = 3), Y), index = "j")), class = "kernweave_error_no_data")
  expect_error(reduction(K, "sum", call = NA), class = "kernweave_error_input")
  expect_output(print(R), "as.matrix")
})

test_that("a wrong option is reported by the situation report, not an end to it", {
  options(kernweave.device = "nope")
  expect_output(print(kernweave_sitrep()), "nope")
  options(kernweave.device = NULL)
})

test_that("arrays, logicals and matrices that would be misread are refused", {
  expect_error(Vi(dim = 3)[c(TRUE, FALSE), ], class = "kernweave_error_no_data")
  expect_error(Vi(numeric(4)) %*% t(Vi(numeric(4))), class = "kernweave_error_shape")
  expect_error(Pm(x), class = "kernweave_error_shape")
  expect_error(X * matrix(0, 4, 1), class = "kernweave_error_shape")
  expect_error(sum(K, "j", 3), class = "kernweave_error_input")
  expect_error(lazy_set(K, device = c(0, -1)), class = "kernweave_error_settings")
  expect_error(with_kernweave(K, max_dense_mb = NA) |> as.matrix(), NA)
  expect_error(with_kernweave(as.matrix(K), max_dense_mb = NA), class = "kernweave_error_settings")
  expect_error((Vij(matrix(0, 4, 5)) * K)[1, ], class = "kernweave_error_unsupported")
})

test_that("damaged objects are internal failures, not crashes", {
  broken <- exp(K)  # of which nothing is kept yet
  broken <- unclass(broken)
  broken$formula$op <- "Nonsense"
  class(broken) <- "lazy_tensor"
  expect_error(sum(asS4(broken), index = "j"), class = "kernweave_error_internal")
  wrong_axis <- unclass(X)
  wrong_axis$formula$attributes <- 3L
  class(wrong_axis) <- "lazy_tensor"
  expect_error(as.matrix(asS4(wrong_axis)), class = "kernweave_error_internal")
  expect_error(kernweave:::r_run(list(plan = new("externalptr"))),
               class = "kernweave_error_internal")
  expect_error(kernweave:::scatter_rows(matrix(1, 2, 1), c(1, 9), 2), class = "kernweave_error_index")
})
