# States, in slow and plain base R, what a table of a radial function says of a number.

# A polynomial of degree 5 for each of 32 segments of an octave, in the distance from the middle of the segment over the
# octave's first number; heads of four numbers tell the place of the rows, the first octave, their number and the pole.
oracle_radial_table <- function(x, table, order, most) {
  stopifnot(length(x) == 1, order <= most)
  head <- table[4 * (1 + order) + 1:4]
  if (is.nan(x)) return(NaN)
  octave <- floor(log2(x))  # which rounding may make one too many or too few
  if (x > 0 && is.finite(x)) octave <- octave + (2^(octave + 1) <= x) - (2^octave > x)
  within <- if (is.finite(octave)) x / 2^octave - 1 else 0
  row <- (octave - head[2]) * 32 + floor(within * 32) + 1
  row <- min(max(row, 0), head[3] - 1)
  t <- within - (floor(within * 32) + 0.5) / 32
  sum(table[head[1] + row * 6 + 1:6] * t^(0:5)) * if (head[4] == 0) 1 else if (x == 0) 0 else x^-head[4]
}
