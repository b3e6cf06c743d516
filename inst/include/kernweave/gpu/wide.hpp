// Sums with many weights: tensor cores multiply a tile of terms with a tile of weights, in float32's precision. Terms
// are scaled by a power of two for each row of a tile, weights for each of their columns in it.
#pragma once
#include "sweep.hpp"
#include "tensor.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// Kernel that splits weights into halves: a thread has one weight in one tile of 64 columns.
template <class F>
__device__ void packed_weights(const typename F::Arguments& a) {
  using T = typename F::Tile;
  const long long number = own_point(a.head);
  if (number >= a.head.to) return;
  const long long tile = number / F::kWidePadded;
  const int w = static_cast<int>(number % F::kWidePadded);
  const long long first = tile * T::kSide;
  const auto* from = static_cast<const typename F::L*>(a.head.columns) + first * F::kColumnNumbers + F::kWideAt + w;
  const auto weight = [&](int j) {
    return w < F::kWide && first + j < a.head.sweep ? from[j * F::kColumnNumbers].v : 0.0f;
  };
  float largest = 0.0f;
  for (int j = 0; j < T::kSide; ++j) largest = larger(largest, weight(j));
  const float scale = scale_for(largest);
  if (scale == 0.0f) *a.head.lost = 1;
  auto* const to = static_cast<unsigned short*>(a.head.weight_halves) +
                   tile * (T::kSide / kProductDepth) * F::kWidePadded * 2 * kProductDepth;
  for (int j = 0; j < T::kSide; ++j) {
    const long long step = static_cast<long long>(j / kProductDepth) * F::kWidePadded * 2 * kProductDepth;
    put_halves(weight(j) * scale, to + step + ColumnOrder::at(w, j % kProductDepth, 1, 0),
               to + step + ColumnOrder::at(w, j % kProductDepth, 1, 1));
  }
  a.head.weight_scales[tile * F::kWidePadded + w] = inverse_scale(scale);
}

// Sums of a thread's two rows with some of the weights.
template <class F>
class WideSums {
 public:
  using T = typename F::Tile;
  static constexpr int kTiles = F::kWideTiles;  // of eight weights
  static constexpr int kTogether = 4;           // whose sums a thread has registers for beside all totals

  __device__ explicit WideSums(const Head& head, int share) : share_(share), lost_(head.lost) {
    const int first = share * kTiles;
    weights_ = static_cast<const uint4*>(head.weight_halves) + first * 32 + T::lane();
    scales_ = head.weight_scales + first * 8 + (T::lane() & 3) * 2;
#pragma unroll
    for (int n = 0; n < kTiles; ++n) totals_[n][0] = totals_[n][1] = totals_[n][2] = totals_[n][3] = 0.0f;
  }

  // Adds tile `number` of the sweep axis. Tensor cores cut off what they add instead of rounding it, so they add 64
  // terms only, and the rest is done in float32.
  __device__ void add(const float (&terms)[T::kColumnTiles][4], long long number) {
    const float scale[2] = {row_scale(terms, 0), row_scale(terms, 2)};
    if (scale[0] == 0.0f || scale[1] == 0.0f) *lost_ = 1;
    uint4 high[T::kColumnTiles / 2], low[T::kColumnTiles / 2];
#pragma unroll
    for (int q = 0; q < T::kColumnTiles / 2; ++q) {
      split(terms[2 * q][0] * scale[0], terms[2 * q][1] * scale[0], &high[q].x, &low[q].x);
      split(terms[2 * q][2] * scale[1], terms[2 * q][3] * scale[1], &high[q].y, &low[q].y);
      split(terms[2 * q + 1][0] * scale[0], terms[2 * q + 1][1] * scale[0], &high[q].z, &low[q].z);
      split(terms[2 * q + 1][2] * scale[1], terms[2 * q + 1][3] * scale[1], &high[q].w, &low[q].w);
    }
    const float back[2] = {inverse_scale(scale[0]), inverse_scale(scale[1])};
    const uint4* at = weights_ + number * (T::kSide / kProductDepth) * (F::kWidePadded / 8) * 32;
#pragma unroll
    for (int first = 0; first < kTiles; first += kTogether) {
      float sums[kTogether][4] = {};
#pragma unroll
      for (int q = 0; q < T::kColumnTiles / 2; ++q)
#pragma unroll
        for (int n = first; n < first + kTogether && n < kTiles; ++n)
          multiply_add(sums[n - first], high[q], low[q], at[(q * (F::kWidePadded / 8) + n) * 32]);
#pragma unroll
      for (int n = first; n < first + kTogether && n < kTiles; ++n) {
        const float(&sum)[4] = sums[n - first];
        const float2 of_weights = *reinterpret_cast<const float2*>(scales_ + number * F::kWidePadded + n * 8);
        totals_[n][0] += sum[0] * (back[0] * of_weights.x);
        totals_[n][1] += sum[1] * (back[0] * of_weights.y);
        totals_[n][2] += sum[2] * (back[1] * of_weights.x);
        totals_[n][3] += sum[3] * (back[1] * of_weights.y);
      }
    }
  }

  // Leaves the sums for the merge, as leave() of sweep.hpp does.
  template <class Fold>
  __device__ void leave(const typename F::Arguments& a, const Target& to, const Rows<F>& rows, bool first_exists,
                        bool second_exists, long long split) const {
    const float in_front[2] = {F::template factor<0>(a, rows, 0).v, F::template factor<0>(a, rows, 1).v};
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int w = (share_ * kTiles + n) * 8 + (T::lane() & 3) * 2 + (r & 1);
        if (w >= F::kWide || !(r < 2 ? first_exists : second_exists)) continue;
        typename Fold::Row own;
        own.init();
        own.state.step(Scalar<double>(static_cast<double>(totals_[n][r]) * in_front[r / 2]), Scalar<double>(1.0), 1,
                       true);
        put_state<F, Fold>(a, to, own, rows.number[r / 2], w, split, 0);
      }
  }

 private:
  // The largest among the four threads that have columns of a row.
  __device__ static float row_scale(const float (&terms)[T::kColumnTiles][4], int first) {
    float largest = 0.0f;
#pragma unroll
    for (int n = 0; n < T::kColumnTiles; ++n) largest = larger(larger(largest, terms[n][first]), terms[n][first + 1]);
    largest = larger(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
    largest = larger(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
    return scale_for(largest);
  }

  int share_;
  int* lost_;
  const uint4* weights_;
  const float* scales_;
  float totals_[kTiles][4];
};

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
