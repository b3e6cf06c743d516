# The published competitions of spatial statistics and machine learning, each by one call of gp_fit():
#   Rscript bench/tables.R FOLDER [lines whose names match this] [threads]
# FOLDER has the data as compact files; a line whose file is not there says so.

source("bench/clock.R")
asked <- given(folder = "", pattern = "", threads = 2)
options(kernweave.threads = asked$threads, kernweave.progress = FALSE)
if (!dir.exists(asked$folder)) stop("no folder `", asked$folder, "`: give the folder of the data as the first argument")

wanted <- function(name, file) {
  if (!grepl(asked$pattern, name)) return(FALSE)
  there <- file.exists(file.path(asked$folder, file))
  if (!there) cat(name, ": no file ", file, "\n", sep = "")
  there
}
data_of <- function(file) readRDS(file.path(asked$folder, file))

# --- scores -------------------------------------------------------------------------------------------------------

# RMSE, CRPS and coverage of 95 % intervals of normal predictions.
scores <- function(y, mean, sd) {
  z <- (y - mean) / sd
  crps <- sd * (z * (2 * stats::pnorm(z) - 1) + 2 * stats::dnorm(z) - 1 / sqrt(pi))
  c(rmse = sqrt(mean((y - mean)^2)), mae = mean(abs(y - mean)), crps = mean(crps), coverage = mean(abs(z) < 1.96))
}
scores_of <- function(fit, data, y) {
  p <- predict(fit, data, se.fit = TRUE)
  scores(y, p$fit, sqrt(p$se.fit^2 + fit$nugget))
}

# `bars`: named numbers, each beside what was found under that name.
line <- function(name, found, bars = list()) {
  shown <- vapply(names(found), function(one) {
    bar <- bars[[one]]
    paste0(one, " ", format(found[[one]], digits = 4), if (!is.null(bar)) {
      paste0(" (bar ", bar[1], ", stop ", bar[2], ")")
    })
  }, "")
  cat(format(name, width = 34), paste(shown, collapse = "  "), "\n")
}
seconds <- function(code) system.time(code)[["elapsed"]]
told_fit <- function(fit) {
  k <- coef(fit, "covariance")
  cat("   ", paste(names(k), format(k, digits = 4), collapse = ", "), "; ", kernel_name(fit), "\n", sep = "")
}
kernel_name <- function(fit) format(fit$kernel)

# --- maps ---------------------------------------------------------------------------------------------------------

heaton <- function(name, part, bars) {
  if (!wanted(name, "heaton.rds")) return(invisible())
  h <- data_of("heaton.rds")
  d <- cbind(expand.grid(lon = h$lon, lat = h$lat), z = as.vector(h[[part]]))
  train <- h[[paste0(part, "_train")]]
  test <- !train & !is.na(d$z)
  took <- seconds({
    fit <- gp_fit(z ~ lon + lat, d[train, ])
    found <- scores_of(fit, d[test, ], d$z[test])
  })
  line(name, c(found, seconds = took), bars)
  told_fit(fit)
}

kaust <- function(file, scale, nugget, floor) {
  name <- sub("[.]rds$", "", file)
  if (!wanted(name, file)) return(invisible())
  parts <- lapply(data_of(file), function(d) stats::setNames(as.data.frame(d) / 1e6, c("x", "y", "z")))
  test <- parts$test[1:4000, ]  # those of the floor
  took <- seconds({
    fit <- gp_fit(z ~ x + y, parts$train, kernel = kernel_spec("matern"))
    found <- scores_of(fit, test, test$z)
  })
  truth <- log(c(variance = 1.5, scale = scale))
  se <- sqrt(diag(solve(fit$information)))[names(truth)]
  away <- (log(coef(fit, "covariance")[names(truth)]) - truth) / se
  line(name, c(ratio = found[["rmse"]] / floor, found["crps"], away, seconds = took),
       list(ratio = c(1.001, 1.003), variance = c(3, 3), scale = c(3, 3), seconds = c(300, 600)))
  told_fit(fit)
}

# --- regressions --------------------------------------------------------------------------------------------------

regression <- function(file, kernel, bars) {
  name <- paste0(sub("[.]rds$", "", file), ", all rows in the likelihood")
  if (!wanted(name, file)) return(invisible())
  if (!has_gpu()) return(cat(name, ": needs a GPU\n", sep = ""))
  d <- data_of(file)
  test <- d$fold == 1
  x <- scale(d$x[!test, ])
  y <- scale(d$y[!test])
  other <- scale(d$x[test, ], attr(x, "scaled:center"), attr(x, "scaled:scale"))
  kept <- apply(x, 2, function(v) all(is.finite(v)))
  took <- seconds({
    fit <- gp_fit(x[, kept], as.vector(y), kernel = kernel_spec(kernel, ard = TRUE))
    mean <- predict(fit, other[, kept])
  })
  left <- (d$y[test] - attr(y, "scaled:center")) / attr(y, "scaled:scale") - mean
  line(name, c(rmse = sqrt(mean(left^2)), seconds = took), bars)
  told_fit(fit)
}

# --- products -----------------------------------------------------------------------------------------------------

products <- function(device) {
  set.seed(1)
  n <- if (device == "gpu") 100000 else 20000
  x <- matrix(stats::runif(3 * n), n)
  b <- stats::rnorm(n)
  for (precision in c("float64", "float32")) {
    name <- paste("product,", device, precision)
    if (!grepl(asked$pattern, name)) next
    K <- lapply(c(`3/2` = 1.5, `0.6` = 0.6, `2.3` = 2.3), function(nu) {
      lazy_set(kernel_matern(x, x, scale = 0.3, nu = nu), device = device, precision = precision)
    })
    times <- clock(lapply(K, function(K) function() (K %*% b)[1]), by = if (device == "gpu") "wall" else "cpu")
    say(name, times)
  }
}

series <- function() {
  name <- "approximate() to 1e-6"
  if (!grepl(asked$pattern, name)) return(invisible())
  set.seed(1)
  x <- matrix(stats::runif(2e5), 1e5)
  b <- stats::rnorm(1e5)
  A <- lapply(c(`3/2` = 1.5, `0.6` = 0.6, `2.3` = 2.3), function(nu) {
    approximate(kernel_matern(x, x, scale = 0.2, nu = nu), 1e-6)
  })
  say(name, clock(lapply(A, function(A) function() (A %*% b)[1]), by = "cpu"))
}

# --- a million rows -----------------------------------------------------------------------------------------------

# A Matern 3/2 field of variance 1 on a grid of side x side nodes of the unit square, by circulant embedding.
grid_field <- function(side, scale) {
  near <- pmin(0:(2 * side - 1), 2 * side - 0:(2 * side - 1)) / side
  r <- sqrt(3) * sqrt(outer(near^2, near^2, `+`)) / scale
  spectrum <- Re(stats::fft((1 + r) * exp(-r)))
  noise <- array(complex(real = stats::rnorm(length(r)), imaginary = stats::rnorm(length(r))), dim(r))
  Re(stats::fft(sqrt(pmax(spectrum, 0) / length(r)) * noise))[seq_len(side), seq_len(side)]
}

# A fifth of noise at some nodes of a grid of 2048 x 2048.
million <- function(n = 1e6, side = 2048) {
  name <- "1e6 rows in the plane"
  if (!grepl(asked$pattern, name)) return(invisible())
  set.seed(1)
  field <- grid_field(side, 0.1)
  at <- sample.int(length(field), n)
  d <- data.frame(x = (row(field)[at] - 0.5) / side, y = (col(field)[at] - 0.5) / side,
                  z = field[at] + stats::rnorm(n, sd = sqrt(0.2)))
  took <- seconds(fit <- gp_fit(z ~ x + y, d))
  line(name, c(seconds = took, variance = fit$variance, nugget = fit$nugget),
       list(seconds = if (has_gpu()) c(60, 120) else c(600, 840)))
  told_fit(fit)
}

begin("the published competitions, by gp_fit()")
heaton("Heaton 2019, satellite", "satellite", list(rmse = c(1.53, 1.60), crps = c(.80, .83), seconds = c(300, 600)))
heaton("Heaton 2019, simulated", "simulated", list(rmse = c(.825, .83), crps = c(.43, .44), seconds = c(300, 600)))
kaust("kaust-0063240-15.rds", 0.063240 * sqrt(3), 0, 0.004681)
kaust("kaust-0030933-06.rds", 0.030933 * sqrt(1.2), 0, 0.225490)
kaust("kaust-0017526-23-nugget.rds", 0.017526 * sqrt(4.6), 0.25, 0.529042)
kaust("kaust-0247461-06-nugget.rds", 0.247461 * sqrt(1.2), 0.25, 0.536440)
regression("kin40k.rds", "matern52", list(rmse = c(.065, .07), seconds = c(120, 240)))
regression("protein.rds", "matern32", list(rmse = c(.52, .53), seconds = c(60, 120)))
products("cpu")
if (has_gpu()) products("gpu")
series()
million()
