# Drawn where nobody sees it.

in_nowhere <- function(code) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  force(code)
}

# Returns what a picture of a fit or a test shows: numbers of each of its layers.
pictured <- function(object, ...) kernweave:::plot_data(object, ...)
layer <- function(object, kind, ...) pictured(object, ...)$layers[[kind]]
