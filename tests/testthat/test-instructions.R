# The figures of bench/instructions.R, where the source tree, valgrind and the compiler they were recorded with are at
# hand.

test_that("no case needs more instructions a pair than recorded", {
  skip_on_cran()
  skip_below("all")
  root <- Sys.getenv("KERNWEAVE_SOURCE")
  if (!nzchar(root) || !file.exists(file.path(root, "bench/instructions.R"))) skip("not in the source tree")
  if (!nzchar(Sys.which("valgrind"))) skip("no valgrind")
  if (!"avx2" %in% through("instruction_sets")) skip("no AVX2 here")
  guard <- new.env()
  sys.source(file.path(root, "bench/instructions.R"), envir = guard)
  recorded <- guard$read_recorded()
  if (recorded$compiler != guard$compiler()) {
    skip(paste("recorded with", recorded$compiler, "and here is", guard$compiler()))
  }
  counted <- guard$count_instructions()
  for (k in seq_along(counted)) {
    expect_lt(counted[k], recorded$table$instructions[k] * (1 + guard$slack), label = guard$labels()[k])
  }
})
