# Distances by name, for neighbours, clusters and designs.

# Distances by name, as functions of lazy points.
metric_rows <- list(
  euclidean = function(x, y) sqrt(sqdist(x, y)),
  sqeuclidean = function(x, y) sqdist(x, y),
  manhattan = function(x, y) manhattan(x, y),
  chebyshev = function(x, y) chebyshev(x, y),
  canberra = function(x, y) canberra(x, y),
  cosine = function(x, y) cosine(x, y),
  hellinger = function(x, y) hellinger(x, y),
  haversine = function(x, y) haversine(x, y, radius = earth_radius),
  chordal = function(x, y) sqrt(sqdist(x, y)),
  braycurtis = function(x, y) manhattan(x, y) / sum(x + y)
)
# The mean radius of the earth, in kilometres.
earth_radius <- 6371.0088
metric_aliases <- c(bray = "braycurtis", "bray-curtis" = "braycurtis", maximum = "chebyshev")

# Returns list(name, of = function(x, y)), given a name or a function of lazy points.
as_metric <- function(metric, argument = "metric") {
  if (is.function(metric)) {
    points <- names(formals(args(metric)))
    if (length(points) < 2 && !"..." %in% points) {
      abort("input", "`", argument, "` must be a function of two points, not of ", counted(length(points), "argument"))
    }
    return(list(name = "own metric", of = metric))
  }
  name <- choice_of(metric, c(names(metric_rows), names(metric_aliases)), argument)
  if (name %in% names(metric_aliases)) name <- metric_aliases[[name]]
  list(name = name, of = metric_rows[[name]])
}

# Returns a metric that compares squares, without roots.
squared <- function(metric) if (metric$name == "euclidean") as_metric("sqeuclidean") else metric
squared_eps <- function(metric, eps) if (metric$name == "euclidean") eps^2 else eps

# Returns lazy distances of numeric points; rows for which a distance is undefined are refused.
metric_pairs <- function(metric, x, y = x) {
  if (metric$name %in% c("braycurtis", "hellinger")) {
    amounts <- paste(metric$name, "is a distance of amounts, and")
    negative <- which(rowSums(x < 0) > 0)
    if (length(negative)) abort("data", amounts, " row ", first_few(negative), " is negative")
    if (any(y < 0)) abort("data", amounts, " there are negative ones")
  }
  empty <- if (metric$name == "braycurtis") which(rowSums(x) == 0)
  if (length(empty) > 1) {
    abort("data", "rows ", first_few(empty), " are empty: the Bray-Curtis distance of two such rows is 0 / 0")
  }
  if (metric$name == "chordal") {
    y <- on_sphere(y, earth_radius)  # first, since the default of y is x
    x <- on_sphere(x, earth_radius)
  }
  D <- metric$of(Vi(strip_term(x)), Vj(strip_term(y)))
  if (is_lazy(D) && width(D) == 1) return(D)
  abort("input", "`metric` must give a lazy tensor of one component, not ", describe(D))
}
strip_term <- function(x) {
  attr(x, "term") <- NULL
  x
}

# Converts longitudes and latitudes in degrees to points in space: a matrix to a matrix, a lazy tensor to a lazy tensor.
on_sphere <- function(x, radius) {
  n <- if (is_lazy(x)) width(x) else NCOL(x)
  if (n != 2) refuse_sphere(n)
  if (is_lazy(x)) {
    angle <- x * (pi / 180)
    long <- angle[, , 1]
    lat <- angle[, , 2]
    return(c(cos(lat) * cos(long), cos(lat) * sin(long), sin(lat)) * radius)
  }
  x <- matrix(as.numeric(as.matrix(x)), ncol = 2, dimnames = list(rownames(x), NULL))
  for (k in 2:1) {
    beyond <- which(abs(x[, k]) > c(360, 90)[k])
    if (length(beyond)) {
      abort("data", "the ", c("first column must be longitudes, from -360 to 360",
                              "second column must be latitudes, from -90 to 90")[k], ", and row ", first_few(beyond),
            " has ", format(x[beyond[1], k]),
            if (k == 2) "; the first are longitudes" else "; sf::st_transform() makes degrees of projected coordinates")
    }
  }
  angle <- x * (pi / 180)
  radius * cbind(cos(angle[, 2]) * cos(angle[, 1]), cos(angle[, 2]) * sin(angle[, 1]), sin(angle[, 2]))
}

refuse_sphere <- function(n) {
  abort("shape", "places on a sphere have two columns, longitude and latitude, not ", n, "; kernel_spec(of = ) names ",
        "them among others")
}
