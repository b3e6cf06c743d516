// Differences of points, on the CPU and on a GPU: a power of a component as a sum of products of powers, and the error
// of a squared distance that is computed from an inner product.
#pragma once
#include "lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

KW_FN double to_power(double x, int power) {
  double product = 1;
  for (int k = 0; k < power; ++k) product *= x;
  return product;
}

// Returns the factor of z^k in (a + z)^n.
KW_FN double binomial_term(int n, int k, double a) {
  double ways = 1;
  for (int i = 1; i <= k; ++i) ways = ways * (n - k + i) / i;
  return ways * to_power(a, n - k);
}

// One column of weights as several series of a box, its slots: the first slot has the weights themselves, each other
// slot has the weights times a power of one component of their points' places.
struct Spread {
  int power, components;

  // Returns the spread for points of a width. Without a difference there is one component, and one slot.
  static Spread of(int power, int width) { return {power, power ? width : 1}; }

  KW_FN int count() const { return 1 + power * components; }
  KW_FN int at(int exponent, int component) const {
    return exponent == 0 ? 0 : 1 + (exponent - 1) * components + component;
  }
  KW_FN int exponent(int slot) const { return slot == 0 ? 0 : 1 + (slot - 1) / components; }
  KW_FN int component(int slot) const { return slot == 0 ? 0 : (slot - 1) % components; }
  // Tells whether the power of a component's difference is computed from this slot, among others.
  KW_FN bool is_of(int slot, int which) const { return which < components && (slot == 0 || component(slot) == which); }
};

// Error bound: the most by which |x|^2 + |y|^2 - 2 <x, y> may exceed |x - y|^2 computed from differences, in roundings
// of |x|^2 + |y|^2. Inner product, squares and differences are rounded once or twice a component, at numbers of at most
// 2 (|x|^2 + |y|^2).
KW_FN constexpr double expansion_error(int width) { return 6.0 * width + 32.0; }

}  // inline namespace KW_ISA
}  // namespace kernweave
