# Tests, neighbours, clusters, fits and transport beside the packages that R's statisticians know: seconds at a size
# where both run, then ours alone at a large one, with the peak of memory that R counts.
#
#   Rscript bench/models.R [points beside others] [points alone] [threads] [lines whose names match this]

source("bench/clock.R")
asked <- given(n = 1000, large = 1e5, threads = 2, pattern = "")
n <- asked$n
large <- asked$large
options(kernweave.threads = asked$threads)

case <- function(name, ours, peer = NULL, theirs = NULL) {
  if (!grepl(asked$pattern, name)) return(invisible())
  calls <- c(list(kernweave = ours), if (!is.null(peer) && have(peer)) stats::setNames(list(theirs), peer))
  times <- clock(calls)
  say(paste0(name, if (is.null(peer)) sprintf(", n = %g", nrow(d$x))), times,
      also = stats::setNames(times$mb, c("MB", "their_MB")[seq_along(calls)]))
}

points_of <- function(n) {
  set.seed(1)
  x <- matrix(stats::rnorm(3 * n), n)
  noise <- stats::rnorm(n) / 2
  list(x = x, field = field_of(x), y = matrix(stats::rnorm(2 * n), n), to = matrix(stats::rnorm(3 * n, 1, 0.7), n),
       g = rep(1:2, length.out = n), cl = rep(1:20, length.out = n),
       frame = data.frame(a = x[, 1], b = x[, 2], z = sin(2 * x[, 1]) + x[, 3] + noise,
                          g = factor(rep(1:3, length.out = n))))
}

# A field that resembles a draw of a Gaussian process, by random waves, and noise of a quarter of its variance.
field_of <- function(x, waves = 200) {
  long <- matrix(stats::rnorm(3 * waves), 3) / rep(sqrt(stats::rgamma(waves, 1.5, 1.5)), each = 3)
  at <- x %*% long + rep(2 * pi * stats::runif(waves), each = nrow(x))
  rowSums(cos(at)) * sqrt(2 / waves) + stats::rnorm(nrow(x)) / 2
}

process <- function(d, kernel = "matern32", ...) gp_fit(d$x, d$field, kernel = kernel, ...)
ridge <- function(d, lambda) kernel_ridge(d$x, d$frame$z, kernel_spec("gaussian", 1), lambda)
# The largest squared distance between points of either cloud.
blur <- function(d) {
  all <- rbind(d$x, d$to)
  0.02 * max(max(sqdist(Vi(all), Vj(all)), index = "j"))
}
transport <- function(d) sinkhorn(d$x, d$to, epsilon = blur(d))

begin(sprintf("models beside others, %g points, and alone", n))
d <- points_of(n)
by_group <- order(d$g)
case("energy_test, 999 permutations", function() energy_test(d$x, groups = d$g), "energy",
     function() energy::eqdist.etest(d$x[by_group, ], table(d$g), R = 999))
case("energy_test, moments", function() energy_test(d$x, groups = d$g, null = "moments"))
case("mmd_test, 999 permutations (others: 150)", function() mmd_test(d$x, groups = d$g), "kernlab",
     function() kernlab::kmmd(d$x[d$g == 1, ], d$x[d$g == 2, ], asymptotic = TRUE, ntimes = 150))
case("dcor_test, moments", function() dcor_test(d$x, d$y), "energy",
     function() energy::dcov.test(d$x, d$y, R = 999))
case("dcor_test, 999 permutations", function() dcor_test(d$x, d$y, null = "permutation"), "energy",
     function() energy::dcov.test(d$x, d$y, R = 999))
case("hsic_test, moments", function() hsic_test(d$x, d$y))
case("ksd_test, 999 signs", function() ksd_test(d$x, -d$x))
case("permanova, 999 permutations", function() permanova(d$x ~ g, d$frame), "vegan",
     function() vegan::adonis2(d$x ~ g, d$frame, method = "euclidean", permutations = 999))
case("knn, k = 10", function() knn(d$x, k = 10), "FNN", function() FNN::get.knn(d$x, 10))
case("silhouette_widths, 20 clusters", function() silhouette_widths(d$x, d$cl), "cluster",
     function() cluster::silhouette(d$cl, stats::dist(d$x)))
flat <- function(n) {  # thirty neighbours each
  set.seed(1)
  matrix(stats::runif(2 * n, 0, sqrt(n * pi / 30)), n)
}
planes <- lapply(c(n, large), flat)
for (plane in planes) {
  case(sprintf("dbscan_fit, 30 neighbours, %g points in the plane", nrow(plane)),
       function() dbscan_fit(plane, 1, 30), "dbscan", function() dbscan::dbscan(plane, 1, 30))
  case(sprintf("lof_scores, k = 10, %g points in the plane", nrow(plane)), function() lof_scores(plane, 10), "dbscan",
       function() dbscan::lof(plane, 11))
}
case("knn_fit, k = 5, predictions of all", function() predict(knn_fit(d$x, d$frame$g), d$x), "class",
     function() class::knn(d$x, d$x, d$frame$g, 5))
for (method in c("single", "ward.D2")) {
  case(paste("hclust_fit,", method), function() hclust_fit(d$x, method), "stats",
       function() stats::hclust(stats::dist(d$x), method))
}
case("hdbscan_fit", function() hdbscan_fit(d$x, 10), "dbscan", function() dbscan::hdbscan(d$x, 10))
case("kmeans_fit, 20 clusters, one start", function() suppressWarnings(kmeans_fit(d$x, 20, nstart = 1)), "stats",
     function() suppressWarnings(stats::kmeans(d$x, 20, iter.max = 100, algorithm = "Lloyd")))
case("kde_fit, values at the points", function() fitted(kde_fit(d$x)), "ks",
     function() ks::kde(d$x, H = ks::Hns(d$x), eval.points = d$x, binned = FALSE))
case("local_reg, 2 inputs, given bandwidth", function() local_reg(z ~ a + b, d$frame, bandwidth = 0.3), "sm",
     function() sm::sm.regression(d$frame[, c("a", "b")], d$frame$z, h = c(0.3, 0.3), nbins = 0, display = "none",
                                  eval.points = as.matrix(d$frame[, c("a", "b")]), eval.grid = FALSE))
case("kpca_fit, 5 components", function() kpca_fit(d$x, 5, kernel_spec("gaussian", 1)), "kernlab",
     function() kernlab::kpca(d$x, kernel = "rbfdot", kpar = list(sigma = 1 / 2), features = 5))
case("rbf_interpolate, thin plate, 2 inputs", function() rbf_interpolate(d$x[, 1:2], d$frame$z), "fields",
     function() fields::Tps(d$x[, 1:2], d$frame$z, lambda = 1e-9, scale.type = "unscaled"))
case("rbf_interpolate, lambda by GCV", function() rbf_interpolate(d$x[, 1:2], d$frame$z, lambda = "gcv"), "fields",
     function() fields::Tps(d$x[, 1:2], d$frame$z, scale.type = "unscaled"))
case("kernel_ridge, lambda 1, with effects", function() marginal_effects(ridge(d, 1)), "KRLS",
     function() KRLS::krls(d$x, d$frame$z, lambda = 1, sigma = 2, print.level = 0))
case("kernel_ridge, lambda by GCV", function() ridge(d, NULL), "KRLS",
     function() KRLS::krls(d$x, d$frame$z, sigma = 2, derivative = FALSE, print.level = 0))
case("gp_fit, Matern 3/2 with noise, REML", function() process(d), "fields",
     function() suppressPackageStartupMessages({
       library(fields)  # it looks for its functions by their names
       fields::spatialProcess(d$x, d$field, mKrig.args = list(m = 1), REML = TRUE,
                              cov.args = list(Covariance = "Matern", smoothness = 1.5))
     }))
case("gp_fit, exponential, ML", function() process(d, "exponential", method = "ML"), "nlme",
     function() nlme::gls(z ~ 1, data.frame(d$x, z = d$field), method = "ML",
                          correlation = nlme::corExp(c(0.5, 0.2), form = ~ X1 + X2 + X3, nugget = TRUE)))
case("sinkhorn, 2 % of the squared diameter", function() transport(d), "T4transport",
     function() T4transport::sinkhorn(d$x, d$to, lambda = blur(d)))
case("sinkhorn, unbalanced", function() sinkhorn(d$x, d$to, epsilon = blur(d), rho = 10 * blur(d)))
moved <- transport(d)
case("hessian_product", function() hessian_product(moved, d$x))

if (large > 0) {
  d <- points_of(large)
  case("knn, k = 10", function() knn(d$x, k = 10))
  case("silhouette_widths, 20 clusters", function() silhouette_widths(d$x, d$cl))
  case("kmeans_fit, 20 clusters, one start", function() suppressWarnings(kmeans_fit(d$x, 20, nstart = 1)))
  for (method in c("single", "ward.D2")) case(paste("hclust_fit,", method), function() hclust_fit(d$x, method))
  case("hdbscan_fit", function() hdbscan_fit(d$x, 10))
  case("kde_fit, values at the points", function() fitted(kde_fit(d$x)))
  case("local_reg, 2 inputs, given bandwidth", function() local_reg(z ~ a + b, d$frame, bandwidth = 0.3))
  case("radius_nn, 20 neighbours in the mean", function() radius_nn(d$x, radius = 0.12 * (1e5 / large)^(1 / 3)))
  case("kernel_ridge, lambda 1", function() ridge(d, 1))
  case("kernel_ridge, lambda 1, with effects", function() marginal_effects(ridge(d, 1)))
  case("gp_fit, estimated on 5000 rows", function() process(d, estimate_on = 5000))
  case("gp_fit, REML of all rows", function() process(d))
  case("sinkhorn, 2 % of the squared diameter", function() transport(d))
  case("energy_test, moments", function() energy_test(d$x, groups = d$g, null = "moments"))
  case("dcor_test, moments", function() dcor_test(d$x, d$y))
  wide <- matrix(stats::rnorm(100 * large), 2 * large)
  sides <- rep(1:2, each = large)
  case("energy_test, 1000 slices, 2 x n, D = 50", function() {
    energy_test(wide, groups = sides, slices = 1000, R = 1)
  })
  case("energy_test, 100 slices, 99 permutations", function() {
    energy_test(wide, groups = sides, slices = 100, R = 99)
  })
  K <- kernel_energy(d$x)
  Z <- matrix(stats::rbinom(128 * large, 1, 0.5) * 1, large)
  case("energy_test, 128 of its permutations", function() K %*% Z)
}

# Rows that are repeated have answers that follow from those of the rows once: what large sizes give against what small
# ones give by a dense matrix. Relative differences, for about as many rows.
tile <- function(name, wanted, found) {
  name <- paste("tiles,", name)
  if (!grepl(asked$pattern, name)) return(invisible())
  out <- NULL
  times <- clock(function() out <<- found(), enough = 0)
  wanted <- wanted()
  say(name, times, also = c(off = max(abs(out - wanted)) / max(abs(wanted))))
}

if (large > 0) {
  r <- max(2, large %/% 150)
  flowers <- as.matrix(datasets::iris[, 1:4])
  rows <- rep(seq_len(150), r)
  many <- flowers[rows, ]
  kinds <- datasets::iris$Species
  at <- flowers[seq(1, 150, by = 10), ] + 0.1
  gaussian <- kernel_spec("gaussian", scale = 1.3)
  tile("energy_test", function() r * energy_test(flowers, groups = kinds, R = 1)$statistic,
       function() energy_test(many, groups = kinds[rows], R = 1)$statistic)
  tile("mmd_test", function() r * mmd_test(flowers, groups = kinds, kernel = gaussian, R = 1)$statistic,
       function() mmd_test(many, groups = kinds[rows], kernel = gaussian, R = 1)$statistic)
  labels <- kmeans_fit(flowers, flowers[c(1, 51, 101), ])$cluster
  tile("silhouette_widths", function() {
    sums <- t(rowsum(as.matrix(stats::dist(flowers)), labels))
    counts <- c(table(labels))
    own <- sums[cbind(1:150, labels)] * r / (r * counts[labels] - 1)
    means <- t(t(sums) / counts)
    means[cbind(1:150, labels)] <- Inf
    other <- apply(means, 1, min)
    mean((other - own) / pmax(own, other))
  }, function() mean(silhouette_widths(many, labels[rows])[, "sil_width"]))
  tile("kmeans_fit", function() r * kmeans_fit(flowers, flowers[c(1, 51, 101), ])$tot.withinss,
       function() kmeans_fit(many, flowers[c(1, 51, 101), ])$tot.withinss)
  tile("kde_fit", function() predict(kde_fit(flowers, 0.4), at), function() predict(kde_fit(many, 0.4), at))
  tile("local_reg", function() predict(local_reg(flowers[, 1:2], flowers[, 3], bandwidth = 0.5), at[, 1:2]),
       function() predict(local_reg(many[, 1:2], many[, 3], bandwidth = 0.5), at[, 1:2]))
  of_ridge <- function(x, lambda) kernel_ridge(x[, 1:3], x[, 4], gaussian, lambda, standardize = FALSE)
  tile("kernel_ridge", function() predict(of_ridge(flowers, 0.1), at[, 1:3]),
       function() predict(of_ridge(many, 0.1 * r), at[, 1:3]))
  of_process <- function(x, nugget) gp_fit(x[, 1:3], x[, 4], kernel = gaussian, variance = 1, nugget = nugget)
  tile("gp_fit", function() predict(of_process(flowers, 0.1), at[, 1:3]),
       function() predict(of_process(many, 0.1 * r), at[, 1:3]))
  tile("sinkhorn", function() sinkhorn(flowers[1:75, ], flowers[76:150, ], epsilon = 0.2)$divergence, function() {
    sinkhorn(many[rows <= 75, ], many[rows > 75, ], epsilon = 0.2)$divergence
  })
}
