# User-defined operators for par_reduce() and par_scan(): a formula of .x and .y is planned once and evaluated on whole
# vectors, level by level. Each level combines neighbours, so n items take about n combinations in all.

is_own_operator <- function(op) inherits(op, "formula") || is.function(op)

reduce_by_own <- function(x, op, segments, init, na.rm, check) {
  combine <- own_operator(op)
  segments <- check_segments(segments, x)
  init <- as_init(check_init(init, "a formula"))
  items <- laid_out(x, segments)
  if (na.rm) {
    keep <- !is.na(items$values)
    items$lengths <- flags_in(keep, items$lengths)
    items$values <- items$values[keep]
  }
  if (check) check_associative(combine, items$values)
  empty <- items$lengths == 0
  if (is.null(init)) refuse_empty(empty, segments)
  found <- reduced_segments(items$values, items$lengths, combine)
  if (!is.null(init)) found <- replace(combine(rep.int(init, length(found)), found), empty, init)
  missing <- if (anyNA(found)) flags_in(is_missing(items$values), items$lengths) > 0
  shaped_result(explained(found, missing, init), "a formula", segments, x, items$columns)
}

scan_by_own <- function(x, op, segments, exclusive, init, check) {
  combine <- own_operator(op)
  segments <- check_segments(segments, x)
  init <- as_init(check_init(init, "a formula"))
  if (exclusive && is.null(init)) {
    abort("input", "an exclusive scan with your own operator needs `init`")
  }
  items <- laid_out(x, segments)
  if (check) check_associative(combine, items$values)
  found <- scanned_segments(items$values, items$lengths, combine)
  if (!is.null(init)) found <- combine(rep.int(init, length(found)), found)
  before <- cumsum(items$lengths) - items$lengths  # items before each segment
  missing <- if (anyNA(found)) {
    total <- cumsum(as.double(is_missing(items$values)))
    total > rep.int(c(0, total)[before + 1], items$lengths)
  }
  found <- explained(found, missing, init)
  if (exclusive) {  # each result moves one item later, and `init` comes first in each segment
    found <- replace(c(init, found)[seq_along(found)], (before + 1)[items$lengths > 0], init)
  }
  if (!is.null(items$order)) found[items$order] <- found
  like_scanned(found, x, !is.null(segments) && length(dim(x)) == 2)
}

# --- the operator -------------------------------------------------------------------------------------------------

# Returns a function of two vectors that combines each number of the first with the number of the second beside it.
own_operator <- function(op) {
  sides <- list(.x = Vi(dim = 1, name = ".x"), .y = Vi(dim = 1, name = ".y"))
  F <- if (is.function(op)) evaluated(eval(quote(op(.x, .y)), c(sides, op = op))) else value_of_formula(op, sides)
  operands <- lapply(sides, function(side) side$formula$args)
  check_operator_value(F, operands)
  settings <- list(device = "cpu", precision = "float64")
  found <- template_of(new_reduction(list(sum_output(F$formula, "i")), c(NA_real_, NA_real_), settings))
  values <- lapply(found$operands, `[[`, "data")
  read <- match_operands(found$operands, operands)
  owners <- vector("list", length(values))
  function(left, right) {
    values[!is.na(read)] <- list(left, right)[read[!is.na(read)]]
    out <- plain_run(found$template, values, owners)
    dim(out) <- NULL
    out
  }
}

value_of_formula <- function(op, sides) {
  if (length(op) == 3) {
    abort("input", "`op` must be a one-sided formula such as ~ .x + .y; this one has `", deparse1(op[[2]]),
          "` on its left")
  }
  if (!any(c(".x", ".y") %in% all.vars(op))) refuse_without_sides(deparse1(op))
  frame <- list2env(c(sides, lazy_twins_in(environment(op))), parent = environment(op) %or% globalenv())
  for (name in setdiff(all.names(op[[2]]), all.vars(op[[2]]))) {
    if (exists(name, frame, mode = "function")) next
    abort("unknown_op", "`op` calls `", name, "()`, and there is no such function",
          near_hint(name, kernweave_operations()$fn, "; kernweave_operations() lists what formulas are made of"))
  }
  evaluated(eval(op[[2]], frame))
}

refuse_without_sides <- function(shown) {
  abort("input", "`op` must combine `.x`, what comes first, with `.y`, what follows; ", shown, " has neither")
}

# The functions of base R that ask for lengths first, and their replacements in a formula of two numbers.
lazy_twins <- list(
  pmax = function(..., na.rm = FALSE) {
    check_na_rm(na.rm)
    Reduce(max2, list(...))
  },
  pmin = function(..., na.rm = FALSE) {
    check_na_rm(na.rm)
    Reduce(min2, list(...))
  },
  ifelse = function(test, yes, no) lazy_if(test, yes, no)
)

lazy_twins_in <- function(environment) {
  ours <- function(name) is_base(get0(name, environment %or% globalenv(), mode = "function"), name)
  lazy_twins[vapply(names(lazy_twins), ours, NA)]
}

# Turns errors of base R (a variable is missing, a function cannot take formulas) into classed errors.
evaluated <- function(code) {
  withCallingHandlers(code, error = function(e) {
    if (inherits(e, "kernweave_error")) return()
    abort("input", "`op` cannot be evaluated on formulas: ", message_of(e))
  })
}

check_operator_value <- function(F, operands) {
  if (!is_lazy(F)) {
    if (is.numeric(F) || is.logical(F)) refuse_without_sides(paste("its value,", describe(F)))
    abort("input", "`op` must give a formula of .x and .y, not ", describe(F))
  }
  if (length(traced_operands(F))) abort("no_gradient", "array functions have no derivative: `op` reads a traced value")
  read <- r_operands(list(F$formula))
  for (operand in read[is.na(match_operands(read, operands))]) {
    if (operand$axis == "param") next
    abort("shape", "`op` must combine .x and .y alone, with parameters; `", operand$name, "` varies along ",
          if (operand$axis == "pair") "i and j" else operand$axis)
  }
  if (all(is.na(match_operands(operands, read)))) refuse_without_sides(r_show(F$formula, 60L))
  if (has_axis(F, "j") || counts_points(F$formula)) {
    abort("shape", "`op` must combine .x and .y alone; row_index() and col_index() count points, of which it has none")
  }
  if (width(F) != 1) abort("shape", "`op` must give one number, not ", width(F), " components")
}

counts_points <- function(formula) {
  if (formula$op == "Var") return(is.null(formula$args))
  any(vapply(formula$args, counts_points, NA))
}

# Combines three items in both ways, for two hundred triples spread over all items.
check_associative <- function(combine, values) {
  if (!length(values)) return(invisible())
  places <- lapply(c(0.6180339887, 0.7548776662, 0.5698402910), function(step) {
    1 + floor(length(values) * ((seq_len(200) * step) %% 1))
  })
  items <- lapply(places, function(at) values[at])
  left <- combine(combine(items[[1]], items[[2]]), items[[3]])
  right <- combine(items[[1]], combine(items[[2]], items[[3]]))
  size <- do.call(pmax, lapply(c(items, list(left, right)), abs))
  wrong <- which(is.finite(left) & is.finite(right) & abs(left - right) > 1e-8 * size)
  if (!length(wrong)) return(invisible())
  at <- wrong[1]
  shown <- vapply(c(lapply(items, `[`, at), left[at], right[at]), format, "", digits = 7)
  abort("value", "`op` is not associative: of ", shown[1], ", ", shown[2], " and ", shown[3],
        " it makes ", shown[4], " from the left and ", shown[5], " from the right")
}

# --- segments -----------------------------------------------------------------------------------------------------

# Returns the items as doubles, ordered by column and then by segment, and the number of items of each segment.
laid_out <- function(x, segments) {
  values <- as.double(wherever(array_items(x, "a formula")))
  plan <- segments %or% one_segment(length(x))
  columns <- if (is.null(segments) || length(dim(x)) != 2) 1L else ncol(x)
  order <- segment_order(plan)
  if (!is.null(order) && columns != 1) order <- as.vector(outer(order, (seq_len(columns) - 1) * nrow(x), `+`))
  list(values = if (is.null(order)) values else values[order],
       lengths = rep.int(as.double(diff(unclass(plan)$offsets)), columns), order = order, columns = columns)
}

# Counts the flags that are set in each segment.
flags_in <- function(flags, lengths) diff(c(0, cumsum(as.double(flags)))[c(0, cumsum(lengths)) + 1])

# Tells which items are NA, but not NaN.
is_missing <- function(x) is.na(x) & !is.nan(x)

# Replaces NaN by NA if a missing item came before. `missing`: one flag for each result, or NULL if no result is NaN.
explained <- function(found, missing, init) {
  if (is.null(missing)) return(found)
  found[is.na(found) & (missing | !is.null(init) && is_missing(init))] <- NA
  found
}

refuse_empty <- function(empty, segments) {
  if (!any(empty)) return(invisible())
  at <- which(empty)[1]
  if (is.null(segments)) abort("input", "`x` has no items, and `op` has no value for none; give `init`")
  at <- (at - 1) %% length(segments) + 1
  abort("input", "segment ", at, if (!is.null(names(segments))) paste0(", `", names(segments)[at], "`,"),
        " has no items, and `op` has no value for none; give `init`")
}

# Reduces segments by combining neighbours until each segment has one item. Empty segments give NA.
reduced_segments <- function(values, lengths, combine) {
  out <- rep_len(NA_real_, length(lengths))
  at <- which(lengths > 0)
  lengths <- lengths[at]
  while (length(at)) {
    done <- lengths == 1
    if (any(done)) {
      inside <- rep.int(done, lengths)
      out[at[done]] <- values[inside]
      values <- values[!inside]
      at <- at[!done]
      lengths <- lengths[!done]
    } else {
      pairs <- pairs_in(lengths)
      values <- combined_pairs(values, pairs, combine)
      lengths <- pairs$lengths
    }
  }
  out
}

# Finds the pairs of neighbours in segments of at least two items: `left`, the place of the first item of each pair. The
# last item of an odd segment, its *tail*, counts as a pair without a second item; `tails`: the numbers of these pairs.
pairs_in <- function(lengths) {
  odd <- lengths %% 2 == 1
  halves <- (lengths + odd) / 2
  left <- seq.int(1, by = 2, length.out = sum(halves))
  if (any(odd)) left <- left - rep.int(cumsum(odd) - odd, halves)
  list(left = left, tails = cumsum(halves)[odd], lengths = halves)
}

# Combines each pair. Tails are combined with the item that happens to follow, and then restored.
combined_pairs <- function(values, pairs, combine) {
  left <- values[pairs$left]
  out <- combine(left, values[pairs$left + 1])
  out[pairs$tails] <- left[pairs$tails]
  out
}

# Scans segments. A pair's result is its second item's result; a first item is combined with the result before it.
scanned_segments <- function(values, lengths, combine) {
  long <- lengths > 1
  if (!any(long)) return(values)
  if (!all(long)) {
    inside <- rep.int(long, lengths)
    values[inside] <- scanned_segments(values[inside], lengths[long], combine)
    return(values)
  }
  pairs <- pairs_in(lengths)
  ends <- scanned_segments(combined_pairs(values, pairs, combine), pairs$lengths, combine)
  left <- values[pairs$left]
  first <- cumsum(pairs$lengths) - pairs$lengths + 1
  values[pairs$left] <- replace(combine(c(NA, ends[-length(ends)]), left), first, left[first])
  whole <- if (length(pairs$tails)) -pairs$tails else TRUE
  values[pairs$left[whole] + 1] <- ends[whole]
  values
}
