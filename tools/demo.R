# make demo: a volcano from scattered noisy altitudes, kriged with a matrix that is never made.

library(kernweave)

# Light from the north-west on the slopes of a surface.
hillshade <- function(z, cell) {
  east <- (z[c(2:nrow(z), nrow(z)), ] - z[c(1, 1:(nrow(z) - 1)), ]) / (2 * cell)
  north <- (z[, c(2:ncol(z), ncol(z))] - z[, c(1, 1:(ncol(z) - 1))]) / (2 * cell)
  light <- (1 + east - north) / sqrt(3 * (1 + east^2 + north^2))
  pmin(pmax(light * 1.45, 0.45), 1.15)
}

# Altitude as colour, slope as light.
relief <- function(z, cell, range) {
  palette <- grDevices::col2rgb(grDevices::hcl.colors(256, "Terrain 2"))
  colour <- palette[, findInterval(z, seq(range[1], range[2], length.out = 256), all.inside = TRUE)]
  lit <- pmin(colour * rep(as.vector(hillshade(z, cell)), each = 3), 255)
  shown <- matrix(grDevices::rgb(lit[1, ], lit[2, ], lit[3, ], maxColorValue = 255), nrow(z))
  grDevices::as.raster(t(shown)[ncol(z):1, ])
}

frame <- function(title) {
  graphics::plot(NA, xlim = c(0, extent[1]), ylim = c(0, extent[2]), asp = 1, axes = FALSE, xlab = "", ylab = "",
                 xaxs = "i", yaxs = "i", main = title)
}

panel <- function(z, range, title) {
  frame(title)
  graphics::rasterImage(relief(z, extent[1] / (nrow(z) - 1), range), 0, 0, extent[1], extent[2], interpolate = TRUE)
  graphics::contour(seq(0, extent[1], length.out = nrow(z)), seq(0, extent[2], length.out = ncol(z)), z,
                    levels = seq(90, 200, 10), add = TRUE, drawlabels = FALSE, col = "#00000030")
}

draw <- function(file, points, seen, estimate, truth) {
  range <- range(truth)
  level <- findInterval(seen, seq(range[1], range[2], length.out = 256), all.inside = TRUE)
  shade <- grDevices::hcl.colors(256, "Terrain 2")[level]
  grDevices::png(file, width = 1650, height = 470, res = 130,
                 type = if (capabilities("cairo")) "cairo" else getOption("bitmapType"))
  on.exit(grDevices::dev.off())
  graphics::par(mfrow = c(1, 3), mar = c(0.5, 0.5, 2.2, 0.5), bg = "white", font.main = 1, cex.main = 1.25)
  frame(sprintf("%d altitudes, known to within %g m", nrow(points), noise))
  graphics::rect(0, 0, extent[1], extent[2], col = "#f4f1ea", border = NA)
  graphics::points(points, pch = 21, bg = shade, col = "#00000060", cex = 0.85)
  panel(estimate, range, "the surface between them")
  panel(truth, range, "Maunga Whau as surveyed")
}

set.seed(20)
truth <- datasets::volcano                  # altitudes on a grid of 10 m
extent <- 10 * (dim(truth) - 1)
n <- 700
noise <- 2
length_scale <- 55
spread <- 30

cells <- sample(length(truth), n)
points <- 10 * (arrayInd(cells, dim(truth)) - 1)
seen <- truth[cells] + noise * stats::rnorm(n)
level <- mean(seen)

started <- Sys.time()
gauss <- function(x, y) spread^2 * exp(-sqdist(x, y) / (2 * length_scale^2))
K <- gauss(Vi(points), Vj(points, name = "others"))
print(K)
weights <- solve(K, seen - level, ridge = noise^2, method = "cg")

fine <- lapply(2 * dim(truth) - 1, function(size) seq(0, 1, length.out = size))
grid <- cbind(rep(fine[[1]], length(fine[[2]])) * extent[1], rep(fine[[2]], each = length(fine[[1]])) * extent[2])
estimate <- matrix(level + gauss(Vi(grid), Vj(points)) %*% weights, length(fine[[1]]))
took <- as.numeric(Sys.time() - started, units = "secs")

file <- file.path(Sys.getenv("KERNWEAVE_SOURCE", "."), "kernweave-demo.png")
draw(file, points, seen, estimate, truth)
at_survey <- estimate[seq(1, nrow(estimate), 2), seq(1, ncol(estimate), 2)]
print(solve_report(weights))
cat(sprintf("root mean square error over the volcano: %.1f m, from altitudes known to within %g m\n",
            sqrt(mean((at_survey - truth)^2)), noise))
cat(sprintf("%.1f seconds; %s written\n", took, basename(file)))
