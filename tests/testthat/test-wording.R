# Tests that messages call things as the user does.

said <- function(call, frame = parent.frame()) {
  tryCatch(eval(call, frame), error = function(e) {
    c(class = class(e)[1], call = deparse1(conditionCall(e)), message = conditionMessage(e))
  })
}

test_that("errors call a formula by the user's name for it", {
  gram <- kernel_laplacian(matrix(stats::runif(12), 4))
  cases <- list(
    list(quote(sum(gram, gram, index = "j")), "sum(gram, gram, index = \"j\")", "add the sum of each"),
    list(quote(max(gram, 0.25)), "max(gram, 0.25)", "max2(gram, 0.25) is the larger"),
    list(quote(all(gram > 1, gram > 2)), "all(F, F)", "`F & G` joins"),
    list(quote(range(gram)), "range(gram)", "give `index`"),
    list(quote(round(gram, "a")), "round(gram, \"a\")", "`digits`"),
    list(quote(min(gram, index = "rows")), "min(gram, index = \"rows\")", "`index`"),
    list(quote(svd(gram)), "svd(gram)", "svd(as.matrix(gram))"),
    list(quote(gram[3]), "gram[3]", "`gram[k]` is not defined: write gram[I, ]"),
    list(quote(gram$values), "gram$values", "`gram$values` is not defined"),
    list(quote(gram[["a"]]), "gram[[\"a\"]]", "`gram[[k]]` is not defined"),
    list(quote(Vi(matrix(0, 3, 2))[, 2]), "Vi(matrix(0, 3, 2))[, 2]", "F[, , k] takes components, F[I, ]")
  )
  for (case in cases) {
    found <- said(case[[1]])
    label <- deparse1(case[[1]])
    expect_match(found[["class"]], "^kernweave_error_", label = label)
    expect_identical(found[["call"]], case[[2]], label = label)
    expect_match(found[["message"]], case[[3]], fixed = TRUE, label = label)
  }
})

test_that("to look for a name reads no variable that nobody has read", {
  read <- character()
  asks <- function(K, unused) {
    makeActiveBinding("active", function() read <<- "active", environment())
    sum(K, K)
  }
  K <- Vi(1:3) - Vj(1:2)
  expect_error(asks(K, read <<- "unused"), class = "kernweave_error_input")
  expect_identical(read, character())
})

test_that("messages write numbers out, and speak of nothing that the user cannot see", {
  K <- kernel_cauchy(matrix(stats::runif(8), 4))
  expect_error(K[2e5, ], "there is no 200000$", class = "kernweave_error_index")
  expect_error(K[, 3e6 + 1], "there is no 3000001$", class = "kernweave_error_index")
  for (wrong in list(quote(K %*% letters[1:4]), quote(letters[1:4] %*% K), quote(K * letters[1:4]))) {
    expect_match(said(wrong)[["message"]], "write match(x, unique(x)) for codes", fixed = TRUE)
  }
  days <- as.Date("2020-02-28") + 0:3
  expect_error(Vi(days), "as.numeric(x) counts days", fixed = TRUE, class = "kernweave_error_input")
  expect_error(Vj(as.POSIXct(days)), "as.numeric(x) counts seconds", fixed = TRUE, class = "kernweave_error_input")
  for (call in list(quote(cut(K, 3)), quote(diff(K)), quote(stats::weighted.mean(K, 1)), quote(rowsum(K, 1)))) {
    expect_error(eval(call), "of a lazy tensor is not defined", class = "kernweave_error_unsupported")
  }
})

test_that("names of kernels and metrics are found where letters are wrong, aliases too", {
  expect_error(kernel_spec("laplacain"), "did you mean `laplacian`", class = "kernweave_error_input")
  expect_error(kernel_spec("exponentil"), "\"exponential\".*did you mean `exponential`",
               class = "kernweave_error_input")
  expect_error(knn(matrix(1:6, 3), k = 1, metric = "maximun"), "did you mean `maximum`",
               class = "kernweave_error_input")
  expect_identical(format(kernel_spec("exponential")), format(kernel_spec("matern12")))
})

test_that("a kernel that does not take lazy points is refused by class", {
  of_vectors <- function(x, y = NULL) if (!is.vector(x)) stop("x must be a vector") else sum(x * y)
  d <- data.frame(a = stats::runif(20), y = stats::rnorm(20))
  for (fit in list(gp_fit, kernel_ridge)) {
    expect_error(fit(y ~ a, d, kernel = of_vectors), "function of lazy points.*x must be a vector",
                 class = "kernweave_error_input")
    expect_error(fit(y ~ a, d, kernel = function(x, y) 3), "must give a lazy tensor", class = "kernweave_error_input")
  }
})

test_that("weights of another length than the data are one error, and nothing beside it", {
  d <- data.frame(a = stats::runif(20), y = stats::rnorm(20))
  for (fit in list(gp_fit, kernel_ridge)) {
    expect_no_warning(expect_error(fit(y ~ a, d, weights = c(1, 2, 1)), "20 rows", class = "kernweave_error_shape"))
  }
})

test_that("conditions, reports and options are shown in lines of 80 columns, two of which are R's", {
  widest <- function(lines) max(nchar(unlist(strsplit(lines, "\n"))))
  shown <- function(code) tryCatch(code, condition = base::conditionMessage)
  for (text in list(shown(gp_fit(1:9, 1:9, family = "cauchy")), shown(Vi("a")),
                    shown(kernweave:::warn("approximate", strrep("a word ", 40))),
                    shown(kernweave:::tell(strrep("a word ", 40))))) {
    expect_match(text, "\n", fixed = TRUE)
    expect_lte(widest(text), 80)
  }
  expect_lte(widest(shown(gp_fit(1:9, 1:9, family = "cauchy"))), 78)
  failed <- tryCatch(gp_fit(1:9, 1:9, family = "cauchy"), error = identity)
  expect_identical(failed$message, conditionMessage(failed))
  expect_lte(widest(utils::capture.output(print(kernweave_options()))), 80)
  expect_lte(widest(utils::capture.output(print(kernweave_sitrep()))), 80)
  expect_output(print(kernweave_options()["option"]), "1 +kernweave.device")
})

test_that("every export names the argument that it cannot do without, by a classed error", {
  ours <- asNamespace("kernweave")
  exports <- mget(intersect(getNamespaceExports(ours), ls(ours)), ours)
  exports <- Filter(function(f) is.function(f) && !is.primitive(f) && !isS4(f), exports)
  first <- function(f) formals(f)[!names(formals(f)) %in% "..."][1]
  needing <- Filter(function(f) length(first(f)) && identical(first(f)[[1]], quote(expr = )), exports)
  needing <- needing[setdiff(names(needing), c("Vi", "Vj", "Pm"))]  # which make placeholders
  expect_gt(length(needing), 150)
  for (name in names(needing)) {
    said <- tryCatch(needing[[name]](), error = identity)
    expect_true(inherits(said, "kernweave_error_input"), label = paste0(name, "(): ", conditionMessage(said)))
  }
  named <- function(code, argument) expect_error(code, paste0("`", argument, "` is not given"), fixed = TRUE)
  named(sort_by_cluster(1), "labels")
  named(lazy_gradient(Vi(1:3)), "wrt")
  of_user <- function(points) knn(points)
  named(of_user(), "x")
})
