# Ordered levels: a response has level k if a logistic variable around the predictor lies between cuts k - 1 and k.

# Returns the ordinal family of a response. The first cut is -1, and each further cut is the last one plus a gap.
ordinal_family <- function(y) {
  levels <- ordered_levels(y)
  count <- length(levels)
  gaps <- if (count > 2) paste0("gap", seq_len(count - 2))
  cuts_of <- function(...) cumsum(c(-1, ...))
  ends <- function(k) c(-Inf, do.call(cuts_of, as.list(unname(k))), Inf)
  slopes_at <- function(y, e, k) range_slopes(ends(k)[y] - e, ends(k)[y + 1] - e, standard$logistic)
  likelihood_family(list(
    title = "ordinal", label = "logit", levels = levels, concave = TRUE, whole = TRUE,
    parameters = stats::setNames(rep(1, count - 2), gaps), read = function(y) level_numbers(y, levels),
    start = function(y) y - 2.5,
    f = function(y, eta, ...) {
      at <- ends(c(...))
      log_range(at[y] - eta, at[y + 1] - eta, standard$logistic)
    },
    slopes = function(y, e, k, a) {
      by <- slopes_at(y, e, k)$by
      list(g = -a * by[[1]], W = -a * by[[2]], W_e = a * by[[3]])
    },
    # A gap moves all cuts above it.
    of_phi = function(y, e, k, a) {
      found <- slopes_at(y, e, k)
      each <- lapply(seq_along(k), function(j) found$by_ends(k[[j]] * (y > j + 1), k[[j]] * (y > j)))
      column <- function(order, sign) {
        matrix(unlist(lapply(each, function(one) sign * a * one[[order]])), length(e), dimnames = list(NULL, names(k)))
      }
      list(l = column(1, 1), g = column(2, -1), W = column(3, -1))
    },
    mean = function(eta, ...) 1 + rowSums(stats::plogis(outer(eta, cuts_of(...), "-"))),
    variance = function(eta, ...) {
      above <- stats::plogis(outer(eta, cuts_of(...), "-"))
      as.vector(above %*% (2 * seq_len(count - 1) + 1)) - rowSums(above)^2 - 2 * rowSums(above)
    },
    draw = function(n, eta, ...) findInterval(eta + stats::rlogis(n), cuts_of(...)) + 1,
    below = function(q, eta, ...) stats::plogis(ends(c(...))[pmin(pmax(floor(q), 0), count) + 1] - eta),
    told = function(...) {
      list(cuts = stats::setNames(cuts_of(...), paste(levels[-count], levels[-1], sep = "|")))
    }
  ))
}

# --- responses given by users --------------------------------------------------------------------------------

ordered_levels <- function(y) {
  known <- if (is.factor(y)) levels(y) else if (is.numeric(y)) as.character(seq_len(max(0, y, na.rm = TRUE)))
  if (is.null(known) || is.numeric(y) && !all(y %in% c(seq_along(known), NA))) {
    abort("input", "an ordinal response must be an ordered factor, or numbers 1, 2, 3, ..., not ", describe(y),
          ": write factor(y, levels = , ordered = TRUE)")
  }
  numbers <- level_numbers(y, known)
  if (length(unique(numbers[!is.na(numbers)])) < 2) {
    abort("data", "all ", length(y), " rows have the same level: there is nothing to estimate")
  }
  unused <- setdiff(seq_along(known), numbers)
  if (length(unused)) {
    abort("data", "no row has the level `", known[unused[1]], "`, whose cuts nothing tells: ",
          if (is.factor(y)) "droplevels() leaves it out" else "numbers must be 1, 2, 3, ... without a hole")
  }
  if (is.factor(y) && !is.ordered(y)) {
    tell("kernweave: the levels are taken in this order: ", paste(utils::head(known, 10), collapse = " < "),
         if (length(known) > 10) " < ...")
  }
  known
}

# Codes responses by the levels of a fit.
level_numbers <- function(y, levels) {
  if (is.matrix(y) && ncol(y) == 1) y <- as.vector(y)
  if (is.numeric(y)) return(y)
  new <- setdiff(as.character(y), c(levels, NA))
  if (length(new)) {
    abort("data", "the response has the new level `", new[1], "`", near_hint(new[1], levels, there_are(levels)))
  }
  match(as.character(y), levels)
}

# --- predictions ----------------------------------------------------------------------------------------------

# Returns probabilities of levels, averaged over the distribution of the linear predictor, a column for each level, or
# the most probable level. `link`: the linear predictor with its standard errors.
level_prediction <- function(object, link, type) {
  family <- object$data$family
  eta <- predictor_grid(link$fit, link$se.fit^2)
  below <- vapply(seq_along(family$levels), function(q) likelihood_below(family, q, eta), numeric(nrow(eta)))
  below <- matrix(below, nrow(eta))
  prob <- structure(below - cbind(0, below[, -ncol(below), drop = FALSE]),
                    dimnames = list(names(link$fit), family$levels))
  if (type == "prob") return(prob)
  best <- rep(NA, nrow(prob))
  known <- stats::complete.cases(prob)
  best[known] <- max.col(prob[known, , drop = FALSE], "first")
  stats::setNames(level_factor(best, family$levels), rownames(prob))
}

level_factor <- function(numbers, levels) factor(levels[numbers], levels, ordered = TRUE)

# Returns the probabilities of two classes, where `p` is the probability of the second, or the likelier class.
class_prediction <- function(object, p, type) {
  levels <- levels(response_classes(object))
  if (type == "prob") return(structure(cbind(1 - p, p), dimnames = list(names(p), levels)))
  stats::setNames(factor(levels[1 + (p > 0.5)], levels), names(p))
}

check_of_levels <- function(object, type, se.fit, interval) {
  if (is.null(object$data$family$levels) && is.null(response_classes(object))) {
    abort("unsupported", "type = \"", type, "\" is for family = \"ordinal\", and for family = binomial where the ",
          "formula has a response of two classes; type = \"response\" has expected responses of all families")
  }
  if (se.fit || interval != "none") {
    abort("unsupported", "type = \"", type, "\" has no standard errors: probabilities are averaged over the errors of ",
          "the linear predictor, which type = \"link\" has")
  }
}
