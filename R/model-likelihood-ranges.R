# Interval-censored responses: censored times, and ordinal levels, which are intervals of a latent variable.

# A censored response is a complex number: its real part is the lower bound, its imaginary part the upper bound. Both
# are equal if the response was observed. A response without censoring is a numeric vector.
lower_end <- function(y) if (is.complex(y)) Re(y) else y
upper_end <- function(y) if (is.complex(y)) Im(y) else y

# Returns the point of an interval that is nearest to m.
nearest_in <- function(y, m) if (is.complex(y)) pmin(pmax(m, Re(y)), Im(y)) else y

# Returns a point of each interval: its middle, or its finite bound; if both are infinite, the mean of the others.
middle_of <- function(y, least = -Inf) {
  if (!is.complex(y)) return(y)
  low <- ifelse(Re(y) <= least, -Inf, Re(y))
  high <- Im(y)
  middle <- ifelse(is.finite(low + high), low / 2 + high / 2, ifelse(is.finite(low), low, high))
  replace(middle, !is.finite(middle), mean(middle[is.finite(middle)]))
}

log_middle <- function(y) log(pmax(middle_of(y, 0), 1e-300))

# The test `wanted` for positive responses: no bound is below 0.
is_positive <- function(y) upper_end(y) > 0 & (lower_end(y) >= 0 | lower_end(y) == -Inf)

# --- responses given by users --------------------------------------------------------------------------------

# Reads a `Surv` object of package survival, two columns of lower and upper ends, or plain numbers.
read_ranges <- function(y) {
  if (is.complex(y)) return(as.vector(y))
  ends <- if (inherits(y, "Surv")) ends_of_surv(y) else if (NCOL(y) == 2) ends_of_columns(y) else return(y)
  wrong <- which(ends[, 1] > ends[, 2])
  if (length(wrong)) {
    abort("data", "the response of row ", wrong[1], " has the lower end ", format(ends[wrong[1], 1]),
          ", above the upper end ", format(ends[wrong[1], 2]))
  }
  if (all(ends[, 1] == ends[, 2], na.rm = TRUE)) return(unname(ends[, 1]))
  complex(real = ends[, 1], imaginary = ends[, 2])
}

# Refuses data that are all left-censored, or all right-censored.
refuse_open_side <- function(y) {
  open <- c(left = all(Re(y) == -Inf), right = all(Im(y) == Inf))
  if (!any(open)) return(invisible())
  abort("data", "all ", length(y), " rows are censored on the ", names(open)[open][1], ": nothing bounds the response ",
        "there")
}

# Replaces missing bounds by infinite ones, if the row's other bound is known.
ends_of_columns <- function(y) {
  y <- as.matrix(y)
  if (!is.numeric(y)) abort("input", "ends of ranges must be numbers, not ", describe(y))
  known <- rowSums(is.na(y)) < 2
  cbind(ifelse(known & is.na(y[, 1]), -Inf, y[, 1]), ifelse(known & is.na(y[, 2]), Inf, y[, 2]))
}

# Returns bounds. Status 0: censored on the right (on the left if that is the type); 1: observed; 2: censored on the
# left; 3: interval.
ends_of_surv <- function(y) {
  type <- attr(y, "type")
  if (!type %in% c("right", "left", "interval")) {
    abort("unsupported", "a Surv response of type \"", type, "\" is not built: \"right\", \"left\", \"interval\" and ",
          "\"interval2\" are")
  }
  y <- unclass(y)
  status <- y[, ncol(y)]
  if (type == "left") status <- ifelse(status == 0, 2, status)
  cbind(ifelse(status == 2, -Inf, y[, 1]), ifelse(status == 0, Inf, ifelse(status == 3, y[, 2], y[, 1])))
}

# --- derivatives ----------------------------------------------------------------------------------------------

# Distributions of a standardised variable z: log-density, log-probabilities below and above z, and the first three
# derivatives of the log-density.
standard <- list(
  normal = list(density = function(z) stats::dnorm(z, log = TRUE), below = function(z) stats::pnorm(z, log.p = TRUE),
                above = function(z) stats::pnorm(z, lower.tail = FALSE, log.p = TRUE),
                slopes = function(z) list(-z, 0 * z - 1, 0 * z)),
  logistic = list(density = function(z) stats::dlogis(z, log = TRUE),
                  below = function(z) stats::plogis(z, log.p = TRUE),
                  above = function(z) stats::plogis(-z, log.p = TRUE), slopes = function(z) {
                    f <- 2 * stats::plogis(z) * stats::plogis(-z)
                    list(-tanh(z / 2), -f, f * tanh(z / 2))
                  }),
  extreme = list(density = function(z) z - exp(z), below = function(z) log(-expm1(-exp(z))),
                 above = function(z) -exp(z), slopes = function(z) list(1 - exp(z), -exp(z), -exp(z)))
)

# Computes log(exp(a) - exp(b)).
log_less <- function(a, b) a + ifelse(b - a > -0.7, log(-expm1(b - a)), log1p(-exp(b - a)))

log_range <- function(z1, z2, of) {
  found <- ifelse(z1 > 0, log_less(of$above(z1), of$above(z2)), log_less(of$below(z2), of$below(z1)))
  seen <- which(z1 == z2)
  replace(found, seen, of$density(z1[seen]))
}

# The log-probability L of the interval z1 to z2, or the log-density if z1 = z2. `by`: its first three derivatives as
# both bounds move alike. `by_ends(m1, m2)`: derivatives of L and of its first two derivatives as the bounds move at
# rates m1 and m2. With p = density / probability at a bound, and r the derivative of the log-density, terms are
# differences of p, p r and p (r^2 + r').
range_slopes <- function(z1, z2, of) {
  seen <- z1 == z2
  r <- of$slopes(ifelse(seen, z1, 0))
  L <- log_range(z1, z2, of)
  at_end <- function(z) {
    open <- is.finite(z)
    z[!open] <- 0
    p <- ifelse(open, exp(of$density(z) - L), 0)
    r <- of$slopes(z)
    list(p, ifelse(p > 0, p * r[[1]], 0), ifelse(p > 0, p * (r[[1]]^2 + r[[2]]), 0))
  }
  low <- at_end(z1)
  high <- at_end(z2)
  h <- Map(`-`, high, low)
  by <- list(h[[1]], h[[2]] - h[[1]]^2, h[[3]] - 3 * h[[1]] * h[[2]] + 2 * h[[1]]^3)
  by_ends <- function(m1, m2) {
    m1[!is.finite(z1)] <- 0
    m2[!is.finite(z2)] <- 0
    k <- Map(function(high, low) m2 * high - m1 * low, high, low)
    first <- k[[2]] - h[[1]] * k[[1]]
    second <- k[[3]] - h[[2]] * k[[1]] - 2 * h[[1]] * first
    Map(function(range, point) ifelse(seen, point * m1, range), list(k[[1]], first, second), r)
  }
  list(by = Map(function(range, point) ifelse(seen, point, range), by, r), by_ends = by_ends)
}

# --- families of location and scale ---------------------------------------------------------------------------

# Makes a row of the table for y = eta + s z, or log(y) = eta + s z if `logs`. `scale`: s as a function of the
# parameter. `turn`: d log(s) / d log(parameter).
of_location <- function(of, logs, scale = function() 1, turn = 1) {
  unit <- if (logs) function(u) ifelse(u < 0, -Inf, log(pmax(u, 1e-300))) else identity
  ends <- function(y, e, s) {
    z <- list((unit(lower_end(y)) - e) / s)
    z[[2]] <- if (is.complex(y)) (unit(upper_end(y)) - e) / s else z[[1]]
    z
  }
  list(
    f = function(y, eta, ...) {
      s <- scale(...)
      z <- ends(y, eta, s)
      seen <- lower_end(y) == upper_end(y)
      log_range(z[[1]], z[[2]], of) - seen * (log(s) + if (logs) ifelse(seen, unit(lower_end(y)), 0) else 0)
    },
    slopes = function(y, e, k, a) {
      s <- do.call(scale, as.list(unname(k)))
      z <- ends(y, e, s)
      by <- range_slopes(z[[1]], z[[2]], of)$by
      list(g = -a * by[[1]] / s, W = -a * by[[2]] / s^2, W_e = a * by[[3]] / s^3)
    },
    of_phi = function(y, e, k, a) {
      s <- do.call(scale, as.list(unname(k)))
      z <- ends(y, e, s)
      found <- range_slopes(z[[1]], z[[2]], of)
      by <- found$by_ends(-z[[1]], -z[[2]])
      each <- list(l = by[[1]] - (z[[1]] == z[[2]]), g = (found$by[[1]] - by[[2]]) / s,
                   W = (2 * found$by[[2]] - by[[3]]) / s^2)
      lapply(each, function(one) matrix(turn * a * one, length(e), 1, dimnames = list(NULL, names(k))))
    },
    concave = TRUE, spread = if (length(formals(scale)) && turn == 1) names(formals(scale)), read = read_ranges,
    wanted = if (logs) list(is_positive, "more than 0"), start = if (logs) log_middle else middle_of
  )
}
