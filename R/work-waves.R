# Blocks on the nodes of a cluster, each sent to the next free node. Nodes with sockets get the messages that workers of
# the parallel package read, so that a node that dies or stalls loses only its block; other kinds of nodes (MPI, mirai)
# use clusterApply().

# Computes tasks. `keep(k, value)` is called with the result of block k; without it the results are returned.
by_waves <- function(w, tasks, store, patience, keep = NULL) {
  if (!all(vapply(w$cluster, inherits, NA, c("SOCKnode", "SOCK0node")))) {
    return(kept_results(by_apply(w, tasks, store), keep))
  }
  # `at`: the task of each node, 0 for none; `speaking`: the node of the message that is being written or read.
  wave <- list2env(list(w = w, tasks = tasks, needs = lapply(tasks, function(task) names(needs_of(task))),
                        store = store, patience = patience, keep = keep, at = integer(length(w$cluster)),
                        since = numeric(length(w$cluster)), speaking = 0L, tried = integer(length(tasks)),
                        found = vector("list", length(tasks)), waiting = seq_along(tasks)), parent = emptyenv())
  on.exit(end_wave(wave))
  while (length(wave$waiting) || any(wave$at > 0)) {
    if (!length(ready_nodes(w))) {
      make_again(w, once = isTRUE(wave$again))
      wave$again <- TRUE
      wave$at <- integer(length(w$cluster))
      wave$since <- numeric(length(w$cluster))
    }
    send_blocks(wave)
    receive_blocks(wave, 0.2)
    if (!is.null(wave$error)) abort_again(wave$error)
  }
  wave$found
}

# Waits for the blocks that are being computed when a call ends, and reads their answers, which a later call must not
# read. A node interrupted in the middle of a message is lost; so are all busy nodes if the user interrupts again.
end_wave <- function(wave) {
  if (wave$speaking) lose_node(wave, wave$speaking, "was interrupted")
  if (!any(wave$at > 0)) return(invisible())
  on.exit(for (node in which(wave$at > 0)) lose_node(wave, node, "was interrupted"))
  patient <- as.numeric(Sys.time()) + 2
  while (any(wave$at > 0)) {
    receive_blocks(wave, 0.2)
    if (as.numeric(Sys.time()) < patient || !any(wave$at > 0)) next
    tell("Waiting for ", counted(sum(wave$at > 0), "block"), " under way; interrupt again to leave out the workers")
    patient <- Inf
  }
}

ready_nodes <- function(w) setdiff(seq_along(w$cluster), w$lost$node)

send_blocks <- function(wave) {
  w <- wave$w
  for (node in ready_nodes(w)) {
    if (wave$at[node] || !length(wave$waiting)) next
    # Take the first task whose data this node has, else the first task.
    there <- vapply(wave$needs[wave$waiting], function(keys) all(keys %in% w$known[[node]]), NA)
    task <- wave$waiting[c(which(there), 1)[1]]
    if (wave$tried[task] >= 3) abort("worker_lost", text_of_block(wave$tasks[[task]]), " have ended three workers")
    message <- with_store(wave$tasks[[task]], wave$store, w$known[[node]])
    dropped <- session$dropped  # all serials whose data were deleted; the node is told the new ones
    if (length(dropped) > w$told[node]) message$forget <- dropped[(w$told[node] + 1):length(dropped)]
    w$told[node] <- length(dropped)
    suspendInterrupts(if (spoken_to(wave, node, send_message(w$cluster[[node]], message))) {
      w$known[[node]] <- union(w$known[[node]], names(message$store))
      wave$waiting <- setdiff(wave$waiting, task)
      wave$tried[task] <- wave$tried[task] + 1L
      wave$at[node] <- task
      wave$since[node] <- as.numeric(Sys.time())
    } else {
      lose_node(wave, node, "died")
    })
  }
}

range_of_task <- function(task) task[[task$dealt]]
text_of_block <- function(task) paste(task$dealt, range_of_task(task)[1], "to", range_of_task(task)[2])

send_message <- function(node, task) {
  call <- list(fun = worker_block, args = list(task), return = TRUE, tag = NULL)
  bytes <- serialize(list(type = "EXEC", data = call, tag = NULL), NULL, xdr = inherits(node, "SOCKnode"))
  tryCatch({
    if (length(bytes) <= most_at_once) writeBin(bytes, node$con)
    else for (from in seq(1, length(bytes), by = most_at_once)) {
      writeBin(bytes[from:min(length(bytes), from + most_at_once - 1)], node$con)
    }
    TRUE
  }, error = function(e) FALSE)
}

# The bytes of one write. Small writes are slow: the second waits 40 ms for an acknowledgement of the first. Writes of
# more than 2^31 bytes fail.
most_at_once <- 2^30

receive_blocks <- function(wave, seconds) {
  w <- wave$w
  busy <- which(wave$at > 0)
  if (!length(busy)) return(invisible())
  ready <- tryCatch(socketSelect(lapply(w$cluster[busy], `[[`, "con"), FALSE, seconds), error = function(e) TRUE)
  for (node in busy[ready]) {
    suspendInterrupts({
      answer <- spoken_to(wave, node, tryCatch(unserialize(w$cluster[[node]]$con)$value, error = function(e) NULL))
      if (is.list(answer)) take_answer(wave, node, answer) else lose_node(wave, node, "died")
    })
  }
  for (node in which(wave$at > 0)) {
    if (as.numeric(Sys.time()) - wave$since[node] > wave$patience) lose_node(wave, node, "did not answer")
  }
}

# Reads or writes a message. R accepts interrupts while it waits for a socket, even in suspendInterrupts(), so
# `speaking` notes the node. A node that stalls within a message is given up after `patience` seconds.
spoken_to <- function(wave, node, message) {
  con <- wave$w$cluster[[node]]$con
  before <- tryCatch(socketTimeout(con), error = function(e) NULL)
  if (is.null(before)) return(FALSE)  # its connection was closed, as by stopCluster()
  wave$speaking <- node
  socketTimeout(con, min(before, max(1, ceiling(wave$patience))))
  force(message)
  socketTimeout(con, before)
  wave$speaking <- 0L
  message
}

take_answer <- function(wave, node, answer) {
  w <- wave$w
  task <- wave$at[node]
  wave$at[node] <- 0L
  if (!is.null(answer$need)) {  # a worker that was made anew
    w$known[[node]] <- setdiff(w$known[[node]], answer$need)
    wave$tried[task] <- wave$tried[task] - 1L
    wave$waiting <- c(task, wave$waiting)
  } else if (!is.null(answer$error)) {
    wave$error <- answer$error
    wave$waiting <- integer()
  } else {
    block <- range_of_task(wave$tasks[[task]])
    if (is.null(wave$keep)) wave$found[task] <- list(answer$value) else wave$keep(task, answer$value)
    w$blocks[node] <- w$blocks[node] + 1L
    w$bytes[node] <- answer$bytes
    # The speed of a worker changes slowly, so speeds are averaged. Blocks of less than 0.1 s are not timed.
    if (answer$seconds < 0.1) return(invisible())
    w$speed[node] <- mean(c(w$speed[node], (block[2] - block[1] + 1) / answer$seconds), na.rm = TRUE)
  }
}

lose_node <- function(wave, node, why) {
  w <- wave$w
  silence(w$cluster[[node]]$con)
  wave$speaking <- 0L
  w$lost <- rbind(w$lost, data.frame(node = node, why = why))
  if (wave$at[node]) wave$waiting <- c(wave$at[node], wave$waiting)
  wave$at[node] <- 0L
}

# Closes the connection of a lost node, so that its late answer is not read. The cluster refers to the connection by
# number, so a null connection takes the number before the next connection that is opened can.
silence <- function(con) {
  number <- as.integer(con)
  if (!tryCatch(is.null(close(con)), error = function(e) FALSE)) return(invisible())
  opened <- list(file(nullfile(), "wb"))
  while (as.integer(opened[[1]]) < number) opened <- c(list(file(nullfile(), "wb")), opened)
  for (other in opened[-1]) close(other)
  session$silent <- c(session$silent, opened[1])
}

# Makes a new cluster by the user's function if all nodes are lost, once a call.
make_again <- function(w, once = FALSE) {
  if (is.null(w$make) || once) {
    abort("worker_lost", "all workers are lost: ", paste0(w$lost$node, " (", w$lost$why, ")", collapse = ", "))
  }
  w$lost <- w$lost[0, ]
  join_cluster(w, w$make())
}

# Computes tasks on nodes without sockets, first without data, then again with data where a node asked for data. After
# an error or an interrupt the cluster is lost, since answers may be unread; a function makes a new one.
by_apply <- function(w, tasks, store) {
  if (length(w$lost$node)) make_again(w)
  found <- vector("list", length(tasks))
  left <- seq_along(tasks)
  for (supplied in list(identity, function(task) with_store(task, store))) {
    if (!length(left)) break
    w$lost <- data.frame(node = seq_along(w$cluster), why = "was interrupted")
    now <- lapply(tasks[left], supplied)
    answers <- tryCatch(parallel::clusterApply(w$cluster, now, worker_block), error = function(e) {
      w$lost$why <- message_of(e)
      abort("worker_lost", "the workers are lost: ", message_of(e))
    })
    w$lost <- w$lost[0, ]
    for (k in seq_along(answers)) if (!is.null(answers[[k]]$error)) abort_again(answers[[k]]$error)
    done <- !vapply(answers, function(answer) is.null(answer$value), NA)
    found[left[done]] <- lapply(answers[done], `[[`, "value")
    left <- left[!done]
  }
  found
}

# Computes each block by a future, sent with all its data, since the plan chooses the worker; three tries.
by_futures <- function(tasks, store) {
  old <- options(future.globals.maxSize = Inf)
  on.exit(options(old))
  found <- vector("list", length(tasks))
  left <- seq_along(tasks)
  for (try in 1:3) {
    if (!length(left)) return(found)
    futures <- lapply(tasks[left], function(task) start_future(with_store(task, store)))
    answers <- lapply(futures, function(future) tryCatch(future::value(future), error = identity))
    done <- vapply(answers, is.list, NA) & !vapply(answers, inherits, NA, "error")
    for (answer in answers[done]) if (!is.null(answer$error)) abort_again(answer$error)
    found[left[done]] <- lapply(answers[done], `[[`, "value")
    left <- left[!done]
  }
  if (!length(left)) return(found)
  abort("worker_lost", text_of_block(tasks[[left[1]]]), " failed three times: ", message_of(answers[!done][[1]]))
}

start_future <- function(task) {
  work <- worker_block
  tryCatch(future::future(work(task), globals = list(work = work, task = task), packages = NULL, seed = NULL,
                          stdout = NA, conditions = NULL), error = identity)
}

# Calls keep() for each result, if the results came all at once.
kept_results <- function(found, keep) {
  if (!is.null(keep)) for (k in seq_along(found)) keep(k, found[[k]])
  found
}
