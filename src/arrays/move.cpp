// Moves of items: what is written is cut into even pieces, and a search tells where each piece begins in what is read.
#include "arrays/move.hpp"
#include <cstring>
#include <numeric>

namespace kernweave::arrays {
namespace {

using partition::Place;

// A type of as many bytes as an item has.
struct Sixteen {
  std::uint64_t parts[2];
};

template <class T>
struct Kind {
  using Of = T;
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
  Index before;
  T operator[](Index k) const { return static_cast<T>(before + k + 1); }
  void copy(Index from, Index count, T* to) const {
    for (Index k = 0; k < count; ++k) to[k] = static_cast<T>(before + from + k + 1);
  }
};

// Calls f(source, target), or f(source, other source, target), with what items are.
template <class F>
void with_types(const Target& out, bool places, F f) {
  if (places) {
    if (out.bytes == 4) f(Kind<int>(), std::true_type());
    else f(Kind<double>(), std::true_type());
    return;
  }
  switch (out.bytes) {
    case 1: return f(Kind<std::uint8_t>(), std::false_type());
    case 4: return f(Kind<std::uint32_t>(), std::false_type());
    case 8: return f(Kind<std::uint64_t>(), std::false_type());
    default: return f(Kind<Sixteen>(), std::false_type());
  }
}

template <class F>
void with_source(const Source& x, const Target& out, F f) {
  with_types(out, !x.from, [&](auto kind, auto places) {
    using T = typename decltype(kind)::Of;
    T* const to = static_cast<T*>(out.to);
    if constexpr (decltype(places)::value) f(Places<T>{0}, to);
    else f(Array<T>{static_cast<const T*>(x.from)}, to);
  });
}

// How many items stay before each one that goes: a list that ascends.
struct StayBefore {
  const Whole& at;
  Index operator[](Index k) const { return at[k] - 1 - k; }
};

// Calls work(object, rank, first, last) for the items of every object, in parts that pieces cut: the first of them has
// that rank in its object, from 0.
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

void remove_items(const Source& x, const Whole& at, const Workers& workers, const Target& out) {
  with_source(x, out, [&](auto source, auto* to) {
    const auto keep = [&](Index gone, Index, Index first, Index last) {
      source.copy(first + gone, last - first, to + first);
    };
    each_run(StayBefore{at}, at.count, x.count - at.count, workers, keep);
  });
}

void insert_items(const Source& x, const Source& values, const Whole& after, const Workers& workers,
                  const Target& out) {
  const auto run = [&](auto old, auto fresh, auto* to) {
    const Index all = x.count + values.count;
    each_piece(workers, all, [&](Index, Index first, Index last) {
      Index k = partition::merge_path(after, values.count, partition::Counting(), x.count, first);
      const Index end = partition::merge_path(after, values.count, partition::Counting(), x.count, last);
      for (Index item = first - k; first < last;) {
        const Index stay = k < end ? after[k] - item : last - first;
        old.copy(item, stay, to + first);
        item += stay;
        first += stay;
        if (k < end) to[first++] = fresh[k++];
      }
    });
  };
  with_types(out, !x.from, [&](auto kind, auto places) {
    using T = typename decltype(kind)::Of;
    T* const to = static_cast<T*>(out.to);
    if constexpr (decltype(places)::value) run(Places<T>{0}, Places<T>{x.count}, to);
    else run(Array<T>{static_cast<const T*>(x.from)}, Array<T>{static_cast<const T*>(values.from)}, to);
  });
}

void expand_items(const Source& x, const Whole& offsets, const Workers& workers, const Target& out) {
  with_source(x, out, [&](auto source, auto* to) {
    each_run(offsets, workers,
             [&](Index object, Index, Index first, Index last) { std::fill(to + first, to + last, source[object]); });
  });
}

template <class Place>
void ranks_of(const Whole& offsets, const Workers& workers, Place* out) {
  each_run(offsets, workers, [&](Index, Index rank, Index first, Index last) {
    std::iota(out + first, out + last, static_cast<Place>(rank + 1));
  });
}
template void ranks_of(const Whole&, const Workers&, int*);
template void ranks_of(const Whole&, const Workers&, double*);

void move_items(const Source& x, const Intervals& intervals, const Workers& workers, const Target& out) {
  const Whole &from = intervals.from, &to = intervals.to, &offsets = intervals.offsets;
  with_source(x, out, [&](auto source, auto* target) {
    each_run(offsets, workers, [&](Index k, Index rank, Index first, Index last) {
      source.copy(from ? from[k] - 1 + rank : first, last - first, target + (to ? to[k] - 1 + rank : first));
    });
  });
}

}  // namespace kernweave::arrays
