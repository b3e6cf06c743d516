// The arguments of the kernels for pairs of points far apart (far.hpp), and of the kernels of their Morton order
// (morton.hpp). The host's compiler and the device's read the same text.
#pragma once
#include "../difference.hpp"
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

inline constexpr int kFarThreads = 256;
inline constexpr int kFarPoints = 32;        // points whose polynomials a block of threads has at once
inline constexpr int kFarRange = 512;      // points of a box that one block of threads sums up
inline constexpr int kFarEvaluated = 128;    // points of a box that one block of threads evaluates an expansion at
inline constexpr int kFarRowsOfBlock = 4;    // rows of a class's matrix that share their columns
inline constexpr int kFarMostBatch = 32;     // pairs of boxes at once, of one class and permutation

// Along one axis there are fewer degrees than this.
template <int D>
inline constexpr int kFarDegrees = D == 1 ? 40 : D == 2 ? 24 : 14;

// Some points of a box. `place` is the number of the box among the boxes of its level that take part.
struct PointRange {
  int begin, end, place;
};

// The centre of a box, in two parts: places in the box go from -1 to 1 around the centre. `box` is the box's place in
// the grid of its level.
struct FarCentre {
  double at[3], rest[3];
  int box[3];
};

// Pairs of boxes with the same M2L matrix and signed permutation.
struct FarBatch {
  int first, count, offset_class, permutation;
};

// The arguments of all kernels; each kernel reads some of them.
struct FarTask {
  // Points in the order of boxes, their components one after the other, `behind` apart; and a number for each point.
  const double* points;
  long long behind;
  const double* weights;
  double* sums;
  // The slots that a column of weights has in a box. Sums of each component of a difference are `behind` apart.
  Spread spread;
  // Boxes, and the centres of sources if the boxes are targets.
  const PointRange* ranges;
  const FarCentre *centres, *of_sources;
  double half;
  // `set`: numbers of a level's terms. The numbers of a box, for each slot, are `stride` apart. `ends`, for each choice
  // of degrees along the other axes: all degrees along the last axis are less than this.
  const int *set, *ends;
  int degrees, terms, stride;
  double *expansions, *parts;
  const int* part_starts;
  // The batches from box to box. `permuted`: for each permutation, the place of each term, or ~place if its sign
  // changes. `starts`: for each class, the start of the entries of each block of rows.
  const FarBatch* batches;
  const int *sources, *permuted, *starts, *columns;
  const double* numbers;
  int blocks, width;
  double* found;
  // The pairs of each target, from target `first` on.
  const int *pair_starts, *pairs;
  int first;
  // Numbers that are put into another order: column c begins at c * rows. Results have `components` components side by
  // side, each the sum of `summands` components of the formula. These have numbers, one for each component of the
  // difference, and factors of rows, `factors_behind` apart.
  long long count, rows, factors_behind;
  int components, summands;
  const int* order;
  const double *factors, *of_components, *more;
  int* not_finite;  // set to 1 if a number is not finite; null: no test
};

// --- memory that a block of threads shares, in numbers ---

KW_FN constexpr int far_power(int base, int exponent) {
  int power = 1;
  for (; exponent > 0; --exponent) power *= base;
  return power;
}

// Counts the threads that have the same leading degrees; each takes every far_slices()-th point.
KW_FN constexpr int far_slices(int leading) {
  return kFarThreads / leading < kFarPoints ? kFarThreads / leading : kFarPoints;
}
// Counts a weight and the polynomials of a point: an odd number, so that points lie in different banks.
template <int D>
KW_FN constexpr int far_point_numbers() {
  return 1 + D * kFarDegrees<D> + (D * kFarDegrees<D>) % 2;
}
template <int D>
KW_FN constexpr int far_moments_numbers(int degrees) {
  const int of_points = kFarPoints * far_point_numbers<D>(),
            of_sums = far_slices(far_power(degrees, D - 1)) * far_power(degrees, D);
  return of_points > of_sums ? of_points : of_sums;
}
// Counts numbers of far_apply(): a term's, for all pairs, and an unused one, so that terms lie in different banks.
KW_FN constexpr int far_apply_numbers(int rows, int width) { return 2 * rows * (width + 1); }

// --- Morton order ---------------------------------------------------------------------------------------------------
inline constexpr int kMortonThreads = 256;
inline constexpr int kMortonEach = 16;       // items of a thread of a block that sorts
inline constexpr int kMortonTile = kMortonThreads * kMortonEach;
inline constexpr int kMortonBits = 8;        // bits of a key that are sorted by at once
inline constexpr int kMortonDigits = 1 << kMortonBits;
static_assert(kMortonDigits == kMortonThreads, "a thread has a digit");
inline constexpr int kMortonScan = 1024;     // threads of the one block that adds up counts

struct MortonTask {
  // Points, component by component, and the cube they are in, whose sides are halved `halvings` times.
  int points, halvings;
  const double* numbers;
  double least[3], width;
  // Keys and the points' numbers before and after a pass. `counts`: for each digit, the number of keys in each tile.
  const unsigned long long* keys;
  const int* order;
  unsigned long long* keys_to;
  int* order_to;
  int* counts;
  int tiles, shift;
  double* components;  // in order, one after the other
  // Boxes by their first point and the point after their last; `ends`: where the points of each part of a box end.
  const long long* boxes;
  int box_count, behind;  // bits of a key below those that tell the part
  int* ends;
};

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
