# Densities, distribution functions and quantiles of traced values: a row for each distribution.

# The slopes of the logarithm of the density, or of the probability, in each argument.
density_slopes <- list(
  norm = alist(x = -(x - mean) / sd^2, mean = (x - mean) / sd^2, sd = ((x - mean)^2 / sd^2 - 1) / sd),
  lnorm = alist(x = -(1 + (log(x) - meanlog) / sdlog^2) / x, meanlog = (log(x) - meanlog) / sdlog^2,
                sdlog = ((log(x) - meanlog)^2 / sdlog^2 - 1) / sdlog),
  exp = alist(x = -rate, rate = 1 / rate - x),
  gamma = alist(x = (shape - 1) * inverse_or_zero(x) - 1 / scale, shape = log(x / scale) - digamma(shape),
                scale = (x / scale - shape) / scale),
  chisq = alist(x = (df / 2 - 1) * inverse_or_zero(x) - 1 / 2, df = (log(x / 2) - digamma(df / 2)) / 2),
  beta = alist(x = (shape1 - 1) * inverse_or_zero(x) - (shape2 - 1) * inverse_or_zero(1 - x),
               shape1 = log(x) - digamma(shape1) + digamma(shape1 + shape2),
               shape2 = log1p(-x) - digamma(shape2) + digamma(shape1 + shape2)),
  unif = alist(x = 0, min = 1 / (max - min), max = -1 / (max - min)),
  t = alist(x = -(df + 1) * x / (df + x^2),
            df = (digamma((df + 1) / 2) - digamma(df / 2) - log1p(x^2 / df) + (x^2 - 1) / (df + x^2)) / 2),
  logis = alist(x = -tanh((x - location) / (2 * scale)) / scale, location = tanh((x - location) / (2 * scale)) / scale,
                scale = ((x - location) / scale * tanh((x - location) / (2 * scale)) - 1) / scale),
  cauchy = alist(x = -2 * (x - location) / (scale^2 + (x - location)^2),
                 location = 2 * (x - location) / (scale^2 + (x - location)^2),
                 scale = 1 / scale - 2 * scale / (scale^2 + (x - location)^2)),
  weibull = alist(x = (shape - 1) * inverse_or_zero(x) - shape * (x / scale)^(shape - 1) / scale,
                  shape = 1 / shape + log_or_zero(x / scale) * (1 - (x / scale)^shape),
                  scale = shape / scale * ((x / scale)^shape - 1)),
  pois = alist(lambda = x * inverse_or_zero(lambda) - 1),
  binom = alist(prob = x * inverse_or_zero(prob) - (size - x) * inverse_or_zero(1 - prob)),
  geom = alist(prob = 1 / prob - x * inverse_or_zero(1 - prob)),
  nbinom = alist(size = digamma(x + size) - digamma(size) + log(prob), prob = size / prob - x / (1 - prob)),
  nbinom_mu = alist(size = digamma(x + size) - digamma(size) + log(size / (size + mu)) + (mu - x) / (size + mu),
                    mu = x * inverse_or_zero(mu) - (x + size) / (size + mu))
)

# The slopes of the distribution function in each parameter, divided by the density at q. With the opposite sign they
# are the slopes of the quantile q. Parameters without a closed form have no row. Counts are steps, flat in q.
distribution_slopes <- list(
  norm = alist(mean = -1, sd = -(q - mean) / sd),
  lnorm = alist(meanlog = -q, sdlog = -q * (log(q) - meanlog) / sdlog),
  exp = alist(rate = q / rate),
  gamma = alist(scale = -q / scale),
  chisq = alist(),
  beta = alist(),
  unif = alist(min = (q - max) / (max - min), max = -(q - min) / (max - min)),
  t = alist(),
  logis = alist(location = -1, scale = -(q - location) / scale),
  cauchy = alist(location = -1, scale = -(q - location) / scale),
  weibull = alist(shape = q * log_or_zero(q / scale) / shape, scale = -q / scale),
  pois = alist(lambda = -1),
  binom = alist(prob = -(size - q) / (1 - prob))
)
steps <- c("pois", "binom")

# --- functions from rows ----------------------------------------------------------------------------------------

# The parts of g that flow through a density, a distribution function and a quantile. Ratios of densities stay finite
# where densities vanish.
density_helpers <- list(
  through_density = function(g, r, log) if (log) g else g * r,
  through_tail = function(g, r, log_density, lower.tail, log.p) {
    (if (lower.tail) g else -g) * exp(if (log.p) log_density - r else log_density)
  },
  through_quantile = function(g, p, log_density, lower.tail, log.p) {
    (if (lower.tail) g else -g) * exp(if (log.p) p - log_density else -log_density)
  }
)

density_functions <- function() {
  made <- Map(function(name, slopes) {
    through <- lapply(slopes, function(slope) bquote(through_density(g, r, log) * (.(slope))))
    distribution_function(paste0("d", name), through)
  }, names(density_slopes), density_slopes)
  names(made) <- paste0("d", names(made))
  by_prob <- made$dnbinom
  by_mu <- made$dnbinom_mu
  made$dnbinom <- function(x, size, prob, mu, log = FALSE) {
    if (missing(mu)) by_prob(x, size, prob, log = log) else by_mu(x, size, mu, log)
  }
  made$dnbinom_mu <- NULL
  c(made, unlist(lapply(names(distribution_slopes), tail_functions), recursive = FALSE))
}

# Makes the distribution function, and the quantile unless the distribution is of counts.
tail_functions <- function(name) {
  slopes <- distribution_slopes[[name]]
  parameters <- as.list(as_arguments(parameters_of(stats_function(paste0("p", name)))))[-1]
  at <- if (name %in% steps) quote(floor(q)) else quote(q)
  log_density <- as.call(c(as.name(paste0("d", name)), at, parameters, log = TRUE))
  flow <- bquote(through_tail(g, r, .(log_density), lower.tail, log.p))
  through <- c(if (name %in% steps) alist(q = NULL) else list(q = flow),
               lapply(slopes, function(slope) bquote(.(flow) * .(with_q(slope, at)))))
  made <- list(distribution_function(paste0("p", name), through))
  names(made) <- paste0("p", name)
  if (name %in% steps) return(made)
  flow <- bquote(through_quantile(g, p, .(with_q(log_density, quote(r))), lower.tail, log.p))
  through <- c(list(p = flow), lapply(slopes, function(slope) bquote(-g * .(with_q(slope, quote(r))))))
  made[[paste0("q", name)]] <- distribution_function(paste0("q", name), through)
  made
}

with_q <- function(formula, q) eval(call("substitute", formula, list(q = q)))

# Makes a function of stats with its adjoints. `rate` sets the default of `scale`; noncentral densities have no row.
distribution_function <- function(name, through) {
  f <- stats_function(name)
  arguments <- c(names(formals(f))[1], parameters_of(f), intersect(names(formals(f)), c("log", "lower.tail", "log.p")))
  own <- as_arguments(arguments)
  adjoints <- lapply(through, adjoint_function, arguments)
  body <- bquote(trace_call(f, .(own), adjoints, .(name)))
  if ("ncp" %in% names(formals(f))) {
    body <- bquote(if (missing(ncp)) .(body) else trace_call(f, .(as_arguments(c(arguments, "ncp"))), list(), .(name)))
  }
  as.function(c(formals(f), body), envir = list2env(list(f = f, adjoints = adjoints), parent = topenv()))
}

parameters_of <- function(f) {
  names <- setdiff(names(formals(f))[-1], c("log", "lower.tail", "log.p", "ncp"))
  setdiff(names, c(if ("scale" %in% names) "rate", if ("prob" %in% names) "mu"))
}

# The negative binomial has two sets of parameters.
stats_function <- function(name) {
  if (name == "dnbinom_mu") function(x, size, mu, log = FALSE) stats::dnbinom(x, size, mu = mu, log = log)
  else get(name, asNamespace("stats"))
}
