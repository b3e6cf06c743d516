# Grouped effects in trends, `(1 | site)` as in lme4: terms of a formula, and their columns at places.
#
# A term has `factor`, the text of its grouping factor, an `expression` of the factor, the `levels`, the `terms` of the
# regressors and their `columns`. Its effects are normal with mean 0, and independent between levels. At a place the
# term has a code, the number of the level, and values of the regressors: columns `code` and `at` of the matrix z. Codes
# above the number of levels are levels that the data do not have.

# --- formulas -----------------------------------------------------------------------------------------------------

is_bar <- function(e) is.call(e) && as.character(e[[1]])[1] %in% c("|", "||")

without_brackets <- function(e) {
  while (is.call(e) && identical(e[[1]], quote(`(`))) e <- e[[2]]
  e
}

# Splits the right side of a formula: `fixed`, or NULL if nothing is left, and the `bars`.
split_bars <- function(e) {
  inner <- without_brackets(e)
  if (is_bar(inner)) return(list(bars = list(inner)))
  sum <- is.call(e) && as.character(e[[1]])[1] %in% c("+", "-")
  if (!sum) return(list(fixed = e))
  parts <- lapply(as.list(e)[-1], split_bars)
  if (identical(e[[1]], quote(`-`)) && length(parts[[length(parts)]]$bars)) {
    abort("input", "`", deparse1(e), "`: a grouped effect is added with `+`; leave it out of the formula instead")
  }
  kept <- lapply(parts, `[[`, "fixed")
  there <- !vapply(kept, is.null, NA)
  fixed <- if (all(there)) e else if (any(there) && identical(e[[1]], quote(`+`))) kept[[which(there)]]
           else if (length(kept) == 2 && there[2]) call("-", kept[[2]])
  if (all(there)) fixed[-1] <- kept
  list(fixed = fixed, bars = unlist(lapply(parts, `[[`, "bars"), recursive = FALSE))
}

# Refuses grouped effects among the inputs of a kernel.
refuse_bars <- function(formula) {
  bars <- tryCatch(split_bars(formula[[length(formula)]])$bars, error = function(e) NULL)
  if (!length(bars)) return(invisible())
  abort("input", "grouped effects belong in the trend: `trend = ~ (", deparse1(bars[[1]]), ")`; the formula names the ",
        "inputs of the kernel")
}

# Returns a trend without bars, the terms of the bars, and a formula of all variables.
parted_trend <- function(trend) {
  parts <- split_bars(trend[[2]])
  fixed <- trend
  fixed[[2]] <- parts$fixed %or% 1
  for (one in as.list(attr(stats::terms(fixed, allowDotAsName = TRUE), "variables"))[-1]) {
    if (is_bar(without_brackets(one))) {
      abort("input", "`", deparse1(trend), "`: grouped effects are terms of a sum, as in ~ x + (1 | site), in brackets")
    }
  }
  groups <- unlist(lapply(parts$bars, terms_of_bar, environment(trend)), recursive = FALSE)
  variables <- lapply(groups, function(term) c(term$terms[[2]], crossed_factors(term$expression)))
  all <- fixed
  for (variable in unlist(variables)) all[[2]] <- call("+", all[[2]], variable)
  list(fixed = fixed, groups = groups, all = all)
}

# Expands a bar: `a/b` is a and b:a, as in lme4, and `||` gives each regressor a term of its own.
terms_of_bar <- function(bar, environment) {
  regressors <- stats::as.formula(call("~", bar[[2]]), environment)
  each <- if (identical(bar[[1]], quote(`||`))) uncorrelated(regressors) else list(regressors)
  of <- lapply(nested_factors(bar[[3]]), function(factor) {
    lapply(each, function(one) list(factor = deparse1(factor), expression = factor, terms = one))
  })
  unlist(of, recursive = FALSE)
}

uncorrelated <- function(formula) {
  terms <- stats::terms(formula)
  one <- function(right) stats::as.formula(paste("~", right), environment(formula))
  c(if (attr(terms, "intercept")) list(one("1")), lapply(attr(terms, "term.labels"), function(t) one(paste("0 +", t))))
}

nested_factors <- function(e) {
  e <- without_brackets(e)
  if (!is.call(e) || !identical(e[[1]], quote(`/`))) return(list(e))
  outer <- nested_factors(e[[2]])
  c(outer, list(call(":", without_brackets(e[[3]]), outer[[length(outer)]])))
}

# The variables of a factor, a or b:a.
crossed_factors <- function(e) {
  e <- without_brackets(e)
  if (is.call(e) && identical(e[[1]], quote(`:`))) return(c(crossed_factors(e[[2]]), crossed_factors(e[[3]])))
  known <- is.name(e) || is.call(e) && !as.character(e[[1]])[1] %in% c("+", "-", "*", "^", "|", "||", "%in%")
  if (!known) {
    abort("input", "`", deparse1(e), "` behind `|` is no factor: write a variable, `a:b` or `a/b`, as in (1 | site)")
  }
  e
}

# --- columns ------------------------------------------------------------------------------------------------------

# Adds the parts of terms that depend on the data: levels, columns, contrasts.
grouped_terms <- function(groups, frame) {
  at <- 0
  lapply(groups, function(term) {
    term$levels <- levels(group_factor(term, frame))
    found <- regressors_of(term, frame)
    terms <- attr(found$frame, "terms")
    term[c("terms", "columns", "contrasts", "xlevels")] <-
      list(terms, colnames(found$values), attr(found$values, "contrasts"), stats::.getXlevels(terms, found$frame))
    term$code <- at + 1
    term$at <- at + 1 + seq_along(term$columns)
    at <<- at + 1 + length(term$columns)
    check_levels(term)
  })
}

check_levels <- function(term) {
  if (!length(term$columns)) abort("input", "the grouped effect of `", term$factor, "` has no regressor: write (1 | ",
                                   term$factor, ")")
  if (length(term$levels) > 1) return(term)
  abort("data", "`", term$factor, "` has ", counted(length(term$levels), "level"), ": (", deparse1(term$terms[[2]]),
        " | ", term$factor, ") needs two or more")
}

# Returns a term's factor for the rows of a frame, whose columns are named by the text of variables.
group_factor <- function(term, frame) {
  parts <- lapply(crossed_factors(term$expression), function(e) frame[[deparse1(e)]])
  matrices <- vapply(parts, function(v) length(dim(v)) > 1, NA)
  if (any(matrices)) abort("input", "`", term$factor, "` behind `|` is a matrix, not a factor")
  if (length(parts) == 1) return(droplevels(as.factor(parts[[1]])))
  interaction(lapply(parts, as.factor), sep = ":", drop = TRUE, lex.order = TRUE)
}

# Returns the regressors of a term. The frame contains only the term's own variables, since model.matrix() would make
# contrasts of the others, which may have many levels.
regressors_of <- function(term, frame) {
  terms <- stats::terms(term$terms, data = frame)
  own <- frame[vapply(as.list(attr(terms, "variables"))[-1], deparse1, "")]
  for (name in names(term$xlevels)) own[[name]] <- factor(own[[name]], term$xlevels[[name]])
  attr(own, "terms") <- terms
  list(values = stats::model.matrix(terms, own, contrasts.arg = term$contrasts), frame = own)
}

# Refuses groups that have as many effects as there are rows, and equal groups.
check_grouped <- function(model) {
  n <- length(model$y)
  texts <- vapply(model$groups, group_text, "")
  if (anyDuplicated(texts)) abort("input", "the trend has the grouped effect ", texts[anyDuplicated(texts)], " twice")
  for (term in model$groups) {
    q <- length(unique(model$z[, term$code]))
    if (!is.null(model$family) || q * length(term$columns) < n) next
    abort("data", group_text(term), " has ", counted(q * length(term$columns), "effect"), " for ", counted(n, "row"),
          ": the nugget is an effect of each row already; leave the group out, or take a coarser one")
  }
}

# Returns the matrix z of all terms for the rows of a frame. `all`: new levels are accepted. Terms that are not in
# `kept` have no effect: their regressors are 0.
group_places <- function(groups, frame, all = FALSE, kept = rep(TRUE, length(groups))) {
  columns <- Map(function(term, kept) {
    if (!kept) return(no_group_places(list(term), nrow(frame)))
    found <- group_factor(term, frame)
    known <- match(levels(found), term$levels)
    new <- is.na(known)
    if (any(new) && !all) {
      abort("data", "`", term$factor, "` has ", counted(sum(new), "new level"), ", `", levels(found)[new][1], "`",
            if (sum(new) > 1) " and more", ": with allow.new.levels = TRUE the mean of a new level's effect is 0")
    }
    known[new] <- length(term$levels) + seq_len(sum(new))
    code <- known[as.integer(found)]
    missing <- which(is.na(code))
    if (all) code[missing] <- length(term$levels) + sum(new) + seq_along(missing)
    cbind(code, unname(regressors_of(term, frame)$values))
  }, groups, kept)
  do.call(cbind, columns)
}

# Returns columns of z in which no term has an effect.
no_group_places <- function(groups, n) {
  row <- unlist(lapply(groups, function(term) c(1, 0 * term$at)))
  matrix(row, n, length(row), byrow = TRUE)
}

# Tells which terms `re.form` keeps: NULL for all, NA or ~ 0 for none, or a formula of some of the fit's bars.
kept_groups <- function(groups, re.form) {
  if (is.null(re.form)) return(rep(TRUE, length(groups)))
  if (identical(as.vector(re.form), NA)) return(rep(FALSE, length(groups)))
  if (!inherits(re.form, "formula") || length(re.form) != 2) {
    abort("input", "`re.form` must be NULL, NA or a formula such as ~ (1 | site), not ", describe(re.form))
  }
  asked <- parted_trend(re.form)
  if (!identical(asked$fixed[[2]], 1) && !identical(asked$fixed[[2]], 0)) {
    abort("input", "`re.form` has grouped effects alone, and `", deparse1(asked$fixed[[2]]), "` is none")
  }
  key <- function(term) paste(attr(stats::terms(term$terms), "intercept"), term$factor,
                              toString(sort(attr(stats::terms(term$terms), "term.labels"))))
  known <- vapply(groups, key, "")
  wanted <- vapply(asked$groups, key, "")
  absent <- which(!wanted %in% known)
  if (length(absent)) {
    abort("input", "`re.form`: the fit has no grouped effect (", deparse1(asked$groups[[absent[1]]]$terms[[2]]), " | ",
          asked$groups[[absent[1]]]$factor, ")", there_are(vapply(groups, group_text, "")))
  }
  known %in% wanted
}

group_text <- function(term) {
  columns <- ifelse(term$columns == "(Intercept)", "1", term$columns)
  paste0("(", paste(c(if (columns[1] != "1") "0", columns), collapse = " + "), " | ", term$factor, ")")
}

# "groups: site (60 levels), year (5 levels)"
groups_text <- function(groups) {
  if (!length(groups)) return(NULL)
  factors <- vapply(groups, `[[`, "", "factor")
  first <- !duplicated(factors)
  levels <- vapply(groups[first], function(term) count_text(length(term$levels), "level"), "")
  text <- paste0("groups: ", paste0(factors[first], " (", levels, ")", collapse = ", "), "; effects by nlme::ranef()")
  paste0(paste(strwrap(text, 80, indent = 2, exdent = 4), collapse = "\n"), "\n")
}
