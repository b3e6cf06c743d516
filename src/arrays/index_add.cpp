// Adds in one of three ways, chosen by sizes: each part of the slices takes the items as they come, or the items of one
// number after the other; or blocks of items have a copy of the array each. The first two add in the order of items.
#include <atomic>
#include <memory>
#include "arrays/host_verbs.hpp"
#include "arrays/keys.hpp"

namespace kernweave::arrays {
namespace {

// Tells whether 32 bits count slices and items. Else there is only one way: items in the order of their numbers.
bool is_short(const IndexAdd& task, Index items) { return task.shape.extent <= kMostInt && items <= kMostInt; }

// Tells whether grouping by numbers serves: if it is the only way, or if the array is whole and items are few. Totals
// of integers need more room than the array has; grouping makes it for one segment at a time.
bool serves_grouping(const IndexAdd& task, Index items, bool whole) {
  return !is_short(task, items) || (whole && items < task.shape.extent / 4);
}

constexpr Index kStrip = 256;        // numbers of a slice whose states are held at a time
constexpr Index kThin = 64;          // slices of fewer numbers do not keep threads busy
constexpr Index kMostCopies = 64;
constexpr Index kLeastBlock = 1 << 13;
constexpr Index kInCache = 1 << 20;  // numbers of an array that the cache holds

// Counts the blocks of items with a copy of the array each: all copies take at most an eighth of the work of items.
Index copies_of(const IndexAdd& task, Index items) {
  if (task.shape.slice() >= kThin || task.shape.extent == 0) return 0;
  const Index most = task.reproducible ? kMostCopies : std::min<Index>(kMostCopies, task.workers.threads);
  return std::min({most, items / (8 * task.shape.extent), items / kLeastBlock});
}

// Numbers first .. last - 1 of one column of the slices.
struct Strip {
  Index column, first, last;
  Index width() const { return last - first; }
};

// Calls work(piece, strip) for every strip of the slices and every piece; a piece has `items` items.
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

  // Returns the start of the strip of slice `number`, from 1, in an array of the shape.
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

// Takes items first .. last - 1 as they come, into states in the shape of the array. The strip is passed by value, so
// that no state can be part of it.
template <class Op>
void take_items(const StripOf<Op> strip, const int* index, Index first, Index last, typename Op::State* states) {
  const auto at = [&](Index k) { return states + strip.at(index[k]); };
  if (strip.one_wide())
    for (Index k = first; k < last; ++k) strip.take_one(k, at(k));
  else
    for (Index k = first; k < last; ++k) strip.take(k, at(k));
}

// Takes only items whose numbers are from `least` to `most`. They are listed first, since a list avoids unpredictable
// branches.
template <class Op>
void take_some(const StripOf<Op> strip, const int* index, Index count, Index least, Index most,
               typename Op::State* states) {
  constexpr Index kListed = 2048;
  Index list[kListed];
  for (Index start = 0; start < count; start += kListed) {
    Index listed = 0;
    for (Index k = start; k < std::min(count, start + kListed); ++k) {
      list[listed] = k;
      listed += (index[k] >= least) & (index[k] <= most);
    }
    const auto at = [&](Index j) { return states + strip.at(index[list[j]]); };
    if (strip.one_wide())
      for (Index j = 0; j < listed; ++j) strip.take_one(list[j], at(j));
    else
      for (Index j = 0; j < listed; ++j) strip.take(list[j], at(j));
  }
}

// Cuts the work where any cut gives the same bits: into strips and, if strips are few, into ranges of numbers, provided
// that adding the items takes longer than searching them.
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

template <class Op>
void add_directly(const IndexAdd& task, const Whole& index, const Operands<Op>& on, typename Op::State* states) {
  const DirectCut cut(task, index.count);
  const Index extent = task.shape.extent;
  each_strip(task, cut.width, cut.ranges, index.count / cut.ranges, [&](Index range, const Strip& strip) {
    const StripOf<Op> reader(task, on, strip);
    if (cut.ranges == 1) take_items(reader, index.integers, 0, index.count, states);
    else take_some(reader, index.integers, index.count, partition::even_split(extent, cut.ranges, range) + 1,
                   partition::even_split(extent, cut.ranges, range + 1), states);
  });
}

// Turns all numbers of the array into states, adds, and turns states into numbers again.
template <class Op>
bool add_beside(const IndexAdd& task, const Whole& index, const Operands<Op>& on) {
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

// Adds items in segments of equal numbers. States are held for one segment at a time. A piece takes the segments that
// begin in it.
template <class Op>
bool add_grouped(const IndexAdd& task, const Whole& index, const Segments& groups, const Operands<Op>& on) {
  const Whole offsets = groups.offsets, order = groups.order;
  const Index segments = groups.count(), width = std::min(task.shape.before, kStrip);
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
      const Index from = offsets[segment], to = offsets[segment + 1];
      if (from == to) continue;
      const auto item = [&](Index k) { return order ? order[k] - 1 : k; };
      auto* const values = on.array + reader.at(index[item(from)]);
      std::transform(values, values + strip.width(), states, Op::open);
      if (reader.one_wide())
        for (Index k = from; k < to; ++k) reader.take_one(item(k), states);
      else
        for (Index k = from; k < to; ++k) reader.take(item(k), states);
      std::transform(states, states + strip.width(), values, [&](auto state) { return Op::close(state, &overflow); });
    }
    if (overflow) any_overflow = true;
  });
  return any_overflow;
}

template <class Op>
bool add_by_copies(const IndexAdd& task, const Whole& index, const Operands<Op>& on) {
  using State = typename Op::State;
  const Index copies = copies_of(task, index.count), size = task.shape.extent * task.shape.slice();
  std::vector<State> states(static_cast<std::size_t>(copies * size), Op::kNeutral);
  each_task(task.workers, copies, [&](Index copy) {
    IndexAdd alone = task;
    alone.workers = Workers();
    const Index first = partition::even_split(index.count, copies, copy);
    const Index last = partition::even_split(index.count, copies, copy + 1);
    each_strip(alone, task.shape.before, 1, last - first, [&](Index, const Strip& strip) {
      take_items(StripOf<Op>(task, on, strip), index.integers, first, last, states.data() + copy * size);
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

Whole whole_of(const std::vector<int>& list) { return {list.data(), nullptr, static_cast<Index>(list.size())}; }
Whole whole_of(const std::vector<double>& list) { return {nullptr, list.data(), static_cast<Index>(list.size())}; }

template <class Number, class Op>
bool add_sorted(const IndexAdd& task, const Whole& index, const Operands<Op>& on) {
  std::vector<Number> order(static_cast<std::size_t>(index.count)), offsets;
  std::vector<std::uint8_t> tied(order.size());
  const Keys keys({key_of(Column{index}, false)}, index.count, task.workers);
  radix_order(keys, {{}, 0, task.workers}, order.data(), tied.data());
  for (Index k = 0; k < index.count; ++k)
    if (!tied[static_cast<std::size_t>(k)]) offsets.push_back(static_cast<Number>(k));
  offsets.push_back(static_cast<Number>(index.count));
  return add_grouped(task, index, {index.count, whole_of(offsets), whole_of(order)}, on);
}

template <class Op>
bool add(const IndexAdd& task, const Whole& index, const Segments& groups, const Operands<Op>& on) {
  if (is_short(task, index.count)) {
    if (copies_of(task, index.count) > 1) return add_by_copies(task, index, on);
    if constexpr (std::is_same_v<typename Op::Value, typename Op::State>) {
      add_directly(task, index, on, on.array);
      return false;
    } else if (!serves_grouping(task, index.count, true)) {
      return add_beside(task, index, on);
    }
  }
  if (groups.offsets) return add_grouped(task, index, groups, on);
  return index.count > kMostInt ? add_sorted<double>(task, index, on) : add_sorted<int>(task, index, on);
}

// Computes means of the slices with the same number; with `include`, the array's own slice counts too.
void add_means(const AddTask& task, const Segments& groups, const Operands<combine::Sum>& on) {
  const Shape& shape = task.how.shape;
  std::vector<Index> counts(static_cast<std::size_t>(shape.extent), 0);
  for (Index k = 0; k < task.index.count; ++k) ++counts[static_cast<std::size_t>(task.index[k]) - 1];
  const auto change = [&](auto changed) {
    each_strip(task.how, std::min(shape.before, kStrip), 1, shape.extent, [&](Index, const Strip& strip) {
      for (Index d = 0; d < shape.extent; ++d) {
        const Index count = counts[static_cast<std::size_t>(d)];
        double* const values = on.array + (strip.column * shape.extent + d) * shape.before;
        if (count > 0) std::transform(values + strip.first, values + strip.last, values + strip.first, changed(count));
      }
    });
  };
  if (!task.include) change([](Index) { return [](double) { return 0.0; }; });
  add<combine::Sum>(task.how, task.index, groups, on);
  change([&](Index count) {
    const double all = static_cast<double>(count) + (task.include ? 1 : 0);
    return [all](double sum) { return sum / all; };
  });
}

// Refuses a plan in which a segment has items of different numbers, or two segments have the same number.
void check_plan(const Segments& plan, const Whole& index, Index extent) {
  std::vector<bool> seen(static_cast<std::size_t>(extent), false);
  const auto number = [&](Index k) { return static_cast<std::size_t>(index[plan.order ? plan.order[k] - 1 : k]) - 1; };
  for (Index segment = 0; segment < plan.count(); ++segment) {
    const Index from = plan.offsets[segment], to = plan.offsets[segment + 1];
    if (from == to) continue;
    const std::size_t own = number(from);
    bool right = !seen[own];
    for (Index k = from; k < to && right; ++k) right = number(k) == own;
    user_check(right, Fault::input, "`plan` must be par_segments(by = index): it is of another index, as its group ",
               segment + 1, " shows");
    seen[own] = true;
  }
}

// Totals of integers are exact. Tells whether a total is too large for an int: it is missing then, as is any total that
// depends on a missing number.
bool add_by(const AddTask& task, const Whole& source, const Numbers& array) {
  Segments groups;
  if (task.plan && serves_grouping(task.how, task.index.count, array.integers)) {
    groups = task.plan();
    check_plan(groups, task.index, task.how.shape.extent);
  }
  if (array.integers)
    return with_integers(task.how.op, [&](auto op) {
      const auto alpha = static_cast<int>(task.alpha);
      return add<decltype(op)>(task.how, task.index, groups, {alpha, source.integers, array.integers});
    });
  if (task.mean) add_means(task, groups, {task.alpha, source.doubles, array.doubles});
  else
    with_doubles(task.how.op, [&](auto op) {
      add<decltype(op)>(task.how, task.index, groups, {task.alpha, source.doubles, array.doubles});
    });
  return false;
}

}  // namespace

// An index of doubles that fits 32 bits is converted to integers.
bool HostVerbs::index_add(const AddTask& task, const Whole& source, const Numbers& array) const {
  if (task.how.shape.slice() == 0) return false;
  AddTask own = task;
  own.how.workers = workers_;
  std::vector<int> numbers;
  if (task.index.doubles && is_short(task.how, task.index.count)) {
    numbers.assign(task.index.doubles, task.index.doubles + task.index.count);
    own.index = whole_of(numbers);
  }
  return add_by(own, source, array);
}

}  // namespace kernweave::arrays
