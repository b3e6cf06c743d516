# Responses of each family, of one set of places.

family_places <- function() {
  q <- quakes[seq(1, 1000, by = 5), ]
  q <- q[!duplicated(q[c("long", "lat")]), ]
  q$many <- q$stations > 30
  q
}
family_formulas <- list(binomial = many ~ long + lat, poisson = stations ~ long + lat, Gamma = depth ~ long + lat,
                        negbin = stations ~ long + lat)
known_families <- list(binomial = stats::binomial(), poisson = stats::poisson(), Gamma = stats::Gamma("log"),
                       negbin = "negbin")
