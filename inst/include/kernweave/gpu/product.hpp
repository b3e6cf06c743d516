// Inner products of rows with columns for all pairs of a tile, by tensor cores in float32's precision. Each number is
// two halves, scaled by a power of two for each point.
#pragma once
#include "screen.hpp"
#include "tensor.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// Splits the points of one axis into halves, one point a thread; beyond the last of `count` points, the last point is
// repeated. The components of the inner product are a point's numbers from `first` on. If the inner product bounds
// distances, points have their squares, too.
template <class F, class Order, class Point>
__device__ void pack(const Head& head, Point point_of, long long count, int first, void* halves, float* scales,
                     float* squares) {
  constexpr int kWidth = F::kProduct;
  constexpr int kDepth = kStepDepth<F::kHalves>, kSteps = (kWidth + kDepth - 1) / kDepth;
  const long long at = own_point(head);
  if (at >= head.to) return;
  const long long point = least(at, count - 1);
  float largest = 0.0f, square = 0.0f;
  point_of(point, [&](int n, auto value) {
    if (n < first) return;
    largest = larger(largest, value.v);
    square += value.v * value.v;
  });
  if constexpr (F::kNearest) squares[at] = least_square(head, square, kTensorError<kWidth>);
  const float scale = scale_for(largest);
  if (scale == 0.0f) *head.lost = 1;
  const auto put = [&](int step, int t, uint2 firsts, uint2 seconds) {
    Order::put(static_cast<unsigned*>(halves), at, kSteps, step, t, firsts, seconds);
  };
  StepsOfPoint<F::kHalves, decltype(put)> point_to(put);
  point_of(point, [&](int n, auto value) {
    if (n >= first) point_to.take(n - first, value.v * scale);
  });
#pragma unroll
  for (int d = kWidth; d < kSteps * kDepth; ++d) point_to.take(d, 0.0f);
  scales[at] = inverse_scale(scale);
}

template <class F>
__device__ void packed_rows(const typename F::Arguments& a) {
  pack<F, RowOrder>(
      a.head, [&](long long point, auto out) { F::row(a, point, out); }, a.head.lanes, F::kRowTotal, a.head.row_halves,
      a.head.row_scales, a.head.row_squares);
}

template <class F>
__device__ void packed_columns(const typename F::Arguments& a) {
  pack<F, ColumnOrder>(
      a.head, [&](long long point, auto out) { F::column(a, point, out); }, a.head.sweep, F::kColumnNumbers,
      a.head.column_halves, a.head.column_scales, a.head.column_squares);
}

// The products of a block, tile by tile. Columns pass through shared memory in stages of one step or of all steps, some
// ahead of the arithmetic. Rows stay there, or pass with the columns. kOthers: other chunks of shared memory.
template <class F, int kOthers>
class Products {
 public:
  using T = typename F::Tile;
  static constexpr int kDepth = kStepDepth<F::kHalves>, kSteps = (F::kProduct + kDepth - 1) / kDepth;
  static constexpr bool kStays = T::rows_stay(kSteps, kOthers);
  static constexpr int kTogether = T::steps_together(kSteps, kOthers) ? kSteps : 1;
  static constexpr int kStages = T::stages(kSteps, kOthers);
  static constexpr int kStageChunks = T::stage_chunks(kSteps, kOthers);

  __device__ Products(const Head& head, uint4* shared, long long first_row, long long first_column, long long end)
      : shared_(shared),
        rows_(static_cast<const uint4*>(head.row_halves) + first_row / 16 * kSteps * 64),
        columns_(static_cast<const uint4*>(head.column_halves) + first_column / 8 * kSteps * 32),
        left_(static_cast<int>(even(end - first_column, T::kSide) / T::kSide) * (kSteps / kTogether)) {
    if constexpr (kStays) copy_chunks<T::kThreads, T::kRowChunks * kSteps, 64, 64>(staying(), rows_);
#pragma unroll
    for (int s = 0; s < kStages - 1; ++s) load(s);
  }

  // Computes the products of the next tile. Calls `ahead`, which begins to copy the tile's other numbers, when no
  // thread reads the last tile any more.
  template <class Ahead>
  __device__ void find(float (&sums)[T::kRowTiles][T::kColumnTiles][4], Ahead ahead) {
#pragma unroll
    for (int m = 0; m < T::kRowTiles; ++m)
#pragma unroll
      for (int n = 0; n < T::kColumnTiles; ++n) sums[m][n][0] = sums[m][n][1] = sums[m][n][2] = sums[m][n][3] = 0.0f;
#pragma unroll 1
    for (int step = 0; step < kSteps; step += kTogether) {
      wait_for_groups<kStages - 2>();
      __syncthreads();
      if (step == 0) ahead();
      load((stage_ + kStages - 1) % kStages);
      const uint4* const here = shared_ + stage_ * kStageChunks;
#pragma unroll
      for (int s = 0; s < kTogether; ++s) {
        if constexpr (kStays) multiply<kSteps>(staying() + (step + s) * 64, here + s * 32, sums);
        else multiply<1>(here + T::kColumnChunks, here, sums);
      }
      stage_ = (stage_ + 1) % kStages;
    }
  }
  // Waits for the copies of `ahead`, unless the stages of a long tile have waited for them already.
  __device__ void settle() const {
    constexpr int kLater = kSteps / kTogether - 1;  // stages since then
    if constexpr (kLater < kStages - 1) {
      wait_for_groups<kLater>();
      __syncthreads();
    }
  }

 private:
  __device__ uint4* staying() const { return shared_ + kStages * kStageChunks; }

  // Begins to copy the next stage.
  __device__ void load(int stage) {
    if (left_ > 0) {
      uint4* const to = shared_ + stage * kStageChunks;
      copy_chunks<T::kThreads, T::kColumnChunks * kTogether, 32 * kTogether, 32 * kSteps>(to, columns_ + step_ * 32);
      if constexpr (!kStays)
        copy_chunks<T::kThreads, T::kRowChunks, 64, 64 * kSteps>(to + T::kColumnChunks, rows_ + step_ * 64);
      --left_;
      step_ += kTogether;
      if (step_ == kSteps) step_ = 0, columns_ += T::kColumnChunks * kSteps;
    }
    end_group();
  }

  // Multiplies a step; rows in shared memory are in groups of kHere steps.
  template <int kHere>
  __device__ static void multiply(const uint4* rows, const uint4* columns,
                                  float (&sums)[T::kRowTiles][T::kColumnTiles][4]) {
    const uint4* row = rows + T::row_warp() * T::kRowTiles * kHere * 64 + T::lane();
    const uint4* column = columns + T::column_warp() * T::kColumnTiles * kTogether * 32 + T::lane();
    uint4 first[T::kRowTiles], second[T::kRowTiles];
#pragma unroll
    for (int m = 0; m < T::kRowTiles; ++m) {
      first[m] = row[m * kHere * 64];
      second[m] = row[m * kHere * 64 + 32];
    }
#pragma unroll
    for (int n = 0; n < T::kColumnTiles; ++n) {
      const uint4 both = column[n * kTogether * 32];
#pragma unroll
      for (int m = 0; m < T::kRowTiles; ++m) add_step<F::kHalves>(sums[m][n], first[m], second[m], both);
    }
  }

  uint4* shared_;
  const uint4* rows_;
  const uint4* columns_;
  int left_, step_ = 0;  // stages to be loaded, and the step of the next
  int stage_ = 0;        // the stage to be computed
};

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
