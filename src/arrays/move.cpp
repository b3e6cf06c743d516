// Moves items: the target is cut into even pieces, and a search finds where each piece begins in the source.
#include "arrays/host_verbs.hpp"
#include <cstring>
#include <numeric>

namespace kernweave::arrays {
namespace {

using partition::Place;

// A type with as many bytes as an item has.
struct Sixteen {
  std::uint64_t parts[2];
};

// The source of items: an array, or the items' places.
template <class T>
struct Array {
  const T* items;
  T operator[](Index k) const { return items[k]; }
  void copy(Index from, Index count, T* to) const {
    constexpr Index kFew = 16;
    if (count > kFew) std::memcpy(to, items + from, static_cast<std::size_t>(count) * sizeof(T));
    else
      for (Index k = 0; k < count; ++k) to[k] = items[from + k];
  }
};
template <class T>
struct Places {
  T operator[](Index k) const { return static_cast<T>(k + 1); }
  void copy(Index from, Index count, T* to) const {
    for (Index k = 0; k < count; ++k) to[k] = static_cast<T>(from + k + 1);
  }
};

// Calls f(source, target) with the type of the items.
template <class F>
void with_source(const Moved& x, F f) {
  const auto of = [&](auto* to) {
    using T = std::remove_pointer_t<decltype(to)>;
    f(Array<T>{static_cast<const T*>(x.from)}, to);
  };
  if (!x.from) {
    if (x.bytes == 4) f(Places<int>(), static_cast<int*>(x.to));
    else f(Places<double>(), static_cast<double*>(x.to));
    return;
  }
  switch (x.bytes) {
    case 1: return of(static_cast<std::uint8_t*>(x.to));
    case 4: return of(static_cast<std::uint32_t*>(x.to));
    case 8: return of(static_cast<std::uint64_t*>(x.to));
    default: return of(static_cast<Sixteen*>(x.to));
  }
}

// Counts the items that stay before each item that goes: an ascending list.
struct StayBefore {
  const Whole& at;
  Index operator[](Index k) const { return at[k] - 1 - k; }
};

// Calls work(object, rank, first, last) for the items of every object, in parts that pieces cut: item `first` has rank
// `rank` in its object, counted from 0.
template <class Ends, class Work>
void each_run(const Ends& ends, Index objects, Index items, const Workers& workers, Work work) {
  const Index pieces = pieces_of(items + objects);
  const auto place = [&](Index piece) {
    return partition::walk_to(ends, objects, items, partition::even_split(items + objects, pieces, piece));
  };
  each_task(workers, pieces, [&](Index piece) {
    Place at = place(piece);
    const Place to = place(piece + 1);
    Index rank = at.item - (at.object == 0 ? 0 : static_cast<Index>(ends[at.object - 1]));
    for (; at.object < to.object; ++at.object) {
      const Index last = static_cast<Index>(ends[at.object]);
      if (at.item < last) work(at.object, rank, at.item, last);
      at.item = last;
      rank = 0;
    }
    if (at.item < to.item) work(at.object, rank, at.item, to.item);
  });
}
template <class Work>
void each_run(const Whole& offsets, const Workers& workers, Work work) {
  const Index objects = offsets.count - 1;
  with_array(offsets, [&](auto array) { each_run(array + 1, objects, offsets[objects], workers, work); });
}

}  // namespace

void HostVerbs::take(const Moved& x, const Whole& order) const {
  with_source(x, [&](auto source, auto* to) {
    with_array(order, [&](auto rows) {
      each_piece(workers_, order.count, [&](Index, Index first, Index last) {
        for (Index k = first; k < last; ++k) to[k] = source[static_cast<Index>(rows[k]) - 1];
      });
    });
  });
}

void HostVerbs::remove(const Moved& x, const Whole& at) const {
  with_source(x, [&](auto source, auto* to) {
    const auto keep = [&](Index gone, Index, Index first, Index last) {
      source.copy(first + gone, last - first, to + first);
    };
    each_run(StayBefore{at}, at.count, x.count - at.count, workers_, keep);
  });
}

void HostVerbs::insert(const Moved& x, const void* values, const Whole& after) const {
  with_source(x, [&](auto old, auto* to) {
    const auto* const fresh = static_cast<const std::remove_pointer_t<decltype(to)>*>(values);
    each_piece(workers_, x.count + after.count, [&](Index, Index first, Index last) {
      Index k = partition::merge_path(after, after.count, partition::Counting(), x.count, first);
      const Index end = partition::merge_path(after, after.count, partition::Counting(), x.count, last);
      for (Index item = first - k; first < last;) {
        const Index stay = k < end ? after[k] - item : last - first;
        old.copy(item, stay, to + first);
        item += stay;
        first += stay;
        if (k < end) to[first++] = fresh[k++];
      }
    });
  });
}

void HostVerbs::expand(const Moved& x, const Whole& offsets, Index) const {
  with_source(x, [&](auto source, auto* to) {
    each_run(offsets, workers_,
             [&](Index object, Index, Index first, Index last) { std::fill(to + first, to + last, source[object]); });
  });
}

void HostVerbs::walk(const Whole& offsets, Index total, const Numbers& objects, const Numbers& ranks) const {
  with_room(objects, [&](auto* to, auto) {
    expand({nullptr, offsets.count - 1, sizeof *to, to}, offsets, total);
  });
  with_room(ranks, [&](auto* to, auto) {
    each_run(offsets, workers_, [&](Index, Index rank, Index first, Index last) {
      std::iota(to + first, to + last, static_cast<std::decay_t<decltype(*to)>>(rank + 1));
    });
  });
}

void HostVerbs::move(const Moved& x, const Intervals& intervals, Index) const {
  const Whole &from = intervals.from, &to = intervals.to, &offsets = intervals.offsets;
  with_source(x, [&](auto source, auto* target) {
    each_run(offsets, workers_, [&](Index k, Index rank, Index first, Index last) {
      source.copy(from ? from[k] - 1 + rank : first, last - first, target + (to ? to[k] - 1 + rank : first));
    });
  });
}

// Lists the places in order, each once, by flags instead of a sort.
void HostVerbs::rising(const Whole& at, Index most, Results& made) const {
  std::vector<std::uint64_t> flags(static_cast<std::size_t>(most + 63) / 64);
  Index count = 0;
  for (Index k = 0; k < at.count; ++k) {
    std::uint64_t& word = flags[static_cast<std::size_t>(at[k] - 1) / 64];
    const std::uint64_t flag = std::uint64_t{1} << (at[k] - 1) % 64;
    count += (word & flag) == 0;
    word |= flag;
  }
  with_room(made.numbers(nullptr, most, count), [&](auto to, auto) {
    for (std::size_t w = 0; w < flags.size(); ++w)
      for (std::size_t bit = 1, left = flags[w]; left; ++bit, left >>= 1)
        if (left & 1) *to++ = static_cast<std::decay_t<decltype(*to)>>(64 * w + bit);
  });
}

}  // namespace kernweave::arrays
