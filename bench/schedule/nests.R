# All distinct orders of the loops of a matrix product whose axes are cut into blocks, as plain loops compiled by g++:
#   Rscript bench/schedule/nests.R [n] [block] [picture]
# k cut once gives 12, i and j cut 30, k cut twice 20, all cut once 90. Blocks of blocks are eight times as large.

source("bench/schedule/compile.R")
asked <- given(n = 520, block = 40, picture = "nests")
n <- asked$n
b <- asked$block
set.seed(1)
A <- draw(n, n)
B <- draw(n, n)
R <- reduction(C[i, j] ~ A[i, k] * B[k, j], "sum", call = FALSE)
sets <- list(
  "k cut" = list(axes = c("i", "j", "k", "k"), block = list(k = b)),
  "i and j cut" = list(axes = c("i", "i", "j", "j", "k"), block = list(i = b, j = b)),
  "k cut twice" = list(axes = c("i", "j", "k", "k", "k"), block = list(k = c(8 * b, b))),
  "all cut" = list(axes = c("i", "i", "j", "j", "k", "k"), block = list(i = b, j = b, k = b)))

begin(sprintf("all nests of the product of n = %g with blocks of %g, one thread, processor's ms; %s", n, b,
              paste(flags[1:4], collapse = " ")))
own <- clock(list(kernweave = function() as.array(R), "base R" = function() A %*% B), by = "cpu")
found <- lapply(sets, function(set) {
  calls <- compiled_orders(R, list(A, B), distinct_orders(set$axes), set$block, expected = A %*% B)
  times <- clock(calls, by = "cpu", enough = 0.2)
  times[order(times$cpu_ms), ]
})
for (name in names(found)) {
  times <- found[[name]]
  middle <- times[ceiling(nrow(times) / 2), ]
  shown <- rbind(own, times[1, ], middle, times[nrow(times), ])
  shown$who <- c(own$who, "best", "median", "worst")
  say(sprintf("%s: %d orders", name, nrow(times)), shown)
  each <- sprintf("%s=%.1f", gsub(" ", "", times$who), times$cpu_ms)
  cat(strwrap(paste(each, collapse = " "), 118, prefix = "# "), sep = "\n")
}

picture(asked$picture, 900, 700, {
  graphics::par(mfrow = c(2, 2))
  all_ms <- c(unlist(lapply(found, `[[`, "cpu_ms")), own["kernweave", "cpu_ms"])
  breaks <- seq(floor(4 * log2(min(all_ms))), ceiling(4 * log2(max(all_ms)))) / 4
  for (name in names(found)) {
    graphics::hist(log2(found[[name]]$cpu_ms), breaks, main = sprintf("%s: %d orders", name, nrow(found[[name]])),
                   xlab = "milliseconds", ylab = "orders", col = "#4C78A8", border = "white", xaxt = "n")
    ticks <- seq(ceiling(min(breaks)), floor(max(breaks)))
    graphics::axis(1, ticks, 2^ticks)
    graphics::abline(v = log2(own["kernweave", "cpu_ms"]), lwd = 2)
    graphics::mtext("  kernweave", at = log2(own["kernweave", "cpu_ms"]), adj = 0, line = -1, cex = 0.7)
  }
})
