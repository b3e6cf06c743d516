// The contracted form of a plan: squared distances in exponents become inner products.
#pragma once
#include <vector>
#include "plan/outputs.hpp"

namespace kernweave {

// A squared distance that has been contracted, and what the size of its rounding error depends on.
struct Contracted {
  Expr x, y;         // the variables
  Expr coefficient;  // what the distance is multiplied by until it stands in an exponent to base e
  Expr scale;        // of x and y before they are subtracted; null: 1
  int width;
};

// The same outputs with |x - y|^2 = |x|^2 + |y|^2 - 2 <x, y> wherever an absolute error in the distance is a relative
// error of a term: in exponents. False where no distance stands there, or one stands elsewhere too.
bool contract(const Precision& precision, std::vector<OutputFormula>* outputs, std::vector<Contracted>* found);

// Of a contracted distance: the largest sum of squared distances from the centre, times coefficient and scale, at
// which the terms keep their accuracy.
double contraction_bound(const Contracted& c, const Precision& precision);

}  // namespace kernweave
