# Measures the package's choice among its nests: random contractions and sums of functions of two and three arrays over
# three and four axes, all nests of each measured on one thread:
#   Rscript bench/schedule/regret.R [cases of each seed] [points] [seeds ...]
# Regret is the time of the nest that is taken over that of the best of all.

source("bench/clock.R")
options(kernweave.threads = 1)
asked <- given(cases = 40, points = 3e6)
seeds <- as.integer(commandArgs(TRUE)[-(1:2)])
if (!length(seeds)) seeds <- c(101L, 102L)

# Extents whose product is about so many points, each up to four times as long as another.
random_extents <- function(count, points) {
  share <- 2^stats::runif(count, -2, 2)
  pmax(2, round(share * (points / prod(share))^(1 / count)))
}
random_case <- function(points) {
  axes <- letters[9:(11 + sample(0:1, 1))]
  extents <- structure(random_extents(length(axes), points), names = axes)
  read <- lapply(seq_len(sample(2:3, 1)), function(k) sample(axes, sample(2:min(3, length(axes)), 1)))
  if (!setequal(unlist(read), axes)) return(random_case(points))
  data <- lapply(read, function(own) array(stats::rnorm(prod(extents[own])), extents[own]))
  names(data) <- LETTERS[seq_along(read)]
  terms <- mapply(function(name, own) sprintf("%s[%s]", name, toString(own)), names(data), read)
  right <- if (stats::runif(1) < 0.6) paste(terms, collapse = " * ")
           else sprintf("exp(-abs(%s))", paste(terms, collapse = " - "))
  kept <- sample(axes, sample(seq_len(length(axes) - 1), 1))
  list(formula = stats::as.formula(sprintf("R[%s] ~ %s", toString(kept), right)), data = data)
}

measured <- function(case) {
  nests <- schedule(reduction(case$formula, "sum", call = FALSE, data = case$data), measure = TRUE)
  took <- nests$measured
  if (nrow(nests) < 2) return(NULL)
  data.frame(formula = deparse1(case$formula), nests = nrow(nests), chosen = took[nests$chosen] / min(took),
             random = took[sample(nrow(nests), 1)] / min(took), spread = max(took) / min(took),
             tau = stats::cor(nests$seconds, took, method = "kendall"))
}

heading <- utils::capture.output(begin(sprintf(
  "regret of the nest that is taken, %g cases of each seed, %g points, one thread", asked$cases, asked$points)))
writeLines(heading[1:2])
for (seed in seeds) {
  set.seed(seed)
  found <- do.call(rbind, replicate(asked$cases, measured(random_case(asked$points)), simplify = FALSE))
  of <- function(x) sprintf("%8.2f", c(stats::quantile(x, c(0.5, 0.9, 0.95)), max(x)))
  cat(sprintf("\nseed %d, %d cases of %d to %d nests\n", seed, nrow(found), min(found$nests), max(found$nests)))
  cat(sprintf("%-28s  median    90 %%    95 %%    most\n", ""))
  cat(sprintf("%-26s%s\n", c("the package's choice", "one at random", "worst / best"),
              vapply(found[c("chosen", "random", "spread")], function(x) paste(of(x), collapse = ""), "")), sep = "")
  cat(sprintf("Kendall's tau of expected and measured seconds, median %.2f\n", stats::median(found$tau, na.rm = TRUE)))
  worst <- utils::head(found[order(-found$chosen), ], 3)
  cat(sprintf("largest: %.2f  %s\n", worst$chosen, worst$formula), sep = "")
}
