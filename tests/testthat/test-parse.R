# Text formulas: read by our own parser, whatever the text.

set.seed(4)
x <- matrix(stats::rnorm(12), 4)
y <- matrix(stats::rnorm(15), 5)
b <- stats::rnorm(5)
args <- c("x = Vi(3)", "y=Vj(3)", "b = Vj(1)", "s = Pm(1)")
data <- list(x = x, y = y, b = b, s = 0.5)
expected <- exp(-0.5 * outer(1:4, 1:5, Vectorize(function(i, j) sum((x[i, ] - y[j, ])^2)))) %*% b

shown <- function(text, declared = args) shown_text(read_text(text, declared_as(declared)))

test_that("infix, both names of an operation, and a wrapped reduction say the same", {
  for (text in c("exp(-s * sqdist(x, y)) * b", "Exp(-s * SqDist(x, y)) * b", "Exp(-(s * Sum((x - y)**2))) * b",
                 "Exp(-s * (x - y | x - y)) * b", "Sum_Reduction(Exp(-s*SqDist(x,y))*b, 1)")) {
    expect_equal(kernel_op(text, args)(data), expected)
  }
})

test_that("data come as a list by name in any order, as a list by place, or as arguments", {
  op <- kernel_op("exp(-s * sqdist(x, y)) * b", args)
  expect_equal(op(data[c(4, 2, 1, 3)]), expected)
  expect_equal(op(unname(data)), expected)
  expect_equal(op(x, y, b, 0.5), expected)
  expect_equal(op(x = x, y = y, b = b, s = 0.5), expected)
})

test_that("the axis in a reduction's text is the one summed away, and `index` overrules it", {
  gram <- "Exp(-SqDist(x, y))"
  along_i <- sum(exp(-sqdist(Vi(x), Vj(y))), index = "i")
  two <- args[1:2]
  expect_equal(kernel_op(paste0("Sum_Reduction(", gram, ", 0)"), two)(x, y), along_i)
  expect_equal(kernel_op(paste0("Sum_Reduction(", gram, ", 1)"), two, index = "i")(x, y), along_i)
  expect_equal(kernel_op("ArgKMin_Reduction(SqDist(x, y), 2, 1)", two)(x, y), argKmin(sqdist(Vi(x), Vj(y)), K = 2))
  weighted <- logsumexp(-sqdist(Vi(x), Vj(y)), weight = Vj(abs(b)))
  expect_equal(kernel_op("LogSumExp_Reduction(-SqDist(x, y), 1, b)", args[1:3])(x, y, abs(b)), weighted)
  expect_equal(kernel_op("-SqDist(x, y)", args[1:3], reduction = "logsumexp", weight = "b")(x, y, abs(b)), weighted)
})

test_that("precedence is R's, and print and parse are inverse", {
  pairs <- c("x + y * b" = "x + y * b", "(x + y) * b" = "(x + y) * b", "x - (y - b)" = "x - (y - b)",
             "x - y - b" = "x - y - b", "-x^2" = "-square(x)", "(-x)^2" = "square(-x)", "x / y / b" = "x / y / b",
             "x / (y / b)" = "x / (y / b)", "x > y" = "y < x", "x >= y" = "y <= x", "-2 * x" = "-2 * x",
             "2^-1 * x" = "1 / 2 * x", "x * -b" = "x * -b", "- - x" = "-(-x)", "1e-3 * x" = "0.001 * x",
             "elem(x, 2) + extract(y, 1, 1)" = "elem(x, 2) + extract(y, 1, 1)", "x | y + y" = "x | y + y",
             "lazy_if(x < y, x, 0.1)" = "lazy_if(x < y, x, 0.1)")
  for (text in names(pairs)) expect_identical(shown(text), pairs[[text]])
  for (seed in seq_len(by_tier(50, 150, 150))) {
    text <- random_formula(seed)$text
    declared <- c("x = Vi(3)", "u = Vi(1)", "y = Vj(3)", "v = Vj(1)", "A = Vj(6)", "p = Pm(1)", "q = Pm(3)")
    once <- shown(text, declared)
    expect_identical(shown(once, declared), once)
  }
})

test_that("no text crashes: every failure is a condition of ours", {
  skip_below("quick")
  set.seed(5)
  words <- c("exp(", "sqdist(", "Grad(", "Laplacian(", "Kron(x, x, c(", "pick(", "TensorDot(x, x,", "Ind(", "[", "]",
             "Sum_Reduction(", "Var(0,3,0)", "Elem(x,", "ArgKMin_Reduction(", "GradMatrix(")
  alphabet <- c(letters[c(1:3, 19, 24, 25)], 0:9, "+", "-", "*", "/", "^", "(", ")", ",", "|", "<", "=", "!", ".", " ",
                words, "\u00e9", "\"", "\\", "\n", "\001")
  broken <- 0
  for (k in trials(5000)) {
    text <- paste(sample(alphabet, sample(25, 1), TRUE), collapse = "")
    outcome <- tryCatch({
      suppressMessages(if (k %% 2) kernel_op(text, args) else keops_kernel(text, args))
      "read"
    }, kernweave_error = function(e) "refused")
    broken <- broken + !outcome %in% c("read", "refused")
  }
  expect_identical(broken, 0)
  deep <- c(strrep("(", 1e5), strrep("-", 1e5), paste0(strrep("exp(", 1e4), "x", strrep(")", 1e4)), strrep("x^", 1e4),
            strrep("Grad(", 1e5), paste0(strrep("Grad(", 1e4), "Sum_Reduction(x, 1)"))
  for (text in c(deep, "", " ")) {
    expect_error(kernel_op(text, args), class = "kernweave_error_syntax")
  }
  expect_silent(shown(paste(rep("x", 5000), collapse = " + ")))
})

test_that("`|` means in text what it means in R", {
  x <- c(1, 2, 3)
  y <- c(2, 2)
  either <- kernel_op("(x < y) | (y < x)", c("x = Vi(1)", "y = Vj(1)"))
  expect_equal(either(x, y), sum(Vi(x) < Vj(y) | Vj(y) < Vi(x), index = "j"))
  expect_error(kernel_op("(x < y) | x", c("x = Vi(1)", "y = Vj(1)")), class = "kernweave_error_kind")
})

test_that("places count from 1, and one that is not there is told in the words of the text", {
  said <- function(text) conditionMessage(expect_error(kernel_op(text, args), class = "kernweave_error_shape"))
  expect_identical(said("Elem(x, 0)"), "`Elem(x, 0)`: no component 0; those of `x` count from 1 to 3")
  expect_identical(said("1 + elem(x * 2, 4)"), "`elem(x * 2, 4)`: no component 4; those of `x * 2` count from 1 to 3")
  expect_match(said("Extract(x, 3, 2)"), "`Extract(x, 3, 2)`: no component 4", fixed = TRUE)
  expect_match(said("ElemT(s, 4, 5)"), "no component 5; those of the result count from 1 to 4", fixed = TRUE)
  expect_match(said("ExtractT(x, 0, 7)"), "no component 0; those of the result", fixed = TRUE)
  expect_match(said(paste0("Elem(", strrep("x + ", 30), "x, 9)")), "^`Elem\\(\\)`: no component 9")
  expect_match(said("x + MatVecMult(y, Extract(x, 1, 2))"), "^`MatVecMult\\(y, Extract\\(x, 1, 2\\)\\)`: `y` has 3")
  expect_match(said("SymSqNorm(b, x)"), "^`SymSqNorm\\(b, x\\)`: ")
  expect_match(said("OneHot(x, 2)"), "^`OneHot\\(x, 2\\)`: `x` has 3 components; one component")
  expect_error(elem(Vi(x), 4), "elem(): no component 4", fixed = TRUE, class = "kernweave_error_shape")
})

test_that("a list of whole numbers is written as in R or as in Python", {
  dot <- function(a, b) kernel_op(paste0("TensorDot(x, y, ", a, ", ", a, ", ", b, ", ", b, ")"), args[1:2])(x, y)
  expected <- matrix(rowSums(x %*% t(y)))
  for (lists in list(c("c(3)", "c(1)"), c("Ind(3)", "Ind(1)"), c("[3]", "[1]"), c("(3,)", "(1,)"), c("3", "1"))) {
    expect_equal(dot(lists[1], lists[2]), expected)
  }
  for (list in c("[3", "[3)", "[3 4]", "(3", "[,]", "c(3,)")) {
    expect_error(dot(list, "[1]"), class = "kernweave_error_syntax", label = list)
  }
})

test_that("the whole number in a reduction's text is explained once", {
  forget_said()
  expect_message(kernel_op("Sum_Reduction((x | y), 1)", args), "0 is i, 1 is j")
  expect_silent(kernel_op("Sum_Reduction((x | y), 0)", args))
  forget_said()
  expect_silent(kernel_op("Sum_Reduction((x | y), 1)", args, index = "i"))
  expect_silent(kernel_op("Sum_Reduction((x | y))", args))
  expect_message(keops_kernel("Sum_Reduction((x | y), 0)", args), "summed away, here i")
  for (rest in c("2", "-1", "1, s, y", "1, 2, 3")) {
    text <- paste0("Sum_Reduction(x, ", rest, ")")
    expect_error(kernel_op(text, args), class = "kernweave_error_syntax", label = text)
  }
})

test_that("ten thousand arguments take time for each, not for each pair of them", {
  skip_below("quick")
  names <- paste0("s", 1:10000)
  spent <- system.time({
    args <- c("x = Vi(1)", "y = Vj(1)", paste(names, "= Pm(1)"))
    f <- kernel_op(paste("x * y *", paste(names[c(1, 5000, 10000)], collapse = " * ")), args)
    value <- f(c(list(x = 1:3, y = 1:4), stats::setNames(as.list(rep(2, 10000)), names)))
  })
  expect_identical(value, matrix(8 * 10 * 1:3))
  expect_lt(spent[["user.self"]], 4)
})
