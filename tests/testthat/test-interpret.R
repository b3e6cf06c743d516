# The interpreter: kernels compiled at installation that follow a script of the formula, where there is no run-time
# compiler.

scripts_of <- function(R, points = 1e5) through("cuda_scripts", plan_behind(R), points)
rows_in <- function(scripts) unlist(strsplit(paste(scripts$rows, collapse = " "), " +"))

test_that("every operation has a script that calls its row, along every axis", {
  skip_below("quick")
  operations <- kernweave_operations()
  all_axes <- list(c("i", "j", "param"), c("i", "i", "i"), c("param", "param", "param"))
  for (k in seq_len(nrow(operations))) for (shape in accepted_shapes(operations[k, ], 3, most = 1))
    for (axes in if (reaches("usual")) all_axes else all_axes[1 + k %% 3])
    for (precision in test_precisions()) {
      F <- lazy_set(operation_on(operations[k, ], shape, axes, 4, 5), precision = precision, device = "reference")
      scripts <- scripts_of(reduction(F, "sum", call = FALSE))
      label <- paste(operations$fn[k], paste(axes, collapse = " "), precision)
      expect_identical(unique(scripts$why), "", label = label)
      if (operations$form[k] != "alias") expect_true(operations$name[k] %in% rows_in(scripts), label = label)
    }
})

test_that("every reduction has a script, over every axis", {
  skip_below("quick")
  y <- numbers_between(5, 2, 0, 1)
  reductions <- kernweave_reductions()
  for (k in seq_len(nrow(reductions))) for (index in c("i", "j", "ij"))
  for (K in if (reductions$inputs[k] == "value_k") c(2, 40) else 1) {
    R <- reduction(term_for(reductions[k, ], Vi(y), Vj(y)), reductions$fn[k], index = index,
                   K = if (reductions$inputs[k] == "value_k") K,
                   weight = weight_for(reductions[k, ], y), call = FALSE)
    scripts <- scripts_of(R)
    expect_identical(unique(scripts$why), "", label = paste(reductions$fn[k], index))
    expect_true(reductions$of[k] %in% rows_in(scripts), label = paste(reductions$fn[k], index))
  }
})

test_that("wide points, many weights and random formulas have scripts that fit a block's memory", {
  for (D in c(20, 300, 3000)) for (precision in test_precisions()) {
    x <- numbers_between(4, D, 0, 1)
    for (F in list(exp(-sqdist(Vi(x), Vj(x))), manhattan(Vi(x), Vj(x)), sum(abs(Vi(x) - Vj(x))^1.5)))
      expect_identical(unique(scripts_of(lazy_set(sum_of(F, index = "j"), precision = precision))$why), "",
                       label = paste(D, precision))
  }
  for (seed in seq_len(by_tier(5, 10, 50))) {
    formula <- random_formula(seed)
    scripts <- scripts_of(reduction_behind(as_kernel(formula, "auto")))
    expect_identical(unique(scripts$why), "", label = formula$text)
    expect_lte(max(scripts$bytes), 98304, label = formula$text)
  }
})

test_that("what does not fit is refused with its size", {
  x <- numbers_between(4, 2000, 0, 1)
  long <- scripts_of(reduction(sqdist(Vi(x), Vj(x)), "argKmin", K = 1000, call = FALSE))
  expect_match(long$why[length(long$why)], "take [0-9]+ bytes.* a block has 98304 bytes")
  wide <- scripts_of(sum_of(Vj(x) * exp(Vi(x) - Vj(x)), index = "j"))
  expect_match(wide$why[length(wide$why)], "take [0-9]+ bytes")
})

test_that("common pairs have kernels of their own in every form of their plans, and no kernel is there for nothing", {
  skip_below("quick")
  table <- readLines(system.file("include", "kernweave", "fused.def", package = "kernweave"))
  rows <- "^FUSED(_GPU)?\\((\\w+),.*"
  names <- sub(rows, "\\2", grep(rows, table, value = TRUE))
  expect_gt(length(names), 30)
  met <- character()
  for (D in c(1, 3, 10)) for (weights in 1:2) for (precision in test_precisions()) for (index in c("j", "i")) {
    R <- common_pairs(numbers_between(7, D, 0, 1), numbers_between(5, D, 0, 1),
                      numbers_between(if (index == "i") 7 else 5, weights, 0, 1), index, call = FALSE)
    # An inner product of one component is a product.
    names_here <- if (D == 1) {
      setdiff(names(R), c("products", "cubes", "attention", "most_alike", "several_most_alike"))
    } else {
      names(R)
    }
    for (name in names_here) {
      found <- scripts_of(lazy_set(R[[name]], precision = precision, device = "gpu"))$sweep
      expect_false("sweep" %in% found,
                   label = paste(name, "of", D, "components has no kernel of its own:", paste(found, collapse = " ")))
      met <- union(met, found)
    }
  }
  expect_setequal(met, names)
})

test_that("kernels for pairs of a common kind, carried out by threads of the host, find what plain loops find", {
  skip_below("all")  # a program of a minute
  expect_right_on_host("on_host.cpp")
})

test_that("lists of any length lie where their numbers may, and find what sorting finds", {
  expect_right_on_host("lists.cpp")
})

test_that("what is almost of a common kind is followed like any other formula", {
  x <- numbers_between(5, 3, 0, 1)
  d2 <- sqdist(Vi(x), Vj(x))
  R <- list(sum_of(cos(d2), index = "j"), sum_of(exp(-d2) + d2, index = "j"),
            sum_of(exp(-d2) * (Vi(x) - Vj(x)), index = "j"),
            sum_of(exp(-sqdist(Vi(x), Vi(x))) * Vj(x[, 1]), index = "j"))
  for (r in R) expect_identical(unique(scripts_of(r)$sweep), "sweep")
  weighted <- function(n) {
    unique(scripts_of(reduction(d2, "sum", index = "j", call = FALSE, weight = Vj(numbers_between(5, n, 0, 1))))$sweep)
  }
  expect_identical(c(weighted(16), weighted(17)), c("squares", "sweep"))
})

test_that("the interpreter needs no header but ours", {
  skip_below("all")  # compiled in half a minute
  skip_without_compiler()
  for (number in c("float", "double")) {
    source <- paste0("#include \"kernweave/gpu/fused.hpp\"\n",
                     "extern \"C\" __global__ void sweep(const __grid_constant__ kernweave::gpu::Script a) {\n",
                     "  kernweave::gpu::script_sweep<", number, ">(a);\n}")
    expect_gt(length(through("cuda_compile", source, 90L)), 1000)
  }
})

# --- without a run-time compiler ------------------------------------------------------------------------------

has_ahead <- function() gpu_report()$ahead
without_nvrtc <- function(code, seconds = 60)
  wait_for(another_r(c(code, "cat(' END')"), "KERNWEAVE_NVRTC=/nonexistent/libnvrtc.so"), "END", seconds)

test_that("without any compiled kernel, a missing run-time compiler is named, with the way to get it", {
  skip_without_windows()
  skip_on_os("windows")
  skip_on_cran()
  said <- without_nvrtc(paste0("cat(tryCatch(through('cuda_compile', '', 90L), ",
                               "kernweave_error_no_device = function(e) e$message))"))
  expect_match(said, "NVRTC was not found .*nonexistent.*KERNWEAVE_NVRTC")
})

test_that("the situation report says which kernels are there, and what a missing compiler means then", {
  skip_on_os("windows")
  skip_on_cran()
  said <- gsub("\n +", " ", without_nvrtc("print(kernweave_sitrep())"))
  without <- "interpreter +compiled for sm_.*without NVRTC, formulas of less common kinds take some times as long"
  expect_match(said, if (has_ahead()) without else "interpreter +none")
})

# --- on a GPU -------------------------------------------------------------------------------------------------

test_that("formulas run on the GPU without a run-time compiler, as the reference has them", {
  skip_without_gpu()
  if (!has_ahead()) skip("no kernels were compiled at installation")
  skip_on_cran()
  # Runs the tests of test-gpu.R once more: tests that need the compiler skip.
  file <- normalizePath(testthat::test_path("test-gpu.R"))
  code <- c("library(testthat)", paste0("file <- '", file, "'"),
            "found <- as.data.frame(test_file(file, reporter = 'silent', package = 'kernweave',",
            "                                 load_package = 'installed', stop_on_failure = FALSE))",
            "wrong <- found$failed > 0 | found$error",
            "cat(found$test[wrong], sum(wrong), 'wrong,', sum(found$passed > 0), 'right')")
  said <- without_nvrtc(code, seconds = 180)
  expect_match(said, "^ *0 wrong, [1-9]", label = said)
})

test_that("a formula that the interpreter does not take says which limit and names the remedy; auto takes the CPU", {
  skip_without_gpu()
  if (!has_ahead()) skip("no kernels were compiled at installation")
  code <- c("x <- matrix(stats::runif(8000), 4)", "F <- sum(Vj(x) * exp(Vi(x) - Vj(x)), index = 'j', call = FALSE)",
            "cat(tryCatch(as.matrix(lazy_set(F, device = 'gpu')), kernweave_error_no_device = function(e) e$message))",
            "cat(dim(as.matrix(lazy_set(F, device = 'auto'))))")
  expect_match(without_nvrtc(code), paste0("cannot be used: the kernels compiled at installation do not take this ",
                                           "formula .*98304 bytes.*NVRTC was not found.*4 2000 *END"))
})
