// The scales of a row's terms, which tensor cores take as halves: for a sum, a power of two for each tile; for a
// softmax, one that rises with the largest exponent so far. A thread has two rows, which four threads share.
#pragma once
#include "tensor.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// Returns the largest, by `larger_of`, of `least` and a thread's numbers of a row in a tile; then that of a whole row.
template <class T, class Larger>
__device__ __forceinline__ float largest_of_own(const float (&terms)[T::kColumnTiles][4], int row, float least,
                                                Larger larger_of) {
  float largest = least;
#pragma unroll
  for (int n = 0; n < T::kColumnTiles; ++n)
    largest = larger_of(larger_of(largest, terms[n][2 * row]), terms[n][2 * row + 1]);
  return largest;
}
template <class Larger>
__device__ __forceinline__ float largest_in_row(float largest, Larger larger_of) {
  largest = larger_of(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
  return larger_of(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
}

template <class T>
struct TermScales {
  float inverse[2];

  __device__ void init() {}
  // Returns the factor of a row's sums of the tile.
  __device__ float back(int row) const { return inverse[row]; }
  // Scales the terms of a tile. Returns whether the sums so far are to be multiplied by shrink().
  __device__ __forceinline__ bool take(float (&terms)[T::kColumnTiles][4], int* lost) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float scale = scale_for(largest_in_row(largest_of_own<T>(terms, r, 0.0f, larger), larger));
      if (scale == 0.0f) *lost = 1;
      inverse[r] = inverse_scale(scale);
#pragma unroll
      for (int n = 0; n < T::kColumnTiles; ++n) terms[n][2 * r] *= scale, terms[n][2 * r + 1] *= scale;
    }
    return false;
  }
  __device__ float shrink(int) const { return 1.0f; }
  __device__ void end() {}
  // Puts a row's sum, times the factor in front, into a state.
  template <class Fold>
  __device__ void put(int, float sum, float in_front, typename Fold::Row* to) const {
    to->state.step(Scalar<double>(static_cast<double>(sum) * in_front), Scalar<double>(1.0), 1, true);
  }
};

template <class T>
struct ShareScales {
  // Shares are 2^(x log2 e - top). The largest is between 2^kRaise, or a little less, and 2^(kRaise + kRoom): a half
  // ends at 2^16, and loses bits below 2^-14.
  static constexpr float kRaise = 12.0f, kRoom = 3.0f;
  float top[2], norm[2], factor[2];

  __device__ void init() {
    top[0] = top[1] = __int_as_float(0xff800000);
    norm[0] = norm[1] = 0.0f;
  }
  __device__ float back(int) const { return 1.0f; }
  // Replaces the exponents of a tile by shares. Returns whether the sums so far are to be multiplied by shrink().
  __device__ __forceinline__ bool take(float (&terms)[T::kColumnTiles][4], int* lost) {
    const auto greater_of = [](float a, float b) { return fmaxf(a, b); };
    float largest[2];
    bool rises = false;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      largest[r] = largest_of_own<T>(terms, r, __int_as_float(0xff800000), greater_of) * static_cast<float>(kLog2OfE);
      if (largest[r] == __int_as_float(0x7f800000)) *lost = 1;
      factor[r] = 1.0f;
      rises = rises || top[r] + (kRaise + kRoom) < largest[r];
    }
    rises = __any_sync(0xffffffffu, rises);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (rises) {
        const float of_row = largest_in_row(largest[r], greater_of);
        if (top[r] + (kRaise + kRoom) < of_row) lift(r, ceilf(of_row) - kRaise);
      }
      share(r, terms);
    }
    return rises;
  }
  __device__ float shrink(int row) const { return factor[row]; }
  // Adds up the norms of the four threads that share rows.
  __device__ void end() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      norm[r] += __shfl_xor_sync(0xffffffffu, norm[r], 1);
      norm[r] += __shfl_xor_sync(0xffffffffu, norm[r], 2);
    }
  }
  template <class Fold>
  __device__ void put(int row, float sum, float, typename Fold::Row* to) const {
    using Number = Scalar<double>;
    to->state.scale.top = Number(static_cast<double>(top[row]));
    to->state.sums.total = Number(static_cast<double>(sum));
    to->state.sums.norm = Number(static_cast<double>(norm[row]));
  }

 private:
  __device__ void lift(int row, float to) {
    factor[row] = exp2(Scalar<float>(top[row] - to)).v;
    norm[row] *= factor[row];
    top[row] = to;
  }
  __device__ __forceinline__ void share(int row, float (&terms)[T::kColumnTiles][4]) {
    // The exponents before the first term are all -Inf.
    const float less = top[row] == __int_as_float(0xff800000) ? 0.0f : top[row];
#pragma unroll
    for (int n = 0; n < T::kColumnTiles; ++n)
#pragma unroll
      for (int c = 2 * row; c < 2 * row + 2; ++c) {
        terms[n][c] = exp2(Scalar<float>(terms[n][c]) * Scalar<float>(kLog2OfE) - Scalar<float>(less)).v;
        norm[row] += terms[n][c];
      }
  }
};

template <class T, bool kSoft>
struct ScalesOf {
  using Type = TermScales<T>;
};
template <class T>
struct ScalesOf<T, true> {
  using Type = ShareScales<T>;
};

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
