# Complex lazy tensors as pairs of their parts: made of these, and what both parts have in common.

# Parts may vary along different axes; together they are as wide and long as their sum.
whole_of <- function(x) if (is_lazy(x$re)) x$re + x$im else x$re

# Both parts have as many components.
new_complex <- function(re, im) {
  if (is_lazy(re) && is_lazy(im) && width(re) != width(im)) {
    n <- max(width(re), width(im))
    repeated <- function(part) if (width(part) == 1) lazy_call("SumT", list(part), n) else part
    re <- repeated(re)
    im <- repeated(im)
  }
  asS4(structure(list(re = re, im = im), class = "lazy_complex"))
}

each_part <- function(x, f, ...) new_complex(f(x$re, ...), f(x$im, ...))

# An operand of complex data: one operand for each part. `make` takes data and a name.
complex_operand <- function(z, name, make) {
  new_complex(make(Re(z), paste0(name, "_re")), make(Im(z), paste0(name, "_im")))
}
