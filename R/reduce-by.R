# Reductions by groups: the rows of each group are combined, which reduces the pairs of all points of the group.

# Names of reductions, and how to combine their rows. A mean of means is right, since all rows have as many terms.
of_groups <- c(sum = "sum", count = "sum", prod = "prod", mean = "mean", min = "min", max = "max", any = "any",
               all = "all", logsumexp = "logsumexp")

reduce_by <- function(F, op, index, by, ...) {
  index <- check_index(index)
  if (index == "ij") abort("input", "`by` groups the points that are kept; index = \"ij\" keeps none")
  row <- if (length(op) == 1) reduction_row(op)
  how <- if (is.null(row)) NA else of_groups[row$fn]
  if (is.na(how)) {
    abort("unsupported", "`by` goes with one of ", paste0(names(of_groups), collapse = ", "), ", not with ",
          paste0(op, collapse = ", "))
  }
  if (how == "mean" && is_lazy(F) && !is.null(F$pairs)) {
    abort("unsupported", "`by`: the means of a restricted formula have different numbers of terms; ",
          "divide the sums by the sums of a formula that is 1")
  }
  rows <- reduction(F, op, index, ...)
  if (is_reduction(rows)) abort("no_data", "`by` needs data for every operand, and `call = TRUE`")
  put_together(rows, how, by)
}

put_together <- function(rows, how, by) {
  if (is_lazy_complex(rows)) return(each_part(rows, put_together, how, by))  # traced sums
  plain <- plain_value(rows)
  n <- NROW(plain)
  if (is.complex(plain)) {
    parts <- lapply(list(Re(plain), Im(plain)), put_together, how, by)
    return(complex_result(parts))
  }
  if (is_traced(by) || !is.atomic(by) || length(by) != n) {
    abort("shape", "`by` must have a group for each of the ", n, " points that are kept, not be ", describe(by))
  }
  if (anyNA(by)) abort("value", "`by`: ", sum(is.na(by)), " of ", n, " groups are NA")
  segments <- par_segments(by = by)
  if (is_traced(rows)) return(traced_groups(rows, how, by, segments))
  shape <- dim(plain) %or% n
  found <- par_reduce(matrix(plain, n, prod(shape[-1])), how, segments)
  if (is.null(dim(plain))) return(found[, 1])
  if (length(shape) == 2) return(named(found, rownames(found), colnames(plain)))
  others <- dimnames(plain)[-1] %or% vector("list", length(shape) - 1)
  array(found, c(nrow(found), shape[-1]), c(list(rownames(found)), others))
}

# Combines traced rows; sums and means have derivatives.
traced_groups <- function(rows, how, by, segments) {
  if (!how %in% c("sum", "mean")) abort("no_gradient", "`by` with ", how, "() has no gradient; sums and means have")
  labels <- names(segments)
  sums <- index_add(matrix(0, length(labels), NCOL(plain_value(rows)), dimnames = list(labels, NULL)),
                    match(as.character(by), labels), rows)
  if (how == "sum") sums else sums / as.vector(lengths(segments))
}
