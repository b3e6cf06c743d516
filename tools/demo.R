# make demo: a volcano kriged from scattered noisy altitudes. How it varies is learned from the altitudes themselves, by
# likelihood; then there is a map, and a map of how sure that map is, and the survey beside them.
#
#   Rscript tools/demo.R [the picture's file, kernweave-demo.png if none is named]

library(kernweave)

# --- the data: a few hundred places of a volcano, at each an altitude that is off by some metres ---------------

set.seed(20)
truth <- datasets::volcano                  # altitudes on a grid of 10 m
extent <- 10 * (dim(truth) - 1)
noise <- 2
cells <- sample(length(truth), 500)
places <- 10 * (arrayInd(cells, dim(truth)) - 1)
seen <- truth[cells] + noise * stats::rnorm(length(cells))

# --- kriging ---------------------------------------------------------------------------------------------------

started <- Sys.time()
survey <- data.frame(east = places[, 1], north = places[, 2], altitude = seen)
fit <- gp_fit(altitude ~ east + north, survey, kernel = "matern32")
grid <- 10 * (expand.grid(east = seq_len(nrow(truth)), north = seq_len(ncol(truth))) - 1)
kriged <- predict(fit, grid, se.fit = TRUE)
estimate <- matrix(kriged$fit, nrow(truth))
error <- matrix(kriged$se.fit, nrow(truth))
took <- as.numeric(Sys.time() - started, units = "secs")

# --- the picture -----------------------------------------------------------------------------------------------

# Light from the north-west on the slopes of a surface.
hillshade <- function(z, cell) {
  east <- (z[c(2:nrow(z), nrow(z)), ] - z[c(1, 1:(nrow(z) - 1)), ]) / (2 * cell)
  north <- (z[, c(2:ncol(z), ncol(z))] - z[, c(1, 1:(ncol(z) - 1))]) / (2 * cell)
  light <- (1 + east - north) / sqrt(3 * (1 + east^2 + north^2))
  pmin(pmax(light * 1.45, 0.45), 1.15)
}

coloured <- function(z, range, palette) {
  palette[findInterval(z, seq(range[1], range[2], length.out = 256), all.inside = TRUE)]
}

# Altitude as colour, slope as light.
relief <- function(z, range) {
  lit <- pmin(grDevices::col2rgb(coloured(z, range, terrain)) * rep(as.vector(hillshade(z, 10)), each = 3), 255)
  grDevices::as.raster(t(matrix(grDevices::rgb(t(lit), maxColorValue = 255), nrow(z)))[ncol(z):1, ])
}

terrain <- grDevices::hcl.colors(256, "Terrain 2")
doubt <- grDevices::hcl.colors(256, "Lajolla")

frame <- function(title, said) {
  graphics::plot(NA, xlim = c(0, extent[1]), ylim = c(0, extent[2]), asp = 1, axes = FALSE, xlab = "", ylab = "",
                 xaxs = "i", yaxs = "i")
  graphics::mtext(title, side = 3, line = 1.3, adj = 0, cex = 1.05, font = 2)
  graphics::mtext(said, side = 3, line = 0.2, adj = 0, cex = 0.8, col = "grey30")
}

filled <- function(raster) graphics::rasterImage(raster, 0, 0, extent[1], extent[2], interpolate = TRUE)

lines_of <- function(z, levels, ...) {
  graphics::contour(10 * (seq_len(nrow(z)) - 1), 10 * (seq_len(ncol(z)) - 1), z, levels = levels, add = TRUE, ...)
}

draw <- function(file) {
  type <- if (capabilities("cairo")) "cairo" else getOption("bitmapType")
  grDevices::png(file, 1800, 1340, res = 150, type = type)
  on.exit(grDevices::dev.off())
  graphics::par(mfrow = c(2, 2), mar = c(0.5, 0.5, 3, 0.5), bg = "white")
  range <- range(truth)
  frame(sprintf("%d altitudes", nrow(places)), sprintf("each off by some %g m", noise))
  graphics::rect(0, 0, extent[1], extent[2], col = "#f4f1ea", border = NA)
  graphics::points(places, pch = 21, bg = coloured(seen, range, terrain), col = "#00000060", cex = 1)
  frame("The surface between them", sprintf("off by %.1f m in the mean", sqrt(mean((estimate - truth)^2))))
  filled(relief(estimate, range))
  lines_of(estimate, seq(90, 200, 10), drawlabels = FALSE, col = "#00000030")
  frame("How sure it is", "standard error in metres: small near altitudes, large beyond them")
  shown <- coloured(error, c(0.6 * min(error), stats::quantile(error, 0.99)), doubt)
  filled(grDevices::as.raster(t(matrix(shown, nrow(error)))[ncol(error):1, ]))
  lines_of(error, c(2, 3, 5), col = "#00000080")
  graphics::points(places, pch = 19, cex = 0.25, col = "#00000080")
  frame("Maunga Whau as surveyed", sprintf("%.0f %% of it within 1.96 standard errors",
                                           100 * mean(abs(estimate - truth) < 1.96 * error)))
  filled(relief(truth, range))
  lines_of(truth, seq(90, 200, 10), drawlabels = FALSE, col = "#00000030")
}

file <- file.path(Sys.getenv("KERNWEAVE_SOURCE", "."), c(commandArgs(TRUE), "kernweave-demo.png")[1])
draw(file)
print(fit)
cat(sprintf("kriged at %s places: off by %.1f m in the mean, %.0f %% within 1.96 standard errors\n",
            format(nrow(grid), big.mark = ","), sqrt(mean((estimate - truth)^2)),
            100 * mean(abs(estimate - truth) < 1.96 * error)))
cat(sprintf("%.1f seconds; %s written\n", took, basename(file)))
