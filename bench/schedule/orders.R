# The six orders of the loops of a matrix product, and of a product with a vector that is cut into blocks: plain loops
# compiled by g++, with matrices by columns and by rows, and the package's own loops in the same order:
#   Rscript bench/schedule/orders.R [n] [picture]
# The milliseconds beside, "slides", were told for n = 1024 and matrices by rows at the 8th Wigner GPU Day, 2018.

source("bench/schedule/compile.R")
asked <- given(n = 1024, picture = "orders")
n <- asked$n
set.seed(1)
A <- draw(n, n)
B <- draw(n, n)
product <- A %*% B

# The formula by rows has its indices exchanged, and the same orders with i and j exchanged.
orders <- strsplit(c("j k i", "k j i", "j i k", "i j k", "k i j", "i k j"), " ")
mirrored <- lapply(orders, function(order) chartr("ij", "ji", order))
slides <- c(450, 1410, 4670, 6050, 13800, 15600)
by_columns <- reduction(C[i, j] ~ A[i, k] * B[k, j], "sum", call = FALSE)
tA <- t(A)
tB <- t(B)
by_rows <- reduction(C[j, i] ~ tA[k, i] * tB[j, k], "sum", call = FALSE)

columns_calls <- compiled_orders(by_columns, list(A, B), orders, expected = product)
rows_calls <- compiled_orders(by_rows, list(tA, tB), mirrored, expected = t(product))
ours <- lapply(orders, function(order) {
  R <- tryCatch(schedule(by_columns, order = order), kernweave_error_unsupported = function(e) NULL)
  if (is.null(R)) return(NULL)
  stopifnot(all.equal(as.array(R), product))
  function() as.array(R)
})

begin(sprintf("the six orders of the product of n = %g, outermost loop first; one thread; %s", n,
              paste(flags[1:4], collapse = " ")))
found <- lapply(seq_along(orders), function(k) {
  times <- clock(list(columns = columns_calls[[k]], rows = rows_calls[[k]], schedule = ours[[k]]), by = "cpu")
  say(paste(c(orders[[k]], if (k == 3) "(naive)", if (k == 4) "(naive in R)"), collapse = " "), times,
      known = if (n == 1024) c(slides = slides[k]) else numeric())
  times
})
ms <- function(who) vapply(found, function(times) times[who, "cpu_ms"], 0)
all_ms <- list(columns = ms("columns"), rows = ms("rows"), slides = slides)
for (who in names(all_ms)) {
  took <- all_ms[[who]]
  cat(sprintf("# %s: worst / best %.1f, naive / best %.1f, tau with the slides %.2f\n", who, max(took) / min(took),
              took[3] / min(took), stats::cor(took, slides, method = "kendall")))
}
chosen <- clock(list(kernweave = function() as.array(by_columns), "base R" = function() A %*% B), by = "cpu")
say("what the package chooses, beside %*%", chosen)

v <- stats::rnorm(4 * n)
M <- draw(4 * n, 4 * n)
matvec <- reduction(w[i] ~ M[i, k] * v[k], "sum", call = FALSE)
cut <- c(distinct_orders(c("i", "i", "k")), distinct_orders(c("i", "k", "k")))
calls <- compiled_orders(matvec, list(M, v), cut, c(i = 64, k = 64), as.vector(M %*% v))
names(calls) <- paste("loops", names(calls))
say(sprintf("matrix of %g x vector, blocks of 64", 4 * n),
    clock(c(list(kernweave = function() as.array(matvec)), calls), by = "cpu"))

picture(asked$picture, 900, 560, {
  shown <- rbind(slides, all_ms$rows, all_ms$columns, ms("schedule"))
  colours <- c("grey75", "#4C78A8", "#F58518", "black")
  graphics::matplot(t(shown), type = "b", log = "y", pch = c(15, 16, 17, 18), lty = c(1, 1, 1, 0), col = colours,
                    ylim = range(shown, chosen$cpu_ms, na.rm = TRUE), xaxt = "n", ylab = "",
                    xlab = "loops, outermost first (by rows: i and j exchanged)",
                    main = sprintf("Milliseconds of a product of two matrices, n = %g, one thread", n))
  graphics::axis(1, seq_along(orders), vapply(orders, paste, "", collapse = " "))
  graphics::abline(h = chosen$cpu_ms, lty = 2:3)
  graphics::legend("topleft", c("slides of 2018, by rows", "g++, by rows", "g++, by columns", "schedule(order =)",
                                "kernweave's choice", "base R"), bty = "n", pch = c(15, 16, 17, 18, NA, NA),
                   lty = c(1, 1, 1, 0, 2, 3), col = c(colours, 1, 1))
})
