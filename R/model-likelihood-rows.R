# Families that are defined by a log-density, by name.

# A row has the log-density `f`, starting values of its `parameters`, their links if not "log", their bounds, `label`,
# the link of the mean, and `wanted`, a test of the response with its text. `spread`: the parameter with the scale of
# the response. `concave`: the log-density is concave in eta. `slopes`, `of_phi`: derivatives in closed form. `read`: a
# function that converts the user's response to numbers or intervals.
of_counts_alone <- list(function(y) y >= 0 & y == round(y), "whole numbers, 0 or more")

# A row of zero-inflated counts: 0 with probability `zero`, otherwise a count with the log-density `density`.
zero_inflated <- function(density, parameters, draw, below, variance) {
  environment(density) <- environment()  # so that the tape traces the density; functions of this package are not traced
  list(
    f = function(y, eta, zero, ...) {
      counted <- density(y, eta, ...)
      ifelse(y == 0, log(zero + (1 - zero) * exp(counted)), log1p(-zero) + counted)
    },
    parameters = parameters, link = c(zero = "logit"), lower = c(zero = 1e-6), upper = c(zero = 1 - 1e-6),
    label = "log", whole = TRUE, wanted = of_counts_alone, start = function(y) log(y + mean(y) / 2),
    mean = function(eta, zero, ...) (1 - zero) * exp(eta),
    draw = function(n, eta, zero, ...) stats::rbinom(n, 1, 1 - zero) * draw(n, eta, ...),
    below = function(q, eta, zero, ...) (q >= 0) * zero + (1 - zero) * below(floor(q), eta, ...),
    variance = function(eta, zero, ...) (1 - zero) * (variance(eta, ...) + zero * exp(2 * eta))
  )
}

# A hurdle row: 0 with probability `zero`, otherwise a truncated count. The log-density of a 0 does not depend on eta;
# its curvature is set to the share `least` of the largest one, so that its variance is finite.
hurdle <- function(row) {
  density <- row$f
  environment(density) <- environment()  # as in zero_inflated()
  log_counts <- row$start
  closed <- !is.null(row$slopes)
  list(
    f = function(y, eta, zero, ...) {
      ifelse(y == 0, log(zero) + 0 * eta, log1p(-zero) + density(ifelse(y == 0, 1, y), eta, ...))
    },
    parameters = c(zero = 0.3, row$parameters), link = c(zero = "logit"), lower = c(zero = 1e-6),
    upper = c(zero = 1 - 1e-6), label = "log", whole = TRUE, concave = row$concave, least = 1e-7,
    wanted = of_counts_alone, start = function(y) {
      counted <- y > 0
      if (!any(counted)) abort("data", "all counts are 0, in rows 1 to ", length(y), ": there is nothing to estimate")
      replace(rep(mean(log_counts(y[counted])), length(y)), counted, log_counts(y[counted]))
    },
    slopes = if (closed) function(y, e, k, a) row$slopes(pmax(y, 1), e, k[-1], a * (y > 0)),
    of_phi = if (closed) function(y, e, k, a) {
      column <- function(v) matrix(v, length(e), 1, dimnames = list(NULL, "zero"))
      list(l = column(a * ((y == 0) - k[["zero"]])), g = column(0), W = column(0))
    },
    mean = function(eta, zero, ...) (1 - zero) * row$mean(eta, ...),
    draw = function(n, eta, zero, ...) stats::rbinom(n, 1, 1 - zero) * row$draw(n, eta, ...),
    below = function(q, eta, zero, ...) (q >= 0) * zero + (1 - zero) * row$below(q, eta, ...),
    variance = function(eta, zero, ...) (1 - zero) * (row$variance(eta, ...) + zero * row$mean(eta, ...)^2)
  )
}

# Zero-truncated counts. A negative binomial count of size k and mean m is 0 with the probability (1 + m / k)^-k.
truncated_rows <- list(
  truncated_poisson = list(
    f = function(y, eta) y * eta - exp(eta) - lgamma(y + 1) - log(-expm1(-exp(eta))),
    # The mean m of a truncated count has m' = m d with d = 1 + u - m and u = exp(eta); g = y - m.
    slopes = function(y, e, k, a) {
      u <- exp(e)
      m <- u / -expm1(-u)
      d <- ifelse(u < 1e-3, u / 2 - u^2 / 12, 1 + (u - m))
      list(g = a * (y - 1 + d - u), W = a * m * d, W_e = a * m * (d^2 + u - m * d))
    },
    parameters = numeric(), label = "log", whole = TRUE, concave = TRUE,
    wanted = list(function(y) y >= 1 & y == round(y), "whole numbers, 1 or more"),
    start = function(y) log(y - 0.5), mean = function(eta) exp(eta) / -expm1(-exp(eta)),
    draw = function(n, eta) stats::qpois(stats::runif(n, exp(-exp(eta)), 1), exp(eta)),
    below = function(q, eta) pmax(stats::ppois(floor(q), exp(eta)) - exp(-exp(eta)), 0) / -expm1(-exp(eta)),
    variance = function(eta) {
      mean <- exp(eta) / -expm1(-exp(eta))
      mean * (1 + exp(eta) - mean)
    }
  ),
  truncated_negbin = list(
    f = function(y, eta, size) {
      stats::dnbinom(y, size, mu = exp(eta), log = TRUE) - log(-expm1(-size * log1p(exp(eta) / size)))
    },
    parameters = c(size = 1), label = "log", whole = TRUE,
    wanted = list(function(y) y >= 1 & y == round(y), "whole numbers, 1 or more"), start = function(y) log(y - 0.5),
    mean = function(eta, size) exp(eta) / -expm1(-size * log1p(exp(eta) / size)),
    draw = function(n, eta, size) {
      stats::qnbinom(stats::runif(n, stats::dnbinom(0, size, mu = exp(eta)), 1), size, mu = exp(eta))
    },
    below = function(q, eta, size) {
      none <- stats::dnbinom(0, size, mu = exp(eta))
      pmax(stats::pnbinom(floor(q), size, mu = exp(eta)) - none, 0) / (1 - none)
    },
    variance = function(eta, size) {
      mean <- exp(eta) / -expm1(-size * log1p(exp(eta) / size))
      mean * (1 + exp(eta) * (1 + 1 / size) - mean)
    }
  )
)

likelihood_rows <- list(
  ordinal = list(parameters = numeric(), settle = function(y) ordinal_family(y)),
  student = list(
    f = function(y, eta, sigma, df) stats::dt((y - eta) / sigma, df, log = TRUE) - log(sigma),
    slopes = function(y, e, k, a) {
      sigma <- k[["sigma"]]
      df <- k[["df"]]
      z <- (y - e) / sigma
      u <- df + z^2
      list(g = a * (df + 1) * z / (sigma * u), W = a * (df + 1) * (df - z^2) / (sigma * u)^2,
           W_e = 2 * a * (df + 1) * z * (3 * df - z^2) / (sigma * u)^3)
    },
    parameters = c(sigma = 1, df = 5), spread = "sigma", lower = c(df = 2.01), upper = c(df = 200),
    draw = function(n, eta, sigma, df) eta + sigma * stats::rt(n, df),
    below = function(q, eta, sigma, df) stats::pt((q - eta) / sigma, df),
    variance = function(eta, sigma, df) sigma^2 * df / (df - 2) + 0 * eta
  ),
  beta = list(
    f = function(y, eta, precision) {
      stats::dbeta(y, precision * stats::plogis(eta), precision * stats::plogis(-eta), log = TRUE)
    },
    # The mean m has the derivative m_e = m (1 - m); g = k m_e (logit(y) - digamma(k m) + digamma(k - k m)).
    slopes = function(y, e, k, a) {
      k <- k[["precision"]]
      m <- pmin(pmax(stats::plogis(e), 1e-300), 1 - 1e-16)
      first <- stats::qlogis(y) - digamma(k * m) + digamma(k - k * m)
      second <- trigamma(k * m) + trigamma(k - k * m)
      third <- psigamma(k * m, 2) - psigamma(k - k * m, 2)
      m_e <- m * (1 - m)
      turn <- 1 - 2 * m
      list(g = a * k * m_e * first, W = a * k * m_e * (k * m_e * second - turn * first),
           W_e = a * k * m_e * ((2 * m_e - turn^2) * first + 3 * k * m_e * turn * second + (k * m_e)^2 * third))
    },
    parameters = c(precision = 10), label = "logit", wanted = list(function(y) y > 0 & y < 1, "between 0 and 1"),
    start = stats::qlogis, mean = function(eta, precision) stats::plogis(eta),
    draw = function(n, eta, precision) stats::rbeta(n, precision * stats::plogis(eta), precision * stats::plogis(-eta)),
    below = function(q, eta, precision) {
      stats::pbeta(q, precision * stats::plogis(eta), precision * stats::plogis(-eta))
    },
    variance = function(eta, precision) stats::plogis(eta) * stats::plogis(-eta) / (1 + precision)
  ),
  nbinom1 = list(
    f = function(y, eta, phi) stats::dnbinom(y, size = exp(eta) / phi, mu = exp(eta), log = TRUE),
    parameters = c(phi = 1), label = "log", whole = TRUE,
    wanted = of_counts_alone, start = function(y) log(y + 0.1), mean = function(eta, phi) exp(eta),
    draw = function(n, eta, phi) stats::rnbinom(n, size = exp(eta) / phi, mu = exp(eta)),
    below = function(q, eta, phi) stats::pnbinom(floor(q), size = exp(eta) / phi, mu = exp(eta)),
    variance = function(eta, phi) exp(eta) * (1 + phi)
  ),
  nbinom2 = list(
    f = function(y, eta, size) stats::dnbinom(y, size, mu = exp(eta), log = TRUE), parameters = c(size = 1),
    slopes = function(y, e, k, a) family_rows$negbin$slopes(y, e, k[["size"]], a),
    of_phi = function(y, e, k, a) lapply(family_rows$negbin$of_phi(y, e, k[["size"]], a), cbind),
    label = "log", whole = TRUE, concave = TRUE, wanted = of_counts_alone, start = function(y) log(y + 0.1),
    mean = function(eta, size) exp(eta), draw = function(n, eta, size) stats::rnbinom(n, size, mu = exp(eta)),
    below = function(q, eta, size) stats::pnbinom(floor(q), size, mu = exp(eta)),
    variance = function(eta, size) exp(eta) * (1 + exp(eta) / size)
  ),
  gamma = list(
    f = function(y, eta, shape) shape * (log(shape) + log(y) - eta - y * exp(-eta)) - lgamma(shape) - log(y),
    parameters = c(shape = 2), label = "log", concave = TRUE, wanted = list(function(y) y > 0, "more than 0"),
    start = log, mean = function(eta, shape) exp(eta),
    draw = function(n, eta, shape) stats::rgamma(n, shape, rate = shape * exp(-eta)),
    below = function(q, eta, shape) stats::pgamma(q, shape, rate = shape * exp(-eta)),
    variance = function(eta, shape) exp(2 * eta) / shape
  ),
  zip = zero_inflated(
    function(y, eta) y * eta - exp(eta) - lgamma(y + 1), parameters = c(zero = 0.3),
    draw = function(n, eta) stats::rpois(n, exp(eta)), below = function(q, eta) stats::ppois(q, exp(eta)),
    variance = function(eta) exp(eta)
  ),
  zinb = zero_inflated(
    function(y, eta, size) stats::dnbinom(y, size, mu = exp(eta), log = TRUE), parameters = c(zero = 0.3, size = 1),
    draw = function(n, eta, size) stats::rnbinom(n, size, mu = exp(eta)),
    below = function(q, eta, size) stats::pnbinom(q, size, mu = exp(eta)),
    variance = function(eta, size) exp(eta) * (1 + exp(eta) / size)
  ),
  lognormal = c(of_location(standard$normal, TRUE, function(sigma) sigma), list(
    parameters = c(sigma = 1),
    mean = function(eta, sigma) exp(eta + sigma^2 / 2),
    draw = function(n, eta, sigma) stats::rlnorm(n, eta, sigma),
    below = function(q, eta, sigma) stats::plnorm(q, eta, sigma),
    variance = function(eta, sigma) expm1(sigma^2) * exp(2 * eta + sigma^2)
  )),
  weibull = c(of_location(standard$extreme, TRUE, function(shape) 1 / shape, -1), list(
    parameters = c(shape = 1), label = "log", mean = function(eta, shape) exp(eta) * gamma(1 + 1 / shape),
    draw = function(n, eta, shape) stats::rweibull(n, shape, exp(eta)),
    below = function(q, eta, shape) stats::pweibull(q, shape, exp(eta)),
    variance = function(eta, shape) exp(2 * eta) * (gamma(1 + 2 / shape) - gamma(1 + 1 / shape)^2)
  )),
  exponential = replace(c(of_location(standard$extreme, TRUE), list(
    parameters = numeric(), label = "log", mean = function(eta) exp(eta),
    draw = function(n, eta) stats::rexp(n, exp(-eta)), below = function(q, eta) stats::pexp(q, exp(-eta)),
    variance = function(eta) exp(2 * eta)
  )), c("wanted", "start"), list(list(function(y) upper_end(y) == 0 | is_positive(y), "0 or more"), function(y) {
    y <- middle_of(y, 0)
    log(y + mean(y) / 10)
  })),
  loglogistic = c(of_location(standard$logistic, TRUE, function(shape) 1 / shape, -1), list(
    parameters = c(shape = 2), lower = c(shape = 1.01), label = "log",
    mean = function(eta, shape) exp(eta) * pi / shape / sin(pi / shape),
    draw = function(n, eta, shape) exp(eta + stats::rlogis(n) / shape),
    below = function(q, eta, shape) stats::plogis(shape * (log(pmax(q, 0)) - eta)),
    variance = function(eta, shape) {
      b <- pi / shape
      exp(2 * eta) * ifelse(shape > 2, 2 * b / sin(2 * b) - (b / sin(b))^2, Inf)
    }
  )),
  tobit = c(of_location(standard$normal, FALSE, function(sigma) sigma), list(
    parameters = c(sigma = 1), draw = function(n, eta, sigma) stats::rnorm(n, eta, sigma),
    below = function(q, eta, sigma) stats::pnorm(q, eta, sigma), variance = function(eta, sigma) sigma^2 + 0 * eta
  )),
  tweedie = list(
    f = function(y, eta, phi, p) tweedie_density(y, eta, phi, p), parameters = c(phi = 1, p = 1.5),
    link = c(p = "identity"), lower = c(p = 1.01), upper = c(p = 1.99), label = "log", concave = TRUE,
    wanted = list(function(y) y >= 0, "0 or more"), start = function(y) log(y + mean(y) / 10),
    mean = function(eta, phi, p) exp(eta), draw = function(n, eta, phi, p) {
      parts <- tweedie_parts(eta, phi, p)
      count <- stats::rpois(n, parts$lambda)
      stats::rgamma(n, shape = count * parts$shape, scale = parts$scale)
    },
    below = function(q, eta, phi, p) {
      parts <- tweedie_parts(eta, phi, p)
      out <- exp(-parts$lambda)
      for (j in seq_len(max(1, stats::qpois(1e-13, max(parts$lambda), lower.tail = FALSE)))) {
        out <- out + stats::dpois(j, parts$lambda) * stats::pgamma(q, j * parts$shape, scale = parts$scale)
      }
      ifelse(q < 0, 0, out)
    },
    variance = function(eta, phi, p) phi * exp(p * eta),
    slopes = function(y, e, k, a) tweedie_slopes(y, e, k, a),
    # The series has no closed derivative, so derivatives by log(phi) and p are differences.
    of_phi = function(y, e, k, a) {
      phi <- k[["phi"]]
      p <- k[["p"]]
      at <- function(phi, p) a * tweedie_density(y, e, phi, p)
      by <- 1e-5
      found <- tweedie_slopes(y, e, k, a)
      of_y <- y * exp((1 - p) * e) * a / phi
      of_mean <- exp((2 - p) * e) * a / phi
      of_phi <- (at(phi * exp(by), p) - at(phi * exp(-by), p)) / (2 * by)
      list(l = cbind(phi = of_phi, p = (at(phi, p + by) - at(phi, p - by)) / (2 * by)),
           g = cbind(phi = -found$g, p = -e * found$g),
           W = cbind(phi = -found$W, p = of_y * (1 - (p - 1) * e) - of_mean * (1 + (2 - p) * e)))
    }
  )
)
likelihood_rows$normal <- likelihood_rows$tobit
likelihood_rows <- c(likelihood_rows, truncated_rows, list(
  hurdle_poisson = hurdle(truncated_rows$truncated_poisson), hurdle_negbin = hurdle(truncated_rows$truncated_negbin)
))

# Families of other packages, by name and link: the family here, and the names of the parameters in mgcv objects, in
# order.
peer_families <- list(
  Tweedie = list("tweedie", "log", "p"), `scaled t` = list("student", "identity", c("df", "sigma")),
  `Beta regression` = list("beta", "logit", "precision"), `Ordered Categorical` = list("ordinal", "identity"),
  `negative binomial` = list("negbin", "log", "size"), nbinom1 = list("nbinom1", "log"),
  nbinom2 = list("negbin", "log"), beta = list("beta", "logit"), tweedie = list("tweedie", "log"),
  truncated_poisson = list("truncated_poisson", "log"), truncated_nbinom2 = list("truncated_negbin", "log"),
  t = list("student", "identity")
)

# Names of families in mgcv, brms, glmmTMB, sdmTMB and INLA, and the corresponding family here, or a text.
family_words <- c(
  t = "student", student_t = "student", studentt = "student", t_family = "student", scat = "student",
  scaledt = "student", normal = "gaussian", log_normal = "lognormal", lnorm = "lognormal",
  nb = "negbin", nbinom = "negbin", negbinomial = "negbin", negative_binomial = "negbin", negativebinomial = "negbin",
  negative.binomial = "negbin", neg_binomial = "negbin", neg_binomial_2 = "negbin", nbinomial = "negbin",
  quasipoisson = "negbin", genpois = "negbin", compois = "negbin", geometric = "negbin", nb1 = "nbinom1",
  nb2 = "nbinom2", tw = "tweedie", twlss = "tweedie", betar = "beta", beta_family = "beta", betareg = "beta",
  ocat = "ordinal", cumulative = "ordinal", clm = "ordinal", polr = "ordinal", ordered = "ordinal",
  sratio = "ordinal", acat = "ordinal", ziplss = "zip", zero_inflated_poisson = "zip", zeroinflatedpoisson1 = "zip",
  zero_inflated_negbinomial = "zinb", zeroinflatednbinomial1 = "zinb", zip1 = "zip",
  hurdle_negbinomial = "hurdle_negbin", truncated_nbinom2 = "truncated_negbin", ztpoisson = "truncated_poisson",
  truncated_nbinom1 = "truncated_negbin", bernoulli = "binomial", logistic = "binomial", logit = "binomial",
  betabinomial = "binomial", beta_binomial = "binomial", quasibinomial = "binomial",
  weibullsurv = "weibull", exp = "exponential", cox.ph = "weibull", cox = "weibull", coxph = "weibull",
  cnorm = "tobit", censored = "tobit", clog = "loglogistic", llogis = "loglogistic", log_logistic = "loglogistic",
  probit = "binomial(\"probit\")", gamma = "Gamma(\"log\")", gamma_lss = "Gamma(\"log\")",
  gammals = "Gamma(\"log\")", inverse.gaussian = "Gamma(\"log\")", hurdle_gamma = "tweedie", ziGamma = "tweedie",
  hurdle_lognormal = "tweedie", delta_gamma = "tweedie", delta_lognormal = "tweedie"
)

# Returns a hint for another package's name, or a misspelt name. `known`: names that are not in the table.
family_hint <- function(typed, known = character()) {
  plain <- function(text) gsub("[ ._-]|\\(.*", "", tolower(text))
  meant <- family_words[match(plain(typed), plain(names(family_words)))]
  quoted <- function(name) if (grepl("(", name, fixed = TRUE)) name else dQuote(name, FALSE)
  if (!is.na(meant)) return(paste0("; did you mean ", quoted(meant), "?"))
  if (plain(typed) %in% c("multinomial", "multinom", "categorical")) {
    return(": multinomial is not built; binomial() fits one class against the rest, and \"ordinal\" ordered ones")
  }
  known <- c(known, "negbin", names(likelihood_rows))
  same <- known[match(plain(typed), plain(known))]
  if (!is.na(same)) return(if (same != typed) paste0("; did you mean \"", same, "\"?") else "")
  near_hint(typed, known)
}

# --- Tweedie's distribution: a Poisson number of gamma variables ---------------------------------------------------

# lambda, the mean number, and the gamma variables' shape and scale.
tweedie_parts <- function(eta, phi, p) {
  list(lambda = exp((2 - p) * eta) / (phi * (2 - p)), shape = (2 - p) / (p - 1),
       scale = phi * (p - 1) * exp((p - 1) * eta))
}

# Computes (y mu^(1 - p) / (1 - p) - mu^(2 - p) / (2 - p)) / phi + log a(y, phi, p).
tweedie_density <- function(y, eta, phi, p) {
  of_eta <- (y * exp((1 - p) * eta) / (1 - p) - exp((2 - p) * eta) / (2 - p)) / phi
  of_eta + tweedie_constant(y, phi, p)
}

# Computes log a(y, phi, p) by the series over the number j of gamma variables, around its largest term; terms below
# e^-37 of it are left out (Dunn and Smyth 2005). It does not depend on eta, so equal responses share one value, unless
# parameters differ between rows.
tweedie_constant <- function(y, phi, p) {
  by_row <- length(phi) > 1 || length(p) > 1
  own <- which(y > 0 & (by_row | !duplicated(y)))
  each <- y[own]
  phi <- rep_len(phi, length(y))[own]
  p <- rep_len(p, length(y))[own]
  alpha <- (2 - p) / (p - 1)
  log_z <- alpha * log(each / (p - 1)) - (1 + alpha) * log(phi) - log(2 - p)
  centre <- pmax(1, each^(2 - p) / (phi * (2 - p)))
  reach <- ceiling(9 * sqrt(centre * (1 + 1 / alpha)) + 20)
  first <- pmax(1, floor(centre - reach))
  last <- ceiling(centre + reach)
  found <- vapply(seq_along(each), function(i) {
    j <- first[i]:last[i]
    term <- j * log_z[i] - lgamma(j + 1) - lgamma(alpha[i] * j)
    most <- max(term)
    most + log(sum(exp(term - most)))
  }, 0) - log(each)
  if (by_row) replace(numeric(length(y)), own, found) else c(0, found)[match(y, each, nomatch = 0L) + 1]
}

tweedie_slopes <- function(y, e, k, a) {
  of_y <- y * exp((1 - k[["p"]]) * e) * a / k[["phi"]]
  of_mean <- exp((2 - k[["p"]]) * e) * a / k[["phi"]]
  p <- k[["p"]]
  list(g = of_y - of_mean, W = (p - 1) * of_y + (2 - p) * of_mean, W_e = (2 - p)^2 * of_mean - (p - 1)^2 * of_y)
}

