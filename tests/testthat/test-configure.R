# Tests what configure decides, with shell scripts as compilers: they make empty files, and fail where they are told to.

source_root <- Sys.getenv("KERNWEAVE_SOURCE")

write_script <- function(path, lines) {
  dir.create(dirname(path), FALSE, TRUE)
  writeLines(c("#!/bin/sh", lines), path)
  Sys.chmod(path, "755")
}

# A program needs what NEEDS names; whatever is compiled may not hold what matches LACKS.
fake_compiler <- c(
  "case \" $* \" in *\" --version \"*) echo \"fake compiler 1.0\"; exit ;; esac",
  "out= file=",
  "while [ $# -gt 0 ]; do",
  "  case $1 in -o) out=$2; shift ;; -l*) libs=\"$libs $1\" ;; *.cpp | *.cu) file=$1 ;; esac",
  "  shift",
  "done",
  "if [ \"$out\" = program ]; then",
  "  for lib in $NEEDS; do",
  "    case \" $libs \" in *\" $lib \"*) ;; *) echo \"undefined reference for $lib\" >&2; exit 1 ;; esac",
  "  done",
  "fi",
  "if [ -n \"$file\" ] && [ -n \"$LACKS\" ] && grep -q \"$LACKS\" \"$file\"; then",
  "  echo \"$file: fatal error: $LACKS is not there\" >&2; exit 1",
  "fi",
  "[ -z \"$out\" ] || printf '#!/bin/sh\\nexit ${RUNS:-1}\\n' > \"$out\"",
  "[ \"$out\" != program ] || chmod +x program")

fake_nvcc <- c(
  "case \"$*\" in",
  "  --version) echo \"Cuda compilation tools, release $RELEASE, V$RELEASE.1\"; exit ;;",
  "  --list-gpu-code) echo sm_80; echo sm_90; exit ;;",
  "  -dryrun*) exit ;;",
  "esac",
  fake_compiler)

# R as configure asks it.
fake_r <- function(folder) {
  cxx <- file.path(folder, "c++")
  write_script(cxx, fake_compiler)
  write_script(file.path(folder, "bin/Rscript"), "echo x86_64-pc-linux-gnu")
  write_script(file.path(folder, "bin/R"), c(
    "case \"$3\" in",
    "  CXX17) eval echo \"${COMPILER:-\\$R_HOME/c++}\" ;;",
    "  CXX17STD) echo -std=gnu++17 ;;",
    "  CXX17FLAGS) echo \"$FLAGS\" ;;",
    "  -o) shift 3; exec make -f Makevars -f \"$R_HOME/rules\" SHLIB=\"$1\" ;;",
    "esac"))
  writeLines(c(paste0("CXX = ", cxx), paste0("CC = cat > /dev/null; ", cxx), "%.o: %.cpp", "\t$(CXX) -c $< -o $@",
               "$(SHLIB): $(OBJECTS)", "\t$(CXX) $(OBJECTS) $(PKG_LIBS) -o $@"), file.path(folder, "rules"))
}

# Runs configure on a package of few files; `...` are variables of its environment.
configured_by <- function(..., nvcc = FALSE, script = "configure", makevars = "src/Makevars") {
  skip_if(!nzchar(source_root), "not in the source tree")
  skip_on_os("windows")
  skip_if_not(nzchar(Sys.which("make")), "no make")
  folder <- tempfile("configured")
  on.exit(unlink(folder, recursive = TRUE))
  for (room in c("arrays/cuda", "rooms")) dir.create(file.path(folder, "package/src", room), recursive = TRUE)
  tree <- file.path(folder, "package")
  file.copy(file.path(source_root, script), tree)
  for (file in c("src/Makevars.in", "src/rooms/exports.map"))
    file.copy(file.path(source_root, file), file.path(tree, dirname(file)))
  for (file in c("one.cpp", "arrays/two.cpp", "rooms/border.cpp", "arrays/ahead_three.cu"))
    writeLines("", file.path(tree, "src", file))
  verbs <- c(cu = "#include <cub/device/of_today.cuh>", cuh = "#include <optional>")
  for (kind in names(verbs)) writeLines(verbs[[kind]], file.path(tree, "src/arrays/cuda", paste0("verb.", kind)))
  fake_r(file.path(folder, "R"))
  if (nvcc) write_script(file.path(folder, "cuda/bin/nvcc"), fake_nvcc)
  variables <- c(R_HOME = file.path(folder, "R"), NVCC = file.path(folder, "cuda/bin/nvcc"), FLAGS = "-O2",
                 KERNWEAVE_CUDA_ARCHS = "90", NEEDS = "", LACKS = "", RELEASE = "12.4", ...)
  run <- function() {
    before <- setwd(tree)
    on.exit(setwd(before))
    suppressWarnings(system2("env", c(sprintf("%s=%s", names(variables), shQuote(variables)), "sh", script),
                             stdout = TRUE, stderr = TRUE))
  }
  said <- run()
  made <- function(file) if (file.exists(file.path(tree, file))) readLines(file.path(tree, file)) else character()
  list(status = attr(said, "status") %||% 0L, said = as.character(said), makevars = made(makevars),
       fields = made("inst/configured.dcf"))
}
`%||%` <- function(x, y) if (is.null(x)) y else x

libraries <- function(run) {
  line <- grep("^PKG_LIBS", run$makevars, value = TRUE)
  trimws(gsub(" +", " ", gsub("^PKG_LIBS = |-Wl,[^ ]*", "", line)))
}
has_verbs <- function(run) any(grepl("^AHEAD = .*arrays/cuda/verb[.]o", run$makevars))
has_kernels <- function(run) any(grepl("^AHEAD = .*arrays/ahead_three[.]o", run$makevars))

test_that("libraries that a program of this compiler needs are linked, no others", {
  rows <- c("", "-ldl", "-lstdc++fs", "-lstdc++fs -ldl")
  for (needs in rows) {
    run <- configured_by(NEEDS = needs)
    expect_identical(run$status, 0L, label = paste(run$said, collapse = "\n"))
    expect_identical(libraries(run), trimws(paste("-pthread", needs)))
  }
})

test_that("a compiler that cannot build a program is named with its error, no file that will be gone", {
  run <- configured_by(LACKS = "filesystem")
  expect_identical(run$status, 1L)
  expect_match(paste(run$said, collapse = " "), "cannot build a small C[+][+]17 library.*filesystem is not there")
  expect_false(any(grepl("config.log", run$said)))
})

test_that("debug information is left out, but not where it was asked for by a sanitizer or a debugger", {
  plain <- function(run) any(grepl("-g0 -c arrays/two.cpp", run$makevars, fixed = TRUE))
  rows <- list(list("-g -O2", TRUE), list("-O2", FALSE), list("-g -O2 -fsanitize=address", FALSE),
               list("-g -Og", FALSE), list("-ggdb -O0", FALSE), list("-O3 -g1 -Wall", TRUE))
  for (row in rows) expect_identical(plain(configured_by(FLAGS = row[[1]])), row[[2]], label = row[[1]])
  expect_false(plain(configured_by(FLAGS = "-g -O2", KERNWEAVE_DEBUG = "yes")))
})

test_that("rooms that prepare a call are compiled for size, no others, and none for a debugger", {
  small <- function(...) sub(".* -c (.*) -o .*", "\\1", grep(" -Os -c ", configured_by(...)$makevars, value = TRUE))
  for (flags in c("-g -O2", "-O2", "-O3")) expect_identical(small(FLAGS = flags), "rooms/border.cpp")
  expect_length(small(FLAGS = "-g -O0"), 0)
  expect_length(small(FLAGS = "-O2", KERNWEAVE_DEBUG = "yes"), 0)
})

# The recipe that is carried out after the link.
after_link <- function(run) sub("^\t", "", run$makevars[grep("^all:", run$makevars) + 1])

# Links a small library by lines of a Makevars. Gives the names that R CMD check reads, by type, and all names.
linked_by <- function(makevars) {
  folder <- tempfile("linked")
  on.exit(unlink(folder, recursive = TRUE))
  dir.create(file.path(folder, "rooms"), recursive = TRUE)
  file.copy(file.path(source_root, "src/rooms/exports.map"), file.path(folder, "rooms"))
  writeLines(c("#include <cstdio>", "#include <vector>", "struct Pair { int a, b; };",
               "static int __attribute__((noinline)) local_one(int x) { return std::puts(\"\") + x; }",
               "__attribute__((visibility(\"hidden\"))) int hidden_one(int x) { return local_one(x) + 1; }",
               "extern \"C\" void R_init_one(void *to) {", "  auto *all = static_cast<std::vector<Pair> *>(to);",
               "  all->push_back({hidden_one(1), 2});", "}"), file.path(folder, "one.cpp"))
  writeLines(makevars, file.path(folder, "Makevars"))
  made <- run_tool("sh", c("-c", shQuote(paste("cd", shQuote(folder), "&& R CMD SHLIB -o one.so one.cpp"))))
  skip_if_not(made$ok, "no compiler")
  library <- file.path(folder, "one.so")
  read <- tools:::read_symbols_from_object_file(library)[, c("name", "type")]
  list(read = split(sub("@.*", "", read[, "name"]), read[, "type"]), all = system2("nm", library, stdout = TRUE))
}

test_that("a linked library keeps what R CMD check reads of it, and loses what is its own", {
  skip_on_os(c("windows", "mac"))
  for (tool in c("nm", "strip")) skip_if_not(nzchar(Sys.which(tool)), paste("no", tool))
  run <- configured_by()
  all <- c("all: $(SHLIB)", paste0("\t", after_link(run)))
  whole <- linked_by("all: $(SHLIB)")
  expect_true(any(grepl("hidden_one", whole$all)) && any(grepl("local_one", whole$all)))
  stripped <- linked_by(all)
  expect_identical(stripped$read[names(stripped$read) != "u"], whole$read[names(whole$read) != "u"])
  expect_false(any(grepl("hidden_one|local_one", stripped$all)))
  mapped <- linked_by(c(grep("^PKG_LIBS", run$makevars, value = TRUE), all))
  expect_identical(mapped$read$U, whole$read$U)
  expect_true("puts" %in% mapped$read$U)
  expect_identical(c(mapped$read$T, mapped$read$W), "R_init_one")
  for (asked in c("KERNWEAVE_DEBUG", "KERNWEAVE_TEST_WINDOWS"))
    expect_identical(after_link(do.call(configured_by, stats::setNames(list("yes"), asked))), ":")
  expect_false(any(grepl("-Wl,", configured_by(RUNS = "139")$makevars)))
})

test_that("what tests alone call is compiled for who asks", {
  compiled <- function(...) sub(".*= ", "", grep("^WINDOWS = ", configured_by(...)$makevars, value = TRUE))
  expect_identical(compiled(), "rooms/no_windows.o")
  expect_identical(compiled(KERNWEAVE_TEST_WINDOWS = "no"), "rooms/no_windows.o")
  expect_identical(compiled(KERNWEAVE_TEST_WINDOWS = "yes"), "rooms/windows.o")
  on_windows <- configured_by(KERNWEAVE_TEST_WINDOWS = "yes", script = "configure.win", makevars = "src/Makevars.win")
  expect_true("WINDOWS = rooms/no_windows.o" %in% on_windows$makevars)
})

test_that("a compiler behind env or a cache is told by its own name", {
  expect_match(configured_by()$fields, "^Compiler: fake compiler 1.0", all = FALSE)
  run <- configured_by(COMPILER = "env LC_ALL=C ccache $R_HOME/c++ -opt")
  expect_match(run$fields, "^Compiler: fake compiler 1.0", all = FALSE)
})

test_that("kernels are compiled where a GPU is seen, or for who asks", {
  skip_if(nzchar(Sys.which("nvidia-smi")), "a GPU is here")
  run <- configured_by(KERNWEAVE_CUDA_ARCHS = "", nvcc = TRUE)
  expect_false(has_kernels(run) || has_verbs(run))
  expect_match(run$said, "no: no GPU is seen here; KERNWEAVE_CUDA=yes compiles", all = FALSE)
  expect_true(has_kernels(configured_by(KERNWEAVE_CUDA_ARCHS = "", KERNWEAVE_CUDA = "yes", nvcc = TRUE)))
})

test_that("CUDA is taken by itself from release 12 on, older ones when asked for", {
  rows <- list(list("12.0", "auto", TRUE), list("13.1", "auto", TRUE), list("11.8", "auto", FALSE),
               list("9.2", "auto", FALSE), list("11.8", "yes", TRUE))
  for (row in rows) {
    run <- configured_by(RELEASE = row[[1]], KERNWEAVE_CUDA = row[[2]], nvcc = TRUE)
    expect_identical(run$status, 0L)
    expect_identical(has_kernels(run), row[[3]], label = paste(run$said, collapse = "\n"))
    expect_identical(has_verbs(run), row[[3]])
    if (!row[[3]]) expect_match(run$said, paste0("no: nvcc ", row[[1]], " is older than CUDA 12"), all = FALSE)
  }
})

test_that("a toolkit that lacks a header goes on without what includes it, and says so", {
  for (lacks in c("cub/device/of_today.cuh", "functional")) {
    run <- configured_by(LACKS = lacks, nvcc = TRUE)
    expect_identical(run$status, 0L)
    expect_true(has_kernels(run))
    expect_false(has_verbs(run))
    expect_match(run$said, paste0("verbs for arrays +not compiled for GPUs: .*", lacks, " is not there"), all = FALSE)
  }
  run <- configured_by(LACKS = "__grid_constant__", nvcc = TRUE)
  expect_false(has_kernels(run))
  expect_match(run$said, "precompiled kernels +no: nvcc 12.4 could not compile .*__grid_constant__", all = FALSE)
  expect_identical(configured_by(LACKS = "__grid_constant__", KERNWEAVE_CUDA = "yes", nvcc = TRUE)$status, 1L)
})

test_that("on Windows only what runs there is compiled", {
  run <- configured_by(script = "configure.win", makevars = "src/Makevars.win")
  objects <- unlist(regmatches(run$makevars, gregexpr("[a-z_0-9/]+[.]o\\b", run$makevars)))
  expect_true(all(c("cpu/tile_base_double.o", "far/loops_base.o", "arrays/cuda/none.o") %in% objects))
  expect_identical(grep("avx", objects, value = TRUE), character())
  expect_identical(grep("^[^#]*@", run$makevars, value = TRUE), character())
})
