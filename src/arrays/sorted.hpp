// Sorted lists: which items are missing, whether a list is sorted, the parts of two lists that belong together, and the
// places of items in a list.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>
#include "arrays/pieces.hpp"
#include "base/error.hpp"

namespace kernweave::arrays {

// Tells whether an item is missing: R's NA of integers, or a NaN.
template <class Item>
bool is_missing(Item item) {
  if constexpr (std::numeric_limits<Item>::is_integer) return item == std::numeric_limits<Item>::min();
  else return item != item;
}

// A list whose missing items come last: only the items before them are compared.
template <class Item>
struct Sorted {
  Sorted(const Item* items, Index length)
      : items(items), length(length), known(std::partition_point(items, items + length, is_known) - items) {}

  static bool is_known(Item item) { return !is_missing(item); }
  const Item* end() const { return items + known; }

  const Item* items;
  Index length, known;
};

// Tells whether one item may stand before the other.
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

// Returns the place, from 1, of the first item whose number passes the test; 0 if there is none.
template <class Test>
Index first_that(Index length, const Workers& workers, Test test) {
  std::atomic<Index> found{length};
  each_piece(workers, length, [&found, test](Index, Index first, Index last) {
    Index k = first;
    while (k < last && !test(k)) ++k;
    if (k == last) return;
    for (Index least = found; k < least && !found.compare_exchange_weak(least, k);) {}
  });
  return found == length ? 0 : found + 1;
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
            [&](int, std::int64_t piece, const Heartbeat&) { work(piece, cuts[piece], cuts[piece + 1]); });
}

// Cuts for a merge: equal items of `a` come before equal items of `b`.
template <class Item>
std::vector<partition::Cut> merge_cuts(const Sorted<Item>& a, const Sorted<Item>& b) {
  return cuts_of(a.known, b.known, [&](Index diagonal) {
    const Index from_a = partition::merge_path(a.items, a.known, b.items, b.known, diagonal);
    return partition::Cut{from_a, diagonal - from_a};
  });
}

// --- merge ---------------------------------------------------------------------------------------------------------
// Merges two sorted lists, with equal items of the first list before equal items of the second list.

template <class Item>
void merge_items(const Sorted<Item>& a, const Sorted<Item>& b, Item* to, const Workers& workers) {
  each_cut(workers, merge_cuts(a, b), [&](Index, partition::Cut from, partition::Cut end) {
    std::merge(a.items + from.a, a.items + end.a, b.items + from.b, b.items + end.b, to + from.a + from.b);
  });
  std::copy(b.end(), b.items + b.length, std::copy(a.end(), a.items + a.length, to + a.known + b.known));
}

// Writes the numbers, from 1, of the merged items; the numbers of `b` follow the numbers of `a`.
template <class Item, class Number>
void merge_rows(const Sorted<Item>& a, const Sorted<Item>& b, Number* to, const Workers& workers) {
  const auto row_of_a = [](Index k) { return static_cast<Number>(k + 1); };
  const auto row_of_b = [&](Index k) { return static_cast<Number>(a.length + k + 1); };
  each_cut(workers, merge_cuts(a, b), [&](Index, partition::Cut from, partition::Cut end) {
    Number* next = to + from.a + from.b;
    while (from.a < end.a && from.b < end.b) {
      const bool from_b = b.items[from.b] < a.items[from.a];
      *next++ = from_b ? row_of_b(from.b) : row_of_a(from.a);
      from.a += !from_b;
      from.b += from_b;
    }
    while (from.a < end.a) *next++ = row_of_a(from.a++);
    while (from.b < end.b) *next++ = row_of_b(from.b++);
  });
  Number* next = to + a.known + b.known;
  for (Index k = a.known; k < a.length; ++k) *next++ = row_of_a(k);
  for (Index k = b.known; k < b.length; ++k) *next++ = row_of_b(k);
}

// --- search --------------------------------------------------------------------------------------------------------
// Finds the places of items in a sorted list: one way through both lists if both are sorted, else one search each.

// The results of a search for one list (arrays/items.hpp), by the type of their numbers.
template <class Number>
struct FoundBy {
  Number* at = nullptr;
  int* matched = nullptr;
};

// Takes the items of both lists in order, items of `a` before equal items of `b`, and finds the place of each item in
// the other list. No step waits for a guess of which list comes next.
template <class Item, class Number>
void pass_through(const Sorted<Item>& a, const Sorted<Item>& b, FoundBy<Number> of_a, FoundBy<Number> of_b,
                  const Workers& workers) {
  each_cut(workers, merge_cuts(a, b), [&](Index, partition::Cut from, partition::Cut end) {
    Index i = from.a, j = from.b;
    while (i < end.a && j < end.b) {
      const bool less = b.items[j] < a.items[i];
      if (of_a.at) of_a.at[i] = static_cast<Number>(j);
      if (of_b.at) of_b.at[j] = static_cast<Number>(i);
      i += !less;
      j += less;
    }
    for (; of_a.at && i < end.a; ++i) of_a.at[i] = static_cast<Number>(j);
    for (; of_b.at && j < end.b; ++j) of_b.at[j] = static_cast<Number>(i);
    if (!of_a.matched) return;
    for (i = from.a; i < end.a; ++i) {
      const Index next = static_cast<Index>(of_a.at[i]);
      of_a.matched[i] = next < b.known && b.items[next] == a.items[i];
    }
    for (j = from.b; j < end.b; ++j) {
      const Index next = static_cast<Index>(of_b.at[j]);
      of_b.matched[j] = next > 0 && a.items[next - 1] == b.items[j];
    }
  });
}

// Counts the items of the list that are less than each of `items`, or, with `equal_too`, not greater. A missing item
// gets `none`.
template <class Item, class Number>
void search_each(const Item* items, Index length, const Sorted<Item>& list, bool equal_too, Number none, Number* at,
                 const Workers& workers) {
  each_piece(workers, length, [&](Index, Index first, Index last) {
    for (Index k = first; k < last; ++k) {
      const Item item = items[k];
      const Item* from = list.items;
      for (Index left = list.known; left > 0;) {
        const Index half = (left + 1) / 2;
        const bool before = equal_too ? from[half - 1] <= item : from[half - 1] < item;
        from += before ? half : 0;
        left = before ? left - half : half - 1;
      }
      at[k] = is_missing(item) ? none : static_cast<Number>(from - list.items);
    }
  });
}

}  // namespace kernweave::arrays
