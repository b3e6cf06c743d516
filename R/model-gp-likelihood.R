# Likelihoods of Gaussian processes: value, score and average information, from a factor or from products alone.
#
# A model has the points `x`, their `term`, the response `y`, weights `w`, the trend `Q` with orthonormal columns and
# `log_R`, the logarithm of the determinant of what was divided out of it; a kernel of variance 1, `method`, `control`,
# and `layout`, a data frame of what is estimated: `label`, `part` ("variance", "kernel", "nugget"), `name` and `index`
# of the parameter, and its `link`, "log" of what is positive, else "identity". Values are list(variance, kernel,
# nugget); theta are parameters in their links.

gp_layout <- function(values, free, term_labels) {
  rows <- lapply(intersect(names(values$kernel), free), function(name) {
    n <- length(values$kernel[[name]])
    more <- if (name == "scale" && is_turning(values)) ".mean" else if (n == 1) ""
            else if (name == "scale" && n == length(term_labels)) paste0(".", term_labels)
            else paste0(".", names(values$kernel[[name]]) %or% seq_len(n))
    data.frame(label = paste0(name, more), part = "kernel", name = name, index = seq_len(n),
               link = if (name == "turn") "identity" else "log")
  })
  one <- function(part) if (part %in% free) {
    data.frame(label = part, part = part, name = part, index = 1, link = "log")
  }
  out <- do.call(rbind, c(list(one("variance")), rows, list(one("nugget"))))
  out %or% data.frame(label = character(), part = character(), name = character(), index = integer(),
                    link = character())
}

in_link <- function(x, layout) replace(x, layout$link == "log", log(x[layout$link == "log"]))
out_of_link <- function(theta, layout) replace(theta, layout$link == "log", exp(theta[layout$link == "log"]))

gp_theta <- function(values, layout) in_link(gp_estimates(values, layout), layout)

gp_estimates <- function(values, layout) {
  found <- vapply(seq_len(nrow(layout)), function(k) {
    part <- values[[layout$part[k]]]
    if (layout$part[k] == "kernel") part[[layout$name[k]]][layout$index[k]] else part
  }, 0)
  stats::setNames(found, layout$label)
}

gp_values <- function(values, layout, theta) {
  estimates <- out_of_link(theta, layout)
  for (k in seq_len(nrow(layout))) {
    number <- estimates[[k]]
    if (layout$part[k] == "kernel") values$kernel[[layout$name[k]]][layout$index[k]] <- number
    else values[[layout$part[k]]] <- number
  }
  values
}

# --- kernels with numbers -----------------------------------------------------------------------------------

# A scale for each term is one for each of its columns.
column_of_parameter <- function(model, name, n) {
  each <- name == "scale" && kernel_parts(model$kernel)$ard && !is.null(model$term) && n == max(model$term)
  if (each) model$term else seq_len(n)
}

# `root`: of weights by which the matrix is multiplied on both sides.
gp_pairs <- function(model, numbers) {
  K <- do.call(model$kernel, c(list(Vi(model$x), Vj(model$x)), numbers))
  if (is.null(model$root)) K else Vi(model$root) * K * Vj(model$root)
}

gp_numbers <- function(model, values) {
  numbers <- values$kernel
  if (is_turning(values)) {
    axes <- axes_of_turn(numbers$scale, numbers$turn)$value
    return(c(list(axes = axes), numbers[setdiff(names(numbers), c("scale", "turn"))]))
  }
  for (name in names(numbers)) {
    numbers[[name]] <- numbers[[name]][column_of_parameter(model, name, length(numbers[[name]]))]
  }
  numbers
}

# Makes operands p1, p2, ... of the numbers, so that formulas are the same for all numbers.
named_parameters <- function(numbers) {
  Map(function(number, k) Pm(number, name = paste0("p", k)), numbers, seq_along(numbers))
}

# The derivatives of A by the kernel's free parameters in their links: of each row of the layout that is one, a lazy
# tensor in `of`, which the number in `by` multiplies.
gp_slopes <- function(model, values) {
  layout <- model$layout
  mine <- layout$part == "kernel"
  free <- unique(layout$name[mine])
  if (!length(free)) return(list(of = list(), by = numeric()))
  numbers <- gp_numbers(model, values)
  turning <- if (is_turning(values)) c("scale", "turn")
  operands <- named_parameters(numbers[c(setdiff(free, turning), if (length(turning)) "axes")])
  # A smoothness is an operand of its own slope alone, since a kernel with one to be differentiated reads two tables.
  rough <- names(operands)[of_smoothness(names(operands), model$kernel)]
  others <- setdiff(names(operands), rough)
  with_operands <- function(names) gp_pairs(model, replace(numbers, names, operands[names]))
  K <- with_operands(others)
  by_axes <- if (length(turning)) lazy_gradient(K, operands$axes)
  of <- lapply(free, function(name) {
    index <- layout$index[mine & layout$name == name]
    if (name %in% turning) {
      moves <- axes_of_turn(values$kernel$scale, values$kernel$turn)$slopes[[name]][index]
      return(lapply(moves, function(by) sum(by_axes * Pm(by, name = "by"))))
    }
    slope <- lazy_gradient(if (name %in% rough) with_operands(name) else K, operands[[name]])
    columns <- column_of_parameter(model, name, length(values$kernel[[name]]))
    lapply(index, function(k) Reduce(`+`, lapply(which(columns == k), function(c) slope[, , c])))
  })
  of_logs <- ifelse(layout$name[mine] %in% turning, 1, gp_estimates(values, layout)[mine])
  list(of = do.call(c, of), by = values$variance * of_logs)
}

# --- the likelihood -----------------------------------------------------------------------------------------

# Generalised least squares, and what the likelihood is made of: b the coefficients of Q, alpha = P y, U with
# P = A^-1 - U U', `form` = y' P y, C the root of Q' A^-1 Q. Solutions by products are improved until coefficients are
# known to a thousandth of their standard errors, and the likelihood as well.
gp_weights <- function(model, system, start = NULL) {
  sides <- cbind(model$y, model$Q)
  tol <- model$control$tol
  repeat {
    solved <- solve(system, sides, tol = tol, start = start)
    found <- generalised_squares(solved_forms(system, sides, solved))
    if (is.null(found)) return(NULL)
    tol <- tol / 10
    if (!isTRUE(found$inaccuracy > 1e-3) || tol < 1e-11 || isFALSE(attr(solved, "converged"))) break
    start <- solved
  }
  of_trend <- solved[, -1, drop = FALSE]
  c(found, list(alpha = solved[, 1] - as.vector(of_trend %*% found$b), U = of_trend %*% inverse_root(found$C),
                solved = matrix(solved, nrow(sides)), logdet_trend = 2 * sum(log(diag(found$C))) + 2 * model$log_R,
                residual = attr(solved, "residual") %or% 0, tol = 10 * tol,
                converged = attr(solved, "converged") %or% TRUE))
}

inverse_root <- function(C) if (length(C)) backsolve(C, diag(nrow(C))) else C

# Solves generalised least squares by the forms G = S' A^-1 S of the response and the regressors, which are off by no
# more than outer(off, off). `inaccuracy` bounds the errors of b, in its standard errors, and of the likelihood. NULL if
# G is not definite.
generalised_squares <- function(forms) {
  G <- forms$value
  of_trend <- G[-1, -1, drop = FALSE]
  C <- if (length(of_trend)) tryCatch(chol.default(of_trend), error = function(e) NULL) else of_trend
  if (is.null(C)) return(NULL)
  root <- t(inverse_root(C))
  along <- root %*% G[-1, 1]
  b <- crossprod(root, along)
  by_errors <- sqrt(sum((abs(root) %*% forms$off[-1])^2))
  in_all <- sum(forms$off * c(1, abs(b)))
  list(b = b, C = C, form = G[1, 1] - sum(along^2), inaccuracy = max(by_errors * (in_all + by_errors), in_all^2 / 2))
}

is_reml <- function(model) model$method == "REML"
gp_rows <- function(model) length(model$y) - is_reml(model) * ncol(model$Q)

gp_log_likelihood <- function(model, logdet, weights) {
  if (!is.null(model$family)) return(laplace_likelihood(model, logdet, weights))
  more <- if (is_reml(model)) weights$logdet_trend else 0
  -(gp_rows(model) * log(2 * pi) + as.numeric(logdet) + more + weights$form) / 2
}

# Value, score and average information at theta; -Inf where the matrix is not definite. Solutions begin at
# those of a state that is near.
gp_state <- function(model, theta, near = NULL) {
  if (!is.null(model$family)) return(laplace_state(model, theta, near))
  values <- gp_values(model$values, model$layout, theta)
  none <- list(theta = theta, values = values, value = -Inf)
  found <- tryCatch({
    system <- unless_indefinite_gp(gp_system(model, values, near))
    weights <- if (!is.null(system)) unless_indefinite_gp(gp_weights(model, system, near$weights$solved))
    slopes <- if (!is.null(weights)) unless_indefinite_gp(system_slopes(system))
  }, kernweave_error_tolerance = identity)
  if (inherits(found, "condition")) return(c(none, list(why = found)))
  if (is.null(slopes)) return(none)
  c(list(theta = theta, values = values), gp_value(model, system, weights, slopes$logdet),
    list(weights = weights, preconditioner = system$preconditioner, control = system$products$control),
    gp_score(model, values, system, weights, slopes))
}

# The logarithm of the likelihood with its standard error: of probes, and of what is known of the form.
gp_value <- function(model, system, weights, logdet = system_logdet(system)) {
  by <- error_of_form(system, weights$alpha)
  list(value = gp_log_likelihood(model, logdet, weights) + by[["sum"]] / 2,
       se = sqrt((attr(logdet, "se") %or% 0)^2 + by[["se"]]^2) / 2)
}

unless_indefinite_gp <- function(value) {
  tryCatch(value, kernweave_error_indefinite = function(e) NULL, kernweave_error_value = function(e) NULL)
}

# Forms of solutions that begin at nought are off by squares of residuals: at 50 000 points standard errors were known
# to 2e-3 with 0.01, to 1e-4 with 0.003.
tol_of_information <- 5e-3

# Products of the derivatives with alpha and U give the forms of the score, and with one more system the information:
# those of the variance are A less the noise, of which A alpha and A U are known.
gp_score <- function(model, values, system, weights, slopes) {
  layout <- model$layout
  n <- length(model$y)
  u <- cbind(weights$alpha, weights$U)
  p <- ncol(model$Q)
  of_noise <- system$noise * u
  A_u <- cbind(model$y - model$Q %*% weights$b, if (p) model$Q %*% backsolve(weights$C, diag(p)))
  of_kernel <- slopes$applied(u)
  products <- lapply(seq_len(nrow(layout)), function(k) {
    switch(layout$part[k], variance = A_u - of_noise, nugget = of_noise,
           of_kernel[[sum(layout$part[seq_len(k)] == "kernel")]])
  })
  of <- 1 + cumsum(layout$part == "kernel")
  of <- ifelse(layout$part == "variance", 1, ifelse(layout$part == "nugget", length(slopes$traces), of))
  noise <- stats::cov(slopes$each[, of, drop = FALSE]) / (4 * nrow(slopes$each))
  forms <- vapply(products, function(B) colSums(u * B), numeric(1 + p))
  forms <- matrix(forms, 1 + p)
  beside <- if (is_reml(model)) colSums(forms[-1, , drop = FALSE]) else 0
  W <- matrix(vapply(products, function(B) B[, 1], numeric(n)), n)
  solved <- solve(system, W, tol = max(model$control$tol, tol_of_information))
  information <- (crossprod(W, solved) - crossprod(crossprod(weights$U, W))) / 2
  dimnames(information) <- list(layout$label, layout$label)
  list(score = stats::setNames((forms[1, ] - slopes$traces[of] + beside) / 2, layout$label),
       information = (information + t(information)) / 2, score_noise = noise, along = W, solved = solved)
}
