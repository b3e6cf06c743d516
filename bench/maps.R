# Maps of the two fields of Heaton et al. (2019) by one call of gp_fit() each: estimates, standard errors and errors.
#   Rscript bench/maps.R FOLDER OUT [threads]
# FOLDER has heaton.rds; OUT gets heaton-satellite.png and heaton-simulated.png.

source("bench/clock.R")
asked <- given(folder = "", out = ".", threads = 2)
options(kernweave.threads = asked$threads, kernweave.progress = FALSE)
h <- readRDS(file.path(asked$folder, "heaton.rds"))
places <- expand.grid(lon = h$lon, lat = h$lat)

panel <- function(values, title, colours, limits = range(values, na.rm = TRUE)) {
  shown <- matrix(pmin(pmax(values, limits[1]), limits[2]), length(h$lon))
  image(sort(h$lon), sort(h$lat), shown[order(h$lon), order(h$lat)], col = colours, zlim = limits, xlab = "", ylab = "",
        main = sprintf("%s, %.3g to %.3g", title, limits[1], limits[2]), useRaster = TRUE)
}

for (part in c("satellite", "simulated")) {
  d <- cbind(places, z = as.vector(h[[part]]))
  train <- h[[paste0(part, "_train")]] & !is.na(d$z)
  took <- system.time({
    fit <- gp_fit(z ~ lon + lat, d[train, ])
    found <- predict(fit, d[!train, ], se.fit = TRUE)
  })[["elapsed"]]
  estimate <- se <- error <- d$z
  estimate[!train] <- found$fit
  se[] <- error[] <- NA
  se[!train] <- found$se.fit
  error[!train] <- d$z[!train] - found$fit
  known <- is.finite(error)
  cat(sprintf("%s: %.0f s, RMSE %.4f, %s\n", part, took, sqrt(mean(error[known]^2)), format(fit$kernel)))
  png(file.path(asked$out, paste0("heaton-", part, ".png")), 1200, 330, pointsize = 13)
  par(mfrow = c(1, 3), mar = c(2.2, 2.2, 2, 0.6))
  panel(estimate, "estimate", hcl.colors(128, "Spectral", rev = TRUE))
  panel(se, "standard error", hcl.colors(128, "Lajolla"))
  panel(error, "error", hcl.colors(128, "Blue-Red"), c(-1, 1) * quantile(abs(error), 0.99, na.rm = TRUE))
  dev.off()
}
