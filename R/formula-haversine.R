# The great-circle distance on a sphere, under its name in packages for maps.

#' Great-circle distance
#'
#' Computes the distance along a great circle between points given by longitude and latitude. Use it for points on the
#' Earth, in distances and in kernels.
#'
#' The function uses the haversine formula, which is accurate even for points that are very close. On the sphere of
#' radius 1 the distance is the angle between the points, in radians.
#'
#' Coordinates are in degrees, longitude first, as in R's packages for maps. In text formulas of [kernel_op()],
#' `haversine(x, y)` has neither `unit` nor `radius`. There, as in textbooks, each point has latitude and longitude in
#' this order and in radians, and the value is the angle between the points.
#'
#' @param x,y points: lazy tensors of two components, longitude and latitude, or two numbers
#' @param unit unit of the coordinates: `"degree"` (default) or `"radian"`
#' @param radius radius of the sphere, in the unit of the distance: one number, or a lazy tensor of one component. The
#'   default is 1; the mean radius of the Earth is 6371.0088 km
#' @return A lazy tensor of one component; for plain numbers, their distance.
#' @seealso [euclidean()] and other distances in [lazy-operations], [kernel_gaussian()]
#' @concept distance on a sphere
#' @concept longitude and latitude
#' @concept geographical distance
#' @export
#' @examples
#' cities <- rbind(Paris = c(2.35, 48.86), London = c(-0.13, 51.51), Rome = c(12.5, 41.9))
#' as.matrix(haversine(Vi(cities), Vj(cities), radius = 6371.0088))
#' # a Gaussian kernel of the distance, with a length-scale of 500 km
#' d <- haversine(Vi(cities), Vj(cities), radius = 6371.0088)
#' sum(exp(-(d / 500)^2 / 2), index = "j")
haversine <- function(x, y, unit = "degree", radius = 1) {
  unit <- one_of(unit, c("degree", "radian"), "unit")
  angle <- operation("Haversine", list(x = latitude_first(x, unit, "x"), y = latitude_first(y, unit, "y")))
  if (identical(radius, 1)) return(angle)
  one <- if (is_lazy(radius)) width(radius) == 1 else is.numeric(radius) && length(radius) == 1 && isTRUE(radius > 0)
  if (!one) {
    abort("input", "`radius` must be one positive number, or a lazy tensor of one component, not ", describe(radius))
  }
  angle * radius
}

latitude_first <- function(point, unit, argument) {
  if (!is_lazy(point) && !is_traced(point)) point <- plain_numbers(point, argument)$values
  n <- if (is_lazy(point)) width(point) else length(point)
  if (n != 2) abort("shape", "a point on a sphere has a longitude and a latitude, not ", counted(n, "component"))
  turned <- if (is_lazy(point)) lazy_call("Pick", list(point), c(2L, 2L, 1L)) else point[2:1]
  if (unit == "degree") turned * (pi / 180) else turned
}
