# The pairs that exist: restrict() and its shortcuts. Restrictions become a rule (R/pair-rule.R).

#' Compute only some pairs
#'
#' `restrict()` restricts a formula to some of its pairs: pairs within groups, pairs that satisfy a condition, or blocks
#' of pairs. Reductions then run over these pairs only; products and [as.matrix()][lazy-matrix] have 0 for all other
#' pairs. Use it for within-group sums, leave-one-out sums, time windows and block-sparse kernels. Blocks without pairs
#' are skipped, so a tenth of the pairs takes a tenth of the time.
#'
#' The restriction stays with the formula: through arithmetic, `t()`, `%*%`, all reductions, [vjp()] and [gradient()],
#' [solve()][solve.lazy_tensor] and other operators. `dim()` does not change. A point without pairs gets the value of an
#' empty reduction: a sum of 0, a minimum of `Inf`, a mean of `NaN`, `NA` for a position. If several arguments are
#' given, or a restricted formula is restricted again, only pairs that satisfy all restrictions remain. Two formulas
#' with different restrictions cannot be combined in arithmetic; an unrestricted formula takes over the restriction of
#' the other formula.
#'
#' @section Groups:
#' With `by`, points i and j form a pair if they are of the same group. Groups may have any size; points need not be
#' sorted, and results come in the order of the data. `Vi(x, by = g)` does the same for the points along i, and
#' `Vj(y, by = h)` for those along j.
#'
#' @section Conditions:
#' `where` is a logical formula of [row_index()][Vi] and [col_index()][Vi], of data, or of both:
#' `where = row_index() < col_index()`, `where = abs(row_index() - col_index()) < 10`, `where = Vj(time) < Vi(time)`.
#' Blocks in which the condition is false for all pairs are detected from bounds and skipped, so sort the points by the
#' variable in the condition. `where` may also be a matrix with a row for each i and a column for each j: a logical
#' matrix, or a sparse matrix of the Matrix package, whose stored entries are the pairs, whatever their value.
#'
#' @param F a lazy tensor, which may be complex
#' @param by groups of the points: `list(g, h)` for the points along i and along j, or `g` for both. Factors, whole
#'   numbers or strings, without `NA`
#' @param where a logical lazy tensor of one component, or a matrix
#' @param ranges blocks of pairs, made by [ranges()]
#' @param exclude_diag if `TRUE`, leaves out the pairs of a point with itself, i = j. By default `FALSE`
#' @return `F` with the restriction.
#' @seealso [ranges()] for block sparsity, [reduction()]; the article "Which pairs exist" on the site
#' @concept leave one out
#' @concept sparse kernel matrix
#' @concept within groups
#' @export
#' @examples
#' x <- matrix(runif(60), 20)
#' g <- rep(c("a", "b"), 10)
#' K <- exp(-sqdist(Vi(x), Vj(x)))
#' # within groups
#' rowSums(restrict(K, by = g))
#' # leave one out
#' sum(exclude_diag(K), index = "j", drop = TRUE)
#' # each point and those before it
#' reduction(restrict(K, where = col_index() < row_index()), "argmax", drop = TRUE)
restrict <- function(F, by = NULL, where = NULL, ranges = NULL, exclude_diag = FALSE) {
  if (!is_lazy(F) && !is_lazy_complex(F)) {
    abort("input", "`F` must be a lazy tensor, not ", describe(F), "; make one with Vi(), Vj() or Pm()")
  }
  check_flag(exclude_diag, "exclude_diag")
  by <- groups_of_both(by)
  if (!is.null(ranges) && !inherits(ranges, "kernweave_ranges")) {
    abort("input", "`ranges` must be made by ranges(), not ", describe(ranges))
  }
  said <- c(list(by = by, ranges = ranges), conditions(where))
  if (exclude_diag) said$where <- both_hold(said$where, row_index() != col_index())
  if (all(vapply(said, is.null, NA))) {
    abort("input", "restrict() needs one of `by`, `where`, `ranges` and `exclude_diag` to define which pairs exist")
  }
  restricted(F, new_pairs(said))
}

# Both parts of a complex formula have the same pairs.
restricted <- function(F, pairs) {
  if (is_lazy_complex(F)) {
    re <- restricted(F$re, pairs)
    return(new_complex(re, with_pairs(F$im, re$pairs)))
  }
  with_pairs(F, and_pairs(F$pairs, pairs))
}

#' @rdname restrict
#' @export
exclude_diag <- function(F) restrict(F, exclude_diag = TRUE)

# --- groups ------------------------------------------------------------------------------------------------

groups_of_both <- function(by) {
  if (is.null(by)) return(NULL)
  if (!is.list(by)) return(list(i = group_codes(by, "by"), j = group_codes(by, "by")))
  if (is.data.frame(by) || length(by) != 2) {
    abort("input", "`by` must be list(g, h), the groups of the points along i and along j, not ", describe(by))
  }
  named <- names(by) %or% c("i", "j")
  if (!setequal(named, c("i", "j"))) {
    abort("input", "`by`: names must be i and j, not ", paste(named, collapse = " and "))
  }
  names(by) <- named
  list(i = group_codes(by$i, "by", " of the points along i"), j = group_codes(by$j, "by", " of the points along j"))
}

# Numbers groups by their first appearance, so that points sorted by groups need no other order.
group_codes <- function(g, argument, of = "") {
  fits <- is.factor(g) || is.atomic(g) && !is.null(g) && !is.object(g) && (is.numeric(g) || is.character(g) ||
                                                                           is.logical(g))
  if (!fits || length(dim(g)) > 1) {
    abort("input", "`", argument, "`", of, " must be groups: a factor, whole numbers or strings, not ", describe(g))
  }
  if (anyNA(g)) abort("value", "`", argument, "`", of, ": ", sum(is.na(g)), " of ", length(g), " groups are NA")
  if (is.double(g) && any(g != trunc(g))) {
    abort("input", "`", argument, "`", of, ": groups by numbers must be whole, not ", format(g[g != trunc(g)][1]))
  }
  plain <- if (is.factor(g)) as.integer(g) else as.vector(g)
  found <- unique(plain)
  list(codes = match(plain, found), labels = if (is.factor(g)) levels(g)[found] else as.character(found))
}

# Restricts pairs by groups of the points of one operand; the operand of the other axis supplies its own groups.
with_groups <- function(F, axis, by) {
  restricted(F, new_pairs(list(by = structure(list(group_codes(by, "by")), names = axis))))
}

# --- conditions --------------------------------------------------------------------------------------------

# Returns the condition of a formula or a matrix, whose true entries are the pairs.
conditions <- function(where) {
  if (is.null(where)) return(list())
  if (is_lazy(where)) {
    if (type_kind(where) != "logical" || width(where) != 1) {
      abort("kind", "`where` must be logical and of one component, not ", type_kind(where), " of width ", width(where),
            "; write the comparison out, e.g. `F > 0`")
    }
    if (!is.null(where$pairs)) abort("input", "`where` is a formula with restricted pairs; give the conditions as one")
    return(list(where = where))
  }
  list(pattern = Vij(pattern_of(where), name = "pattern"))
}

# Returns the pattern of the true entries.
pattern_of <- function(where) {
  if (methods::is(where, "sparseMatrix")) {
    return(methods::as(methods::as(methods::as(where, "generalMatrix"), "CsparseMatrix"), "nMatrix"))
  }
  if (methods::is(where, "Matrix")) where <- as.matrix(where)
  if (!is.matrix(where) || !is.logical(where)) {
    abort("input", "`where` must be a logical formula, a logical matrix or a sparse matrix, not ", describe(where))
  }
  if (anyNA(where)) abort("value", "`where`: ", sum(is.na(where)), " of ", length(where), " entries are NA")
  rows <- (which(where) - 1) %% nrow(where)
  methods::new("ngCMatrix", i = as.integer(rows), p = as.integer(c(0, cumsum(colSums(where)))), Dim = dim(where))
}

both_hold <- function(a, b) if (is.null(a)) b else if (is.null(b)) a else a & b
