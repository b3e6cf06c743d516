# Random draws: after a seed or from the state of the generator, and as stats::simulate() returns them.

# Evaluates draws after a seed, and puts the generator's state back.
privately <- function(seed, drawn) {
  before <- get0(".Random.seed", globalenv(), inherits = FALSE)
  on.exit(if (is.null(before)) rm(".Random.seed", envir = globalenv())
          else assign(".Random.seed", before, envir = globalenv()))
  set.seed(seed, kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = "Rejection")
  drawn
}

# Random signs that leave the stream of random numbers where it was.
private_signs <- function(n, columns, seed = 1) {
  privately(seed, matrix(sample(c(-1, 1), n * columns, replace = TRUE), n))
}

# Evaluates draws after a seed, or from the generator's state, with the mark that stats::simulate() keeps.
with_state <- function(seed, drawn) {
  if (!exists(".Random.seed", globalenv(), inherits = FALSE)) stats::runif(1)
  before <- get(".Random.seed", globalenv(), inherits = FALSE)
  if (is.null(seed)) return(list(value = drawn, mark = before))
  if (!is_whole(seed, -.Machine$integer.max, .Machine$integer.max)) {
    abort("input", "`seed` must be a whole number or NULL, not ", format_value(seed))
  }
  on.exit(assign(".Random.seed", before, envir = globalenv()))
  set.seed(seed)
  list(value = drawn, mark = structure(seed, kind = as.list(RNGkind())))
}

# Draws as stats::simulate() returns them.
draws_frame <- function(draws, names, seed) {
  dimnames(draws) <- list(names, paste0("sim_", seq_len(ncol(draws))))
  structure(as.data.frame(draws), seed = seed, class = c("kernweave_draws", "data.frame"))
}

# --- the posterior package ------------------------------------------------------------------------------------

#' @exportS3Method posterior::as_draws
#' @rawNamespace S3method(posterior::as_draws_df, kernweave_draws, as_draws.kernweave_draws)
as_draws.kernweave_draws <- function(x, ...) posterior::as_draws_df(draws_of_variables(x), ...)

#' @exportS3Method posterior::as_draws_matrix
as_draws_matrix.kernweave_draws <- function(x, ...) posterior::as_draws_matrix(draws_of_variables(x), ...)

#' @exportS3Method posterior::as_draws_rvars
as_draws_rvars.kernweave_draws <- function(x, ...) posterior::as_draws_rvars(draws_of_variables(x), ...)

# A row for each draw, and a variable for each row of the data or, of several responses, for each of these at a row.
draws_of_variables <- function(x) {
  if (length(dim(x[[1]])) == 2) {
    drawn <- do.call(rbind, lapply(x, as.vector))
    return(structure(drawn, dimnames = list(NULL, sprintf("sim[%d,%d]", row(x[[1]]), col(x[[1]])))))
  }
  drawn <- t(as.matrix(x))
  dimnames(drawn) <- list(NULL, sprintf("sim[%d]", seq_len(ncol(drawn))))
  drawn
}
