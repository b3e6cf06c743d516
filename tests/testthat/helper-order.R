# Vectors with what orders stumble over, and base R's order of columns.

awkward_numbers <- c(-1.5, 0, -0, 3, 3.5, NA, NaN, Inf, -Inf)

random_keys <- function(n, kind) {
  switch(kind,
         logical = sample(c(TRUE, FALSE, NA), n, TRUE),
         integer = sample(c(-3:3, NA, .Machine$integer.max, -.Machine$integer.max), n, TRUE),
         few = sample(c(2.5, 7), n, TRUE),
         double = stats::rnorm(n),
         awkward = sample(awkward_numbers, n, TRUE),
         character = sample(c("b", "a", "B", NA, "ab", ""), n, TRUE),
         factor = factor(sample(c("low", "high", NA), n, TRUE), levels = c("low", "high", "none")))
}
key_kinds <- c("logical", "integer", "few", "double", "awkward", "character", "factor")

base_order <- function(columns, decreasing = FALSE) {
  do.call(order, c(unname(columns), list(method = "radix", decreasing = decreasing)))
}

# Makes an integer64 of bit64 from pairs of a low half and a high half.
int64 <- function(low, high) {
  structure(readBin(writeBin(as.integer(rbind(low, high)), raw(), endian = "little"), "double", length(low),
                    endian = "little"), class = "integer64")
}
