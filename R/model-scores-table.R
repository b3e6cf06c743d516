# Tables of scores: means with standard errors, by blocks or for several fits, and their print methods.

# --- means ----------------------------------------------------------------------------------------------------

score_names <- c("logs", "crps", "interval_score", "coverage", "rmse", "mae", "bias")

# A column for each score, the squares of errors for `rmse`.
row_scores <- function(rows, level) {
  y <- nearest_in(rows$observed, rows$fitted)
  error <- rows$fitted - y
  outside <- pmax(rows$lower - y, 0) + pmax(y - rows$upper, 0)
  cbind(logs = rows$logs, crps = rows$crps, interval_score = rows$upper - rows$lower + 2 / (1 - level) * outside,
        coverage = as.numeric(outside == 0), rmse = error^2, mae = abs(error), bias = error)
}

# Returns mean scores, and each row's contribution (rmse: to first order).
score_parts <- function(rows, level) {
  each <- row_scores(rows, level)
  mean <- colMeans(each)
  mean[["rmse"]] <- sqrt(mean[["rmse"]])
  if (mean[["rmse"]] > 0) each[, "rmse"] <- each[, "rmse"] / (2 * mean[["rmse"]])
  list(mean = mean, each = each)
}

mean_scores <- function(rows, level, blocks = NULL) {
  parts <- score_parts(rows, level)
  data.frame(n = nrow(rows), as.list(parts$mean), as.list(error_of_means(parts$each, blocks)))
}

# Returns standard errors of means of columns over independent rows, or blocks of any sizes.
error_of_means <- function(each, blocks = NULL) {
  left <- t(t(each) - colMeans(each))
  if (!is.null(blocks)) left <- rowsum(left, as.character(blocks))
  count <- nrow(left)
  out <- if (count > 1) sqrt(count / (count - 1) * colSums(left^2)) / nrow(each) else rep(NA_real_, ncol(each))
  stats::setNames(out, paste0(colnames(each), ".se"))
}

# Returns block labels of the scored rows, given labels of all rows or of complete rows.
block_labels <- function(by, found, rows = found$at) {
  complete <- setdiff(seq_len(found$total), found$dropped)
  if (length(by) == length(complete)) by <- by[match(seq_len(found$total), complete)]
  if (length(by) != found$total || !is.null(dim(by))) {
    abort("shape", "`by` must be a block for each of ", counted(found$total, "row"), ", not ", describe(by))
  }
  labels <- factor(by[rows])
  if (anyNA(labels)) abort("data", "`by` has missing values in ", counted(sum(is.na(labels)), "row"))
  labels
}

# --- several fits -----------------------------------------------------------------------------------------------

# Compares fits on the rows that all of them have scored, with differences from the first.
compared_scores <- function(each, level, by) {
  total <- vapply(each, `[[`, 0, "total")
  if (any(total != total[1])) {
    odd <- which(total != total[1])[1]
    abort("shape", "`", names(each)[1], "` and `", names(each)[odd], "` have different rows, ", total[1], " and ",
          total[odd], ": fits are compared by the same observations")
  }
  at <- Reduce(intersect, lapply(each, `[[`, "at"))
  if (!length(at)) abort("data", "no row is scored by all fits")
  fold <- each[[1]]$fold[match(at, each[[1]]$at)]
  labels <- if (!is.null(by)) block_labels(by, each[[1]], at) else fold
  rows <- lapply(each, function(one) one$rows[match(at, one$at), ])
  for (k in seq_along(each)[-1]) {
    if (!isTRUE(all.equal(rows[[k]]$observed, rows[[1]]$observed, tolerance = 1e-8))) {
      abort("input", "`", names(each)[1], "` and `", names(each)[k], "` have different responses")
    }
  }
  each <- Map(function(one, rows) replace(one, "rows", list(rows)), each, rows)
  parts <- lapply(rows, score_parts, level = level)
  differences <- lapply(parts[-1], function(one) {
    c(one$mean - parts[[1]]$mean, error_of_means(one$each - parts[[1]]$each, labels))
  })
  how <- unique(vapply(each, `[[`, "", "how"))
  if (length(how) > 1) how <- paste(counted(format(length(at), big.mark = ","), "row"), "that all of them score")
  new_scores(do.call(rbind, lapply(rows, mean_scores, level = level, blocks = labels)), each, level,
             title = paste0("Scores of ", counted(length(each), "model"), ", ", how),
             differences = as.data.frame(do.call(rbind, differences)))
}

# --- print ----------------------------------------------------------------------------------------------------

#' @rdname predictive_scores
#' @param x what `predictive_scores()` returned
#' @param digits significant digits
#' @export
print.predictive_scores <- function(x, digits = 4, ...) {
  say(attr(x, "title"), ", intervals of level ", format(attr(x, "level")), "\n")
  cat(left_out_text(attr(x, "dropped")))
  known <- score_names[!vapply(x[score_names], function(v) all(is.na(v)), NA)]
  table <- if (isTRUE(attr(x, "blocks"))) text_of_blocks(x, known, digits) else text_of_models(x, known, digits)
  print(table, quote = FALSE, right = TRUE)
  invisible(x)
}

# A line for each score, with columns for models and differences.
text_of_models <- function(x, known, digits) {
  text <- function(value, digits) vapply(value, format, "", digits = digits)
  differences <- attr(x, "differences")
  columns <- lapply(seq_len(nrow(x)), function(k) text(unlist(x[k, known]), digits))
  names(columns) <- if (nrow(x) == 1) "mean" else row.names(x)
  if (is.null(differences)) columns$se <- text(unlist(x[1, paste0(known, ".se")]), 2)
  for (k in seq_len(NROW(differences))) {
    columns[[paste(row.names(x)[k + 1], "-", row.names(x)[1])]] <- text(unlist(differences[k, known]), digits - 1)
    columns[[paste0("se", strrep(" ", k - 1))]] <- text(unlist(differences[k, paste0(known, ".se")]), 2)
  }
  table <- do.call(cbind, columns)
  rownames(table) <- known
  table
}

# Formats a line for each block, unless there are many, for all rows, and for standard errors.
text_of_blocks <- function(x, known, digits) {
  all <- nrow(x)
  shown <- if (all <= 21) seq_len(all) else all
  values <- as.matrix(as.data.frame(x)[shown, known])
  error <- unlist(as.data.frame(x)[all, paste0(known, ".se")])
  table <- rbind(apply(values, 2, function(v) format(v, digits = digits)), vapply(error, format, "", digits = 2))
  dimnames(table) <- list(c(row.names(x)[shown], "se"), known)
  cbind(n = c(format(x$n[shown]), ""), table)
}

#' @rdname predictive_scores
#' @param row.names,optional as in [as.data.frame()]
#' @export
as.data.frame.predictive_scores <- function(x, row.names = NULL, optional = FALSE, ...) {
  data.frame(unclass(x)[names(x)], row.names = row.names %or% attr(x, "row.names"), check.names = FALSE)
}

# A subset of rows or columns is a plain data frame.
#' @export
`[.predictive_scores` <- function(x, ...) as.data.frame(x)[...]

# A row for each score of each model or block.
#' @rdname tidy-fits
#' @exportS3Method generics::tidy
tidy.predictive_scores <- function(x, ...) {
  refuse_more(...)
  values <- function(table, names) as.vector(t(as.matrix(as.data.frame(table)[names])))
  errors <- paste0(score_names, ".se")
  out <- data.frame(term = rep(score_names, nrow(x)), estimate = values(x, score_names), std.error = values(x, errors))
  differences <- attr(x, "differences")
  label <- rep(row.names(x), each = length(score_names))
  if (isTRUE(attr(x, "blocks"))) return(as_tidy(block = label, out))
  if (is.null(differences)) return(as_tidy(columns = out))
  none <- rep(NA_real_, length(score_names))
  as_tidy(model = label, out, difference = c(none, values(differences, score_names)),
          difference.se = c(none, values(differences, errors)))
}

#' @rdname predictive_scores
#' @exportS3Method generics::accuracy
#' @rawNamespace S3method(generics::accuracy, kernel_ridge, accuracy.gp_fit)
#' @rawNamespace S3method(generics::accuracy, cross_validate, accuracy.gp_fit)
accuracy.gp_fit <- function(object, newdata = NULL, ...) as.data.frame(predictive_scores(object, newdata, ...))
