// Orders of short segments on a device: a warp has a tile of whole segments in registers and sorts words of their
// items, by a network. A word is the number of a segment, a key and a place in the tile: no two are equal, so any way
// to sort them gives the stable order.
#pragma once
#include <optional>
#include "arrays/cuda/keys.cuh"
#include "arrays/cuda/tuning.hpp"

namespace kernweave::arrays::cuda {

constexpr int kPlaceBits = 10, kPlaces = 1 << kPlaceBits;
static_assert(kOrderTile.items() == kPlaces && kOrderTile.threads == kWarp);

// A word of a key of 32 bits.
struct ShortWord {
  std::uint64_t bits;

  ShortWord() = default;
  __device__ ShortWord(unsigned segment, std::uint32_t key, unsigned place)
      : bits(static_cast<std::uint64_t>(segment) << (32 + kPlaceBits) | static_cast<std::uint64_t>(key) << kPlaceBits |
             place) {}
  __device__ static ShortWord of(std::uint64_t bits) {
    ShortWord word;
    word.bits = bits;
    return word;
  }
  __device__ static ShortWord last() { return of(~std::uint64_t{0}); }
  __device__ int place() const { return static_cast<int>(bits % kPlaces); }
  __device__ bool operator<(const ShortWord& other) const { return bits < other.bits; }
  __device__ ShortWord of_lane(int apart) const { return of(__shfl_xor_sync(~0u, bits, apart)); }
  __device__ ShortWord unless(bool other_one, const ShortWord& other) const {
    return of(other_one ? other.bits : bits);
  }
};

// A word of a key of 64 bits, whose last bits lie with the place.
struct LongWord {
  std::uint64_t high;
  std::uint32_t low;

  LongWord() = default;
  __device__ LongWord(unsigned segment, std::uint64_t key, unsigned place)
      : high(static_cast<std::uint64_t>(segment) << (64 - kPlaceBits) | key >> kPlaceBits),
        low(static_cast<std::uint32_t>(key % kPlaces) << kPlaceBits | place) {}
  __device__ static LongWord of(std::uint64_t high, std::uint32_t low) {
    LongWord word;
    word.high = high;
    word.low = low;
    return word;
  }
  __device__ static LongWord last() { return of(~std::uint64_t{0}, ~std::uint32_t{0}); }
  __device__ int place() const { return static_cast<int>(low % kPlaces); }
  __device__ bool operator<(const LongWord& other) const {
    return high < other.high || (high == other.high && low < other.low);
  }
  __device__ LongWord of_lane(int apart) const {
    return of(__shfl_xor_sync(~0u, high, apart), __shfl_xor_sync(~0u, low, apart));
  }
  __device__ LongWord unless(bool other_one, const LongWord& other) const {
    return of(other_one ? other.high : high, other_one ? other.low : low);
  }
};

template <class Item>
using WordOf = std::conditional_t<sizeof(Item) == 4, ShortWord, LongWord>;

// Words of a warp, each lane's side by side in registers: bitonic merges of two, of four, ... until all are one run.
// The first step of a merge looks from both ends of what it merges, so lesser words always go to the front.
template <class Word, int kEach>
class WarpSort {
 public:
  __device__ explicit WarpSort(Word (&own)[kEach]) : own_(own) {}

  __device__ void run() {
#pragma unroll
    for (int bit = 1; 1 << bit <= kEach; ++bit) {
      within((1 << bit) - 1);
      within_runs(1 << bit >> 2);
    }
#pragma unroll 1
    for (int lanes = 2; lanes <= kWarp; lanes *= 2) {
      from_both_ends(lanes);
#pragma unroll 1
      for (int apart = lanes / 4; apart > 0; apart /= 2) between(apart);
      within_runs(kEach / 2);
    }
  }

 private:
  // Words of a lane whose numbers differ by these bits.
  __device__ void within(int bits) {
#pragma unroll
    for (int v = 0; v < kEach; ++v) {
      const int other = v ^ bits;
      if (other < v) continue;
      const Word one = own_[v], two = own_[other];
      const bool turn = two < one;
      own_[v] = one.unless(turn, two);
      own_[other] = two.unless(turn, one);
    }
  }
  __device__ void within_runs(int most) {
#pragma unroll
    for (int apart = kEach / 2; apart > 0; apart /= 2)
      if (apart <= most) within(apart);
  }
  // Puts each word in order with the same word of another lane.
  __device__ void between(int apart) {
    const bool front = !(threadIdx.x & static_cast<unsigned>(apart));
#pragma unroll
    for (int v = 0; v < kEach; ++v) own_[v] = chosen(own_[v], own_[v].of_lane(apart), front);
  }
  __device__ void from_both_ends(int lanes) {
    const bool front = !(threadIdx.x & static_cast<unsigned>(lanes / 2));
#pragma unroll
    for (int v = 0; v < kEach / 2; ++v) {
      const int other = kEach - 1 - v;
      const Word of_other = own_[other].of_lane(lanes - 1), of_this = own_[v].of_lane(lanes - 1);
      own_[v] = chosen(own_[v], of_other, front);
      own_[other] = chosen(own_[other], of_this, front);
    }
  }
  __device__ static Word chosen(const Word& own, const Word& other, bool front) {
    return own.unless((other < own) == front, other);
  }

  Word (&own_)[kEach];
};

// Segments, and which of them tiles have: those that begin in a window of so many items, or one each.
struct SegmentTiles {
  Whole offsets;
  Index window;  // 0 where each tile has one segment
  Index tiles;

  Index segments() const { return offsets.count - 1; }
  __device__ Index first_of(Index tile) const {
    return window == 0 ? tile : partition::lower_bound(offsets, 0, offsets.count - 1, tile * window);
  }
};

// None where the segments are too long, or tiles would be all but empty.
inline std::optional<SegmentTiles> tiles_of(const Whole& offsets, Index items, Index longest) {
  if (longest > kPlaces) return std::nullopt;
  const Index window = kPlaces + 1 - longest, windows = (items + window - 1) / window, segments = offsets.count - 1;
  constexpr Index kSparse = 4;
  if (std::min(windows, segments) > kSparse * (items / kPlaces + 1)) return std::nullopt;
  return windows < segments ? SegmentTiles{offsets, window, windows} : SegmentTiles{offsets, 0, segments};
}

struct OrderTile {
  int places[kPlaces + kWarp];  // a gap after each lane's
  unsigned begins[kWarp];       // bits of places where segments begin
};

// A tile's words: of place v * kWarp + lane in word v, until they are sorted.
template <class Item>
__global__ void __launch_bounds__(kOrderThreads) order_tiles(const Item* items, bool decreasing, SegmentTiles t,
                                                             int* rows) {
  constexpr int kEach = kOrderTile.each, kWarps = kOrderThreads / kWarp;
  __shared__ OrderTile tiles[kWarps];
  OrderTile& tile = tiles[threadIdx.x / kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const Index number = static_cast<Index>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (number >= t.tiles) return;
  const Index limit = t.first_of(number + lane % 2);  // both at the same time
  const Index from = __shfl_sync(~0u, limit, 0), to = __shfl_sync(~0u, limit, 1), first = t.offsets[from];
  const int count = static_cast<int>(t.offsets[to] - first);
  Item own[kEach];
#pragma unroll
  for (int v = 0; v < kEach; ++v) {
    const int place = v * kWarp + lane;
    own[v] = place < count ? items[first + place] : Item();
  }
  tile.begins[lane] = 0;
  __syncwarp();
  for (Index segment = from + lane; segment < to; segment += kWarp) {
    const int begin = static_cast<int>(t.offsets[segment] - first);
    if (begin < count) atomicOr(&tile.begins[begin / kWarp], 1u << (begin % kWarp));
  }
  __syncwarp();
  WordOf<Item> words[kEach];
  unsigned segments = 0;  // that begin before the word's places
#pragma unroll
  for (int v = 0; v < kEach; ++v) {
    const int place = v * kWarp + lane;
    const unsigned begins = tile.begins[v];
    const auto segment = segments + static_cast<unsigned>(__popc(begins << (kWarp - 1 - lane))) - 1;
    const auto key = decreasing ? turned(sortable(own[v])) : sortable(own[v]);
    words[v] = place < count ? WordOf<Item>(segment, key, static_cast<unsigned>(place)) : WordOf<Item>::last();
    segments += static_cast<unsigned>(__popc(begins));
  }
  WarpSort<WordOf<Item>, kEach>(words).run();
#pragma unroll
  for (int v = 0; v < kEach; ++v) tile.places[lane * (kEach + 1) + v] = words[v].place();
  __syncwarp();
#pragma unroll
  for (int v = 0; v < kEach; ++v) {
    const int place = v * kWarp + lane;
    if (place < count) rows[first + place] = static_cast<int>(first + tile.places[place + place / kEach] + 1);
  }
}

}  // namespace kernweave::arrays::cuda
