# Rules of pairs. The pairs of a formula are NULL if all pairs exist, or a list of
#   rule      an environment: the restrictions (`said`), and objects computed from them
#   swapped   are i and j of the formula the j and i of the rule?
# The restrictions are
#   by        groups of the points along i and along j; one of the two may still be unknown
#   ranges    rectangles of pairs (R/pair-ranges.R)
#   where     a logical lazy tensor
#   pattern   a sparse matrix as a lazy tensor

# Makes pairs from restrictions as a formula sees them. `swapped` is kept: rectangles lie in blocks of the rule's rows.
new_pairs <- function(said, swapped = FALSE) {
  rule <- new.env(parent = topenv())
  rule$said <- (if (swapped) said_swapped(said) else said)[c("by", "ranges", "where", "pattern")]
  list(rule = rule, swapped = swapped)
}

# Returns the restrictions of a rule, as the formula sees them.
said_of <- function(pairs) {
  rule <- pairs$rule
  if (!isTRUE(pairs$swapped)) return(rule$said)
  if (is.null(rule$said_swapped)) rule$said_swapped <- said_swapped(rule$said)
  rule$said_swapped
}

said_swapped <- function(said) {
  if (!is.null(said$by)) said$by <- list(i = said$by$j, j = said$by$i)
  if (!is.null(said$ranges)) {
    names(said$ranges$rectangles) <- names(said$ranges$rectangles)[c(3, 4, 1, 2)]
    both <- c("extent", "last", "blocks")
    said$ranges[both] <- lapply(said$ranges[both], rev)
    if (!is.null(said$ranges$order)) said$ranges$order <- list(i = said$ranges$order$j, j = said$ranges$order$i)
  }
  for (what in c("where", "pattern")) if (!is.null(said[[what]])) said[[what]] <- t(said[[what]])
  said
}

# Combines two restrictions of one formula: the pairs that both allow.
and_pairs <- function(a, b) {
  if (is.null(a) || is.null(b)) return(a %or% b)
  swapped <- if (is.null(said_of(b)$ranges)) a$swapped else b$swapped
  a <- said_of(a)
  b <- said_of(b)
  if (!is.null(a$ranges) && !is.null(b$ranges)) {
    abort("unsupported", "a formula that is restricted by ranges cannot be restricted by other ranges")
  }
  new_pairs(list(by = met_groups(a$by, b$by), ranges = a$ranges %or% b$ranges, where = both_hold(a$where, b$where),
                 pattern = both_hold(a$pattern, b$pattern)), swapped)
}

# Merges the pairs of two formulas; the engine calls this function by name (src/r_formula.cpp). Groups of i from one
# formula and groups of j from the other belong together.
merge_pairs <- function(a, b) {
  if (is.null(a) || identical(a, b)) return(b)
  if (is.null(b)) return(a)
  x <- said_of(a)
  y <- said_of(b)
  rest <- c("ranges", "where", "pattern")
  if (!identical(x[rest], y[rest])) {
    abort("unsupported", "formulas that are restricted to different pairs cannot be combined: ", pair_text(a), ", and ",
          pair_text(b), "; restrict their sum or product, or use the same restricted formula")
  }
  by <- met_groups(x$by, y$by)
  if (identical(by, x$by)) return(a)
  if (identical(by, y$by)) return(b)
  new_pairs(c(list(by = by), x[rest]), a$swapped)
}

met_groups <- function(a, b) {
  if (is.null(a) || is.null(b)) return(a %or% b)
  lapply(c(i = "i", j = "j"), function(side) {
    if (!is.null(a[[side]]) && !is.null(b[[side]]) && !identical(a[[side]], b[[side]])) {
      abort("unsupported", "formulas with different groups of the points along ", side, " cannot meet: ",
            counted(length(a[[side]]$labels), "group"), " of ", length(a[[side]]$codes), " points, and ",
            counted(length(b[[side]]$labels), "group"), " of ", length(b[[side]]$codes))
    }
    a[[side]] %or% b[[side]]
  })
}

# --- sizes -------------------------------------------------------------------------------------------------

# Returns the numbers of points by a rule; NA if unknown.
extent_of_pairs <- function(said) {
  known <- function(side) {
    at <- match(side, c("i", "j"))
    lengths <- c(if (!is.null(said$by[[side]])) length(said$by[[side]]$codes), said$ranges$extent[at],
                 said$where$extent[at], said$pattern$extent[at])
    lengths <- unique(lengths[!is.na(lengths)])
    if (length(lengths) > 1) {
      abort("shape", "what restricts the pairs is of ", paste(lengths, collapse = " and of "), " points along ", side)
    }
    if (length(lengths)) lengths else NA_real_
  }
  as.numeric(c(known("i"), known("j")))
}

# Checks the ends of ranges: ranges that do not give the number of points may reach beyond the last point.
check_ranges_end <- function(ranges, extent) {
  side <- which(ranges$last > extent[1:2])[1]
  if (!is.na(side)) {
    abort("shape", "there are ", extent[side], " points along ", c("i", "j")[side], ", but `ranges` reach ",
          ranges$last[side])
  }
}

# Returns a formula over these pairs, if their numbers of points agree.
with_pairs <- function(F, pairs) {
  F$pairs <- pairs
  said <- said_of(pairs)
  here <- extent_of_pairs(said)
  for (side in which(!is.na(here))) {
    n <- F$extent[side]
    if (!is.na(n) && n != here[side]) {
      abort("shape", "the formula has ", n, " points along ", c("i", "j")[side], ", but what restricts its pairs (",
            pair_text(F$pairs), ") is of ", here[side])
    }
  }
  check_ranges_end(said$ranges, F$extent)
  # A condition with batches restricts each batch by its own pairs.
  met <- if (is.null(said$where) || !has_batches(said$where)) F else r_meet(list(without_pairs(F), said$where))
  F$extent <- c(ifelse(is.na(F$extent[1:2]), here, F$extent[1:2]), met$extent[-(1:2)])
  F
}
without_pairs <- function(F) new_lazy(F$formula, F$extent, F$settings)

# --- what the engine is given ------------------------------------------------------------------------------

# Returns the argument by which pairs are found. A formula of the other arguments tells which of these pairs exist.
base_of <- function(said) Find(function(what) !is.null(said[[what]]), c("ranges", "pattern", "by"))

# Returns the condition, true for the existing pairs among the pairs that `base` finds; NULL if all exist.
condition_beside <- function(said, base) {
  groups <- if (!is.null(said$by) && !identical(base, "by")) {
    j <- match(said$by$j$labels, said$by$i$labels, nomatch = 0L)[said$by$j$codes]
    Vi(as.numeric(said$by$i$codes), name = "group") == Vj(as.numeric(j), name = "group")
  }
  pattern <- if (!identical(base, "pattern")) said$pattern
  both_hold(both_hold(said$where, pattern), groups)
}

# Returns the condition of all pairs between the first and the last pair of a span. All calls get the same object, since
# plans are kept by the object.
allowed_formula <- function(pairs) {
  if (is.null(pairs)) return(NULL)
  name <- if (pairs$swapped) "allowed_swapped" else "allowed"
  rule <- pairs$rule
  if (is.null(rule[[name]])) {
    said <- said_of(pairs)
    base <- base_of(said)
    there <- condition_beside(said, base)
    if (identical(base, "pattern")) there <- both_hold(there, said$pattern)
    if (is.null(there)) return(NULL)
    rule[[name]] <- there$formula
  }
  rule[[name]]
}

condition_of <- function(pairs) {
  allowed <- allowed_formula(pairs)
  if (!is.null(allowed)) list(allowed)
}

# Returns the map of pairs for r_run(), for these numbers of points along i and j. Bounds of the condition decide which
# pairs exist; they are wider if the condition is computed in float32.
pair_argument <- function(pairs, extent, precision = "float64") {
  if (is.null(pairs)) return(NULL)
  check_both_sides(pairs)
  rule <- pairs$rule
  extent <- if (pairs$swapped) extent[2:1] else extent[1:2]
  extent[is.na(extent)] <- 1
  single <- precision != "float64"
  name <- if (single) "map_of_single" else "map"
  if (!identical(rule$extent, extent)) rule$map <- rule$map_of_single <- NULL
  if (is.null(rule[[name]]) || is_dead(rule[[name]])) {
    parts <- rule_parts(rule, extent)
    rule[[name]] <- r_pair_map(parts, extent[1], extent[2], single)
    rule$extent <- extent
    rule$ordered <- !is.null(parts$order_i) || !is.null(parts$order_j)
  }
  list(map = rule[[name]], swapped = pairs$swapped)
}

check_both_sides <- function(pairs) {
  by <- said_of(pairs)$by
  for (side in c("i", "j")) {
    if (!is.null(by) && is.null(by[[side]])) {
      abort("input", "the points along ", setdiff(c("i", "j"), side), " have groups, those along ", side,
            " have none; give them with ", c(i = "Vi(x, by = )", j = "Vj(y, by = )")[[side]], " or restrict(by = )")
    }
  }
}

rule_parts <- function(rule, extent) {
  said <- rule$said
  known <- extent_of_pairs(said)
  wrong <- which(!is.na(known) & known != extent)
  if (length(wrong)) {
    abort("shape", "there are ", extent[wrong[1]], " points along ", c("i", "j")[wrong[1]], ", but what restricts the ",
          "pairs is of ", known[wrong[1]])
  }
  check_ranges_end(said$ranges, extent)
  base <- base_of(said) %or% "none"
  parts <- list(order_i = NULL, order_j = NULL, rectangles = NULL, pattern = NULL)
  several <- base == "pattern" && said$pattern$formula$op != "Var"
  parts["where"] <- list(both_hold(condition_beside(said, base), if (several) said$pattern)$formula)
  if (base == "ranges") {
    parts$rectangles <- said$ranges$rectangles
    parts["order_i"] <- list(said$ranges$order$i)
    parts["order_j"] <- list(said$ranges$order$j)
  }
  if (base == "pattern") parts$pattern <- entries_of(said$pattern)
  if (base == "by") parts[c("order_i", "order_j", "rectangles")] <- group_rectangles(said$by)
  parts
}

# Returns the matrix of a pattern. For several combined patterns it is the matrix of the first one. The matrix of a
# transposed pattern is transposed.
entries_of <- function(pattern) {
  formula <- pattern$formula
  while (formula$op != "Var") formula <- formula$args[[1]]
  data <- formula$args$data
  if (formula$attributes == axis_codes[["pair"]]) return(data)
  sparse <- attr(data, "sparse")
  matrix <- methods::new("ngCMatrix", p = sparse[[1]], i = sparse[[2]], Dim = sparse[[3]])
  pair_numbers(Matrix::t(matrix), "where")$values
}

# Returns the points in the order of their groups, unless they are sorted, and a rectangle for each group on both sides.
group_rectangles <- function(by) {
  ordered <- function(codes) if (is.unsorted(codes)) par_order(codes)
  of_i <- tabulate(by$i$codes, length(by$i$labels))
  of_j <- tabulate(by$j$codes, length(by$j$labels))
  k <- match(by$i$labels, by$j$labels)
  there <- which(!is.na(k) & of_i > 0)
  there <- there[of_j[k[there]] > 0]
  to_i <- cumsum(as.numeric(of_i))[there]
  to_j <- cumsum(as.numeric(of_j))[k[there]]
  list(order_i = ordered(by$i$codes), order_j = ordered(by$j$codes),
       rectangles = list(i_from = to_i - of_i[there] + 1, i_to = to_i, j_from = to_j - of_j[k[there]] + 1,
                         j_to = to_j))
}

# Returns the numbers of points, from the data of a call if the formulas do not tell.
extent_of_call <- function(R, data, operands) {
  extent <- R$extent[1:2]
  for (formula in c(R$extents, condition_of(R$pairs))) {
    read <- r_read_along(formula)
    at <- match_operands(read$operands, operands)
    for (k in seq_along(at)) {
      rows <- pair_dim(data[[at[k]]]) %or% length(data[[at[k]]])
      sides <- match(sides_of_axis[[read$axes[k] + 1L]], c("i", "j"))
      extent[sides] <- ifelse(is.na(extent[sides]), rows[seq_along(sides)], extent[sides])
    }
  }
  extent
}

# --- parts of a restricted formula -------------------------------------------------------------------------

# Restricts pairs to some points of an axis: `rows` are the numbers of the points, `operand` is an operand of them.
pairs_of_points <- function(pairs, axis, rows, operand) {
  if (is.null(pairs)) return(NULL)
  said <- said_of(pairs)
  if (!is.null(said$pattern)) {
    abort("unsupported", "points of a formula that is restricted by a sparse matrix cannot be taken; take them before ",
          "restrict()")
  }
  if (!is.null(said$ranges)) said$ranges <- ranges_of_points(said$ranges, axis, unname(rows))
  if (!is.null(said$by[[axis]])) said$by[[axis]]$codes <- said$by[[axis]]$codes[rows]
  if (!is.null(said$where) && has_axis(said$where, axis)) said$where <- take_points_by(said$where, axis, operand, rows)
  new_pairs(said, pairs$swapped)
}

# Returns an unrestricted formula with the values of all pairs, and 0 for pairs that do not exist.
as_masked <- function(x, what) {
  if (is.null(x$pairs)) return(x)
  check_both_sides(x$pairs)
  said <- said_of(x$pairs)
  if (!is.null(said$ranges)) {
    abort("unsupported", what, " of a formula that is restricted by ranges is not built; use groups or a condition")
  }
  there <- condition_beside(said, "none")
  lazy_if(there, new_lazy(x$formula, x$extent, x$settings), 0)
}

# --- words -------------------------------------------------------------------------------------------------

pair_text <- function(pairs) {
  said <- said_of(pairs)
  groups <- Find(Negate(is.null), said$by)
  paste(c(
    if (!is.null(groups)) paste("within", counted(length(groups$labels), "group")),
    if (!is.null(said$ranges)) paste("in", counted(length(said$ranges$rectangles$i_from), "block"), "of ranges"),
    if (!is.null(said$where)) paste("where", formula_text(said$where$formula, 60L)),
    if (!is.null(said$pattern)) "in the entries of a matrix"
  ), collapse = ", ")
}

pair_lines <- function(pairs) if (!is.null(pairs)) paste0("  pairs: ", pair_text(pairs))

# Returns pair_text() and, if the data are there, the shares of all pairs in full and in partial spans.
explained_pairs <- function(pairs, extent, precision) {
  if (is.null(pairs)) return(NULL)
  if (is.null(extent)) return(pair_text(pairs))
  counts <- r_pair_counts(pair_argument(pairs, extent, precision)$map)
  share <- function(n) paste(format(100 * n / max(prod(extent), 1), digits = 3), "%")
  c(pair_text(pairs), paste(share(counts[["full"]]), "of all pairs in full spans,", share(counts[["partial"]]),
                            "in partial ones, the rest is skipped"))
}
