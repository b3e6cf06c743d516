# Pairwise comparisons of groups: a two-sample test for each pair, with adjusted p-values.

#' Tests of all pairs of groups
#'
#' Runs a two-sample test for each pair of groups, and adjusts the p-values, as [pairwise.t.test()] does for means. Use
#' it to see which groups differ after a test of all groups, such as [energy_test()], has found a difference.
#'
#' Each pair has its own test, on the rows of the two groups alone; if the test chooses a length-scale, it chooses it
#' from these rows. With permutations the smallest p-value is `1 / (R + 1)` before the adjustment, which multiplies it
#' by up to the number of pairs: use a large enough `R`, or `null = "moments"`.
#'
#' @param x the points, one per row: a matrix, data frame or vector; or a formula, with the variables on the left and
#'   the groups on the right
#' @param g the group of each row
#' @param test [energy_test()], [mmd_test()], [permanova()], or your own function of `x`, `groups` and more that returns
#'   an `htest`
#' @param p.adjust.method as in [stats::p.adjust()]
#' @param data,subset,na.action for a formula: as in [stats::lm()]
#' @param strata labels; rows are permuted only within strata. With a formula, `data` is searched for the labels first
#' @param ... more arguments of the test, such as `R`, `null`, `kernel` or `distance`
#' @return An object of class `pairwise.htest`: a list of `method`, `data.name`, `p.value` (a triangular matrix of
#'   adjusted p-values), `p.adjust.method`, and `statistic`, a matrix like `p.value`.
#' @seealso [two-samples], [permanova()]
#' @concept post hoc test
#' @concept multiple comparisons
#' @concept pairwise permutation test
#' @export
#' @examples
#' set.seed(1)
#' pairwise_test(iris[, 1:4], iris$Species, null = "moments")
#' pairwise_test(cbind(mpg, wt) ~ cyl, data = mtcars, test = permanova, R = 199)$p.value
pairwise_test <- function(x, ...) UseMethod("pairwise_test")

#' @rdname pairwise_test
#' @export
pairwise_test.default <- function(x, g, test = energy_test, p.adjust.method = "holm", strata = NULL, ...) {
  name <- paste(deparse1(substitute(x)), "and", deparse1(substitute(g)))
  if (inherits(x, "dist")) abort("input", "`x` is a `dist` object; the points themselves are wanted")
  if (missing(g)) abort("input", "`g`, the group of each row, is not given")
  x <- point_numbers(x, by_chords = TRUE)$x
  sample <- grouped(complete_points(x, "x"), g, "g")
  sample$left <- x
  check_group_sizes(sample, "g", "`x` has the variables, `g` their groups")
  with_call(pairs_of_groups(sample, test, p.adjust.method, strata, name, ...), match.call())
}

#' @rdname pairwise_test
#' @export
pairwise_test.formula <- function(x, data = NULL, test = energy_test, p.adjust.method = "holm", strata = NULL,
                                  subset = NULL, na.action = NULL, ...) {
  sample <- formula_sample(x, data, na.action, substitute(strata), substitute(subset))
  found <- pairs_of_groups(sample, test, p.adjust.method, sample$strata, deparse1(x), ...)
  with_call(found, match.call(), sample$dropped)
}

pairs_of_groups <- function(sample, test, p.adjust.method, strata, name, ...) {
  method <- choice_of(p.adjust.method, stats::p.adjust.methods, "p.adjust.method")
  test <- pair_test(test)
  labels <- sample$labels
  g <- length(labels)
  if (length(strata) && length(strata) != length(sample$codes)) {
    abort("shape", "`strata` has ", counted(length(strata), "label"), " for ", counted(length(sample$codes), "row"))
  }
  if (g > 50) tell(g, " groups have ", format(g * (g - 1) / 2, big.mark = ","), " pairs, and as many tests")
  statistic <- matrix(NA_real_, g - 1, g - 1, dimnames = list(labels[-1], labels[-g]))
  methods <- NULL
  least <- 0
  begin_work("pairwise_test()", steps = g * (g - 1) / 2)
  on.exit(end_work("pairwise_test()"))
  p_of <- function(i, j) {
    rows <- which(sample$codes == i | sample$codes == j)
    x <- if (is.null(dim(sample$left))) sample$left[rows] else sample$left[rows, , drop = FALSE]
    found <- test(x, labels[sample$codes[rows]], strata[rows], ...)
    step_work("pairwise_test()", paste(labels[c(j, i)], collapse = " and "))
    statistic[i - 1, j] <<- found$statistic
    methods <<- union(methods, found$method)
    least <<- max(least, 1 / (1 + length(found$replicates)) * (length(found$replicates) > 0))
    found$p.value
  }
  p <- stats::pairwise.table(p_of, labels, method)
  pairs <- g * (g - 1) / 2
  adjusted <- min(stats::p.adjust(c(least, rep(1, pairs - 1)), method))
  if (adjusted > 0.05) {
    warn("few", "the least p-value that the relabellings can give is ", format(least, digits = 2), ", adjusted for ",
         counted(pairs, "pair"), " ", format(adjusted, digits = 2), ": no pair alone can be below 0.05, which a ",
         "larger `R` allows")
  }
  structure(list(method = plural_method(methods), data.name = name, p.value = p, p.adjust.method = method,
                 statistic = statistic, sizes = stats::setNames(tabulate(sample$codes, g), labels)),
            class = c("pairwise_test", "pairwise.htest"))
}

# Makes a function of points, groups and strata of a test, which returns p-value, statistic and method.
pair_test <- function(test) {
  if (!is.function(test)) abort("input", "`test` must be a function such as energy_test, not ", describe(test))
  if (identical(test, permanova)) {
    return(function(x, groups, strata, ...) {
      table <- permanova(x ~ groups, strata = strata, ...)
      list(p.value = table[["Pr(>F)"]][1], statistic = table$F[1], method = "permanova",
           replicates = attr(table, "replicates")[, 1])
    })
  }
  function(x, groups, strata, ...) {
    found <- if (is.null(strata)) test(x, groups = groups, ...) else test(x, groups = groups, strata = strata, ...)
    if (!inherits(found, "htest") || !is.numeric(found$p.value) || length(found$p.value) != 1) {
      abort("input", "`test` must return an `htest`, with a p-value, not ", describe(found))
    }
    list(p.value = found$p.value, statistic = c(unname(found$statistic), NA)[1], method = found$method,
         replicates = found$replicates)
  }
}

# Returns a plural, as "energy tests of equal distributions".
plural_method <- function(methods) {
  kinds <- unique(sub(" \\(.*", "", methods))
  kinds <- ifelse(kinds == "permanova", kinds, sub("\\btest\\b", "tests", paste0(tolower(substr(kinds, 1, 1)),
                                                                               substring(kinds, 2))))
  paste(kinds, collapse = ", ")
}

#' @export
print.pairwise_test <- function(x, ...) {
  NextMethod()
  say("groups: ", sizes_text(x$sizes), "\n", left_out_text(x$na.action))
  invisible(x)
}

#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.pairwise_test <- function(x, ...) {
  refuse_more(...)
  at <- which(lower.tri(x$p.value, TRUE), arr.ind = TRUE)
  as_tidy(group1 = rownames(x$p.value)[at[, 1]], group2 = colnames(x$p.value)[at[, 2]], statistic = x$statistic[at],
          p.value = x$p.value[at])
}
