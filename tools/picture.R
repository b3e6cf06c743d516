# The README's picture: the map of its first lines, and the map's standard error. man/figures/quakes.jpg.
#
#   Rscript tools/picture.R [the picture's file]

library(kernweave)

file <- c(commandArgs(TRUE), file.path(Sys.getenv("KERNWEAVE_SOURCE", "."), "man/figures/quakes.jpg"))[1]
fit <- gp_fit(depth ~ long + lat, quakes)
grDevices::jpeg(file, 800, 370, res = 90, quality = 60, type = if (capabilities("cairo")) "cairo" else "Xlib")
graphics::par(mfrow = c(1, 2), mar = c(4, 4, 2, 2.2), cex = 0.8)
plot(fit, main = "depth, km")
plot(fit, "se", main = "standard error, km")
invisible(grDevices::dev.off())
