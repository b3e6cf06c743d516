# Drawn where nobody sees it.

in_nowhere <- function(code) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  force(code)
}
