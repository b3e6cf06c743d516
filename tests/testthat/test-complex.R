# Complex formulas against base R's complex numbers.

set.seed(2)
u <- complex(real = stats::rnorm(7), imaginary = stats::rnorm(7))
v <- complex(real = stats::rnorm(5), imaginary = stats::rnorm(5))
x <- stats::rnorm(7)
y <- stats::rnorm(5)
over_pairs <- function(f, a, b) outer(a, b, Vectorize(f))
expect_pairs <- function(actual, expected, label) {
  expect_true(is.complex(as.matrix(actual)), label = label)
  expect_equal(as.matrix(actual), expected, tolerance = 1e-12, label = label)
}

test_that("operators are those of base R, for every mix of real and complex", {
  skip_below("quick")
  for (symbol in c("+", "-", "*", "/")) {
    f <- match.fun(symbol)
    expect_pairs(f(Vi(u), Vj(v)), outer(u, v, f), symbol)
    expect_pairs(f(Vi(x), Vj(v)), outer(x, v, f), symbol)
    expect_pairs(f(Vi(u), Vj(y)), outer(u, y, f), symbol)
    expect_pairs(f(Vi(x) * Vj(y), 2 - 3i), f(outer(x, y), 2 - 3i), symbol)
    expect_pairs(f(1i, Vi(x) * Vj(y)), f(1i, outer(x, y)), symbol)
    expect_pairs(f(Vi(u) + Vj(v), 3), f(outer(u, v, `+`), 3), symbol)
  }
  for (n in c(-3, -1, 0, 1, 2, 7, 0.5, -1.5)) expect_pairs((Vi(u) - Vj(v))^n, outer(u, v, `-`)^n, paste("power", n))
  expect_pairs(-(Vi(u) * Vj(v)), -outer(u, v), "sign")
  expect_pairs(2^(Vi(u) * Vj(v)), 2^outer(u, v), "number to a power")
  expect_equal(as.matrix(Vi(c(1 + 1i, 2)) == Vj(c(2 + 0i, 1 + 1i, 1 - 1i))),
               outer(c(1 + 1i, 2), c(2 + 0i, 1 + 1i, 1 - 1i), `==`))
  expect_equal(as.matrix(Vi(u) != Vj(v)), outer(u, v, `!=`))
})

test_that("functions are those of base R", {
  z <- outer(u, v)
  Z <- Vi(u) * Vj(v)
  for (f in list(exp, log, sqrt, cos, sin, cosh, sinh)) expect_pairs(f(Z), f(z), deparse(f)[1])
  for (f in list(Re, Im, Mod, Arg, abs)) expect_equal(as.matrix(f(Z)), f(z))
  expect_pairs(Conj(Z), Conj(z), "Conj")
  expect_pairs(log(Z, 2), log(z, 2), "log, base")
  X <- Vi(x) * Vj(y)
  expect_pairs(exp1j(X), exp(1i * outer(x, y)), "exp1j")
  expect_pairs(real2complex(X), outer(x, y) + 0i, "real2complex")
  expect_pairs(imag2complex(X), 1i * outer(x, y), "imag2complex")
  expect_pairs(lazy_complex(X, Vi(x)), matrix(complex(real = outer(x, y), imaginary = x), 7), "lazy_complex")
  expect_equal(as.matrix(Im(X)), 0 * outer(x, y))
  expect_equal(as.matrix(Arg(X)), Arg(outer(x, y)))
})

test_that("sums, means and products are complex numbers of R", {
  z <- outer(u, v)
  Z <- Vi(u) * Vj(v)
  expect_equal(sum(Z, index = "j"), matrix(rowSums(z)))
  expect_equal(sum(Z, index = "i"), matrix(colSums(z)))
  expect_equal(reduction(Z, "sum", index = "ij", drop = TRUE), sum(z))
  expect_equal(mean(Z, index = "j"), matrix(rowMeans(z)))
  expect_equal(reduction(Z, "sum", weight = Vj(y)), z %*% y)
  for (b in list(v, y, cbind(v, 1i * v), cbind(y, y^2), 1:5)) expect_equal(unname(Z %*% b), unname(z %*% b))
  expect_equal((Vi(x) * Vj(y)) %*% v, outer(x, y) %*% v)
  expect_equal(crossprod(Z, u), crossprod(z, u))
  expect_equal(u %*% Z, u %*% z)
  expect_equal(Z %*% Vj(v), z %*% v)
  named <- matrix(u, dimnames = list(letters[1:7], NULL))
  expect_identical(rownames(sum(Vi(named) * Vj(v), index = "j")), letters[1:7])
})

test_that("components go with their like, and are summed, taken and put together", {
  a <- matrix(c(u, rev(u)), 7)
  b <- matrix(c(v, 1i * v), 5)
  Z <- Vi(a) * Vj(b)
  expect_identical(width(Z), 2L)
  expect_equal(as.matrix(sum(Z)), outer(a[, 1], b[, 1]) + outer(a[, 2], b[, 2]))
  expect_equal(as.matrix(mean(Z)), (outer(a[, 1], b[, 1]) + outer(a[, 2], b[, 2])) / 2)
  expect_equal(sum(Z, index = "j"), cbind(a[, 1] * sum(b[, 1]), a[, 2] * sum(b[, 2])))
  expect_equal(as.matrix(Z[2:3, 4, 2]), outer(a[2:3, 2], b[4, 2]))
  expect_equal(as.matrix(sum(c(Vi(u) * Vj(v), Vi(x), Vj(v)))), outer(u, v) + outer(x, v, `+`))
  expect_equal(as.matrix(t(Vi(u) / Vj(v))), t(outer(u, v, `/`)))
  expect_identical(dim(Z), c(7L, 5L))
  expect_pairs(Vi(u) * Vj(v) * Pm(2i), outer(u, v) * 2i, "parameter")
  expect_pairs(Vij(outer(u, v)) + Vi(x), outer(u, v) + x, "pairs")
})

test_that("in float32, on every device and where there are no points the same holds", {
  Z <- exp(1i * Vi(x) * Vj(y))
  for (device in test_devices()) {
    expect_equal(sum(Z, index = "j", device = device), matrix(rowSums(exp(1i * outer(x, y)))), tolerance = 1e-12)
    expect_equal(sum(lazy_set(Z, precision = "float32", device = device), index = "j"),
                 matrix(rowSums(exp(1i * outer(x, y)))), tolerance = 1e-5)
  }
  none <- sum(Vi(complex(0)) * Vj(v), index = "j")
  expect_true(is.complex(none) && identical(dim(none), 0:1))
  expect_equal(sum(Vi(u) * Vj(complex(0)), index = "j"), matrix(0i, 7))
})

test_that("gradients go through complex formulas", {
  f <- function(w) sum(Mod(mean(exp1j(Vi(w) * Vj(y)), index = "j") - 0.5i)^2)
  g <- function(w) sum(Mod(rowMeans(exp(1i * outer(w, y))) - 0.5i)^2)
  numerical <- vapply(seq_along(x), function(k) {
    h <- replace(0 * x, k, 1e-5)
    (g(x + h) - g(x - h)) / 2e-5
  }, 0)
  expect_equal(f(x), g(x))
  expect_equal(gradient(f)(x)[[1]], numerical, tolerance = 1e-7)
  X <- Vi(x, name = "x")
  R <- sum(exp1j(X * Vj(y)), index = "j", call = FALSE)
  cotangent <- complex(real = stats::rnorm(7), imaginary = stats::rnorm(7))
  slope <- rowSums(1i * rep(y, each = 7) * exp(1i * outer(x, y)))
  expect_equal(vjp(R, X, cotangent), Re(Conj(cotangent) * slope))
  expect_equal(vjp(R, X), Re(slope))
  expect_equal(jvp(R, X, tangent = rep(2, 7)), matrix(2 * slope))
})

test_that("a complex tensor says what it is, and what it is not", {
  Z <- Vi(u) * Vj(v)
  expect_output(print(Z), "complex lazy tensor.*7 x 5.*re .*im ")
  expect_output(str(Z), "complex lazy tensor")
  expect_output(print(Vi(matrix(u))), "u_re.*u_im|_re.*_im")
  expect_error(max(Z, index = "j"), "Re\\(\\), Im\\(\\)", class = "kernweave_error_unsupported")
  expect_error(Z < 1, "no order", class = "kernweave_error_unknown_op")
  expect_error(reduction(Z, "argmin"), "sums and means", class = "kernweave_error_unsupported")
  expect_error(gamma(Z), "gamma", class = "kernweave_error_unknown_op")
  expect_error(is.na(Z), "complex lazy tensor", class = "kernweave_error_unsupported")
  expect_error(as.double(Z), class = "kernweave_error_unsupported")
  expect_error(lazy_complex(1, 2), "lazy tensor", class = "kernweave_error_input")
  expect_error(exp1j(3), "lazy tensor", class = "kernweave_error_input")
  expect_error(Z %*% v[1:3], "5 points.*3 rows", class = "kernweave_error_shape")
  expect_error(crossprod(Z), "`y` is needed", class = "kernweave_error_unsupported")
  expect_error(Z[3], "Z\\[I, \\]", class = "kernweave_error_index")
  for (bad in list(quote(cbind(Z, 1)), quote(rbind(1, Z)), quote(det(Z)), quote(kronecker(Z, diag(2))))) {
    expect_error(eval(bad), "complex lazy tensor", class = "kernweave_error_unsupported")
  }
})

test_that("rows, columns and the diagonal of a complex tensor are those of its matrix, restricted or not", {
  point <- matrix(c(0.1, -0.4, 0.7, 0.2, 0.9, -0.3, 0.5, 0.8), 4, dimnames = list(letters[1:4], NULL))
  Z <- exp(1i * sum(Vi(point) * Vj(unname(point))))
  dense <- exp(1i * point %*% t(unname(point)))
  group <- c(1, 2, 1, 2)
  same <- outer(group, group, "==")
  for (of in list(rowSums, colSums, rowMeans, colMeans)) {
    expect_equal(of(Z), of(dense))
    expect_equal(of(restrict(Z, by = group)), of(dense * same))
  }
  expect_equal(unname(diag(Z)), diag(unname(dense)))
  uneven <- lazy_complex(Vi(point[, 1]), Vj(1:3))  # each part varies along one axis
  expect_equal(colSums(uneven), colSums(outer(unname(point[, 1]), 1i * 1:3, "+")))
  expect_equal(unname(diag(uneven)), unname(point[1:3, 1]) + 1i * 1:3)
  expect_equal(tcrossprod(Z, t(1:4)), dense %*% 1:4)
  expect_equal(as.vector(reduction(Z, "sum", by = group)), c(sum(dense[group == 1, ]), sum(dense[group == 2, ])))
  power <- function(x) sum(Mod(reduction(exp(1i * Vi(x) * Vj(1:3)), "sum", by = c(1, 2, 1)))^2)
  slope <- vapply(1:3, function(k) diff(vapply(c(-1, 1), function(s) power(c(0.1, 0.5, 0.9) + s * 1e-5 * (1:3 == k)),
                                               0)) / 2e-5, 0)
  expect_equal(gradient(power)(c(0.1, 0.5, 0.9))[[1]], slope, tolerance = 1e-6)
  expect_output(print(restrict(Z, by = group)), "pairs: within 2 groups")
  expect_error(tcrossprod(Z), "`y` is needed", class = "kernweave_error_unsupported")
  expect_error(solve(Z, 1:4), "complex", class = "kernweave_error_unsupported")
  expect_error(plot(Z), "Mod\\(\\)", class = "kernweave_error_unsupported")
  expect_output(print(summary(Z)), "complex lazy tensor")
})

test_that("a part of one component counts for each of the other's, one without an axis for each of its points", {
  m <- matrix(stats::rnorm(14), 7)
  z <- matrix(complex(real = m, imaginary = 2), 7)
  Z <- Vi(m) + 2i
  expect_equal(sum(Z, index = "i"), matrix(colSums(z), 1))
  expect_equal(as.vector(sum(sum(Z) * Vj(v), index = "j")), rowSums(z) * sum(v))
  expect_equal(as.matrix(sum(c(Z, Vj(v)))), outer(rowSums(z), v, "+"))
  expect_equal(as.vector(sum(sum(lazy_complex(Vi(x), Vi(m))), index = "i")), sum(2 * x) + 1i * sum(m))
  expect_equal(as.vector(sum(Vi(u) + Pm(c(1i, 2, 3)), index = "i")), colSums(outer(u, c(1i, 2, 3), "+")))
  uneven <- lazy_complex(Vi(x), Vj(y))
  expect_equal(as.vector(sum(uneven, index = "j")), 5 * x + 1i * sum(y))
  expect_equal(as.vector(mean(uneven, index = "i")), mean(x) + 1i * y)
  expect_equal(reduction(uneven, "sum", index = "ij", drop = TRUE), 5 * sum(x) + 7i * sum(y))
  expect_error(sum(Vi(u), index = "j"), "no variable along j", class = "kernweave_error_shape")
})

test_that("norms, distances, products and choices are those of complex numbers", {
  a <- matrix(complex(real = stats::rnorm(14), imaginary = stats::rnorm(14)), 7)
  b <- matrix(complex(real = stats::rnorm(10), imaginary = stats::rnorm(10)), 5)
  A <- Vi(a)
  B <- Vj(b)
  pairs <- function(f) outer(1:7, 1:5, Vectorize(function(i, j) f(a[i, ], b[j, ])))
  apart <- function(p, q) sum(Mod(p - q)^2)
  same <- function(F, expected) expect_equal(as.matrix(F), expected, tolerance = 1e-12, label = deparse1(substitute(F)))
  same(sqdist(A, B), pairs(apart))
  same(euclidean(A, B), sqrt(pairs(apart)))
  same(sqdist(Vi(Re(a)), B), pairs(function(p, q) apart(Re(p), q)))
  same(sqdist(A, c(1i, 2)) * Vj(y), outer(apply(a, 1, apart, c(1i, 2)), y))
  same(norm2(A) * Vj(y), outer(sqrt(rowSums(Mod(a)^2)), y))
  same(sqnorm2(A) * Vj(y), outer(rowSums(Mod(a)^2), y))
  same(sum(normalize(A) * B), (a / sqrt(rowSums(Mod(a)^2))) %*% t(b))
  same(A | B, a %*% t(b))
  same(A | Vj(Im(b)), a %*% t(Im(b)))
  same((c(1i, 3) | A) * Vj(v), outer(drop(a %*% c(1i, 3)), v))
  same(matvecmult(tensorprod(A, A), B)[, , 2], pairs(function(p, q) p[2] * sum(p * q)))
  same(sum(kron(A, B, 2, 2)), outer(rowSums(a), rowSums(b)))
  same(sum(square(A) * B), a^2 %*% t(b))
  same(rsqrt(Vi(u)) * Vj(v), outer(1 / sqrt(u), v))
  same(elem(A, 2) * Vj(v), outer(a[, 2], v))
  same(extract(A, 2, 1) * Vj(v), outer(a[, 2], v))
  same(lazy_if(Vi(x) < Vj(y), Vi(u) * Vj(v), 2i), ifelse(outer(x, y, "<"), outer(u, v), 2i))
  gaussian <- function(z) sum(exp(-sqdist(Vi(z), Vj(b))))
  expect_equal(as.matrix(gaussian(a)), exp(-pairs(apart)))
  expect_equal(vjp(sum(norm2(lazy_complex(Vi(0 * x, name = "x"), 0)), index = "i", call = FALSE), "x"), 0 * x)
})

test_that("an operation without a complex meaning is refused under its name", {
  Z <- Vi(u)
  refused <- expression(manhattan(Z, Vj(v)), max2(Z, 1), cosine(Z, Vj(v)), lazy_atan2(Z, 1), relu(Z), erf(Z), sinc(Z),
                        sigmoid(Z), xlogx(Z), clamp(Z, 0, 1), minkowski(Z, Vj(v), 3), lazy_if(Z, 1, 2), onehot(Z, 3),
                        weighted_sqdist(1, Z, Vj(v)), hypot(1, Z), softplus(Z), polygamma(Z, 1), bspline(1:9, Z, 2))
  for (call in refused) {
    expect_error(eval(call), paste0(call[[1]], "() of complex formulas"), fixed = TRUE,
                 class = "kernweave_error_unsupported")
  }
  expect_error(kernel_gaussian(Z, Z), "a complex lazy tensor", class = "kernweave_error_input")
  expect_error(approximate(Z), "a complex lazy tensor", class = "kernweave_error_input")
  expect_identical(c(is.LazyTensor(Z), is.LazyMatrix(Z), is.LazyVector(Pm(1i)), is.LazyParameter(Pm(1i))), rep(TRUE, 4))
})
