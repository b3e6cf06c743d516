// Sorted lists: what missing items are, whether a list is sorted, and the parts of two lists that belong together.
#pragma once
#include <atomic>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrays/pieces.hpp"
#include "base/error.hpp"

namespace kernweave::arrays {

// R's NA of integers, a NaN.
template <class Item>
bool is_missing(Item item) {
  if constexpr (std::numeric_limits<Item>::is_integer) return item == std::numeric_limits<Item>::min();
  else return item != item;
}

// Missing items come last: only those before them are compared.
template <class Item>
struct Sorted {
  Sorted(const Item* items, Index length)
      : items(items), length(length), known(std::partition_point(items, items + length, is_known) - items) {}

  static bool is_known(Item item) { return !is_missing(item); }
  const Item* end() const { return items + known; }

  const Item* items;
  Index length, known;
};

// May one item stand before the other?
template <class Item>
bool in_order(Item before, Item item) {
  if constexpr (std::numeric_limits<Item>::is_integer) {
    using Rank = std::make_unsigned_t<Item>;  // wraps round: the missing one becomes the greatest
    constexpr auto kAfterMissing = static_cast<Rank>(std::numeric_limits<Item>::min()) + Rank{1};
    const auto rank = [](Item i) { return static_cast<Rank>(static_cast<Rank>(i) - kAfterMissing); };
    return rank(before) <= rank(item);
  } else {
    return before <= item || item != item;
  }
}

// How many items from the first on are sorted.
template <class Item>
Index sorted_up_to(const Item* items, Index length, const Workers& workers) {
  std::atomic<Index> found{length};
  each_piece(workers, length, [&](Index, Index first, Index last) {
    Index k = std::max<Index>(first, 1);
    while (k < last && in_order(items[k - 1], items[k])) ++k;
    if (k >= last) return;
    for (Index least = found; k < least && !found.compare_exchange_weak(least, k);) {}
  });
  return found;
}

// Cuts two lists into pieces at `cut_at`. Lists that are not sorted have no such pieces.
template <class CutAt>
std::vector<partition::Cut> cuts_of(Index a_count, Index b_count, CutAt cut_at) {
  const Index items = a_count + b_count, pieces = pieces_of(items);
  std::vector<partition::Cut> cuts;
  for (Index piece = 0; piece <= pieces; ++piece) {
    cuts.push_back(cut_at(partition::even_split(items, std::max<Index>(pieces, 1), piece)));
    const bool rises = piece == 0 || (cuts[piece - 1].a <= cuts[piece].a && cuts[piece - 1].b <= cuts[piece].b);
    if (!rises) fail(Fault::input, "lists that are said to be sorted are not");
  }
  return cuts;
}

// Calls work(piece, from, to) for the cuts of all pieces.
template <class Work>
void each_cut(const Workers& workers, const std::vector<partition::Cut>& cuts, Work work) {
  share_out(workers.threads, static_cast<std::int64_t>(cuts.size()) - 1, workers.poll,
            [&](int, std::int64_t piece, const Heartbeat& beat) {
              beat();
              work(piece, cuts[piece], cuts[piece + 1]);
            });
}

// Equal items of `a` come before those of `b`.
template <class Item>
std::vector<partition::Cut> merge_cuts(const Sorted<Item>& a, const Sorted<Item>& b) {
  return cuts_of(a.known, b.known, [&](Index diagonal) {
    const Index from_a = partition::merge_path(a.items, a.known, b.items, b.known, diagonal);
    return partition::Cut{from_a, diagonal - from_a};
  });
}

}  // namespace kernweave::arrays
