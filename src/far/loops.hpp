// The innermost loops over points and terms of boxes, compiled for each instruction set.
#pragma once
#include <array>
#include <cstdint>

namespace kernweave {
namespace far {

constexpr int kBatch = 16;        // pairs of boxes that are multiplied at once
constexpr int kRowsOfBlock = 4;   // rows of a class's matrix that share their columns
constexpr int kMostDegrees = 48;  // the most degrees of a polynomial along one axis

// Products of Chebyshev polynomials of a position in a box, one along each axis, of degrees less than `degrees`. `set`
// has the numbers of the terms. For each choice of degrees along the other axes, degrees along the last axis are less
// than `ends`.
struct Terms {
  int degrees;
  const int* set;
  int count;
  const int* ends;
};

// Points of a box: the addresses of the first point's components, and the box, in which positions are -1 to 1 (Centre).
template <int D>
struct BoxPoints {
  std::array<const double*, D> at;
  int count;
  std::array<double, D> centre, rest;
  double half;
};

// A matrix in blocks of rows: block b has columns[first[b]] to columns[first[b + 1] - 1], with a number for each row.
struct BlockRows {
  int blocks;
  const int* first;
  const int* columns;
  const double* numbers;
};

struct ExpansionLoops {
  int lanes;
  // Computes out[r][t] = sum over m of numbers[m][r] table[m][t]; all matrices are row by row.
  void (*transform)(const double* numbers, int count, std::int64_t rest, const double* table, int to, double* out);
  // Computes out = matrix times in, of kBatch columns, row by row.
  void (*multiply)(const BlockRows& matrix, const double* in, double* out);
  // Compute the sums over the points of a box of weight times term; `room` has degrees^D vectors of lanes.
  void (*moments1)(const BoxPoints<1>&, const double* weights, const Terms&, double* room, double* out);
  void (*moments2)(const BoxPoints<2>&, const double* weights, const Terms&, double* room, double* out);
  void (*moments3)(const BoxPoints<3>&, const double* weights, const Terms&, double* room, double* out);
  // Add to each point of a box the sum of coefficients times terms; `room` has degrees^D numbers.
  void (*evaluate1)(const BoxPoints<1>&, const double* coefficients, const Terms&, double* room, double* out);
  void (*evaluate2)(const BoxPoints<2>&, const double* coefficients, const Terms&, double* room, double* out);
  void (*evaluate3)(const BoxPoints<3>&, const double* coefficients, const Terms&, double* room, double* out);
};

extern const ExpansionLoops loops_base;
#if defined(__x86_64__)
extern const ExpansionLoops loops_avx2, loops_avx512;
#endif

// Returns the loops for the instruction set in use.
const ExpansionLoops& loops();

template <int D>
auto moments_of(const ExpansionLoops& k) {
  if constexpr (D == 1) return k.moments1;
  else if constexpr (D == 2) return k.moments2;
  else return k.moments3;
}
template <int D>
auto evaluate_of(const ExpansionLoops& k) {
  if constexpr (D == 1) return k.evaluate1;
  else if constexpr (D == 2) return k.evaluate2;
  else return k.evaluate3;
}

constexpr int power(int base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }

}  // namespace far
}  // namespace kernweave
