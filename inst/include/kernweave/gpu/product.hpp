// A pass whose pairs begin with one inner product of a point's many components with another's: tensor cores compute it, in
// float32's precision. Each number is two halves, scaled by a power of two for each point; of the four products of halves
// the smallest is left out.
#pragma once
#include "sweep.hpp"
#include "tensor.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

struct ProductTile : ProductShape {
  static constexpr int kRowTiles = 2, kColumnTiles = 8;  // of a warp

  __device__ static int warp() { return static_cast<int>(threadIdx.x) >> 5; }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) & 31; }
  __device__ static int first_row() { return (warp() & 3) * 32 + (lane() >> 2); }
  __device__ static int first_column() { return (warp() >> 2) * 64 + (lane() & 3) * 2; }
  __device__ static int part() { return (warp() >> 2) * 4 + (lane() & 3); }
};

// Where the halves of a point lie, in the order in which tensor cores want them.
struct RowOrder {
  static __device__ long long at(long long point, int component, int steps, int low) {
    const int g = static_cast<int>(point & 7), half = static_cast<int>(point >> 3 & 1), k = component & 15, t = (k & 7) >> 1;
    const long long chunk = (((point >> 4) * steps + (component >> 4)) * 2 + low) * 32 + g * 4 + t;
    return chunk * 8 + (half + 2 * (k >> 3)) * 2 + (k & 1);
  }
};
struct ColumnOrder {
  static __device__ long long at(long long point, int component, int steps, int low) {
    const int g = static_cast<int>(point & 7), k = component & 15, t = (k & 7) >> 1;
    const long long chunk = ((point >> 3) * steps + (component >> 4)) * 32 + g * 4 + t;
    return chunk * 8 + low * 4 + (k >> 3) * 2 + (k & 1);
  }
};

// A power of two that brings the largest number of a point to between 2^13 and 2^14, so that no low half is lost.
__device__ inline float scale_for(float largest) {
  if (!(largest > 0.0f) || !(largest < __int_as_float(0x7f800000))) return 1.0f;
  const int exponent = (__float_as_int(largest) >> 23) - 127;
  const int raise = 13 - exponent > 100 ? 100 : 13 - exponent;
  return __int_as_float((raise + 127) << 23);
}

// The components of the inner product come from a point's function as the numbers from `first` on.
template <class Order, int kWidth, class Point>
__device__ void pack(Point point_of, long long at, int first, unsigned short* halves, float* scales) {
  constexpr int kSteps = (kWidth + ProductTile::kDepth - 1) / ProductTile::kDepth;
  float largest = 0.0f;
  bool lost = false;
  point_of([&](int n, auto value) {
    if (n < first) return;
    const float size = value.v < 0.0f ? -value.v : value.v;
    if (size > largest) largest = size;
    if (size != size) lost = true;
  });
  const float scale = lost ? 1.0f : scale_for(largest);
  const auto put = [&](int d, float number) {
    const unsigned short high = to_half(number);
    halves[Order::at(at, d, kSteps, 0)] = high;
    halves[Order::at(at, d, kSteps, 1)] = to_half(number - from_half(high));
  };
  point_of([&](int n, auto value) {
    if (n >= first) put(n - first, value.v * scale);
  });
  for (int d = kWidth; d < kSteps * ProductTile::kDepth; ++d) put(d, 0.0f);
  scales[at] = 1.0f / scale;
}

template <class F>
__device__ void packed_rows(const typename F::Arguments& a) {
  const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= even(a.head.lanes, ProductTile::kSide)) return;
  const long long point = least(at, a.head.lanes - 1);
  const auto row = [&](auto out) { F::row(a, point, out); };
  pack<RowOrder, F::kProduct>(row, at, F::kRowTotal, static_cast<unsigned short*>(a.head.row_halves), a.head.row_scales);
}

template <class F>
__device__ void packed_columns(const typename F::Arguments& a) {
  const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= even(a.head.sweep, ProductTile::kSide)) return;
  const long long point = least(at, a.head.sweep - 1);
  const auto column = [&](auto out) { F::column(a, point, out); };
  pack<ColumnOrder, F::kProduct>(column, at, F::kColumnNumbers, static_cast<unsigned short*>(a.head.column_halves), a.head.column_scales);
}

// The inner products of a tile in the making: steps of a share of the folded axis pass through shared memory, some ahead.
template <class F>
class Products {
 public:
  using T = ProductTile;
  static constexpr int kSteps = (F::kProduct + T::kDepth - 1) / T::kDepth;

  __device__ Products(const Head& head, uint4* shared, long long first_row, long long first_column, int tiles)
      : shared_(shared), rows_(static_cast<const uint4*>(head.row_halves) + first_row / 16 * kSteps * 64),
        columns_(static_cast<const uint4*>(head.column_halves) + first_column / 8 * kSteps * 32), total_(tiles * kSteps) {
#pragma unroll
    for (int s = 0; s < T::kStages - 1; ++s) load(s);
  }

  // Of the next tile.
  __device__ void find(float (&sums)[T::kRowTiles][T::kColumnTiles][4]) {
#pragma unroll
    for (int m = 0; m < T::kRowTiles; ++m)
#pragma unroll
      for (int n = 0; n < T::kColumnTiles; ++n) sums[m][n][0] = sums[m][n][1] = sums[m][n][2] = sums[m][n][3] = 0.0f;
#pragma unroll 1
    for (int step = 0; step < kSteps; ++step, ++done_) {
      wait_for_groups<T::kStages - 2>();
      __syncthreads();
      load(done_ + T::kStages - 1);
      multiply(shared_ + done_ % T::kStages * 2 * T::kChunks, sums);
    }
  }

 private:
  __device__ void load(int number) {
    if (number < total_) {
      const int tile = number / kSteps, step = number % kSteps;
      uint4* to = shared_ + number % T::kStages * 2 * T::kChunks;
      const uint4* columns = columns_ + static_cast<long long>(tile) * (T::kSide / 8) * kSteps * 32;
#pragma unroll
      for (int c = threadIdx.x; c < T::kChunks; c += T::kThreads) {
        copy_ahead(to + c, rows_ + (static_cast<long long>(c >> 6) * kSteps + step) * 64 + (c & 63));
        copy_ahead(to + T::kChunks + c, columns + (static_cast<long long>(c >> 5) * kSteps + step) * 32 + (c & 31));
      }
    }
    end_group();
  }

  __device__ void multiply(const uint4* at, float (&sums)[T::kRowTiles][T::kColumnTiles][4]) const {
    const int row_tile = (T::warp() & 3) * T::kRowTiles, column_tile = (T::warp() >> 2) * T::kColumnTiles;
    uint4 high[T::kRowTiles], low[T::kRowTiles];
#pragma unroll
    for (int m = 0; m < T::kRowTiles; ++m) {
      high[m] = at[(row_tile + m) * 64 + T::lane()];
      low[m] = at[(row_tile + m) * 64 + 32 + T::lane()];
    }
#pragma unroll
    for (int n = 0; n < T::kColumnTiles; ++n) {
      const uint4 column = at[T::kChunks + (column_tile + n) * 32 + T::lane()];
#pragma unroll
      for (int m = 0; m < T::kRowTiles; ++m) {
        multiply_add(sums[m][n], low[m], column.x, column.y);
        multiply_add(sums[m][n], high[m], column.z, column.w);
        multiply_add(sums[m][n], high[m], column.x, column.y);
      }
    }
  }

  uint4* shared_;
  const uint4* rows_;
  const uint4* columns_;
  int total_, done_ = 0;
};

// As sweep(), with the inner products of a whole tile found first.
template <class F>
__device__ void sweep_products(const typename F::Arguments& a) {
  using L = typename F::L;
  using T = ProductTile;
  extern __shared__ uint4 shared[];
  const Head& head = a.head;
  const long long block = head.first_block + blockIdx.x, split = head.first_split + blockIdx.y;
  const long long first = block * T::kSide + T::first_row();
  Rows<F> rows;
  rows.read(a, first);
  float row_scales[F::kRows];
#pragma unroll
  for (int k = 0; k < F::kRows; ++k) row_scales[k] = head.row_scales[rows.number[k]];
  typename F::States states;
  states.init();
  const long long begin = split * head.split, end = least(head.sweep, begin + head.split);
  Products<F> products(head, shared, block * T::kSide, begin, static_cast<int>((end - begin + T::kSide - 1) / T::kSide));
  for (long long tile = begin; tile < end; tile += T::kSide) {
    float sums[T::kRowTiles][T::kColumnTiles][4];
    products.find(sums);
#pragma unroll
    for (int n = 0; n < T::kColumnTiles; ++n) {
      const long long column = tile + T::first_column() + n * 8;
      L product[F::kColumns][F::kRows];
#pragma unroll
      for (int c = 0; c < F::kColumns; ++c)
#pragma unroll
        for (int k = 0; k < F::kRows; ++k) product[c][k] = L(sums[k / 2][n][k % 2 * 2 + c] * (row_scales[k] * head.column_scales[column + c]));
      const int left = static_cast<int>(least(end - column, F::kColumns));
      F::strip(a, rows, static_cast<const L*>(head.columns) + column * F::kColumnNumbers, column, left, states, product);
    }
    states.each([](auto& folds, auto) {
#pragma unroll
      for (int k = 0; k < F::kRows; ++k) folds[k].flush();
    });
  }
  states.each([&](auto& folds, auto place) { leave<F>(a, folds, place, first, block, split, T::part()); });
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
