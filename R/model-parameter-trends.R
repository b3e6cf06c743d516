# Parameters of families with a trend of their own, as in gp_family("normal", sigma = ~ depth).
#
# A family with trends has `formulas`, by parameter, and `natural`: links, bounds and starting values of all parameters.
# with_regressors() adds a matrix of regressors `M` for each formula: the parameter of a row is the inverse link of M
# times its coefficients. After that `phi`, `links`, `lower`, `upper` and `given` refer to coefficients; `of` is the
# parameter of each coefficient, `held` has given values, `begin` times the start of the parameter is the start of the
# coefficient, and `units` are steps that move the parameter by about 1 on the scale of its link. `value` has a number
# for each row, or one number for a parameter without a formula.

# Checks the arguments for parameters, by name: numbers, and formulas.
given_parameters <- function(given) {
  for (name in names(given) %or% rep("", length(given))) {
    if (!nzchar(name)) abort("input", "numbers of parameters are given by name: gp_family(\"student\", df = 4)",
                              "; starting values as parameters = c(sigma = 1)")
    number <- given[[name]]
    if (sum(names(given) == name) > 1) {
      abort("input", "the parameter `", name, "` is given twice: a number is fixed, a formula is a trend of its own")
    }
    if (inherits(number, "formula")) check_parameter_formula(number, name)
    else if (!is.numeric(number) || length(number) != 1 || !is.finite(number)) {
      abort("input", "the parameter `", name, "` must be a number or a formula, not ", format_value(number))
    }
  }
  given
}

check_parameter_formula <- function(formula, name) {
  if (length(formula) != 2) {
    abort("input", "the formula of the parameter `", name, "` has one side, as in ~ ", deparse1(formula[[3]]),
          ", not `", deparse1(formula), "`")
  }
  refuse_other_terms(formula, "a formula of gp_family()")
  if (length(split_bars(formula[[2]])$bars)) {
    abort("unsupported", "the formula of the parameter `", name, "` has a grouped effect, which is not built: ",
          "`trend` of gp_fit() may have one, and a factor is a term of any formula")
  }
  if (!is.null(attr(stats::terms(formula, allowDotAsName = TRUE), "offset"))) {
    abort("unsupported", "the formula of the parameter `", name, "` has an offset, which is not built")
  }
}

# Adds regressors of parameters to a family, and replaces parameters by coefficients.
with_regressors <- function(family, M) {
  if (!length(family$formulas)) return(family)
  family$M <- M
  each <- lapply(names(family$natural$value), function(name) {
    own <- family$natural$rows[name, ]
    regressors <- M[[name]]
    if (is.null(regressors)) return(data.frame(of = name, phi = name, own))
    orthonormal_trend(regressors, numeric(nrow(regressors)), paste0("the formula of `", name, "`"))
    data.frame(of = name, phi = paste0(name, ".", colnames(regressors)), links = "identity", lower = -Inf, upper = Inf,
               given = FALSE, begin = unname(stats::lm.fit(regressors, rep(1, nrow(regressors)))$coefficients),
               units = steps_of(regressors))
  })
  table <- do.call(rbind, each)
  held <- family$held %or% ifelse(table$given, family$natural$value[table$of], NA)
  table$given <- table$given | !is.null(family$held)
  replace(family, c(names(table), "held"), c(as.list(table), list(stats::setNames(held, table$phi))))
}

# Returns steps of coefficients that move a parameter by 1 on the scale of its link: 1 / sd(regressor) for a slope; for
# an intercept more, the further the regressors' means are from 0.
steps_of <- function(M) {
  sd <- apply(M, 2, stats::sd)
  away <- sum(abs(colMeans(M)[sd > 0]) / sd[sd > 0])
  ifelse(sd > 0, 1 / sd, (1 + away) / pmax(abs(M[1, ]), 1e-300))
}

# Returns a family with its parameters in each row, given the estimates.
with_parameters <- function(family, phi) {
  if (is.null(phi)) return(family)
  rows <- family$natural$rows
  family$value <- if (!length(family$formulas)) phi else lapply(stats::setNames(nm = rownames(rows)), function(name) {
    own <- unname(phi[family$of == name])
    M <- family$M[[name]]
    if (is.null(M)) return(own)
    pmin(pmax(unlink_parameter(as.vector(M %*% own), rows[name, "links"]), rows[name, "lower"]), rows[name, "upper"])
  })
  family
}

unlink_parameter <- function(theta, link) switch(link, log = exp(theta), logit = 1 / (1 + exp(-theta)), theta)

# Returns derivatives by coefficients, given derivatives by parameters on the scale of their links, in columns. A
# parameter at a bound is constant.
by_coefficients <- function(family, one) {
  if (!length(family$formulas)) return(one)
  rows <- family$natural$rows
  do.call(cbind, lapply(seq_len(ncol(one)), function(k) {
    M <- family$M[[rownames(rows)[k]]]
    at <- family$value[[k]]
    if (is.null(M)) one[, k] else one[, k] * (at > rows[k, "lower"] & at < rows[k, "upper"]) * M
  }))
}

# Returns a family at some rows.
family_of_rows <- function(family, rows) {
  if (is.null(family$M)) return(family)
  whole <- nrow(family$M[[1]])
  family$M <- lapply(family$M, function(M) M[rows, , drop = FALSE])
  if (is.list(family$value)) {
    family$value <- lapply(family$value, function(v) if (length(v) == whole && whole > 1) v[rows] else v)
  }
  family
}

# Returns the family of a fit at the rows of its data, or at other regressors `M`.
family_at <- function(object, M = object$regressors$phi) {
  family <- object$data$family
  if (length(M)) with_parameters(replace(family, "M", list(M)), object$data$values$phi) else family
}

# Returns the regressors of parameters at new places, or in the rows of the data, as for predict().
new_parameters <- function(object, newdata) {
  if (is.null(newdata)) {
    return(lapply(object$regressors$phi, function(M) {
      M[stats::napredict(object$na.action, seq_len(nrow(M))), , drop = FALSE]
    }))
  }
  lapply(object$trend$parameters, function(one) {
    if (length(attr(one$terms, "variables")) == 1) return(constant_trend(one, NROW(newdata))$F)
    newdata <- frame_of_trend(object, newdata)
    newdata <- variables_like(newdata, one$variables)
    check_kinds_of(one, newdata)
    made <- function() stats::model.frame(one$terms, newdata, na.action = stats::na.pass, xlev = one$xlevels)
    frame_columns(one$terms, found_variables(made(), newdata, "`newdata`"), one$contrasts)$F
  })
}

# Tells in which of n rows all parameters are known.
known_parameters <- function(family, n) {
  Reduce(`&`, lapply(family$value, function(v) rep_len(!is.na(v), n)), rep(TRUE, n))
}

# Recycles parameters for n linear predictors.
stretched <- function(k, n) {
  lapply(k, function(v) if (length(v) %in% c(1, n)) v else rep_len(v, n))
}
