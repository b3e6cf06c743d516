# Tiers of the tests, by the environment variable KERNWEAVE_TESTS: "cran" is a minute of one processor, for R CMD check;
# "quick" answers a plain change; "usual" is for continuous integration, "all" for the night. Each tier tries every row;
# what differs is how many of the combinations of rows, shapes, sizes and instruction sets.

test_tiers <- c("cran", "quick", "usual", "all")
by_default <- if (identical(Sys.getenv("NOT_CRAN"), "true")) "usual" else "cran"
test_tier <- match.arg(Sys.getenv("KERNWEAVE_TESTS", by_default), test_tiers)
reaches <- function(tier) match(test_tier, test_tiers) >= match(tier, test_tiers)

# For what takes long and has little to do with a plain change.
skip_below <- function(tier) {
  if (!reaches(tier)) testthat::skip(sprintf("KERNWEAVE_TESTS is \"%s\", not \"%s\"", test_tier, tier))
}

# For comparisons with another package, which may not be there.
skip_without_peer <- function(package) {
  skip_below("quick")
  testthat::skip_if_not_installed(package)
}

# A number that grows from tier to tier.
by_tier <- function(quick, usual, all, cran = if (is.numeric(quick) && quick >= 10) ceiling(quick / 5) else quick) {
  switch(test_tier, cran = cran, quick = quick, usual = usual, all = all)
}

# The numbers of random trials: at night `count` of them.
trials <- function(count) seq_len(ceiling(by_tier(count / 16, count / 8, count, cran = count / 20)))

# Returns the results of `count` draws, many of which may give nothing (NULL), and of more until there is a result.
drawn <- function(count, draw) {
  found <- unlist(replicate(count, draw()))
  for (more in 1:5000) if (is.null(found)) found <- draw()
  found
}

# Combinations of values of some vectors, one a row. All of them at night; else `times` as many as the longest vector
# has values (in a hurry, as many), among which every value of every vector comes up as often as any other, give or take
# one, beside others each time. Always the same ones.
combinations <- function(..., times = 1) {
  vectors <- list(...)
  lengths <- lengths(vectors)
  count <- max(lengths) * if (reaches("usual")) times else 1
  if (test_tier == "all" || count >= prod(lengths)) {
    return(expand.grid(..., KEEP.OUT.ATTRS = FALSE, stringsAsFactors = FALSE))
  }
  with_local_seed(count, as.data.frame(lapply(vectors, function(values) {
    turns <- lapply(seq_len(ceiling(count / length(values))), function(turn) values[sample.int(length(values))])
    unlist(turns)[seq_len(count)]
  }), stringsAsFactors = FALSE))
}

# The instruction sets of the CPU engine; in a hurry, the best set alone.
instruction_sets <- use_instructions()
if (reaches("usual") && length(windows)) instruction_sets <- through("instruction_sets")
