// Reductions: all pieces have equally many items and ends of segments, whatever the lengths. A piece finishes the
// segments that lie within it, and hands over its states of the two other segments.
#include "arrays/host_verbs.hpp"

namespace kernweave::arrays {
namespace {

using partition::Place;

// Calls explain(k) for items that are not available, until it says that there is nothing more to explain.
void each_missing(const Items& items, Index first, Index end, Borrowed<bool(Index)> explain) {
  double buffer[kTile];
  for (; first < end; first += kTile) {
    const Index last = std::min(end, first + kTile);
    const double* const values = items.load(first, last, buffer);
    for (Index k = first; k < last; ++k)
      if (items.is_missing(values[k - first]) && explain(k)) return;
  }
}

bool any_missing(const Items& items, Index first, Index end) {
  bool found = false;
  each_missing(items, first, end, [&](Index) { return found = true; });
  return found;
}

template <class Operator>
class Reducer {
 public:
  Reducer(const Request& request, const std::vector<Items>& columns, const Whole& offsets, double* out)
      : columns_(columns),
        ends_(offsets.from(1)),
        segments_(offsets.count - 1),
        items_(offsets[offsets.count - 1]),
        pieces_(std::max<Index>(1, pieces_of(items_ + segments_))),
        skip_(request.skip),
        open_(columns.size() * static_cast<std::size_t>(pieces_)),
        out_(out) {
    begin_.init();
    if (request.begins) begin_.take(request.init, 0);
  }

  void run(const Workers& workers) {
    const Index columns = static_cast<Index>(columns_.size());
    each_task(workers, pieces_ * columns, [&](Index task) { reduce_piece(task / pieces_, task % pieces_); });
    for (Index column = 0; column < columns; ++column) close_open(column);
  }

 private:
  // The states of a piece's open segments: `head` of the segment that it begins within, if this ends there, and `tail`
  // of the segment that it leaves open.
  struct Open {
    Operator head, tail;
    Index head_of = -1;  // the segment; -1 for none
  };

  Place place(Index piece) const {
    return partition::walk_to(ends_, segments_, items_, partition::even_split(items_ + segments_, pieces_, piece));
  }
  Open& open(Index column, Index piece) { return open_[static_cast<std::size_t>(column * pieces_ + piece)]; }
  bool begun_before(Place at) const { return at.object < segments_ && at.item > begin_of(at.object); }
  Index begin_of(Index segment) const { return segment == 0 ? 0 : ends_[segment - 1]; }

  // Takes items first .. last - 1, whose values lie at `values`; operators that read integers read them in place.
  static void take(const Items& items, const double* values, Index first, Index last, Operator* into) {
    const auto places = [&](Index k) { return items.place(first + k); };
    if constexpr (Operator::kReadsIntegers) {
      if (reads_integers(items)) return operators::fold(items.integers + first, last - first, places, into);
    }
    operators::fold(values, last - first, places, into);
  }
  static bool reads_integers(const Items& items) { return Operator::kReadsIntegers && items.integers && !items.order; }

  void reduce_piece(Index column, Index piece) {
    const Items& items = columns_[static_cast<std::size_t>(column)];
    Place at = place(piece);
    const Place to = place(piece + 1);
    Open& mine = open(column, piece);
    Operator now = begin_;
    bool within = begun_before(at);
    if (within) now.init();
    double buffer[kTile];
    while (at.item < to.item || at.object < to.object) {
      const Index first = at.item, last = std::min(to.item, first + kTile);
      const double* const values = reads_integers(items) ? buffer : items.load(first, last, buffer);
      for (; at.object < to.object && ends_[at.object] <= last; ++at.object) {
        take(items, values + (at.item - first), at.item, ends_[at.object], &now);
        at.item = ends_[at.object];
        if (within) {
          mine.head = now;
          mine.head_of = at.object;
        } else {
          finish(column, at.object, now);
        }
        within = false;
        now = begin_;
      }
      take(items, values + (at.item - first), at.item, last, &now);
      at.item = last;
    }
    mine.tail = now;
  }

  // Merges open segments in the order of pieces.
  void close_open(Index column) {
    Operator carry = begin_;
    for (Index piece = 0; piece < pieces_; ++piece) {
      const Open& found = open(column, piece);
      const Place from = place(piece), to = place(piece + 1);
      if (found.head_of >= 0) {
        carry.merge(found.head);
        finish(column, found.head_of, carry);
      }
      if (to.object == from.object && begun_before(from)) carry.merge(found.tail);
      else carry = found.tail;
    }
  }

  // Writes a segment's results. If a result is NaN though all items count, the reason is an item that is not available,
  // if there is such an item.
  void finish(Index column, Index segment, const Operator& found) const {
    double values[Operator::kResults];
    found.finish(values);
    for (int k = 0; k < Operator::kResults; ++k) {
      double& to = out_[(column * Operator::kResults + k) * segments_ + segment];
      to = values[k];
      const Items& items = columns_[static_cast<std::size_t>(column)];
      if (to != to && !skip_ && any_missing(items, begin_of(segment), ends_[segment])) to = items.not_available;
    }
  }

  const std::vector<Items>& columns_;
  const Whole ends_;
  const Index segments_, items_, pieces_;
  const bool skip_;
  std::vector<Open> open_;
  Operator begin_;
  double* const out_;
};

// --- groups --------------------------------------------------------------------------------------------------------
// Reductions by group, with items as they come: every block of items has a state for each group, and blocks are merged
// in order. This needs no order of the items, and reads them one after the other.

constexpr Index kMostBlocks = 16;

// Returns the number of blocks, by sizes alone. The states of all blocks are at most half of the items.
Index blocks_of(Index items, Index groups) {
  return std::max<Index>(1, std::min(kMostBlocks, std::min(pieces_of(items), items / std::max<Index>(1, 2 * groups))));
}

template <class Operator>
class GroupReducer {
 public:
  GroupReducer(const Request& request, const int* codes, const Whole& offsets, double* out)
      : request_(request),
        codes_(codes),
        groups_(offsets.count - 1),
        items_(offsets[offsets.count - 1]),
        blocks_(blocks_of(items_, groups_)),
        states_(static_cast<std::size_t>(blocks_)),
        out_(out) {}

  void run(const Workers& workers, const Items& items) {
    each_task(workers, blocks_, [&](Index block) { reduce_block(items, block); });
    each_piece(workers, groups_, [&](Index, Index first, Index last) { merge_blocks(first, last); });
    const auto is_nan = [](double value) { return value != value; };
    if (!request_.skip && std::any_of(out_, out_ + groups_ * Operator::kResults, is_nan)) explain_nan(items);
    out_ += groups_ * Operator::kResults;
  }

 private:
  void reduce_block(const Items& items, Index block) {
    Operator fresh;
    fresh.init();
    if (block == 0 && request_.begins) fresh.take(request_.init, 0);
    std::vector<Operator>& states = states_[static_cast<std::size_t>(block)];
    states.assign(static_cast<std::size_t>(groups_), fresh);
    double buffer[kTile];
    const Index end = partition::even_split(items_, blocks_, block + 1);
    for (Index first = partition::even_split(items_, blocks_, block); first < end; first += kTile) {
      const Index last = std::min(end, first + kTile);
      const double* const values = items.load(first, last, buffer);
      for (Index k = first; k < last; ++k)
        states[static_cast<std::size_t>(codes_[k]) - 1].take(values[k - first], k + 1);
    }
  }

  void merge_blocks(Index first, Index last) {
    for (Index group = first; group < last; ++group) {
      const auto at = static_cast<std::size_t>(group);
      Operator all = states_[0][at];
      for (std::size_t block = 1; block < states_.size(); ++block) all.merge(states_[block][at]);
      double values[Operator::kResults];
      all.finish(values);
      for (int k = 0; k < Operator::kResults; ++k) out_[k * groups_ + group] = values[k];
    }
  }

  // Explains a result that is NaN though all items count, by an item that is not available, if there is such an item.
  void explain_nan(const Items& items) {
    each_missing(items, 0, items_, [&](Index k) {
      for (int result = 0; result < Operator::kResults; ++result) {
        double& to = out_[result * groups_ + codes_[k] - 1];
        if (to != to) to = items.not_available;
      }
      return false;
    });
  }

  const Request& request_;
  const int* const codes_;
  const Index groups_, items_, blocks_;
  std::vector<std::vector<Operator>> states_;
  double* out_;
};

// Returns the columns of a matrix; a vector is one column.
std::vector<Items> columns_of(const Items& x, const Segments& segments, Index columns) {
  std::vector<Items> all;
  for (Index c = 0; c < columns; ++c) all.push_back(x.column(c * segments.items, segments.order));
  return all;
}

template <class Operator>
void reduce_by(const Request& request, const std::vector<Items>& columns, const Segments& segments,
               const Workers& workers, double* out) {
  if (!segments.codes) return Reducer<Operator>(request, columns, segments.offsets, out).run(workers);
  GroupReducer<Operator> reducer(request, segments.codes, segments.offsets, out);
  for (const Items& items : columns) reducer.run(workers, items);
}

}  // namespace

void HostVerbs::reduce(const Request& request, const Items& items, Index columns, const Segments& segments,
                       double* out) const {
  const std::vector<Items> all = columns_of(items, segments, columns);
  const auto run = [&](auto type) {
    reduce_by<typename decltype(type)::Of>(request, all, segments, workers_, out);
  };
  if (request.skip) with_operator<true>(request.op, run);
  else with_operator<false>(request.op, run);
}

}  // namespace kernweave::arrays
