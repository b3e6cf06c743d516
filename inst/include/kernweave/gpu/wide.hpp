// Sums with many weights: tensor cores multiply a tile of terms by a tile of weights, in float32's precision. Terms are
// scaled by row_scales.hpp, weights by a power of two for each of their columns in a tile.
#pragma once
#include "row_scales.hpp"
#include "sweep.hpp"

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
    return w < F::kWide && first + j < a.head.sweep ? __ldg(&from[j * F::kColumnNumbers].v) : 0.0f;
  };
  float largest = 0.0f;
#pragma unroll 16
  for (int j = 0; j < T::kSide; ++j) largest = larger(largest, weight(j));
  const float scale = scale_for(largest);
  if (scale == 0.0f) *a.head.lost = 1;
  const auto put = [&](int step, int t, uint2 first, uint2 second) {
    const long long steps_before = tile * (T::kSide / kStepDepth<F::kHalves>)+step;
    ColumnOrder::put(static_cast<unsigned*>(a.head.weight_halves) + steps_before * F::kWidePadded * kProductDepth, w, 1,
                     0, t, first, second);
  };
  StepsOfPoint<F::kHalves, decltype(put)> weights(put);
#pragma unroll 32
  for (int j = 0; j < T::kSide; ++j) weights.take(j, weight(j) * scale);
  a.head.weight_scales[tile * F::kWidePadded + w] = inverse_scale(scale);
}

// Sums of a thread's two rows with some of the weights.
template <class F>
class WideSums {
 public:
  using T = typename F::Tile;
  static constexpr int kTiles = F::kWideTiles;  // tiles of eight weights
  static constexpr int kTogether = 4;           // tiles whose sums a thread has registers for, beside all totals
  static constexpr int kSteps = T::kSide / kStepDepth<F::kHalves>;
  // Chunks of 16 bytes of a step: of all weights, and of this block's weights; of its scales; and in all.
  static constexpr int kAllChunks = F::kWidePadded / 8 * 32, kChunks = kTiles * 32, kScaleChunks = kTiles * 2;
  static constexpr int kSharedChunks = kSteps * kChunks + kScaleChunks;

  __device__ WideSums(const Head& head, uint4* shared, int share) : shared_(shared), share_(share), lost_(head.lost) {
    const int first = share * kTiles;
    weights_ = static_cast<const uint4*>(head.weight_halves) + first * 32;
    scales_ = reinterpret_cast<const uint4*>(head.weight_scales) + first * 2;
    rows_.init();
#pragma unroll
    for (int n = 0; n < kTiles; ++n) totals_[n][0] = totals_[n][1] = totals_[n][2] = totals_[n][3] = 0.0f;
  }

  // Begins to copy the weights of tile `number` of the sweep axis, and their scales, to shared memory.
  __device__ void fetch(long long number) const {
    copy_chunks<T::kThreads, kSteps * kChunks, kChunks, kAllChunks>(shared_, weights_ + number * kSteps * kAllChunks);
    copy_chunks<T::kThreads, kScaleChunks, kScaleChunks, kScaleChunks>(shared_ + kSteps * kChunks,
                                                                       scales_ + number * (F::kWidePadded / 4));
  }

  // Adds the tile whose weights have been copied. Its terms are overwritten. Tensor cores truncate sums and do not
  // round them, so they add 64 terms only; float32 additions do the rest.
  __device__ void add(float (&terms)[T::kColumnTiles][4]) {
    if (rows_.take(terms, lost_)) shrink();
    uint4 first[kSteps], second[kSteps];
    halve(terms, first, second);
    const uint4* at = shared_ + T::lane();
    const auto* scales = reinterpret_cast<const float*>(shared_ + kSteps * kChunks) + (T::lane() & 3) * 2;
#pragma unroll
    for (int begin = 0; begin < kTiles; begin += kTogether) {
      float sums[kTogether][4] = {};
#pragma unroll
      for (int q = 0; q < kSteps; ++q)
#pragma unroll
        for (int n = begin; n < begin + kTogether && n < kTiles; ++n)
          add_step<F::kHalves>(sums[n - begin], first[q], second[q], at[q * kChunks + n * 32]);
#pragma unroll
      for (int n = begin; n < begin + kTogether && n < kTiles; ++n) {
        const float(&sum)[4] = sums[n - begin];
        const float2 of_weights = *reinterpret_cast<const float2*>(scales + n * 8);
        totals_[n][0] += sum[0] * (rows_.back(0) * of_weights.x);
        totals_[n][1] += sum[1] * (rows_.back(0) * of_weights.y);
        totals_[n][2] += sum[2] * (rows_.back(1) * of_weights.x);
        totals_[n][3] += sum[3] * (rows_.back(1) * of_weights.y);
      }
    }
  }

  // Leaves the sums for the merge, as leave() of sweep.hpp does.
  template <class Fold>
  __device__ void leave(const typename F::Arguments& a, const Target& to, const Rows<F>& rows, bool first_exists,
                        bool second_exists, long long split) {
    rows_.end();
    const float in_front[2] = {F::template factor<0>(a, rows, 0).v, F::template factor<0>(a, rows, 1).v};
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const int w = (share_ * kTiles + n) * 8 + (T::lane() & 3) * 2 + (r & 1);
        if (w >= F::kWide || !(r < 2 ? first_exists : second_exists)) continue;
        typename Fold::Row own;
        own.init();
        rows_.template put<Fold>(r / 2, totals_[n][r], in_front[r / 2], &own);
        put_state<F, Fold>(a, to, own, rows.number[r / 2], w, split, 0);
      }
  }

 private:
  // Converts terms to halves for tensor cores: both halves of each of 16 columns, or one half of each of 32.
  __device__ static void halve(const float (&terms)[T::kColumnTiles][4], uint4 (&first)[kSteps],
                               uint4 (&second)[kSteps]) {
#pragma unroll
    for (int q = 0; q < T::kColumnTiles / 2; ++q) {
      uint4 high, low;
      split(terms[2 * q][0], terms[2 * q][1], &high.x, &low.x);
      split(terms[2 * q][2], terms[2 * q][3], &high.y, &low.y);
      split(terms[2 * q + 1][0], terms[2 * q + 1][1], &high.z, &low.z);
      split(terms[2 * q + 1][2], terms[2 * q + 1][3], &high.w, &low.w);
      if constexpr (F::kHalves) {
        (q % 2 == 0 ? first : second)[q / 2] = high;
      } else {
        first[q] = high;
        second[q] = low;
      }
    }
  }

  __device__ void shrink() {
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int r = 0; r < 4; ++r) totals_[n][r] *= rows_.shrink(r / 2);
  }

  typename ScalesOf<T, F::kSoft>::Type rows_;
  uint4* shared_;
  int share_;
  int* lost_;
  const uint4* weights_;
  const uint4* scales_;
  float totals_[kTiles][4];
};

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
