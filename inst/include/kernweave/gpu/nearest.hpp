// Nearest neighbours of wide points. Tensor cores compute the inner products of all pairs, which bound each squared
// distance from below; a distance is computed, difference by difference, only if its bound may still enter a list.
#pragma once
#include "tile.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// The lists of the 32 rows of a warp, one in each lane; the number of distances that the warp has computed, and the
// limit of this number.
template <class F>
struct WarpLists {
  typename F::Near::Lane list;
  int looked_at, most;
};

// Computes the distances of the pairs whose bits are set, one pair after the other, all lanes of the warp together. Bit
// 4 c + k of a lane is its row k and its column c of the eight from `column` on; for each row, columns come in order,
// as lists require.
template <class F>
__device__ __noinline__ void look_at(const typename F::Arguments& a, WarpLists<F>& lists, unsigned bits, long long row,
                                     long long column) {
  using L = typename F::Near::L;
  constexpr unsigned kAll = 0xffffffffu;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  while (const unsigned waiting = __ballot_sync(kAll, bits != 0)) {
    const int from = __ffs(static_cast<int>(waiting)) - 1,
              bit = __ffs(static_cast<int>(__shfl_sync(kAll, bits, from))) - 1;
    if (lane == from) bits &= bits - 1;
    const int near_row = (from >> 2) + 8 * (bit & 3);
    const long long at = column + 2 * (from & 3) + (bit >> 2);
    const auto* x =
        static_cast<const float*>(a.head.rows) + least(row + near_row, a.head.lanes - 1) * F::kRowTotal + F::kRowAt;
    const auto* y = static_cast<const float*>(a.head.columns) + at * F::kColumnNumbers + F::kColumnAt;
    float distance = 0.0f;
#pragma unroll
    for (int d = 0; d < F::kProduct; d += 32) {
      const float difference = d + lane < F::kProduct ? x[d + lane] - y[d + lane] : 0.0f;
      distance += difference * difference;
    }
#pragma unroll
    for (int half = 16; half > 0; half /= 2) distance += __shfl_xor_sync(kAll, distance, half);
    ++lists.looked_at;
    if (lane == near_row && !lists.list.state.plain(L(distance)))
      lists.list.state.step_next(L(distance), L(1.0), static_cast<typename L::Indices>(at + 1));
  }
}

// Bounds that two warps with columns of the same rows exchange: a distance that enters is below the bound of either
// list, and below the larger of their middles. They are written in one tile and read in the next, after a barrier.
template <class T>
class Bounds {
 public:
  __device__ explicit Bounds(float* shared) : shared_(reinterpret_cast<float2*>(shared)) {
    for (int n = static_cast<int>(threadIdx.x); n < kBounds; n += T::kThreads) shared[n] = __int_as_float(0x7f800000);
  }
  template <class State>
  __device__ void leave(int tile, const State& state) {
    float2& own = shared_[place(tile, T::column_warp(), T::lane())];
    own.x = fminf(state.bound.v, __int_as_float(0x7f800000));
    own.y = state.middle().v;
  }
  __device__ float2 others(int tile, int row) const { return shared_[place(tile + 1, 1 - T::column_warp(), row)]; }

 private:
  static_assert(T::kColumnWarps == 2, "each warp has one other to ask");
  __device__ static int place(int tile, int column_warp, int row) {
    return ((tile & 1) * T::kColumnWarps + column_warp) * T::kBlockRows + T::row_warp() * 32 + row;
  }
  float2* shared_;
};

// The screen: compares lower bounds of distances with the bounds of lists, and computes the distances that may enter.
template <class F>
class NearestScreen {
 public:
  using T = typename F::Tile;

  __device__ NearestScreen(const typename F::Arguments& a, long long first_row, float* shared)
      : bounds_(shared), row_(first_row + T::row_warp() * 32) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const long long row = row_ + (T::lane() >> 2) + 8 * k;
      square_[k] = a.head.row_squares[row];
      scale_[k] = -2.0f * a.head.row_scales[row];
    }
  }

  // Screens a warp's part of a tile; `left` of its columns, from `column` on, exist. `tile` counts tiles.
  __device__ void look(const typename F::Arguments& a, WarpLists<F>& lists,
                       const float (&pairs)[T::kRowTiles][T::kColumnTiles][4], int tile, long long column, int left) {
    float bound[4];
    bounds(lists, tile, bound);
#pragma unroll
    for (int n = 0; n < T::kColumnTiles; ++n) {
      const int first = n * 8 + (T::lane() & 3) * 2;
      const float2 scales = *reinterpret_cast<const float2*>(a.head.column_scales + column + first);
      const float2 squares = *reinterpret_cast<const float2*>(a.head.column_squares + column + first);
      unsigned bits = 0;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float at_least[2] = {pairs[k / 2][n][k % 2 * 2] * (scale_[k] * scales.x) + squares.x,
                                   pairs[k / 2][n][k % 2 * 2 + 1] * (scale_[k] * scales.y) + squares.y};
        bits |= (bound[k] <= at_least[0] ? 0u : 1u << k) | (bound[k] <= at_least[1] ? 0u : 16u << k);
      }
      bits &= first + 1 < left ? 0xffu : first < left ? 0xfu : 0u;
      if (!__any_sync(0xffffffffu, bits != 0) || lists.looked_at > lists.most) continue;
      look_at<F>(a, lists, bits, row_, column + n * 8);
      bounds(lists, tile, bound);
    }
    bounds_.leave(tile, lists.list.state);
  }

  // Leaves each row's list for the merge, as leave() of sweep.hpp does.
  __device__ void leave(const typename F::Arguments& a, const WarpLists<F>& lists, long long split) const {
    if (lists.looked_at > lists.most) *a.head.lost = 1;
    const long long row = row_ + T::lane();
    if (row >= a.head.lanes) return;
    typename F::Near::Row own;
    own.init();
    own.state.merge(lists.list.state, 0);
    put_state<F, typename F::Near>(a, a.targets[0], own, row, 0, split, T::column_warp());
  }

 private:
  // Finds bounds below which a pair enters: infinite while a list is not full, NaN for a row of NaN after that.
  __device__ void bounds(const WarpLists<F>& lists, int tile, float (&bound)[4]) const {
    const float own = lists.list.state.bound.v, middle = lists.list.state.middle().v;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int row = (T::lane() >> 2) + 8 * k;
      const float2 other = bounds_.others(tile, row);
      const float both = fmaxf(__shfl_sync(0xffffffffu, middle, row), other.y);
      bound[k] = fminf(fminf(__shfl_sync(0xffffffffu, own, row), other.x), both) - square_[k];
    }
  }

  Bounds<T> bounds_;
  long long row_;
  float square_[4], scale_[4];
};

// The limit on computed distances: one pair in kFewLooks, and kLooksOfPlace for each place of a list, which take it to
// its first bounds. If more distances would enter (points in falling order of distance), the screen gives up and all
// distances are computed.
inline constexpr int kFewLooks = 512, kLooksOfPlace = 16;

template <class F>
__device__ void sweep_nearest(const typename F::Arguments& a) {
  using T = typename F::Tile;
  extern __shared__ uint4 shared[];
  const Patch patch(a.head);
  const long long first_row = patch.block * T::kBlockRows;
  Products<F, kBoundChunks> products(a.head, shared + kBoundChunks, first_row, patch.begin, patch.end);
  NearestScreen<F> screen(a, first_row, reinterpret_cast<float*>(shared));
  WarpLists<F> lists;
  lists.list.init();
  lists.looked_at = 0;
  lists.most = static_cast<int>(least(
      (patch.end - patch.begin) * (32 / T::kColumnWarps) / kFewLooks + 32 * kLooksOfPlace * (F::Near::kPlaces + 4),
      1 << 30));
  int count = 0;
#pragma unroll 1
  for (long long tile = patch.begin; tile < patch.end; tile += T::kSide, ++count) {
    float pairs[T::kRowTiles][T::kColumnTiles][4];
    products.find(pairs, [] {});
    const long long column = tile + T::column_warp() * 64;
    screen.look(a, lists, pairs, count, column, static_cast<int>(least(patch.end - column, 64)));
  }
  screen.leave(a, lists, patch.split);
}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
