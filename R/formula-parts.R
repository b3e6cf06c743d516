# Complex lazy tensors as pairs of real and imaginary parts: how they are made, and properties of both parts together.

# Returns the sum of the parts. Parts may vary along different axes; the sum has the shape of the whole tensor.
whole_of <- function(x) if (is_lazy(x$re)) x$re + x$im else x$re

# Makes a complex tensor whose parts have equally many components.
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

# Makes complex data an operand for each part. `make` takes data and a name.
complex_operand <- function(z, name, make) {
  new_complex(make(Re(z), paste0(name, "_re")), make(Im(z), paste0(name, "_im")))
}
