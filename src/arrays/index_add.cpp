// Three ways, chosen by sizes: each part of the slices goes through the items as they come; through the items of one
// number after the other; or blocks of items have a copy of the array each. The first two add in the order of items.
#include "arrays/index_add.hpp"

#include <atomic>
#include <cmath>
#include <memory>

#include "arrays/keys.hpp"

namespace kernweave::arrays {
namespace {

// Tells whether numbers take 32 bits. For numbers of 64 bits there is only one way.
template <class Number>
constexpr bool kShort = std::is_same_v<Number, std::int32_t>;

constexpr Index kStrip = 256;        // numbers of a slice whose states are held at a time
constexpr Index kThin = 64;          // slices of fewer numbers do not keep threads busy
constexpr Index kMostCopies = 64;
constexpr Index kLeastBlock = 1 << 13;
constexpr Index kInCache = 1 << 20;  // numbers of an array that the cache holds

// Blocks of items with a copy of the array each: what copies take, in all, is an eighth of what items take.
inline Index copies_of(const IndexAdd& task, Index items) {
  if (task.shape.slice() >= kThin || task.shape.extent == 0) return 0;
  const Index most = task.reproducible ? kMostCopies : std::min<Index>(kMostCopies, task.workers.threads);
  return std::min({most, items / (8 * task.shape.extent), items / kLeastBlock});
}

// Numbers first .. last - 1 of one column of the slices.
struct Strip {
  Index column, first, last;
  Index width() const { return last - first; }
};

// Calls work(piece, strip) for every strip of the slices and every piece; `items` is how many a piece has.
template <class Work>
void each_strip(const IndexAdd& task, Index width, Index pieces, Index items, Work work) {
  const Shape& shape = task.shape;
  const Index across = (shape.before + width - 1) / width, strips = across * shape.after;
  const Index per_task = std::max<Index>(1, kPiece / std::max<Index>(1, width * items));
  const Index parts = (strips + per_task - 1) / per_task;
  each_task(task.workers, parts * pieces, [&](Index number) {
    const Index part = number / pieces;
    const Index last = partition::even_split(strips, parts, part + 1);
    for (Index k = partition::even_split(strips, parts, part); k < last; ++k) {
      const Index first = k % across * width;
      work(number % pieces, Strip{k / across, first, std::min(shape.before, first + width)});
    }
  });
}

template <class Op>
struct Operands {
  typename Op::State alpha;
  const typename Op::Value* source;
  typename Op::Value* array;
};

// An operation's reader of one strip of source and array.
template <class Op>
class StripOf {
 public:
  using Value = typename Op::Value;
  using State = typename Op::State;

  StripOf(const IndexAdd& task, const Operands<Op>& on, const Strip& strip)
      : steps_(task.steps),
        before_(task.shape.before),
        width_(strip.width()),
        alpha_(on.alpha),
        source_(on.source + strip.column * steps_.after + strip.first * steps_.before),
        offset_(strip.column * before_ * task.shape.extent + strip.first) {}

  // Returns where the strip of slice `number`, from 1, begins in an array of the shape.
  Index at(Index number) const { return offset_ + (number - 1) * before_; }

  bool one_wide() const { return width_ == 1; }
  // Takes item k of a strip that is one wide.
  void take_one(Index k, State* state) const {
    *state = Op::combine(*state, Op::term(alpha_, source_[k * steps_.item]));
  }
  // Takes item k into states that lie together.
  void take(Index k, State* __restrict states) const {
    const Value* const values = source_ + k * steps_.item;
    if (steps_.before == 0) {
      const State term = Op::term(alpha_, *values);
      for (Index b = 0; b < width_; ++b) states[b] = Op::combine(states[b], term);
    } else {
      for (Index b = 0; b < width_; ++b) states[b] = Op::combine(states[b], Op::term(alpha_, values[b]));
    }
  }

 private:
  const Steps steps_;
  const Index before_, width_;
  const State alpha_;
  const Value* const source_;
  const Index offset_;
};

// Items first .. last - 1 as they come, into states in the shape of the array. The strip is a copy, which no state can
// be part of.
template <class Op, class Number>
void take_items(const StripOf<Op> strip, const Number* index, Index first, Index last, typename Op::State* states) {
  const auto at = [&](Index k) { return states + strip.at(static_cast<Index>(index[k])); };
  if (strip.one_wide())
    for (Index k = first; k < last; ++k) strip.take_one(k, at(k));
  else
    for (Index k = first; k < last; ++k) strip.take(k, at(k));
}

// Takes only items whose numbers are from `least` to `most`. They are listed first: a list has no branch that nobody
// can predict.
template <class Op, class Number>
void take_some(const StripOf<Op> strip, const Number* index, Index count, Index least, Index most,
               typename Op::State* states) {
  constexpr Index kListed = 2048;
  Index list[kListed];
  for (Index start = 0; start < count; start += kListed) {
    Index listed = 0;
    for (Index k = start; k < std::min(count, start + kListed); ++k) {
      list[listed] = k;
      listed += (static_cast<Index>(index[k]) >= least) & (static_cast<Index>(index[k]) <= most);
    }
    const auto at = [&](Index j) { return states + strip.at(static_cast<Index>(index[list[j]])); };
    if (strip.one_wide())
      for (Index j = 0; j < listed; ++j) strip.take_one(list[j], at(j));
    else
      for (Index j = 0; j < listed; ++j) strip.take(list[j], at(j));
  }
}

// How the work is cut where any cut gives the same bits: into strips; and where these are few, into ranges of numbers,
// if what items take is more than what looking for them takes.
struct DirectCut {
  Index width = 1, ranges = 1;

  DirectCut(const IndexAdd& task, Index items) : width(task.shape.before) {
    const Shape& shape = task.shape;
    const Index threads = task.workers.threads;
    if (threads == 1 || pieces_of(items * shape.slice()) == 1) return;
    width = std::clamp<Index>(shape.slice() / (4 * threads), std::min(shape.before, kStrip), shape.before);
    const bool wide = width >= 16, scattered = shape.extent * shape.slice() > kInCache;
    const Index strips = (shape.before + width - 1) / width * shape.after, tasks = wide ? 4 * threads : threads;
    if ((wide || scattered) && strips < tasks) ranges = std::min(shape.extent, (tasks + strips - 1) / strips);
  }
};

template <class Op, class Number>
void add_directly(const IndexAdd& task, const Indices<Number>& index, const Operands<Op>& on,
                  typename Op::State* states) {
  const DirectCut cut(task, index.count);
  const Index extent = task.shape.extent;
  each_strip(task, cut.width, cut.ranges, index.count / cut.ranges, [&](Index range, const Strip& strip) {
    const StripOf<Op> reader(task, on, strip);
    if (cut.ranges == 1) take_items(reader, index.numbers, 0, index.count, states);
    else take_some(reader, index.numbers, index.count, partition::even_split(extent, cut.ranges, range) + 1,
                   partition::even_split(extent, cut.ranges, range + 1), states);
  });
}

// Numbers of the array become states all at once, and numbers again.
template <class Op, class Number>
bool add_beside(const IndexAdd& task, const Indices<Number>& index, const Operands<Op>& on) {
  using State = typename Op::State;
  const Index size = task.shape.extent * task.shape.slice();
  const std::unique_ptr<State[]> states(new State[static_cast<std::size_t>(size)]);
  each_piece(task.workers, size, [&](Index, Index first, Index last) {
    std::transform(on.array + first, on.array + last, states.get() + first, Op::open);
  });
  add_directly(task, index, on, states.get());
  std::atomic<bool> any_overflow{false};
  each_piece(task.workers, size, [&](Index, Index first, Index last) {
    bool overflow = false;
    std::transform(states.get() + first, states.get() + last, on.array + first,
                   [&](State state) { return Op::close(state, &overflow); });
    if (overflow) any_overflow = true;
  });
  return any_overflow;
}

// States are held for one segment at a time. A piece takes the segments that begin in it.
template <class Op, class Number>
bool add_grouped(const IndexAdd& task, const Indices<Number>& index, const Grouping<Number>& grouping,
                 const Operands<Op>& on) {
  const std::vector<Index>& offsets = grouping.offsets;
  const Index segments = static_cast<Index>(offsets.size()) - 1, width = std::min(task.shape.before, kStrip);
  const Index pieces = std::max<Index>(1, pieces_of(index.count * width));
  const auto segment_at = [&](Index piece) {
    return partition::lower_bound(offsets, 0, segments, partition::even_split(index.count, pieces, piece));
  };
  std::atomic<bool> any_overflow{false};
  each_strip(task, width, pieces, index.count / pieces, [&](Index piece, const Strip& strip) {
    const StripOf<Op> reader(task, on, strip);
    typename Op::State states[kStrip];
    bool overflow = false;
    const Index last = piece + 1 == pieces ? segments : segment_at(piece + 1);
    for (Index segment = segment_at(piece); segment < last; ++segment) {
      const Number* const items = grouping.order.data() + offsets[segment];
      const Index count = offsets[segment + 1] - offsets[segment];
      if (count == 0) continue;
      auto* const values = on.array + reader.at(static_cast<Index>(index.numbers[items[0] - 1]));
      std::transform(values, values + strip.width(), states, Op::open);
      const auto item = [&](Index k) { return static_cast<Index>(items[k]) - 1; };
      if (reader.one_wide())
        for (Index k = 0; k < count; ++k) reader.take_one(item(k), states);
      else
        for (Index k = 0; k < count; ++k) reader.take(item(k), states);
      std::transform(states, states + strip.width(), values, [&](auto state) { return Op::close(state, &overflow); });
    }
    if (overflow) any_overflow = true;
  });
  return any_overflow;
}

template <class Op, class Number>
bool add_by_copies(const IndexAdd& task, const Indices<Number>& index, const Operands<Op>& on) {
  using State = typename Op::State;
  const Index copies = copies_of(task, index.count), size = task.shape.extent * task.shape.slice();
  std::vector<State> states(static_cast<std::size_t>(copies * size), Op::kNeutral);
  each_task(task.workers, copies, [&](Index copy) {
    IndexAdd alone = task;
    alone.workers = Workers();
    const Index first = partition::even_split(index.count, copies, copy);
    const Index last = partition::even_split(index.count, copies, copy + 1);
    each_strip(alone, task.shape.before, 1, last - first, [&](Index, const Strip& strip) {
      take_items(StripOf<Op>(task, on, strip), index.numbers, first, last, states.data() + copy * size);
    });
  });
  std::atomic<bool> any_overflow{false};
  each_piece(task.workers, size, [&](Index, Index first, Index last) {
    bool overflow = false;
    for (Index k = first; k < last; ++k) {
      State total = Op::open(on.array[k]);
      for (Index copy = 0; copy < copies; ++copy)
        total = Op::combine(total, states[static_cast<std::size_t>(copy * size + k)]);
      on.array[k] = Op::close(total, &overflow);
    }
    if (overflow) any_overflow = true;
  });
  return any_overflow;
}

template <class Number>
Grouping<Number> group(const Indices<Number>& index, const Workers& workers) {
  Grouping<Number> grouping;
  grouping.order.resize(static_cast<std::size_t>(index.count));
  KeyColumn column;
  column.type = kShort<Number> ? KeyType::int32 : KeyType::int64;
  column.data = index.numbers;
  OrderTask order;
  order.workers = workers;
  std::vector<std::uint8_t> tied(static_cast<std::size_t>(index.count));
  radix_order(Keys({column}, index.count, workers), order, grouping.order.data(), tied.data());
  for (Index k = 0; k < index.count; ++k)
    if (!tied[static_cast<std::size_t>(k)]) grouping.offsets.push_back(k);
  grouping.offsets.push_back(index.count);
  return grouping;
}

template <class Op, class Number>
bool add(const IndexAdd& task, const Indices<Number>& index, const Grouping<Number>* grouping,
         const Operands<Op>& on) {
  if constexpr (kShort<Number>) {
    if (copies_of(task, index.count) > 1) return add_by_copies(task, index, on);
    if constexpr (std::is_same_v<typename Op::Value, typename Op::State>) {
      add_directly(task, index, on, on.array);
      return false;
    } else if (!serves_grouping(task, index.count, true)) {
      return add_beside(task, index, on);
    }
  }
  return add_grouped(task, index, grouping ? *grouping : group(index, task.workers), on);
}

// Lists the numbers that have items, and the number of items of each.
template <class Number>
void count_numbers(const Indices<Number>& index, Index extent, double more, std::vector<Number>* numbers,
                   std::vector<double>* counts) {
  std::vector<Index> all(static_cast<std::size_t>(extent), 0);
  for (Index k = 0; k < index.count; ++k) ++all[static_cast<std::size_t>(index.numbers[k]) - 1];
  for (Index d = 0; d < extent; ++d) {
    if (all[static_cast<std::size_t>(d)] == 0) continue;
    numbers->push_back(static_cast<Number>(d + 1));
    counts->push_back(static_cast<double>(all[static_cast<std::size_t>(d)]) + more);
  }
}

}  // namespace

template <class Number>
Index first_mixed(const Grouping<Number>& grouping, const Indices<Number>& index, Index extent) {
  std::vector<bool> seen(static_cast<std::size_t>(extent), false);
  const std::vector<Index>& offsets = grouping.offsets;
  for (std::size_t segment = 0; segment + 1 < offsets.size(); ++segment) {
    if (offsets[segment] == offsets[segment + 1]) continue;
    const Number own = index.numbers[grouping.order[static_cast<std::size_t>(offsets[segment])] - 1];
    bool right = !seen[static_cast<std::size_t>(own) - 1];
    for (Index k = offsets[segment]; k < offsets[segment + 1] && right; ++k)
      right = index.numbers[grouping.order[static_cast<std::size_t>(k)] - 1] == own;
    if (!right) return static_cast<Index>(segment) + 1;
    seen[static_cast<std::size_t>(own) - 1] = true;
  }
  return 0;
}

template <class Number>
void index_add(const IndexAdd& task, const Indices<Number>& index, const Grouping<Number>* grouping, double alpha,
               const double* source, double* array) {
  switch (task.op) {
    case Combine::sum: add<combine::Sum>(task, index, grouping, {alpha, source, array}); break;
    case Combine::prod: add<combine::Prod>(task, index, grouping, {alpha, source, array}); break;
    case Combine::min: add<combine::Min>(task, index, grouping, {alpha, source, array}); break;
    case Combine::max: add<combine::Max>(task, index, grouping, {alpha, source, array}); break;
  }
}

template <class Number>
bool index_add(const IndexAdd& task, const Indices<Number>& index, const Grouping<Number>* grouping, int alpha,
               const int* source, int* array) {
  switch (task.op) {
    case Combine::sum: return add<combine::IntSum>(task, index, grouping, {alpha, source, array});
    case Combine::prod: return add<combine::IntProd>(task, index, grouping, {alpha, source, array});
    case Combine::min: return add<combine::IntMin>(task, index, grouping, {alpha, source, array});
    case Combine::max: break;
  }
  return add<combine::IntMax>(task, index, grouping, {alpha, source, array});
}

template <class Number>
void index_mean(const IndexAdd& task, const Indices<Number>& index, const Grouping<Number>* grouping, bool include,
                double alpha, const double* source, double* array) {
  std::vector<Number> numbers;
  std::vector<double> counts;
  count_numbers(index, task.shape.extent, include ? 1 : 0, &numbers, &counts);
  const Indices<Number> once{numbers.data(), static_cast<Index>(numbers.size())};
  IndexAdd one_each = task;
  one_each.steps = {0, 1, 0};
  const std::vector<double> zeros(include ? 0 : counts.size(), 0.0);
  if (!include) add_directly<combine::Assign>(one_each, once, {1.0, zeros.data(), array}, array);
  add<combine::Sum>(task, index, grouping, {alpha, source, array});
  add_directly<combine::Divide>(one_each, once, {1.0, counts.data(), array}, array);
}

bool serves_grouping(const IndexAdd& task, Index items, bool whole) {
  const bool many = task.shape.extent > std::numeric_limits<std::int32_t>::max();
  return many || items > std::numeric_limits<std::int32_t>::max() || (whole && items < task.shape.extent / 4);
}

template <class Given>
Index first_outside(const Given* numbers, Index count, Index extent, const Workers& workers) {
  std::vector<Index> found(static_cast<std::size_t>(pieces_of(count)), 0);
  each_piece(workers, count, [&](Index piece, Index first, Index last) {
    const auto inside = [extent](Given number) {
      bool whole = number >= 1 && static_cast<double>(number) <= static_cast<double>(extent);
      if constexpr (std::is_same_v<Given, double>) whole = whole && number == std::trunc(number);
      return whole;
    };
    const Given* const at = std::find_if_not(numbers + first, numbers + last, inside);
    if (at != numbers + last) found[static_cast<std::size_t>(piece)] = at - numbers + 1;
  });
  const auto at = std::find_if(found.begin(), found.end(), [](Index place) { return place > 0; });
  return at == found.end() ? 0 : *at;
}

template Index first_outside(const int*, Index, Index, const Workers&);
template Index first_outside(const double*, Index, Index, const Workers&);

template Index first_mixed(const Grouping<std::int32_t>&, const Indices<std::int32_t>&, Index);
template void index_add(const IndexAdd&, const Indices<std::int32_t>&, const Grouping<std::int32_t>*, double,
                        const double*, double*);
template bool index_add(const IndexAdd&, const Indices<std::int32_t>&, const Grouping<std::int32_t>*, int,
                        const int*, int*);
template void index_mean(const IndexAdd&, const Indices<std::int32_t>&, const Grouping<std::int32_t>*, bool, double,
                         const double*, double*);

// Numbers of 64 bits, for arrays and sources with more slices than 32 bits count.
template Index first_mixed(const Grouping<Index>&, const Indices<Index>&, Index);
template void index_add(const IndexAdd&, const Indices<Index>&, const Grouping<Index>*, double,
                        const double*, double*);
template bool index_add(const IndexAdd&, const Indices<Index>&, const Grouping<Index>*, int,
                        const int*, int*);
template void index_mean(const IndexAdd&, const Indices<Index>&, const Grouping<Index>*, bool, double,
                         const double*, double*);

}  // namespace kernweave::arrays
