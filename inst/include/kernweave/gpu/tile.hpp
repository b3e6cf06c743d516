// Kernels of passes with tensor cores, tile by tile: pairs that begin with an inner product (product.hpp) or end in a
// sum with many weights (wide.hpp). Threads compute the formula in between.
#pragma once
#include "product.hpp"
#include "wide.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// A thread's part of its warp's tile: rows g, g + 8, ..., and columns 2 t and 2 t + 1 of each eight, if the thread has
// number 4 g + t in the warp.
template <class Shape>
struct TileThread : Shape {
  static constexpr int kRowTiles = Shape::kRows / 2, kColumnTiles = 8;  // tiles of a warp

  __device__ static int lane() { return static_cast<int>(threadIdx.x) & 31; }
  __device__ static int row_warp() { return (static_cast<int>(threadIdx.x) >> 5) % Shape::kRowWarps; }
  __device__ static int column_warp() { return (static_cast<int>(threadIdx.x) >> 5) / Shape::kRowWarps; }
  __device__ static int first_row() { return row_warp() * kRowTiles * 16 + (lane() >> 2); }
  __device__ static int first_column() { return column_warp() * kColumnTiles * 8 + (lane() & 3) * 2; }
  __device__ static int part() { return column_warp() * 4 + (lane() & 3); }
  // The place in the tile of a thread's column c; and how many of the thread's columns come before place `left`.
  __device__ static constexpr int column_at(int c) { return c / 2 * 8 + c % 2; }
  __device__ static int columns_before(int left) {
    const int rest = left % 8;
    return left <= 0 ? 0 : left / 8 * 2 + (rest < 2 ? rest : 2);
  }
};

// Computes a thread's part of a tile, from inner products to terms. The first `left` columns exist.
template <class F, bool kFull, class States>
__device__ __forceinline__ void tile_of_pairs(const typename F::Arguments& a, const Rows<F>& rows,
                                              const float (&row_scales)[F::kRows], long long column, int left,
                                              States& states,
                                              float (&pairs)[F::Tile::kRowTiles][F::Tile::kColumnTiles][4]) {
  using L = typename F::L;
  const L* const numbers = static_cast<const L*>(a.head.columns) + column * F::kColumnNumbers;
#pragma unroll
  for (int n = 0; n < F::Tile::kColumnTiles; n += F::kColumns / 2) {
    L product[F::kColumns][F::kRows], terms[F::kColumns][F::kRows];
    const auto each = [&](auto f) {
#pragma unroll
      for (int c = 0; c < F::kColumns; ++c)
#pragma unroll
        for (int k = 0; k < F::kRows; ++k) f(pairs[k / 2][n + c / 2][k % 2 * 2 + c % 2], c, k);
    };
    if constexpr (F::kProduct > 0) {
      float scales[F::kColumns];
#pragma unroll
      for (int c = 0; c < F::kColumns; c += 2) {
        const float2 two = *reinterpret_cast<const float2*>(a.head.column_scales + column + (n + c / 2) * 8);
        scales[c] = two.x, scales[c + 1] = two.y;
      }
      each([&](float pair, int c, int k) { product[c][k] = L(pair * (row_scales[k] * scales[c])); });
    }
    F::strip(a, rows, numbers + n * 8 * F::kColumnNumbers, column + n * 8,
             kFull ? F::kColumns : F::Tile::columns_before(left - n * 8), states, product, terms);
    if constexpr (F::kWide > 0) each([&](float& pair, int c, int k) { pair = terms[c][k].v; });
  }
}

struct Nothing {
  static constexpr int kSharedChunks = 0;
};
// The products of pairs without an inner product.
struct NoProducts {
  template <class Sums, class Ahead>
  __device__ void find(Sums&, Ahead ahead) const {
    __syncthreads();
    ahead();
    end_group();
  }
  __device__ void settle() const {
    wait_for_groups<0>();
    __syncthreads();
  }
};

// The number of tiles whose terms, 16 of a row in each thread, are added in float32 before sums go over to float64.
inline constexpr int kTilesOfSum = 8;

template <class F>
__device__ void sweep_tiles(const typename F::Arguments& a) {
  using L = typename F::L;
  using T = typename F::Tile;
  extern __shared__ uint4 shared[];
  const Head& head = a.head;
  const Patch patch(head);
  const long long first = patch.block * T::kBlockRows + T::first_row();
  Rows<F> rows;
  rows.read(a, first, a.head.lanes);
  typename F::States states;
  states.init();
  auto wide = [&] {
    if constexpr (F::kWide > 0) return WideSums<F>(head, shared, static_cast<int>(blockIdx.z));
    else return Nothing();
  }();
  auto products = [&] {
    constexpr int kBefore = decltype(wide)::kSharedChunks;
    if constexpr (F::kProduct > 0)
      return Products<F, kBefore>(head, shared + kBefore, patch.block * T::kBlockRows, patch.begin, patch.end);
    else return NoProducts();
  }();
  float row_scales[F::kRows] = {};
  if constexpr (F::kProduct > 0) {
#pragma unroll
    for (int k = 0; k < F::kRows; ++k) row_scales[k] = head.row_scales[rows.number[k]];
  }
#pragma unroll 1
  for (long long tile = patch.begin; tile < patch.end; tile += T::kSide) {
    float pairs[T::kRowTiles][T::kColumnTiles][4];
    products.find(pairs, [&] {
      if constexpr (F::kWide > 0) wide.fetch(tile / T::kSide);
    });
    const long long column = tile + T::first_column();
    if (tile + T::kSide <= patch.end) tile_of_pairs<F, true>(a, rows, row_scales, column, T::kSide, states, pairs);
    else tile_of_pairs<F, false>(a, rows, row_scales, column, static_cast<int>(patch.end - column), states, pairs);
    if constexpr (F::kWide > 0) {
      products.settle();
      wide.add(pairs[0]);
    }
    if (tile / T::kSide % kTilesOfSum != kTilesOfSum - 1 && tile + T::kSide < patch.end) continue;
    states.each([](auto& folds, auto) {
#pragma unroll
      for (int k = 0; k < F::kRows; ++k) folds[k].flush();
    });
  }
  states.each([&](auto& folds, auto place) { leave<F>(a, rows, folds, place, first, patch, T::part()); });
  if constexpr (F::kWide > 0) {
    F::States::each_type([&](auto type, auto place) {
      wide.template leave<typename decltype(type)::Fold>(a, a.targets[decltype(place)::kNumber], rows,
                                                         first < head.lanes, first + F::kRowStride < head.lanes,
                                                         patch.split);
    });
  }
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
