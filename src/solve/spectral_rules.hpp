// Quadrature over the spectrum of a matrix as vectors see it, from one Lanczos process: good for any function, and for
// the matrix with any number added to its diagonal.
#pragma once
#include "solve/conjugate_gradients.hpp"
#include "solve/lanczos.hpp"

namespace kernweave::solve {

struct SpectralRules {
  std::vector<QuadratureRule> gauss,
      radau;  // of each column; bounds from both sides for functions such as inverse and logarithm
  std::vector<int> steps;
  int products = 0;
};

// Computes the spectral rules of a positive semidefinite matrix B. A column ends if the bounds of b'(B + ridge)^-1 b
// agree, relative to b'(B + ridge)^-1 b.
SpectralRules spectral_rules(Operator* matrix, const Block& b, double ridge, const Limits& limits, const Poll& poll);

}  // namespace kernweave::solve
