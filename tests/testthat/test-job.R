# Jobs: blocks in a folder, of which finished ones are read and the others computed.

set.seed(6)
x <- matrix(stats::runif(3 * 9001), ncol = 3)
y <- matrix(stats::runif(3 * 500), ncol = 3)
reductions <- list(
  sum = function() reduction(exp(-sqdist(Vi(x), Vj(y))), "sum", call = FALSE),
  nearest = function() reduction(sqdist(Vi(x), Vj(y)), "Kmin_argKmin", K = 3, call = FALSE),
  axes = function() reduction(s[i] ~ abs(x[i, a] - y[j, a]), "sum", call = FALSE),
  groups = function() min(restrict(sqdist(Vi(x), Vj(y)), by = list(g, h)), index = "j", call = FALSE),
  gradient = function() {
    vjp(reduction(exp(-sqdist(Vi(x, name = "x"), Vj(y))), "sum", call = FALSE), "x", 1, call = FALSE)
  }
)
g <- sample(1:7, 9001, TRUE)
h <- sample(2:7, 500, TRUE)  # some rows have no pairs
blocks_in <- function(folder) list.files(folder, "^block", full.names = TRUE)

with_folder <- function(code) {
  folder <- tempfile("job")
  on.exit(unlink(folder, recursive = TRUE))
  code(folder)
}

test_that("a job has the numbers of the call, and goes on where it ended", {
  for (name in names(reductions)) with_folder(function(folder) {
    R <- reductions[[name]]()
    whole <- as.matrix(R)
    expect_identical(kernweave_job(R, folder), whole, label = name)
    files <- blocks_in(folder)
    expect_gt(length(files), 5)
    unlink(files[c(1, 3)])
    writeBin(readBin(files[2], "raw", 60), files[2])  # cut short
    bytes <- readBin(files[4], "raw", file.size(files[4]))
    bytes[length(bytes) - 20] <- xor(bytes[length(bytes) - 20], as.raw(1))
    writeBin(bytes, files[4])
    times <- file.mtime(files[5])
    there <- paste0("^kernweave_job[(][)]: ", length(files) - 4, " of ", length(files), " blocks were there")
    expect_message(again <- kernweave_job(reductions[[name]](), folder), there)
    expect_identical(again, whole, label = name)
    expect_identical(file.mtime(files[5]), times)  # was not computed again
    expect_length(blocks_in(folder), length(files))
    expect_false(dir.exists(file.path(folder, "lock")))
  })
})

test_that("a job that was killed is finished by the next call", {
  skip_on_os("windows")
  skip_if_not(dir.exists("/proc/self"), "no system that tells which processes have ended")
  with_folder(function(folder) {
    whole <- as.matrix(reductions$sum())
    with_cluster(1, function(cluster) {
      parallel::clusterExport(cluster, c("x", "y"), environment(with_folder))
      serialize(list(type = "EXEC", data = list(fun = function(folder) {
        R <- kernweave::reduction(exp(-kernweave::sqdist(kernweave::Vi(x), kernweave::Vj(y))), "sum", call = FALSE)
        trace <- get("write_block", asNamespace("kernweave"))
        unlockBinding("write_block", asNamespace("kernweave"))
        assign("write_block", function(...) {
          trace(...)
          if (length(list.files(folder, "^block")) == 4) tools::pskill(Sys.getpid(), tools::SIGKILL)
        }, asNamespace("kernweave"))
        kernweave::kernweave_job(R, folder)
      }, args = list(folder), return = TRUE, tag = NULL), tag = NULL), cluster[[1]]$con, xdr = FALSE)
      wait_until(length(blocks_in(folder)) == 4)
      Sys.sleep(0.3)
    })
    expect_length(blocks_in(folder), 4)
    expect_true(dir.exists(file.path(folder, "lock")))
    before <- blocks_in(folder)
    expect_identical(kernweave_job(reductions$sum(), folder), whole)
    expect_true(all(before %in% blocks_in(folder)))
  })
})

test_that("blocks of a job are shared by workers", {
  with_workers(2, function(w) with_folder(function(folder) {
    expect_identical(kernweave_job(reductions$sum(), folder, workers = w), as.matrix(reductions$sum()))
    expect_identical(sum(w$blocks), length(blocks_in(folder)))
    unlink(blocks_in(folder)[2])
    expect_identical(kernweave_job(reductions$sum(), folder, workers = w), as.matrix(reductions$sum()))
    expect_identical(sum(w$blocks), length(blocks_in(folder)) + 1L)
  }))
})

test_that("another reduction, other data and a second process are refused", {
  with_folder(function(folder) {
    kernweave_job(reductions$sum(), folder)
    expect_error(kernweave_job(reductions$nearest(), folder), "another", class = "kernweave_error_job_changed")
    moved <- x + 1e-9
    R <- reduction(exp(-sqdist(Vi(moved), Vj(y))), "sum", call = FALSE)
    expect_error(kernweave_job(R, folder), class = "kernweave_error_job_changed")
    unlink(folder, recursive = TRUE)
    K <- exp(-sqdist(Vi(x), Vj(y)))
    grouped <- function(g) reduction(restrict(K, by = list(g, rep(1:5, 100))), "sum", call = FALSE)
    g <- rep_len(1:5, 9001)
    expect_identical(kernweave_job(grouped(g), folder), as.matrix(grouped(g)))
    expect_identical(kernweave_job(grouped(g), folder), as.matrix(grouped(g)))
    expect_error(kernweave_job(grouped(rev(g)), folder), "another", class = "kernweave_error_job_changed")
    # Sparse matrices of the same values at other places, as pairs and as data.
    S <- Matrix::sparseMatrix(1:500, 1:500, x = 1, dims = c(9001, 500))
    moved <- S[9001:1, ]
    restricted <- function(S) reduction(restrict(K, where = S != 0), "sum", call = FALSE)
    product <- function(S) reduction(Vij(S) * Vj(y[, 1]), "sum", call = FALSE)
    for (of in list(restricted, product)) {
      unlink(folder, recursive = TRUE)
      expect_identical(kernweave_job(of(S), folder), as.matrix(of(S)))
      expect_identical(kernweave_job(of(S), folder), as.matrix(of(S)))
      expect_error(kernweave_job(of(moved), folder), "another", class = "kernweave_error_job_changed")
    }
    unlink(folder, recursive = TRUE)
    kernweave_job(reductions$sum(), folder)
    dir.create(file.path(folder, "lock"))
    writeLines(c("elsewhere", "1"), file.path(folder, "lock", "owner"))
    expect_error(kernweave_job(reductions$sum(), folder), "process 1 on elsewhere",
                 class = "kernweave_error_job_changed")
  })
})

test_that("what cannot be a job is refused by class, and leaves nothing", {
  with_folder(function(folder) {
    expect_error(kernweave_job(1, folder), class = "kernweave_error_input")
    expect_error(kernweave_job(reductions$sum(), NA), class = "kernweave_error_input")
    waits <- reduction(abs(Vi(x) - Vj(dim = 3)), "sum", call = FALSE)
    expect_error(kernweave_job(waits, folder), class = "kernweave_error_no_data")
    both <- reduction(abs(Vi(x) - Vj(y)), "sum", index = "ij", call = FALSE)
    expect_error(kernweave_job(both, folder), class = "kernweave_error_unsupported")
    expect_length(blocks_in(folder), 0)
  })
})

test_that("a job whose disk is full is an error by class, leaves nothing half-written, and goes on with more room", {
  skip_on_os(c("windows", "mac"))
  folder <- tempfile("disk")
  dir.create(folder)
  mount <- function(...) suppressWarnings(system2("mount", c(...), stdout = FALSE, stderr = FALSE))
  if (mount("-t", "tmpfs", "-o", "size=512k", "tmpfs", folder) != 0) skip("a small disk cannot be made here")
  on.exit({
    system2("umount", folder)
    unlink(folder, recursive = TRUE)
  })
  wide <- matrix(stats::runif(500 * 12), 500)
  R <- reduction(exp(-sqdist(Vi(x), Vj(y))) * Vj(wide), "sum", call = FALSE)
  job <- file.path(folder, "job")
  expect_error(kernweave_job(R, job), class = "kernweave_error_disk")
  expect_gt(length(blocks_in(job)), 0)
  expect_length(list.files(job, "part$"), 0)
  expect_false(dir.exists(file.path(job, "lock")))
  before <- blocks_in(job)
  expect_identical(unname(tools::md5sum(before)), sub(".*-([0-9a-f]{32})[.]rds$", "\\1", before))
  mount("-o", "remount,size=8m", folder)
  expect_identical(kernweave_job(R, job), as.matrix(R))
  expect_true(all(before %in% blocks_in(job)))
})

test_that("a folder in which nothing can be written is an error by class", {
  with_folder(function(folder) {
    file.create(folder)
    expect_error(kernweave_job(reductions$sum(), file.path(folder, "job")), class = "kernweave_error_disk")
  })
})
