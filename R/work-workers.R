# Workers: R processes, on this machine or others, that compute rows of large reductions: the nodes of a cluster of the
# parallel package, or the workers of the user's future plan(). This file makes and describes them.

#' Workers for large reductions
#'
#' Makes workers of the nodes of a cluster, or of your future plan. Give them to a formula as the setting `workers` of
#' [lazy_set()] or [with_kernweave()]. The workers then share the rows of all results: reductions, products, solvers and
#' models are computed by all workers, with the same bits as in one process. Use workers for sums of 10^11 pairs and
#' more over several machines; on one machine, threads and `device = "all"` are faster.
#'
#' Any cluster of [parallel::makeCluster()] can be used, with processes on this machine, by ssh, or by `srun` in a Slurm
#' job; make it with `useXDR = FALSE`. Each worker needs the same version of kernweave; a worker without kernweave looks
#' in the libraries of the calling process. Points are sent to a worker once and stay there; a product sends its vector.
#' A worker gets only the points of its own rows, if points belong only to the rows of a result, as the new points of a
#' prediction do. A worker holds points up to half of the memory of its host, divided by the number of workers on the
#' host, or up to `options(kernweave.worker_mb = )` as set in the calling process when the workers join. Beyond this
#' limit the least recently used points are dropped, and sent again when they are used. If a worker dies or does not
#' answer, another worker computes its block, and the lost worker is not used again; if all workers are lost and
#' `cluster` is a function, the cluster is made again once.
#'
#' With `"future"`, each block is a future of your [future::plan()], for long computations on clusters that have a
#' scheduler. A future takes 50 milliseconds, so use a cluster for the products of a solver.
#'
#' Workers compute a reduction only if its expected computing time is large compared with the time to send the data. A
#' worker uses its share of the cores of its host, and one GPU if the host has several workers and several GPUs. Workers
#' and the calling process trust each other: use them on a network of your own.
#'
#' @param cluster a cluster, a function without arguments that makes one, or `"future"`
#' @param threads number of threads of each worker; by default the cores of its host, divided by the number of its
#'   workers
#' @param always use the workers for every reduction that can be split, however small? By default `FALSE`
#' @param patience number of seconds after which a block counts as lost; by default 20 times its expected time, at least
#'   60
#' @param x an object made by `kernweave_workers()`
#' @param ... not used
#' @return An object of class `kernweave_workers`. `print()` shows a table of the workers. The object cannot be saved: a
#'   formula that has been loaded from a file is computed without workers.
#' @seealso [lazy_set()], [with_kernweave()]; [kernweave_options()] for threads and GPUs of one machine
#' @concept cluster computing
#' @concept distributed computing
#' @concept Slurm
#' @concept MPI
#' @export
#' @examplesIf interactive()
#' cl <- parallel::makeCluster(2, useXDR = FALSE)
#' w <- kernweave_workers(cl)
#' x <- matrix(runif(9e5), 3e5)
#' K <- lazy_set(exp(-sqdist(Vi(x), Vj(x))), workers = w)
#' b <- K %*% rep(1, 3e5)
#' w
#' parallel::stopCluster(cl)
kernweave_workers <- function(cluster, threads = NULL, always = FALSE, patience = NULL) {
  check_flag(always, "always")
  if (!is.null(threads)) threads <- check_count(threads, "threads")
  if (!is.null(patience) && !(is.numeric(patience) && length(patience) == 1 && patience > 0)) {
    abort("input", "`patience` is a number of seconds, not ", format_value(patience))
  }
  w <- new.env(parent = topenv())
  w$make <- if (is.function(cluster)) cluster
  w$door <- if (identical(cluster, "future")) "future" else "cluster"
  w$session <- session_mark()
  w$threads <- threads
  w$always <- always
  w$patience <- patience
  w$lost <- data.frame(node = integer(), why = character())
  class(w) <- "kernweave_workers"
  if (w$door == "cluster") join_cluster(w, if (is.null(w$make)) cluster else cluster())
  else if (!requireNamespace("future", quietly = TRUE)) {
    abort("input", "workers of a future plan need the future package: install.packages(\"future\")")
  }
  w
}

# Identifies this process: workers made in another process, or before a fork, belong to another session.
session_mark <- function() paste(Sys.getpid(), session$started)
session <- new.env(parent = emptyenv())
session$started <- ""

# Asks the nodes of a cluster for their hosts, and sets their threads.
join_cluster <- function(w, cluster) {
  if (!inherits(cluster, "cluster") || !length(cluster)) {
    abort("input", "`cluster` must be a cluster, as parallel::makeCluster() makes it, a function that makes one, or ",
          "\"future\"; not ", describe(cluster))
  }
  check_versions(of_nodes(cluster, version_there, "kernweave", .libPaths()))
  cards <- of_nodes(cluster, worker_card)
  hosts <- vapply(cards, `[[`, "", "host")
  most <- getOption("kernweave.worker_mb")
  w$cluster <- cluster
  w$cards <- Map(function(card, beside, place) {
    card$threads <- w$threads %or% max(1L, card$cores %/% beside)
    card$gpu <- if (beside > 1 && card$gpus > 1) (place - 1L) %% card$gpus else NA
    card$most_bytes <- if (is.null(most)) card$memory / 2 / beside else 2^20 * most
    card
  }, cards, as.vector(table(hosts)[hosts]), stats::ave(seq_along(hosts), hosts, FUN = seq_along))
  parallel::clusterApply(cluster, w$cards, worker_settle)
  # For each node: keys of the data it has, the number of deleted serials it was told of, and its work so far.
  w$known <- rep(list(character()), length(cluster))
  w$told <- rep(length(session$dropped), length(cluster))
  w$blocks <- integer(length(cluster))
  w$bytes <- numeric(length(cluster))
  w$speed <- rep(NA_real_, length(cluster))
}

of_nodes <- function(cluster, f, ...) {
  tryCatch(parallel::clusterCall(cluster, f, ...), error = function(e) {
    abort("worker_lost", "the workers do not answer: ", message_of(e))
  })
}

# Uses base R alone, since the package may not be found; then it also searches the libraries of this session.
version_there <- function(package, libraries) {
  version <- function() tryCatch(as.character(utils::packageVersion(package)), error = function(e) "")
  if (!nzchar(version())) .libPaths(c(.libPaths(), libraries))
  c(version = version(), libraries = paste(.libPaths(), collapse = ", "), host = Sys.info()[["nodename"]])
}
environment(version_there) <- baseenv()

check_versions <- function(found) {
  here <- as.character(utils::packageVersion("kernweave"))
  for (k in seq_along(found)) if (found[[k]][["version"]] != here) {
    abort("worker_version", "worker ", k, " on ", found[[k]][["host"]], " has ",
          if (nzchar(found[[k]][["version"]])) paste("kernweave", found[[k]][["version"]]) else "no kernweave",
          " in its libraries (", found[[k]][["libraries"]], "); here is ", here)
  }
}

#' @rdname kernweave_workers
#' @export
print.kernweave_workers <- function(x, ...) {
  if (x$session != session_mark()) {
    cat("Workers of another session: formulas that have them are computed without\n")
  } else if (x$door == "future") {
    cat("Workers of the future plan: one future for each block\n")
  } else {
    cat(counted(length(x$cluster), "worker"), if (x$always) ", used for everything that can be dealt out", "\n",
        sep = "")
    of <- function(field) unname(sapply(x$cards, `[[`, field))
    state <- rep("ready", length(x$cluster))
    state[x$lost$node] <- x$lost$why
    print(data.frame(worker = seq_along(x$cluster), host = of("host"), pid = of("pid"), threads = of("threads"),
                     instructions = of("isa"), blocks = x$blocks, MB = round(x$bytes / 2^20, 1), state = state),
          row.names = FALSE)
  }
  invisible(x)
}

#' @export
format.kernweave_workers <- function(x, ...) {
  if (x$door == "future") "the future plan" else counted(length(x$cluster), "worker")
}

# Returns the workers of a call if they belong to this session, else NULL.
present_workers <- function(options) {
  w <- options$workers
  if (!is.null(w) && identical(w$session, session_mark())) w
}

check_workers <- function(w, device) {
  if (!inherits(w, "kernweave_workers")) {
    abort("settings", "`workers` are made by kernweave_workers(parallel::makeCluster(...)), not ", format_value(w))
  }
  if (is.character(device) && grepl("^[0-9]", device)) {
    abort("settings", "`device = ", device, "` means a GPU of this machine; workers have their own")
  }
  w
}
