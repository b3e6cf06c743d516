// Nearest neighbours of points of few components. |y|^2 - 2 <x, y> takes half the instructions of a squared distance
// and bounds it from below; a distance is computed, difference by difference, only if its bound may still enter a list.
#pragma once
#include "../difference.hpp"
#include "sweep.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// --- the bound ------------------------------------------------------------------------------------------------------
// Lower bound of a squared distance, |x|^2 + |y|^2 - 2 <x, y> less its error: each point has its square less its share
// of the error, so screens compute the inner product alone for each pair.

// Error bound of an inner product that a thread computes, relative to |x|^2 + |y|^2.
template <int kWidth>
inline constexpr float kScreenError = static_cast<float>(expansion_error(kWidth) * 0x1p-24);

// The error bound if tensor cores compute the inner product. In units of 2^-24, three instructions a step of 16
// components cut off 17 numbers each, squares are rounded once a component, and splitting into halves costs less than
// 16.
template <int kWidth>
inline constexpr float kTensorError = (51.0f * ((kWidth + kProductDepth - 1) / kProductDepth) + kWidth + 16.0f) /
                                      16777216.0f;

// Returns the square of a point less its error bound, underflow included. Squares beyond a quarter of the largest
// number set the flag `lost`: intermediate sums might overflow.
__device__ inline float least_square(const Head& head, float square, float error) {
  if (0x1p125f < square) *head.lost = 1;
  return square * (1.0f - error) - 1e-36f;
}

// --- the screen -----------------------------------------------------------------------------------------------------

// The limit on computed distances: one pair in kFewScreened, and kScreenedOfPlace for each place of a list, which take
// it to its first bounds. If more distances would enter (points in falling order of distance, or too far from their
// centre), the screen gives up and all distances are computed.
inline constexpr int kFewScreened = 16, kScreenedOfPlace = 32;

// The screen of a thread's rows: the bounds of their lists, as limits of |y|^2 - 2 <x, y>.
template <class F>
class Screen {
 public:
  using L = typename F::L;
  using State = typename F::Near::Lane;

  __device__ Screen(const typename F::Arguments& a, const Rows<F>& rows, const Patch& patch)
      : most_(static_cast<int>(
            least((patch.end - patch.begin) / kFewScreened + kScreenedOfPlace * (F::Near::kPlaces + 4), 1 << 30))) {
#pragma unroll
    for (int k = 0; k < F::kRows; ++k) {
      float square = 0.0f;
#pragma unroll
      for (int d = 0; d < F::kScreened; ++d) square += rows.at[k][F::kRowAt + d].v * rows.at[k][F::kRowAt + d].v;
      square_[k] = least_square(a.head, square, kScreenError<F::kScreened>);
      limit_[k] = nan<L>().v;
    }
  }

  __device__ __forceinline__ void strip(const typename F::Arguments&, const Rows<F>& rows, const L* columns,
                                        long long first, int left, typename F::States& states) {
    float at_least[F::kRows][F::kColumns], lowest[F::kRows];
#pragma unroll
    for (int c = 0; c < F::kColumns; ++c) {
      L y[F::kColumnNumbers];
      load<F::kColumnNumbers>(columns + c * F::kColumnNumbers, y);
#pragma unroll
      for (int k = 0; k < F::kRows; ++k) {
        at_least[k][c] = y[F::kSquareAt].v;
#pragma unroll
        for (int d = 0; d < F::kScreened; ++d)
          at_least[k][c] += -2.0f * rows.at[k][F::kRowAt + d].v * y[F::kColumnAt + d].v;
        lowest[k] = c == 0 ? at_least[k][0] : fminf(lowest[k], at_least[k][c]);
      }
    }
#pragma unroll
    for (int k = 0; k < F::kRows; ++k)
      if (lowest[k] < limit_[k] || open(limit_[k]))
        look(rows.at[k], columns, first, left, at_least[k], square_[k], &limit_[k], &states.o0[k].lane[0]);
  }

  __device__ void end(const typename F::Arguments& a) const {
    if (lost()) *a.head.lost = 1;
  }

 private:
  __device__ bool lost() const { return looked_at_ > most_; }
  // Tells by its limit whether a list is not full yet.
  __device__ static bool open(float limit) { return limit != limit; }
  // Computes the distances that may enter, in the order of columns, as lists require.
  __device__ __forceinline__ void look(const L (&x)[F::kRowNumbers], const L* columns, long long first, int left,
                                       const float (&at_least)[F::kColumns], float square, float* limit, State* list) {
    using M = typename F::Near::L;
    const bool all = open(*limit);
    unsigned waiting = 0;
#pragma unroll
    for (int c = 0; c < F::kColumns; ++c)
      if (c < left && (all || at_least[c] < *limit)) waiting |= 1u << c;
    looked_at_ += __popc(waiting);
    if (lost()) return;
    while (waiting != 0) {
      const int c = __ffs(static_cast<int>(waiting)) - 1;
      waiting &= waiting - 1;
      const L* const y = columns + c * F::kColumnNumbers + F::kColumnAt;
      L distance = op::SqDist::start<L>();
#pragma unroll
      for (int d = 0; d < F::kScreened; ++d) distance = op::SqDist::next(distance, x[F::kRowAt + d], y[d]);
      if (!list->state.plain(M::of(distance.v)))
        list->state.step_next(M::of(distance.v), M(1.0), static_cast<typename M::Indices>(first + c + 1));
    }
    // Nothing can enter the list of a row of NaN.
    *limit = square == square ? list->state.bound.v - square : -infinity<L>().v;
  }

  const int most_;
  int looked_at_ = 0;
  float square_[F::kRows], limit_[F::kRows];
};

template <class F>
__device__ void sweep_screened(const typename F::Arguments& a) {
  sweep_by<F, Screen<F>>(a);
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
