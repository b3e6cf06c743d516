# The distance on a sphere, as those who have maps call it.

#' Distance on a sphere
#'
#' The way along a great circle between points given by longitude and latitude, by the formula of haversines, which is
#' exact for points next to each other too. On the sphere of radius 1 it is the angle between the points, in radians.
#'
#' As in all packages of R for maps, coordinates are degrees, longitude first. In text formulas of [kernel_op()], where
#' there is neither `unit` nor `radius`, `haversine(x, y)` is the angle between points of latitude and longitude, in
#' this order and in radians, as formulas in books have it.
#'
#' @param x,y lazy tensors of two components, longitude and latitude, or two numbers
#' @param unit of the coordinates: `"degree"` or `"radian"`
#' @param radius of the sphere, in the unit of the distance (that of the Earth is 6371.0088 km in the mean); one number,
#'   or a lazy tensor of one component
#' @return A lazy tensor of one component; of plain numbers, their distance.
#' @seealso [euclidean()] and its like in [lazy-operations], [kernel_gaussian()]
#' @export
#' @examples
#' cities <- rbind(Paris = c(2.35, 48.86), London = c(-0.13, 51.51), Rome = c(12.5, 41.9))
#' as.matrix(haversine(Vi(cities), Vj(cities), radius = 6371.0088))
#' # a Gaussian of the distance, 500 km wide
#' d <- haversine(Vi(cities), Vj(cities), radius = 6371.0088)
#' sum(exp(-(d / 500)^2 / 2), index = "j")
haversine <- function(x, y, unit = "degree", radius = 1) {
  unit <- one_of(unit, c("degree", "radian"), "unit")
  angle <- operation("Haversine", list(x = latitude_first(x, unit, "x"), y = latitude_first(y, unit, "y")))
  if (identical(radius, 1)) angle else angle * check_radius(radius)
}

latitude_first <- function(point, unit, argument) {
  if (!is_lazy(point) && !is_traced(point)) point <- plain_numbers(point, argument)$values
  n <- if (is_lazy(point)) width(point) else length(point)
  if (n != 2) {
    abort("shape", "a point on a sphere has a longitude and a latitude, not ", n,
          if (n == 1) " component" else " components")
  }
  turned <- if (is_lazy(point)) lazy_call("Pick", list(point), c(2L, 2L, 1L)) else point[2:1]
  if (unit == "degree") turned * (pi / 180) else turned
}

check_radius <- function(radius) {
  one <- if (is_lazy(radius)) width(radius) == 1 else is.numeric(radius) && length(radius) == 1 && isTRUE(radius > 0)
  if (!one) {
    abort("input", "`radius` must be one positive number, or a lazy tensor of one component, not ", describe(radius))
  }
  radius
}
