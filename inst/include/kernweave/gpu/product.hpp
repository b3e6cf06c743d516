// Inner products of rows with columns for all pairs of a tile, by tensor cores in float32's precision. Each number is
// two halves, scaled by a power of two for each point.
#pragma once
#include "screen.hpp"
#include "tensor.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// Splits the points of one axis into halves, one point a thread; beyond the last of `count` points it is repeated. The
// components of the inner product are a point's numbers from `first` on. Where distances are bounded by it, points have
// their squares, too.
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
  auto* const to = static_cast<unsigned short*>(halves);
  const auto put = [&](int d, float number) {
    put_halves<F::kHalves>(number, d, to,
                           [&](int step, int k, int half) { return Order::at(at, step, k, kSteps, half); });
  };
  point_of(point, [&](int n, auto value) {
    if (n >= first) put(n - first, value.v * scale);
  });
  for (int d = kWidth; d < kSteps * kDepth; ++d) put(d, 0.0f);
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

// The products of a block, tile by tile. Steps of components pass through shared memory, some ahead of the
// arithmetic.
template <class F>
class Products {
 public:
  using T = typename F::Tile;
  static constexpr int kDepth = kStepDepth<F::kHalves>, kSteps = (F::kProduct + kDepth - 1) / kDepth;

  __device__ Products(const Head& head, uint4* shared, long long first_row, long long first_column, long long end)
      : shared_(shared),
        rows_(static_cast<const uint4*>(head.row_halves) + first_row / 16 * kSteps * 64),
        columns_(static_cast<const uint4*>(head.column_halves) + first_column / 8 * kSteps * 32),
        total_(static_cast<int>(even(end - first_column, T::kSide) / T::kSide) * kSteps) {
#pragma unroll
    for (int s = 0; s < T::kStages - 1; ++s) load(s);
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
    for (int step = 0; step < kSteps; ++step, ++done_) {
      wait_for_groups<T::kStages - 2>();
      __syncthreads();
      if (step == 0) ahead();
      load(done_ + T::kStages - 1);
      multiply(shared_ + done_ % T::kStages * T::kStageChunks, sums);
    }
  }
  // Waits for the copies of `ahead`: the steps of a long tile have waited for them.
  __device__ void settle() const {
    if constexpr (kSteps < T::kStages) {
      wait_for_groups<kSteps - 1>();
      __syncthreads();
    }
  }

 private:
  __device__ void load(int number) {
    if (number < total_) {
      const int tile = number / kSteps, step = number % kSteps;
      uint4* to = shared_ + number % T::kStages * T::kStageChunks;
      const uint4* columns = columns_ + static_cast<long long>(tile) * (T::kSide / 8) * kSteps * 32;
      // Counted from 0, so that the compiler sees how many turns there are.
#pragma unroll
      for (int u = 0; u < T::kRowChunks / T::kThreads; ++u) {
        const int c = threadIdx.x + u * T::kThreads;
        copy_ahead(to + c, rows_ + ((c >> 6) * kSteps + step) * 64 + (c & 63));
      }
#pragma unroll
      for (int u = 0; u < T::kColumnChunks / T::kThreads; ++u) {
        const int c = threadIdx.x + u * T::kThreads;
        copy_ahead(to + T::kRowChunks + c, columns + ((c >> 5) * kSteps + step) * 32 + (c & 31));
      }
    }
    end_group();
  }

  __device__ void multiply(const uint4* at, float (&sums)[T::kRowTiles][T::kColumnTiles][4]) const {
    const uint4* row = at + T::row_warp() * T::kRowTiles * 64 + T::lane();
    const uint4* column = at + T::kRowChunks + T::column_warp() * T::kColumnTiles * 32 + T::lane();
    uint4 first[T::kRowTiles], second[T::kRowTiles];
#pragma unroll
    for (int m = 0; m < T::kRowTiles; ++m) {
      first[m] = row[m * 64];
      second[m] = row[m * 64 + 32];
    }
#pragma unroll
    for (int n = 0; n < T::kColumnTiles; ++n) {
      const uint4 both = column[n * 32];
#pragma unroll
      for (int m = 0; m < T::kRowTiles; ++m) add_step<F::kHalves>(sums[m][n], first[m], second[m], both);
    }
  }

  uint4* shared_;
  const uint4* rows_;
  const uint4* columns_;
  int total_, done_ = 0;
};

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
