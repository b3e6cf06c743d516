# Random draws: with a seed or from the current state of the generator, and in the form of stats::simulate().

# Evaluates draws with a seed, and restores .Random.seed.
privately <- function(seed, drawn) {
  before <- get0(".Random.seed", globalenv(), inherits = FALSE)
  on.exit(if (is.null(before)) rm(".Random.seed", envir = globalenv())
          else assign(".Random.seed", before, envir = globalenv()))
  set.seed(seed, kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = "Rejection")
  drawn
}

# Random signs that do not change .Random.seed.
private_signs <- function(n, columns, seed = 1) {
  privately(seed, matrix(sample(c(-1, 1), n * columns, replace = TRUE), n))
}

# Evaluates draws with a seed, or from the current state, with the "seed" attribute of stats::simulate() as `mark`.
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

# Returns draws in the form of stats::simulate().
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

# Returns a matrix: a row for each draw, a column for each row of the data, or for each row and response.
draws_of_variables <- function(x) {
  if (length(dim(x[[1]])) == 2) {
    drawn <- do.call(rbind, lapply(x, as.vector))
    return(structure(drawn, dimnames = list(NULL, sprintf("sim[%d,%d]", row(x[[1]]), col(x[[1]])))))
  }
  drawn <- t(as.matrix(x))
  dimnames(drawn) <- list(NULL, sprintf("sim[%d]", seq_len(ncol(drawn))))
  drawn
}
