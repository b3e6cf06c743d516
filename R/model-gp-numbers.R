# Kernels of Gaussian processes with their parameters: pairs, and derivatives with respect to estimated parameters.

# Repeats a scale for each column of its term.
column_of_parameter <- function(model, name, n) {
  each <- name == "scale" && kernel_parts(model$kernel)$ard && !is.null(model$term) && n == max(model$term)
  if (each) model$term else seq_len(n)
}

has_nu <- function(kernel) any(vapply(leaf_parts(kernel), function(part) identical(part$name, "matern"), NA))

# Tells which parameters of a kernel are a smoothness.
of_smoothness <- function(names, kernel) is_one_of(names, "(^|[.])nu") & has_nu(kernel)

# The kernel matrix, with R K R if the model has R, `root`.
gp_pairs <- function(model, numbers) {
  K <- do.call(model$kernel, c(list(Vi(model$x), Vj(model$x)), numbers[names(numbers) != "responses"]))
  K <- over_responses(K, numbers$responses, model$z)
  if (is.null(model$root)) K else Vi(model$root) * K * Vj(model$root)
}

# Returns the parameters of the kernel and, with several responses, their covariance matrix.
gp_numbers <- function(model, values) {
  numbers <- values$kernel
  if (!is.null(values$responses)) numbers$responses <- response_covariance(values$responses)$value
  if (is_turning(values)) {
    axes <- axes_of_turn(numbers$scale, numbers$turn)$value
    return(c(list(axes = axes), numbers[setdiff(names(numbers), c("scale", "turn"))]))
  }
  for (name in names(values$kernel)) {
    numbers[[name]] <- numbers[[name]][column_of_parameter(model, name, length(numbers[[name]]))]
  }
  numbers
}

# Makes the parameters operands p1, p2, ..., so that a formula does not depend on their values.
named_parameters <- function(numbers) {
  own <- which(names(numbers) != "responses")
  replace(numbers, own, Map(function(number, k) Pm(number, name = paste0("p", k)), numbers[own], own))
}

# The derivatives of A with respect to the kernel's free parameters on the scale of their links: for each of their rows
# in the layout a lazy tensor in `of`, times a number in `by`. Derivatives by covariances of responses come first.
gp_slopes <- function(model, values) {
  numbers <- gp_numbers(model, values)
  B <- numbers$responses
  numbers$responses <- NULL
  found <- kernel_slopes(model, values, numbers)
  if (is.null(B)) return(found)
  K <- gp_pairs(model, named_parameters(numbers))
  of <- if (any(model$layout$part == "responses")) response_covariance(values$responses)$slopes
  of_responses <- lapply(of, function(slope) over_responses(K, slope, model$z))
  list(of = c(of_responses, lapply(found$of, over_responses, B, model$z)), by = c(rep(1, length(of)), found$by))
}

kernel_slopes <- function(model, values, numbers) {
  layout <- model$layout
  mine <- layout$part == "kernel"
  free <- unique(layout$name[mine])
  if (!length(free)) return(list(of = list(), by = numeric()))
  turning <- if (is_turning(values)) c("scale", "turn")
  operands <- named_parameters(numbers[c(setdiff(free, turning), if (length(turning)) "axes")])
  # A smoothness is an operand in its own derivative alone: a kernel with a differentiable smoothness reads two tables.
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
  at <- gp_estimates(values, layout)[mine]
  plain <- layout$name[mine] %in% turning | layout$link[mine] == "identity"
  of_logs <- ifelse(plain, 1, ifelse(layout$link[mine] == "logit", at * (1 - at), at))
  list(of = do.call(c, of), by = values$variance * of_logs)
}

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
    labels <- paste(c(part, names(values[[part]])), collapse = ".")
    if (length(values[[part]]) > 1) labels <- paste0(part, ".", names(values[[part]]))
    data.frame(label = labels, part = part, name = part, index = seq_along(labels), link = "log")
  }
  groups <- if ("groups" %in% free) group_layout(values$groups)
  first <- if (is.null(values$responses)) one("variance")
           else if ("variance" %in% free) group_layout(values$responses, "responses")
  out <- do.call(rbind, c(list(first), rows, list(groups, one("nugget"))))
  out %or% data.frame(label = character(), part = character(), name = character(), index = integer(),
                    link = character())
}

# Adds rows for the estimated parameters of a family.
with_phi <- function(layout, family, open = which(!family$given)) {
  if (!length(open)) return(layout)
  name <- family$phi[open]
  rbind(layout, data.frame(label = name, part = "phi", name = name, index = open,
                           link = unname(family$links[open]) %or% "log"))
}

in_link <- function(x, layout) by_link(x, layout$link, list(log = log, logit = stats::qlogis, atanh = atanh))
out_of_link <- function(theta, layout) by_link(theta, layout$link, list(log = exp, logit = stats::plogis, atanh = tanh))

by_link <- function(x, link, of) {
  for (name in names(of)) {
    mine <- which(rep_len(link, length(x)) == name)
    x[mine] <- of[[name]](x[mine])
  }
  x
}

# Derivatives d parameter / d link, as functions of the parameter.
link_slopes <- list(log = identity, identity = function(x) rep(1, length(x)), logit = function(x) x * (1 - x),
                    atanh = function(x) 1 - x^2)

gp_theta <- function(values, layout) in_link(gp_estimates(values, layout), layout)

gp_estimates <- function(values, layout) {
  found <- vapply(seq_len(nrow(layout)), function(k) {
    part <- values[[layout$part[k]]]
    if (layout$part[k] == "kernel") part[[layout$name[k]]][layout$index[k]] else part[[layout$index[k]]]
  }, 0)
  stats::setNames(found, layout$label)
}

# Returns all covariance parameters of a fit, given ones included.
covariance_parameters <- function(fit) {
  family <- family_of(fit$data)
  values <- fit$data$values
  values$kernel <- told_kernel(values$kernel)
  kernel <- if (values$variance > 0) names(values$kernel)
  nugget <- if (asked_of(fit$data)$nugget) "nugget"
  layout <- gp_layout(values, c("variance", kernel, "groups", nugget), term_labels(fit))
  layout <- with_phi(layout, family, seq_along(family$phi))
  gp_estimates(values, layout) * user_units(fit$data, layout)
}

# Returns the links of the estimated parameters, under the names that users see.
told_links <- function(fit) {
  labels <- told_labels(fit$data$layout$label)
  link <- ifelse(is_angle(labels, kernel_parts(fit$kernel)), "identity",
                 ifelse(fit$data$layout$name == "turn", "log", fit$data$layout$link))
  data.frame(label = labels, link = link)
}

gp_values <- function(values, layout, theta) {
  estimates <- out_of_link(theta, layout)
  for (k in seq_len(nrow(layout))) {
    number <- estimates[[k]]
    if (layout$part[k] == "kernel") values$kernel[[layout$name[k]]][layout$index[k]] <- number
    else values[[layout$part[k]]][[layout$index[k]]] <- number
  }
  values
}
