# Compares verbs for arrays on a GPU with the same verbs on the CPU.

on_gpu <- function(x) if (is.null(x)) NULL else on_device(x, "gpu", integers = is.integer(x))

# Expects the same from a call on the CPU and on the GPU. Nothing may be fetched on the way.
same_there <- function(call, tolerance = 0, stays = TRUE, label = deparse1(body(call))) {
  here <- call(identity)
  forget_said("arrays")
  expect_no_message(there <- call(on_gpu))
  again <- call(on_gpu)
  parts <- function(x) if (is.list(x)) x else list(x)
  if (stays) for (part in parts(there)) {
    expect_true(!length(part) || is_on_device(part), label = paste(label, "stays there"))
  }
  expect_identical(lapply(parts(again), as_numbers), lapply(parts(there), as_numbers), label = paste(label, "again"))
  if (tolerance == 0) expect_identical(there, here, label = label)
  else expect_equal(there, here, tolerance = tolerance, label = label)
}
as_numbers <- function(x) if (is.double(x)) writeBin(as.vector(x), raw()) else as.vector(x)
