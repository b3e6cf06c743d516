# The cases of the harness: devices, precisions, sizes, and well-typed arguments for any row of the table.

engine <- asNamespace("kernweave")

# "auto" rewrites, "reference" computes as written: each watches the other.
test_devices <- function() unique(c("auto", if (reaches("quick")) devices_here()))
test_precisions <- function() c("float64", if (reaches("quick")) "float32")

# Relative to the sum of absolute terms. A device that computes in float64 throughout meets the first for both.
tolerance_of <- function(precision) c(float64 = 1e-13, float32 = 5e-6)[[precision]]

# Empty, one, odd, prime, more than a tile of any engine.
test_sizes <- list(c(0, 5), c(5, 0), c(1, 1), c(3, 7), c(13, 17), c(2, 521), c(523, 3))
test_widths <- function() by_tier(c(1, 17), c(1, 3, 17), c(1, 3, 17), cran = 3)

wants_logical <- function(row) row$fn %in% c("any", "all", "count")

# Returns a range where an operation is smooth: its gradient is compared with differences there. Its values are looked
# at elsewhere, too, unless base R is not exact there (tanpi next to a pole).
smooth_range <- function(row) {
  switch(row$name, Asin = , Acos = , Atanh = c(-0.9, 0.9), Acosh = c(1.2, 3), TanPi = c(-0.4, 0.4),
         Minkowski = c(2.1, 3), c(0.3, 1.8))
}
value_ranges <- function(row) c(list(smooth_range(row)), if (row$name != "TanPi") list(c(-2, 2)))

numbers_between <- function(n, d, from, to) matrix(stats::runif(n * d, from, to), n, d)

# A lazy operand over data along an axis.
operand_on <- function(axis, data, name = "x") {
  switch(axis, i = Vi(data, name = name), j = Vj(data, name = name), param = Pm(as.vector(data), name = name))
}

# The components of an operand at pair (i, j).
at_pair <- function(axis, data, i, j) switch(axis, i = data[i, ], j = data[j, ], param = as.vector(data))

# Widths and attributes that a row accepts, found by asking the engine. Small, so that a search is quick.
accepted_shapes <- function(row, widths, most = by_tier(2, 3, 4, cran = 1)) {
  attributes <- attribute_choices(row)
  candidates <- if (row$form == "loop" || row$form == "alias") unique(c(1:6, widths)) else c(1, widths)
  if (row$name == "SoftDTW_SqDist") candidates <- 1:6  # longer ones are not for all devices
  grid <- do.call(expand.grid, c(rep(list(candidates), row$arity), list(attribute = seq_along(attributes))))
  grid <- grid[order(rowSums(grid[seq_len(row$arity)] == max(widths)), decreasing = TRUE), , drop = FALSE]
  found <- list()
  for (k in seq_len(nrow(grid))) {
    shape <- list(widths = as.integer(grid[k, seq_len(row$arity)]), attributes = attributes[[grid$attribute[k]]])
    shape$kinds <- accepted_kinds(row, shape)
    if (!is.null(shape$kinds)) found <- c(found, list(shape))
    if (length(found) == most) break
  }
  found
}

# The attributes with lists, for arguments of at most six components: lists stand behind their lengths.
listed <- function(...) unlist(lapply(list(...), function(list) c(length(list), list)))
attribute_lists <- list(
  Pick = list(listed(3L), listed(c(2L, 1L)), listed(c(5L, 1L, 1L, 3L, 2L))),
  Unpick = list(c(listed(c(3L, 1L, 3L)), 4L), c(listed(2L), 2L)),
  Kron = list(listed(c(2L, 1L), c(1L, 3L)), listed(c(2L, 3L), c(2L, 1L)), listed(2L, 3L),
              listed(c(1L, 2L, 3L), c(2L, 1L, 1L))),
  TensorDot = list(listed(c(2L, 3L), c(3L, 2L), 2L, 1L, NULL),
                   listed(c(3L, 2L), c(2L, 1L, 3L), c(2L, 1L), c(1L, 3L), NULL),
                   listed(2L, c(2L, 3L), NULL, NULL, c(3L, 1L, 2L)), listed(c(2L, 3L), 2L, 1L, 1L, NULL),
                   listed(3L, 3L, 1L, 1L, NULL))
)
attribute_choices <- function(row) {
  if (!is.null(attribute_lists[[row$name]])) return(attribute_lists[[row$name]])
  count <- if (row$attributes == "none") 0 else length(strsplit(row$attributes, ",")[[1]])
  if (count == 0) return(list(NULL))
  apply(do.call(expand.grid, rep(list(1:6), count)), 1, as.integer, simplify = FALSE)
}

# Real arguments, or a logical first one where the row asks for it; NULL if neither will do.
accepted_kinds <- function(row, shape) {
  for (first in c("real", "logical")) {
    kinds <- c(first, rep("real", row$arity - 1))
    args <- Map(function(width, kind) Pm(rep(if (kind == "real") 0.5 else TRUE, width)), shape$widths, kinds)
    fits <- tryCatch(is_lazy(lazy_call(row$name, args, shape$attributes)), kernweave_error = function(e) FALSE)
    if (fits) return(kinds)
  }
  NULL
}

# A row by its name, of any arguments.
lazy_call <- function(name, args, attributes = integer()) kernweave:::r_lazy_call(name, args, attributes)

# Values for every pair by the oracle: an M x N x width array.
oracle_array <- function(term, M, N, width) {
  out <- array(NA_real_, c(M, N, width))
  for (i in seq_len(M)) for (j in seq_len(N)) out[i, j, ] <- term(i, j)
  out
}

# R's own C++ compiler, with its options.
cxx17 <- function() {
  strsplit(system2(file.path(R.home("bin"), "R"), c("CMD", "config", "CXX17"), stdout = TRUE), " ")[[1]]
}

# Close where both are finite; the same NaN, Inf and -Inf elsewhere.
expect_close <- function(actual, expected, tolerance, scale = 1, label = NULL) {
  actual <- as.vector(actual) + 0
  expected <- as.vector(expected) + 0
  same_length <- length(actual) == length(expected)
  special <- same_length && identical(is.nan(actual), is.nan(expected)) &&
    identical(actual[is.infinite(actual)], expected[is.infinite(expected)])
  finite <- if (special) is.finite(expected) else FALSE
  worst <- max(0, abs(actual[finite] - expected[finite]) / pmax(scale, abs(expected[finite])))
  if (same_length && special && worst <= tolerance) return(it_holds())
  testthat::fail(sprintf(
    "%s: %s", if (is.null(label)) "value" else label,
    if (!same_length) sprintf("%d numbers instead of %d", length(actual), length(expected))
    else if (!special) "NaN or Inf in other places"
    else sprintf("off by %.2g, allowed %.2g", worst, tolerance)
  ))
}

# In which form a sum is computed, and what such tests are made of.
form_of <- function(R) sub(",.*", "", sub(".*; ", "", explain(R)$schedule$why))
sum_of <- function(F, ...) reduction(F, "sum", call = FALSE, ...)
cloud <- function(n, d, offset = 0) matrix(stats::runif(n * d), n) + offset

# --- instruction sets of the CPU engine

with_isa <- function(isa, code) {
  use_instructions(isa)
  on.exit(use_instructions(""))
  force(code)
}
