# Tests that what cannot be traced fails by name: nothing loses a derivative without a word.

lost <- function(f, x = c(1, 2, 3), class = "kernweave_error_no_gradient", ...) {
  expect_error(suppressWarnings(gradient(f)(x)), class = class, label = paste(deparse(body(f)), collapse = " "), ...)
}

test_that("what takes whole numbers, words or parts of a traced value is refused", {
  lost(function(x) as.integer(x) * x)
  lost(function(x) (1:3)[x])
  lost(function(x) x[x])
  lost(function(x) paste(x))
  lost(function(x) as.logical(x))
  lost(function(x) x$value)
  lost(function(x) seq_len(x[1]))
  lost(function(x) numeric(x[1]))
  lost(function(x) 1:x[1], 3)
  lost(function(x) for (v in x) v)
  lost(function(x) diag(x[1]))
  lost(function(x) any(x), "any\\(\\)")
})

test_that("compiled code of packages is named", {
  lost(function(x) sum(dist(cbind(x, x))), regexp = "`dist`")
  lost(function(x) lm.fit(cbind(1, x), 1:3), regexp = "`lm.fit`")
  lost(function(x) fft(x), regexp = "`fft`")
  lost(function(x) eigen(outer(x, x))$values[1], regexp = "`eigen`")
  lost(function(x) integrate(function(u) u * x[1], 0, 1)$value, regexp = "`integrate`")
  lost(function(x) dt(x, 3, ncp = 1), regexp = "dt\\(\\)")
  lost(function(x) sum(pgamma(1, x)), regexp = "`shape`")
})

test_that("a result that is not one traced number is refused", {
  lost(function(x) 3)
  lost(function(x) sum(x > 0))
  lost(function(x) list(sum(x)))
  lost(function(x) NULL)
  lost(function(x) x, class = "kernweave_error_shape")
  kept <- NULL
  gradient(function(x) {
    kept <<- x
    sum(x)
  })(1)
  lost(function(x) kept^2)
  lost(function(x) kept * x, 1)
})

test_that("errors of the user's own stay what they are", {
  lost(function(x) stop("mine"), class = "simpleError", regexp = "mine")
  lost(function(x) stopifnot(x < 0), class = "simpleError")
  lost(function(x) undefined_function(x), class = "simpleError")
})

test_that("an argument named in `wrt` that is not reached is a warning by class", {
  expect_warning(found <- gradient(function(x, y) x^2, wrt = c("x", "y"))(2, c(a = 1)), "`y`",
                 class = "kernweave_warning_unreached")
  expect_identical(found, list(x = 4, y = c(a = 0)))
  expect_silent(gradient(function(x, y) x^2)(2, 1))
})

test_that("mistakes name the argument", {
  expect_error(gradient(3), "`f`", class = "kernweave_error_input")
  expect_error(gradient(sin, wrt = 1)(1), "`wrt`", class = "kernweave_error_input")
  expect_error(gradient(function(point) point, wrt = "pint")(1), "mean `point`", class = "kernweave_error_input")
  expect_error(gradient(function(x) 1, wrt = "x")("a"), "no numbers in `x`", class = "kernweave_error_input")
  expect_error(gradient(function(x) 1)("a"), class = "kernweave_error_no_gradient")
  expect_error(hvp(function(v) v)(1), "rename", class = "kernweave_error_input")
  expect_error(hvp(function(x) sum(x^2))(c(1, 2), 1), "`v`", class = "kernweave_error_shape")
  expect_error(vjp(function(x) x)(c(1, 2)), "`cotangent`", class = "kernweave_error_input")
  expect_error(vjp(function(x) x)(c(1, 2), cotangent = 1:3), "`cotangent`", class = "kernweave_error_shape")
  expect_error(jvp(function(x) x)(c(1, 2), tangent = 1:3), "`tangent`", class = "kernweave_error_shape")
  expect_error(gradient(with_gradient(function(x) x, function(g, r, x) 1:3))(1), "`pullback`",
               class = "kernweave_error_shape")
})

# Base R's functions on a traced value, wherever it stands among their arguments. Each gives a traced value, something
# that is no number (a list of traced values, text, the truth of a comparison), a place or size, or an error.
of_places <- c("length", "dim", "nrow", "ncol", "NROW", "NCOL", "seq_along", "lengths", "order", "rank", "which.max",
               "which.min", "row", "col", "xtfrm", "findInterval", "match", "nchar")
asked <- expression(
  sum(1, x), prod(1, x), max(1, x), min(1, x), range(1, x), pmin(1, x), pmax(1, x), c(1, x), mean(x), median(x),
  var(x), sd(x), cov(x, 1:3), cor(x, 1:3), quantile(x), fivenum(x), mad(x), IQR(x), weighted.mean(x, 1:3), scale(x),
  cumsum(x), cumprod(x), cummax(x), diff(x), rev(x), sort(x), unique(x), order(x), rank(x), which.max(x), which.min(x),
  outer(1:2, x), crossprod(x), crossprod(1:3, x), tcrossprod(x), x %*% 1:3, 1:3 %*% x, x %o% x, kronecker(x, 1:2),
  det(outer(x, x)), solve(diag(3), x), solve(diag(x)), chol(diag(x)), chol2inv(diag(x)), backsolve(diag(3), x),
  qr(x), svd(x), eigen(diag(x)), diag(x), norm(cbind(x)), rowSums(cbind(x)), colMeans(cbind(x)),
  apply(cbind(x), 1, sum),
  sweep(cbind(x), 1, x), sapply(1:3, function(i) x[i]), vapply(1:3, function(i) x[i], 0), lapply(x, exp),
  mapply(function(a) a, x), Map(function(a) a, x), Reduce(`+`, x), Filter(function(a) a > 1, x), do.call(sum, list(x)),
  unlist(list(x)), rapply(list(x), exp, how = "unlist"), array(x, 3), matrix(x), as.matrix(x), as.vector(x),
  as.numeric(x), as.double(x), as.integer(x), as.character(x), as.logical(x), as.complex(x), rep(x, 2), rep_len(x, 5),
  append(1, x), head(x, 1), tail(x, 1), cbind(1, x), rbind(1, x), t(x), aperm(array(x, c(3, 1, 1))), drop(x),
  ifelse(c(TRUE, FALSE, TRUE), x, 0), ifelse(x > 1, 1, x), replace(1:3, 2, x[1]), round(x), floor(x), trunc(x),
  gamma(x), beta(x, 1), choose(5, x), factorial(x), besselK(x, 1), atan2(1, x), dnorm(x), pnorm(0, x), qnorm(0.5, x),
  rnorm(3, x), dgamma(1, x), fft(x), convolve(x, 1:3), approx(1:3, x, 2), spline(1:3, x), optimize(sin, x), poly(x, 2),
  tabulate(x), table(x), cut(x, 2), findInterval(x, 1:3), nchar(x), paste(x), sprintf("%f", x), seq_along(x),
  seq(0, x[1], length.out = 3), seq_len(x[1]), numeric(x[1]), length(x), dim(cbind(x)), Re(x), Mod(x), bitwAnd(x, 1),
  x[["value"]], x$value, unclass(x), as.environment(x), rowsum(x, 1:3), aggregate(x, list(1:3), sum), ave(x, 1:3),
  tapply(x, 1:3, sum), split(x, 1:3), merge(x, x), expand.grid(x), toeplitz(x), dist(x), cmdscale(x),
  lm.fit(cbind(x), 1:3), Recall(x), environment(x), is.na(x), is.finite(x), all.equal(x, x), identical(x, x), x == 1,
  !x, x & TRUE, isTRUE(x)
)

test_that("no function of base R gives a plain number without a word", {
  skip_below("quick")
  for (call in asked) {
    out <- NULL
    f <- eval(bquote(function(x) {
      out <<- .(call)
      sum(x)
    }))
    suppressWarnings(tryCatch(gradient(f)(c(a = 1, b = 2, c = 3)), error = identity))
    is_silent <- is.numeric(out) && !is_traced(out) && !as.character(call[[1]])[1] %in% of_places
    expect_false(is_silent, info = deparse(call)[1])
  }
})

test_that("nor does a function of the overlay, with a traced value in any place", {
  skip_below("quick")
  x <- c(0.3, 0.6, 0.8)
  for (name in names(overlay)) {
    arguments <- setdiff(names(formals(args(overlay[[name]]))), c("...", "names"))
    for (argument in arguments) {
      out <- NULL
      f <- function(x) {
        out <<- do.call(name, structure(list(x), names = argument))
        sum(x)
      }
      suppressWarnings(tryCatch(gradient(f)(x), error = identity))
      expect_false(is.numeric(out) && !is_traced(out), info = paste0(name, "(", argument, " = x)"))
    }
  }
})
