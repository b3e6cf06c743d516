# Compares criteria that choose the penalty of kernel_ridge() and of rbf_interpolate(): squared errors of ten-fold
# cross-validation, the penalty chosen within each part, as multiples of those of the best penalty of a grid, the same
# for all parts. Data are those of R and its packages with 20 to 500 rows, of which at most 250 are taken at random.
#   Rscript bench/penalty.R [repeats] [the first data sets only]
# "both" is what kernweave takes: the logarithm of generalised cross-validation and, as if of 100 rows, the likelihood.

source("bench/clock.R")
asked <- given(repeats = 2, sets = Inf)
repeats <- asked$repeats
of <- function(package, ...) lapply(list(...), function(one) c(one, package = package))
set <- function(formula, name) list(formula = formula, name = name)
sets <- c(
  of("datasets", set(dist ~ speed, "cars"), set(eruptions ~ waiting, "faithful"), set(Fertility ~ ., "swiss"),
     set(mpg ~ wt + hp + qsec + disp, "mtcars"), set(stack.loss ~ ., "stackloss"), set(Volume ~ ., "trees"),
     set(Ozone ~ Solar.R + Wind + Temp, "airquality"), set(rating ~ ., "attitude"), set(sr ~ ., "LifeCycleSavings"),
     set(log(perm) ~ area + peri + shape, "rock"), set(mag ~ long + lat + depth, "quakes"),
     set(Sepal.Length ~ Sepal.Width + Petal.Length + Petal.Width, "iris"), set(depth ~ long + lat, "quakes"),
     set(RTEN ~ ., "USJudgeRatings"), set(circumference ~ age, "Orange"), set(height ~ age, "Loblolly"),
     set(conc ~ time, "Indometh"), set(conc ~ Time + Wt + Dose, "Theoph"), set(density ~ conc, "DNase"),
     set(uptake ~ conc, "CO2"), set(rate ~ conc, "Puromycin"), set(len ~ dose, "ToothGrowth"), set(y ~ t, "LakeHuron"),
     set(log(y) ~ t, "lynx"), set(y ~ t, "nhtemp"), set(y ~ t, "Nile"), set(y ~ t, "sunspot.year"),
     set(accel ~ mag + dist, "attenu"), set(temp ~ time, "beaver1"), set(weight ~ Time, "ChickWeight"),
     set(y ~ t, "airmiles")),
  of("MASS", set(medv ~ rm, "Boston"), set(medv ~ lstat, "Boston"), set(accel ~ times, "mcycle"),
     set(medv ~ crim + nox + rm + dis + ptratio + lstat, "Boston"), set(Hwt ~ Bwt, "cats"),
     set(log(perf) ~ syct + mmin + mmax + cach + chmin + chmax, "cpus"), set(FL ~ RW + CL + CW + BD, "crabs"),
     set(waiting ~ duration, "geyser"), set(GAG ~ Age, "GAGurine"), set(time ~ dist + climb, "hills"),
     set(log(brain) ~ log(body), "mammals"), set(deaths ~ drivers + popden + rural + temp + fuel, "road"),
     set(loss ~ hard + tens, "Rubber"), set(Gas ~ Temp, "whiteside"), set(y ~ ., "UScrime"),
     set(MPG.city ~ Weight + Horsepower + EngineSize, "Cars93"), set(VitC ~ HeadWt, "cabbages"),
     set(log(brain) ~ log(body), "Animals"), set(bwt ~ age + lwt, "birthwt"), set(Y ~ EP + V10 + SG + VP, "petrol"),
     set(calls ~ year, "phones"), set(Time ~ Viscosity + Wt, "stormer"), set(Height ~ Wr.Hnd + NW.Hnd + Age, "survey"),
     set(z ~ x + y, "topo"), set(Weight ~ Days, "wtloss"), set(glu ~ bmi + age + ped, "Pima.tr")),
  of("nlme", set(distance ~ age, "Orthodont"), set(weight ~ Time, "BodyWeight"),
     set(accel ~ distance + Richter, "Earthquake"), set(rate ~ pressure, "Dialyzer"), set(conc ~ age, "IGF"),
     set(follicles ~ Time, "Ovary"), set(height ~ age, "Oxboys"), set(weight ~ Time, "Soybean"),
     set(logSize ~ days, "Spruce"), set(yield ~ latitude + longitude, "Wheat2")),
  of("cluster", set(y ~ x, "ruspini")),
  of("boot", set(Hwt ~ Bwt, "catsM"), set(l1 ~ b1 + l2 + b2, "frets"), set(cost ~ date + cap, "nuclear"),
     set(sal ~ lag + trend + dis, "salinity"), set(gravity ~ ph + osmo + cond + urea + calc, "urine"),
     set(time ~ age + thickness, "melanoma"), set(u ~ x, "bigcity")),
  of("lattice", set(NOx ~ E, "ethanol"), set(NOx ~ E + C, "ethanol"),
     set(ozone ~ radiation + temperature + wind, "environmental")))

numbers_of <- function(set) {
  place <- new.env()
  if (set$package != "datasets") utils::data(list = set$name, package = set$package, envir = place)
  data <- get(set$name, if (set$package == "datasets") "package:datasets" else place)
  if (stats::is.ts(data)) data <- data.frame(y = as.numeric(data), t = as.numeric(stats::time(data)))
  frame <- stats::model.frame(set$formula, as.data.frame(as.list(data)), na.action = stats::na.omit)
  x <- unname(vapply(frame[-1], as.numeric, numeric(nrow(frame))))
  set.seed(1)
  keep <- if (nrow(x) > 250) sort(sample(nrow(x), 250)) else seq_len(nrow(x))
  list(x = x[keep, , drop = FALSE], y = as.numeric(frame[[1]])[keep], label = paste(set$name, deparse1(set$formula)))
}

# Computes what criteria are made of for the matrix V diag(d) V'. length(d) may be less than the n observations.
curves <- function(d, V, y, ridges) {
  n <- length(y)
  d <- pmax(d, 0)
  inverse <- 1 / outer(d, ridges, `+`)
  along <- as.vector(crossprod(V, y))
  data.frame(rss = ridges^2 * colSums((inverse * along)^2), edf = n - ridges * colSums(inverse),
             square = n - length(d) + colSums((d * inverse)^2),
             loo = colMeans(((V %*% (inverse * along)) / (V^2 %*% inverse))^2),
             surprise = log(colSums(inverse * along^2)) - colMeans(log(inverse)))
}

criteria <- local({
  gcv <- function(t, n, cost = 1) {
    ifelse(cost * t$edf < n * (1 - 1e-6), log(t$rss) - 2 * log(pmax(1 - cost * t$edf / n, 1e-9)), Inf)
  }
  # The largest penalty that is no worse than the least by more than the difference of the two is known.
  flat <- function(t, n) {
    v <- exp(gcv(t, n))
    k <- which.min(v)
    max(which(v - v[k] <= v[k] * sqrt(2 * pmax(t$edf[k] - t$edf, 0)) * 2 / n & seq_along(v) >= k))
  }
  robust <- function(t, n) which.min(gcv(t, n) + log(0.3 + 0.7 * t$square / n))
  list(gcv = function(t, n) which.min(gcv(t, n)), loo = function(t, n) which.min(t$loo), flat = flat, robust = robust,
       cost1.4 = function(t, n) which.min(gcv(t, n, 1.4)), likelihood = function(t, n) which.min(t$surprise),
       both = function(t, n) which.min(gcv(t, n) + 100 / n * t$surprise))
})

squared <- function(x, y) pmax(outer(rowSums(x^2), rowSums(y^2), `+`) - 2 * x %*% t(y), 0)

# Returns the scale at which the Gaussian kernel varies most, as maxvar_scale().
widest <- function(x) {
  half <- as.vector(stats::dist(x))^2 / 2
  about <- log(stats::median(half[half > 0])) / 2
  varies <- function(log_scale) stats::var(exp(-half * exp(-2 * log_scale)))
  exp(stats::optimize(varies, about + log(100) * c(-1, 1), tol = 1e-4, maximum = TRUE)$maximum)
}

# Squared errors at new places, a column for each penalty, and what criteria are made of.
gaussian_ridge <- function(x, y, new) {
  kernel <- function(x, y, scale) exp(-squared(x, y) / (2 * scale^2))
  scale <- widest(x)
  e <- eigen(kernel(x, x, scale), symmetric = TRUE)
  ridges <- 10^seq(-6, 2, by = 0.125)
  middle <- mean(y)
  unit <- stats::sd(y)
  y <- (y - middle) / unit
  alpha <- e$vectors %*% (as.vector(crossprod(e$vectors, y)) / outer(pmax(e$values, 0), ridges, `+`))
  list(at = middle + unit * kernel(new, x, scale) %*% alpha, curves = curves(e$values, e$vectors, y, ridges))
}

thin_plates <- function(x, y, new) {
  kernel <- function(x, y) ifelse(squared(x, y) < 1e-20, 0, squared(x, y) * log(squared(x, y)) / 2)
  q <- qr(cbind(1, x))
  rest <- qr.Q(q, complete = TRUE)[, -seq_len(q$rank), drop = FALSE]
  K <- kernel(x, x)
  e <- eigen(crossprod(rest, K %*% rest), symmetric = TRUE)
  V <- rest %*% e$vectors
  ridges <- mean(e$values) * 10^seq(-7, 3, by = 0.125)
  c <- V %*% (as.vector(crossprod(V, y)) / outer(pmax(e$values, 0), ridges, `+`))
  list(at = kernel(new, x) %*% c + cbind(1, new) %*% qr.coef(q, y - K %*% c), curves = curves(e$values, V, y, ridges))
}

one_part <- function(model, data, out) {
  x <- data$x[!out, , drop = FALSE]
  varies <- apply(x, 2, stats::sd) > 0
  unit <- function(at) scale(at[, varies, drop = FALSE], colMeans(x)[varies], apply(x, 2, stats::sd)[varies])
  found <- model(unit(x), data$y[!out], unit(data$x[out, , drop = FALSE]))
  list(error = colSums((data$y[out] - found$at)^2),
       chosen = vapply(criteria, function(f) f(found$curves, sum(!out)), 0))
}

ratios <- function(model, data) {
  set.seed(7)
  parts <- unlist(lapply(seq_len(repeats), function(k) {
    fold <- sample(rep_len(1:10, length(data$y)))
    lapply(1:10, function(j) one_part(model, data, fold == j))
  }), recursive = FALSE)
  rowSums(vapply(parts, function(p) p$error[p$chosen], 0 * seq_along(criteria))) /
    min(Reduce(`+`, lapply(parts, `[[`, "error")))
}

all <- lapply(utils::head(sets, asked$sets), numbers_of)
begin("errors by criteria, as multiples of the best penalty's")
# A row for each criterion; its ratio is the geometric mean.
summarise <- function(case, found) {
  for (name in colnames(found)) {
    r <- found[, name]
    row <- data.frame(who = name, clock = "-", wall_ms = NA, cpu_ms = NA, spread = NA, ratio = exp(mean(log(r))),
                      bar = NA)
    print_rows(case, row, also = c(root_within_5 = mean(sqrt(r) <= 1.05), within_5 = mean(r <= 1.05),
                                   within_20 = mean(r <= 1.2), of_95 = stats::quantile(r, 0.95, names = FALSE),
                                   largest = max(r)))
  }
}
for (model in c("gaussian_ridge", "thin_plates")) {
  used <- if (model == "thin_plates") Filter(function(data) ncol(data$x) <= 2, all) else all
  found <- t(vapply(used, function(data) ratios(get(model), data), 0 * seq_along(criteria)))
  colnames(found) <- names(criteria)
  n <- vapply(used, function(data) length(data$y), 0)
  for (rows in Filter(any, list(n > 0, n >= 90, n < 90))) {
    summarise(sprintf("%s, %d sets of %d to %d rows", model, sum(rows), min(n[rows]), max(n[rows])),
              found[rows, , drop = FALSE])
  }
  for (k in seq_along(used)) summarise(paste0(model, ", ", used[[k]]$label), found[k, , drop = FALSE])
}
