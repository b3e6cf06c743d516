// Vectors of R whose numbers lie on a device, and come to R when somebody looks at them.
#pragma once
#include "border.hpp"
#include "base/view.hpp"

namespace kernweave {

// A vector of doubles or integers whose numbers a back end is about to leave in what is kept for it.
SEXP resident_vector(SEXPTYPE type, R_xlen_t length);

// A vector's numbers in R's memory, where they may first have to come, or in a file that must not have changed
// (r_map.cpp): if they cannot be had, R's error unwinds through C++.
const double* numbers_on_host(SEXP vector);

// Returns the address at which plain items of a vector of R may be written.
void* numbers_of(SEXP vector);

// Returns the record of a vector's copies on devices; null for a vector of any other class.
Kept* resident(SEXP vector);

}  // namespace kernweave
