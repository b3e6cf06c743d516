# Families of responses: the log-density of an observation given its linear predictor, and its derivatives. This file
# has a table of families, and converts the user's family to a row of the table.

# A row for each family and link. `phi`: the name of a further parameter, or NULL. `slopes`: derivatives of
# `log_density` by the linear predictor e: the first, g, W = -g' and W'. `of_phi`: derivatives of the log-density, g and
# W by log(phi). `base`: the family object of R. `mean(m, v)`: the mean of the inverse link of N(m, v), if known.
# `draw`, `below`: random numbers, and the distribution function given the mean m, also between counts. `y`: the share
# of `a` trials, or a response with prior weight a: for Gamma the mean of a values, with a times the shape. With
# `copies`, a counts equal observations and multiplies the log-density. `start(y, a)`: linear predictors near the
# response. `as_given(y, a)`: the response without rounding errors. `dispersion(k)`: as in glm(). `threshold(x, a, k)`:
# a random T with Y <= x if e < T: P(T > e) is `above(e)`, its quantiles `at(p)`, its approximate `variance`; Y lies
# between `least` and `most`.
of_trials <- function(link, log_density, slopes, ...) {
  base <- stats::binomial(link)
  list(
    title = "binomial", link = link, phi = NULL, trials = TRUE, base = function(k) base, log_density = log_density,
    slopes = slopes, dispersion = function(k) 1,
    start = function(y, a) base$linkfun((a * y + 0.5) / (a + 1)),
    as_given = function(y, a) ifelse(a > 0, round(a * y) / a, y),
    draw = function(n, m, k, a) stats::rbinom(n, round(a), m) / pmax(a, 1),
    threshold = function(x, a, k) {
      share <- (pmin(pmax(x, 0), a) + 0.5) / (a + 1)
      list(above = function(e) stats::pbeta(base$linkinv(e), x + 1, a - x, lower.tail = FALSE),
           at = function(p) base$linkfun(stats::qbeta(p, x + 1, a - x)),
           variance = share * (1 - share) / a / base$mu.eta(base$linkfun(share))^2, least = -1, most = a)
    }, ...
  )
}

of_counts <- list(copies = TRUE, wanted = list(function(y) y >= 0 & y == round(y), "whole numbers, 0 or more"),
                  dispersion = function(k) k %or% 1, start = function(y, a) log(y + 0.1),
                  as_given = function(y, a) round(y))

family_rows <- list(
  logit = of_trials(
    "logit",
    log_density = function(y, e, k, a) {
      log_choose(a, y) + a * (y * stats::plogis(e, log.p = TRUE) + (1 - y) * stats::plogis(-e, log.p = TRUE))
    },
    slopes = function(y, e, k, a) {
      W <- a * stats::plogis(e) * stats::plogis(-e)
      list(g = a * (y * stats::plogis(-e) - (1 - y) * stats::plogis(e)), W = W, W_e = -W * tanh(e / 2))
    }
  ),
  probit = of_trials(
    "probit",
    log_density = function(y, e, k, a) {
      log_choose(a, y) + a * (y * stats::pnorm(e, log.p = TRUE) + (1 - y) * stats::pnorm(-e, log.p = TRUE))
    },
    slopes = function(y, e, k, a) {
      of <- function(e) {
        r <- exp(stats::dnorm(e, log = TRUE) - stats::pnorm(e, log.p = TRUE))
        list(r = r, W = r * (e + r), W_e = r * (1 - (e + r)^2 - r * (e + r)))
      }
      high <- of(e)
      low <- of(-e)
      list(g = a * (y * high$r - (1 - y) * low$r), W = a * (y * high$W + (1 - y) * low$W),
           W_e = a * (y * high$W_e - (1 - y) * low$W_e))
    },
    mean = function(m, v) stats::pnorm(m / sqrt(1 + v))
  ),
  poisson = c(of_counts, list(
    title = "poisson", link = "log", phi = NULL, base = function(k) stats::poisson(),
    log_density = function(y, e, k, a) a * (y * e - exp(e) - lgamma(y + 1)),
    slopes = function(y, e, k, a) list(g = a * (y - exp(e)), W = a * exp(e), W_e = a * exp(e)),
    draw = function(n, m, k, a) stats::rpois(n, m),
    below = function(q, m, k, a) stats::pgamma(m, q + 1, lower.tail = FALSE),
    threshold = function(x, a, k) {
      list(above = function(e) stats::pgamma(exp(e), x + 1, lower.tail = FALSE),
           at = function(p) log(stats::qgamma(p, x + 1)), variance = 1 / (x + 1), least = -1, most = Inf)
    }
  )),
  Gamma = list(
    title = "Gamma", link = "log", phi = "shape", wanted = list(function(y) y > 0, "more than 0"),
    base = function(k) stats::Gamma("log"),
    dispersion = function(k) 1 / k, start = function(y, a) log(y), as_given = function(y, a) y,
    log_density = function(y, e, k, a) {
      k <- a * k
      k * log(k) - lgamma(k) + (k - 1) * log(y) - k * e - k * y * exp(-e)
    },
    slopes = function(y, e, k, a) {
      r <- y * exp(-e)
      list(g = a * k * (r - 1), W = a * k * r, W_e = -a * k * r)
    },
    of_phi = function(y, e, k, a) {
      r <- y * exp(-e)
      k <- a * k
      list(l = k * (log(k) + 1 - digamma(k) - e + log(y) - r), g = k * (r - 1), W = k * r)
    },
    draw = function(n, m, k, a) stats::rgamma(n, shape = a * k, scale = m / (a * k)),
    below = function(q, m, k, a) stats::pgamma(q, shape = a * k, scale = m / (a * k)),
    threshold = function(x, a, k) {
      list(above = function(e) stats::pgamma(a * k * x * exp(-e), a * k),
           at = function(p) log(a * k * x) - log(stats::qgamma(p, a * k)),
           variance = 1 / (a * k), least = 0, most = Inf)
    }
  ),
  # p = m / (k + m) and q = 1 - p: as logistic functions they never overflow.
  negbin = c(of_counts, list(
    title = "negative binomial", link = "log", phi = "size", base = function(k) negative_binomial(k),
    log_density = function(y, e, k, a) {
      log_q <- stats::plogis(log(k) - e, log.p = TRUE)
      a * (k * log_q + y * stats::plogis(e - log(k), log.p = TRUE) - lbeta(k, y + 1) - log(y + k))
    },
    slopes = function(y, e, k, a) {
      p <- stats::plogis(e - log(k))
      q <- stats::plogis(log(k) - e)
      W <- a * (y + k) * p * q
      list(g = a * (y * q - k * p), W = W, W_e = W * (q - p))
    },
    of_phi = function(y, e, k, a) {
      p <- stats::plogis(e - log(k))
      q <- stats::plogis(log(k) - e)
      l <- k * (digamma(y + k) - digamma(k) + stats::plogis(log(k) - e, log.p = TRUE) + 1) - (y + k) * q
      list(l = a * l, g = a * p * (y * q - k * p), W = a * p * q * (y + 2 * k - 2 * q * (y + k)))
    },
    draw = function(n, m, k, a) stats::rnbinom(n, size = k, mu = m),
    below = function(q, m, k, a) {
      most <- pmin(q + 1, 1e10)  # beyond 1e10 pbeta() fails, and the limit is a gamma distribution
      stats::pbeta(pmin((q + 1) / most / (1 + m / k), 1), k, most)
    },
    threshold = function(x, a, k) {
      list(above = function(e) stats::pbeta(stats::plogis(log(k) - e), k, x + 1),
           at = function(p) log(k) - stats::qlogis(stats::qbeta(p, k, x + 1)),
           variance = 1 / k + 1 / (x + 1), least = -1, most = Inf)
    }
  ))
)

new_family <- function(row, value, given) structure(c(row, list(value = value, given = given)), class = "gp_family")

# The family of a response that is the process with noise.
gaussian_family <- structure(list(title = "gaussian", link = "identity"), class = c("gp_gaussian", "gp_family"))

# Returns the family of a model or of settings; NULL stands for gaussian().
family_of <- function(model) model$family %or% gaussian_family

# Returns settings of a model that depend on its family: whether there is a `nugget`; log(largest variance) given
# log(variance of the response); starting `ratios` of the variance to the variance of the response; and a covariance's
# weights in iterative systems.
asked_of <- function(model) UseMethod("asked_of", family_of(model))

#' @export
asked_of.gp_gaussian <- function(model) {
  list(nugget = TRUE, most_variance = function(spread) spread + log(1e8), ratios = NA,
       around = function(w) rep(1, length(w)))
}

#' @export
asked_of.gp_family <- function(model) {
  in_units <- identical(family_of(model)$link, "identity")
  list(nugget = FALSE, most_variance = function(spread) log(1e4) + if (in_units) max(spread, 0) else 0,
       ratios = c(0.1, 0.3, 1), around = function(w) w)
}

log_choose <- function(a, y) lgamma(a + 1) - lgamma(a * y + 1) - lgamma(a * (1 - y) + 1)

# Makes the negative binomial family of a known size, as MASS does.
negative_binomial <- function(size) {
  log <- stats::poisson()
  deviances <- function(y, mu, wt) {
    2 * wt * (y * log(pmax(y, 1) / mu) - (y + size) * log((y + size) / (mu + size)))
  }
  structure(list(family = paste0("Negative Binomial(", format(size, digits = 4), ")"), link = "log",
                 linkfun = log$linkfun, linkinv = log$linkinv, mu.eta = log$mu.eta, valideta = log$valideta,
                 validmu = log$validmu, variance = function(mu) mu + mu^2 / size, dev.resids = deviances,
                 initialize = log$initialize,
                 aic = function(y, n, mu, wt, dev) -2 * sum(wt * stats::dnbinom(y, size, mu = mu, log = TRUE))),
            class = "family")
}

# --- families given by users ----------------------------------------------------------------------------------

# Returns a row of the table, with `value`, the further parameter, and whether the value is `given` by the user.
as_family <- function(family) {
  typed <- as_typed(substitute(family), parent.frame())
  withCallingHandlers(force(family), error = function(e) {
    if (inherits(e, "kernweave_error")) return()
    abort("input", "in `family`: ", message_of(e), "; the names of families here are in quotation marks, as in ",
          "family = \"negbin\"", family_hint(typed))
  })
  if (is.function(family)) family <- tryCatch(family(), error = function(e) {
    abort("input", "`family` is a function that wants more: negative.binomial(size) with a size that is known, or ",
          "\"negbin\", by which it is estimated (", message_of(e), ")", family_hint(typed))
  })
  if (identical(family, "negbin")) return(new_family(family_rows$negbin, 1, FALSE))
  if (is.character(family) && length(family) == 1 && family %in% names(likelihood_rows)) family <- gp_family(family)
  if (inherits(family, "gp_likelihood")) return(family)
  if (identical(family, "gaussian") || identical(family, "binomial") || identical(family, "poisson")) {
    family <- get(family, asNamespace("stats"))()
  }
  if (is.character(family) && length(family) == 1) {
    refuse_family(paste0("\"", family, "\""), family_hint(family, c("gaussian", "binomial", "poisson")))
  }
  if (!inherits(family, "family")) refuse_family(describe(family))
  name <- sub("\\(.*", "", family$family)
  if (name == "Negative Binomial" && family$link == "log") {
    return(new_family(family_rows$negbin, get(".Theta", environment(family$variance)), TRUE))
  }
  link <- family$link[1] %or% "none"
  if (name == "gaussian" && link == "identity") return(gaussian_family)
  peer <- peer_families[[family$family]]
  if (identical(peer[[2]], link)) return(family_of_peer(family, peer))
  row <- Find(function(row) row$title == name && row$link == link, family_rows)
  if (is.null(row)) refuse_family(paste0(family$family, "(\"", link, "\")"), family_hint(family$family))
  new_family(row, if (!is.null(row$phi)) 1, is.null(row$phi))
}

# Converts a family of mgcv or glmmTMB, with its given parameters.
family_of_peer <- function(family, known) {
  given <- if (is.function(family$getTheta) && identical(as.numeric(family$n.theta), 0)) family$getTheta(TRUE)
  if (length(given) && length(known) == 2) {
    abort("unsupported", "cuts of ocat(theta = ) that are given are not built: ocat(R = ) has them estimated")
  }
  if (known[[1]] == "negbin") return(new_family(family_rows$negbin, given %or% 1, !is.null(given)))
  do.call(gp_family, c(list(known[[1]]), stats::setNames(as.list(given), if (length(given)) known[[3]])))
}

refuse_family <- function(what, hint = "") {
  abort("unsupported", "`family` must be a family that ?gp_family lists, not ", what,
        if (!nzchar(hint)) paste0(". There are: gaussian(), binomial() with link \"logit\" or \"probit\", poisson(), ",
                                  "Gamma(\"log\"), negative.binomial(size) of MASS, a gp_family(), and by name ",
                                  paste0("\"", c("negbin", names(likelihood_rows)), "\"", collapse = ", ")),
        hint)
}

# --- responses ------------------------------------------------------------------------------------------------

# Returns the numeric response `y`, and `a`, trials or prior weights. `names`: row names, if some rows were dropped.
family_response <- function(family, y, weights, n, names = NULL) {
  if (NROW(y) != n && !inherits(y, "formula")) {
    abort("shape", "the response has ", counted(NROW(y), "row"), ", and the inputs have ", n)
  }
  if (isTRUE(family$trials)) return(binomial_response(y, fit_weights(weights, n), n, names))
  y <- wanted_response(family, y, n, names)
  if (is.complex(y)) refuse_open_side(y)
  if (isTRUE(family$copies) && all(y == 0)) {
    abort("data", "all counts are 0, in rows 1 to ", n, ": there is nothing to estimate")
  }
  list(y = y, a = fit_weights(weights, n) %or% rep(1, n))
}

# Returns the response in the form that the family's log-density takes, checked.
wanted_response <- function(family, y, n, names = NULL) {
  if (!is.null(family$read)) y <- family$read(y)
  if (!is.complex(y)) y <- check_response(y, n)
  else if (anyNA(y)) abort("data", "the response is missing in row ", row_name(which(is.na(y))[1], names))
  if (NCOL(y) > 1) abort("unsupported", "the family ", family$title, " has one response, not ", ncol(y))
  y <- as.vector(y)
  bad <- which(!(family$wanted[[1]] %or% function(y) rep(TRUE, n))(y))
  if (length(bad)) {
    first <- y[bad[1]]
    text <- if (is.complex(y)) paste(format(Re(first)), "to", format(Im(first))) else format(first)
    abort("data", "the response of ", family$title, " must be ", family$wanted[[2]], ": row ", row_name(bad[1], names),
          " is ", text, if (length(bad) > 1) paste0(", one of ", length(bad), " such rows"))
  }
  y
}

# Checks a binomial response: two classes, 0 and 1, shares of `weights` trials, or cbind(successes, failures).
binomial_response <- function(y, weights, n, names = NULL) {
  a <- weights %or% rep(1, n)
  if (is.data.frame(y)) y <- as.matrix(y)
  if (is.character(y)) y <- factor(y)
  if (is.factor(y)) y <- classes_as_numbers(y, names)
  if (NCOL(y) == 2) return(counts_of_trials(y, a, names))
  y <- as.vector(check_response(y, n))
  wrong <- which(y < 0 | y > 1)
  if (length(wrong)) {
    abort("data", "a binomial response must be a factor of two levels, 0 and 1, shares of `weights` trials, or ",
          "cbind(successes, failures): row ", row_name(wrong[1], names), " is ", format(y[wrong[1]]))
  }
  broken <- which(abs(a * y - round(a * y)) > 1e-6 & a > 0)
  if (length(broken)) {
    abort("data", "shares times `weights`, the trials, must be whole numbers: row ", row_name(broken[1], names), " is ",
          format(y[broken[1]]), " of ", format(a[broken[1]]))
  }
  refuse_one_class(y[a > 0])
  list(y = y, a = a)
}

row_name <- function(row, names) if (is.null(names)) row else names[row]

classes_as_numbers <- function(y, names = NULL) {
  levels <- levels(y)
  if (length(levels) > 2) {
    third <- which(y == levels[3])
    where <- if (length(third)) paste("first in row", row_name(third[1], names)) else "in no row"
    abort("data", "a binomial response has two classes, and this has ", length(levels), ", the third, `", levels[3],
          "`, ", where, ": multinomial is not built; one against the rest, as in I(class == \"", levels[1], "\"), is")
  }
  as.numeric(y != levels[1])
}

counts_of_trials <- function(y, a, names = NULL) {
  y <- check_response(y, nrow(y))
  wrong <- which(rowSums(y < 0 | y != round(y)) > 0)
  if (length(wrong)) {
    abort("data", "successes and failures must be whole numbers, 0 or more: row ", row_name(wrong[1], names), " is ",
          format(y[wrong[1], 1]), " and ", format(y[wrong[1], 2]))
  }
  all <- rowSums(y)
  share <- ifelse(all > 0, y[, 1] / all, 0)
  refuse_one_class(share[a * all > 0])
  list(y = unname(share), a = unname(a * all))
}

refuse_one_class <- function(y) {
  if (length(y) && (all(y == 0) || all(y == 1))) {
    abort("data", "all ", length(y), " rows have the same class, ", if (y[1] == 1) "the second" else "the first",
          ", from row 1 on: there is nothing to estimate")
  }
}
