# The seconds of the processor that the workbench around the models takes, beside a product by series or beside other
# packages: Rscript bench/workbench.R [lines whose names match this] [rows of a fit by its full likelihood] [threads].

source("bench/clock.R")
asked <- given(pattern = "", rows = 50000, threads = 1)
options(kernweave.threads = asked$threads, kernweave.progress = FALSE)

wanted <- function(name) grepl(asked$pattern, name)
# `bar`: the most of the other's time that was agreed on.
case <- function(name, ours, peer, theirs, bar = NA) {
  if (!wanted(name) || !have(peer)) return(invisible())
  say(name, clock(c(list(kernweave = ours), stats::setNames(list(theirs), peer)), by = "cpu"),
      bars = stats::setNames(1 / bar, peer))
}

# A draw of a process of variance 1 by random waves, nearly, with a trend and noise.
field <- function(n, scale, nugget, D = 2, nu = 1.5, waves = 400) {
  set.seed(1)
  x <- matrix(stats::runif(D * n), n)
  long <- matrix(stats::rnorm(D * waves), D) / rep(sqrt(stats::rgamma(waves, nu, nu)), each = D) / scale
  phases <- 2 * pi * stats::runif(waves)
  smooth <- numeric(n)
  for (k in seq_len(waves)) smooth <- smooth + cos(x %*% long[, k] + phases[k])
  list(x = x, y = 15 + 3 * x[, 1] + as.vector(smooth) * sqrt(2 / waves) + stats::rnorm(n) * sqrt(nugget))
}

peak_mb <- function() {
  line <- grep("VmHWM", if (file.exists("/proc/self/status")) readLines("/proc/self/status"), value = TRUE)
  if (length(line)) as.numeric(gsub("[^0-9]", "", line)) / 1024 else NA
}

# The full likelihood in products to 1e-6: how many of these a fit takes, how well it knows the likelihood, and how far
# its noise moves estimates, in standard errors. `bar` and `stop` are the most products that were agreed on.
likelihood <- function(n, scale, nugget, ...) {
  name <- sprintf("full likelihood, n = %g, scale %g, nugget %g", n, scale, nugget)
  if (!wanted(name)) return(invisible())
  d <- field(n, scale, nugget)
  K <- kernel_matern(d$x, d$x, scale = scale, nu = 1.5)
  A <- approximate(K, 1e-6)
  fit <- NULL
  times <- clock(list(product = function() (A %*% d$y)[1], gp_fit = function() {
    fit <<- suppressMessages(gp_fit(d$x, d$y, trend = ~ x1, kernel = "matern32", method = "ML",
                                    control = fit_control(approximate = TRUE)))
  }), by = "cpu")
  say(name, times, also = c(
    products = times$cpu_ms[2] / times$cpu_ms[1], ..., se = attr(logLik(fit), "std.error"),
    noise = fit$convergence$noise, steps = fit$convergence$iterations, coef(fit, "covariance"), mb = peak_mb()
  ))
}

begin("the workbench around the models", c("gstat", "dbscan"))
likelihood(asked$rows, 0.2, 0.09, bar = 700, stop = 1000)
likelihood(asked$rows, 0.1, 0.1)

# Local kriging beside gstat's, and errors by neighbours beside the search for these, at the same given numbers.
given_process <- function(d, nugget, ...) {
  gp_fit(d$x, d$y, kernel = kernel_spec("matern32", scale = 0.1), variance = 1, nugget = nugget, ...)
}
local({
  if (!wanted("local kriging")) return(invisible())
  d <- field(1e4, 0.1, 0.1)
  fit <- given_process(d, 0.1, control = fit_control(approximate = TRUE))
  new <- matrix(stats::runif(2e3), 1e3)
  as_sp <- function(x, ...) data.frame(a = x[, 1], b = x[, 2], ...)
  model <- if (have("gstat")) gstat::vgm(1, "Mat", 0.1 / sqrt(3), 0.1, kappa = 1.5)
  case("local kriging, 1e4 rows, 1e3 places, m = 60", function() {
    predict(fit, new, se.fit = TRUE, method = "local", neighbours = 60)
  }, "gstat", function() {
    gstat::krige(y ~ 1, ~ a + b, as_sp(d$x, y = d$y), as_sp(new), model, nmax = 60, debug.level = 0)
  }, bar = 0.5)
})
for (nugget in c(0.1, 0.001)) local({
  name <- sprintf("1e4 errors, 1e5 rows, nugget %g", nugget)
  if (!wanted(name)) return(invisible())
  d <- field(1e5, 0.1, nugget)
  fit <- given_process(d, nugget, control = fit_control(approximate = TRUE))
  new <- matrix(stats::runif(2e4), 1e4)
  m <- attr(suppressMessages(predict(fit, new[1:2, ], se.fit = TRUE)), "local")$neighbours  # by the audit
  times <- clock(list(kernweave = function() predict(fit, new, se.fit = TRUE),
                      "knn, k = 60" = function() knn(d$x, new, k = 60)), by = "cpu")
  say(name, times, bars = c("knn, k = 60" = if (m == 60) 1 / 1.5 else NA), also = c(m = m))
})

# Leaving out each row, the audit apart, beside the search for the neighbours that it is by.
local({
  if (!wanted("each of 1e5 rows left out")) return(invisible())
  d <- field(1e5, 0.1, 0.1)
  fit <- given_process(d, 0.1, control = fit_control(approximate = TRUE))
  m <- attr(suppressMessages(residuals(fit, "loo")), "local")$neighbours
  audited <- as.list(fit$kept)[c("preconditioner", "left_out")]
  afresh <- function() replace(fit, "kept", list(list2env(audited)))
  times <- clock(list(kernweave = function() residuals(afresh(), "loo"), knn = function() knn(d$x, k = m)), by = "cpu")
  say("each of 1e5 rows left out", times, bars = c(knn = 1 / 3), also = c(m = m))
})

# Variograms and groups beside others, as in bench/models.R at other sizes.
local({
  d <- field(5000, 0.1, 0.1)
  frame <- data.frame(a = d$x[, 1], b = d$x[, 2], y = d$y)
  case("variogram, 5000 rows", function() variogram(y ~ a + b, frame), "gstat",
       function() gstat::variogram(y ~ 1, ~ a + b, frame))
  plane <- matrix(stats::runif(2e5, 0, sqrt(1e5 * pi / 30)), 1e5)
  case("dbscan_fit, 30 neighbours, 1e5 rows", function() dbscan_fit(plane, 1, 30), "dbscan",
       function() dbscan::dbscan(plane, 1, 30))
  case("lof_scores, k = 10, 1e5 rows", function() lof_scores(plane, 10), "dbscan", function() dbscan::lof(plane, 11))
})
