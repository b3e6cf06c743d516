// Scans in three phases: the state of the segment that each piece leaves open, the state before each piece, and then
// the items of each piece one by one.
#include "arrays/host_verbs.hpp"
#include <atomic>

namespace kernweave::arrays {
namespace {

using partition::Place;

constexpr double kLargest = 2147483647;

template <class Operator>
class Scanner {
 public:
  Scanner(const Request& request, bool exclusive, const Items& items, const Whole& offsets, const Numbers& out)
      : exclusive_(exclusive),
        items_(items),
        ends_(offsets.from(1)),
        segments_(offsets.count - 1),
        count_(offsets[offsets.count - 1]),
        pieces_(pieces_of(count_ + segments_)),
        open_(static_cast<std::size_t>(pieces_)),
        out_(out) {
    begin_.init();
    if (request.begins) begin_.take(request.init, 0);
  }

  // Tells whether integers are read and written in place.
  bool whole() const { return Operator::kReadsIntegers && items_.integers && !items_.order && out_.integers; }

  bool run(const Workers& workers) {
    each_task(workers, pieces_, [&](Index piece) { look_at(piece); });
    carry();
    each_task(workers, pieces_, [&](Index piece) { write(piece); });
    if (overflow_) spread_overflow();
    return overflow_;
  }

 private:
  Place place(Index piece) const {
    return partition::walk_to(ends_, segments_, count_, partition::even_split(count_ + segments_, pieces_, piece));
  }
  Index begin_of(Index segment) const { return segment == 0 ? 0 : ends_[segment - 1]; }

  // Folds the items of the piece that lie in the segment open at the piece's end.
  void look_at(Index piece) {
    const Place from = place(piece), to = place(piece + 1);
    const Index begin = to.object < segments_ ? begin_of(to.object) : count_;
    Operator& now = open_[static_cast<std::size_t>(piece)];
    now = begin_;
    if (begin < from.item) now.init();
    double buffer[kTile];
    if constexpr (Operator::kReadsIntegers) {
      if (whole()) {
        const Index first = std::max(from.item, begin);
        if (first < to.item)
          operators::fold(
              items_.integers + first, to.item - first, [](Index k) { return k; }, &now);
        return;
      }
    }
    for (Index first = std::max(from.item, begin); first < to.item; first += kTile) {
      const Index last = std::min(to.item, first + kTile);
      operators::fold(
          items_.load(first, last, buffer), last - first, [&](Index k) { return items_.place(first + k); }, &now);
    }
  }

  // Stores in `open_` the state before each piece, if the first segment of the piece began earlier.
  void carry() {
    Operator before = begin_;
    for (Index piece = 0; piece < pieces_; ++piece) {
      const Place from = place(piece), to = place(piece + 1);
      Operator& mine = open_[static_cast<std::size_t>(piece)];
      const bool goes_on = to.object < segments_ && begin_of(to.object) < from.item;
      Operator after = goes_on ? before : mine;
      if (goes_on) after.merge(mine);
      mine = before;
      before = after;
    }
  }

  void write(Index piece) {
    Place at = place(piece);
    const Place to = place(piece + 1);
    Operator now = begin_;
    if (at.object < segments_ && begin_of(at.object) < at.item) now = open_[static_cast<std::size_t>(piece)];
    if (whole()) return write_whole(at, to, now);
    double buffer[kTile], results[kTile];
    bool overflow = false;
    while (at.item < to.item || at.object < to.object) {
      const Index first = at.item, last = std::min(to.item, first + kTile);
      const double* const values = items_.load(first, last, buffer);
      double* const running = out_.doubles && !items_.order ? out_.doubles + first : results;
      const auto step_to = [&](Index end) {
        step(values + (at.item - first), at.item, end, running + (at.item - first), &now);
        at.item = end;
      };
      for (; at.object < to.object && ends_[at.object] <= last; ++at.object) {
        step_to(ends_[at.object]);
        now = begin_;
      }
      step_to(last);
      if (running == results) overflow |= put(results, first, last);
    }
    if (overflow) overflow_ = true;
  }

  void write_whole(Place at, const Place& to, Operator now) {
    bool large = false;
    if constexpr (Operator::kReadsIntegers) {
      while (at.item < to.item || at.object < to.object) {
        const bool ends = at.object < to.object;
        const Index last = ends ? ends_[at.object] : to.item;
        for (; at.item < last; ++at.item) {
          if (exclusive_) out_.integers[at.item] = now.finish_whole(&large);
          now.take(items_.integers[at.item], 0);
          if (!exclusive_) out_.integers[at.item] = now.finish_whole(&large);
        }
        if (ends) {
          now = begin_;
          ++at.object;
        }
      }
    }
    if (large) overflow_ = true;
  }

  void step(const double* values, Index first, Index last, double* running, Operator* state) const {
    const auto places = [&](Index k) { return items_.place(first + k); };
    if (exclusive_) operators::fold_running<true>(values, last - first, places, running, state);
    else operators::fold_running<false>(values, last - first, places, running, state);
  }

  // Tells whether a result is too large for an integer.
  bool put(const double* results, Index first, Index last) const {
    bool overflow = false;
    for (Index k = first; k < last; ++k) {
      const double running = results[k - first];
      const Index at = items_.place(k) - 1;
      if (out_.doubles) {
        out_.doubles[at] = running;
        continue;
      }
      const bool fits = running >= -kLargest && running <= kLargest;
      out_.integers[at] = fits ? static_cast<int>(running) : out_.missing;
      overflow |= !fits && running == running;
    }
    return overflow;
  }

  // Marks the rest of a segment as missing after a number that was too large.
  void spread_overflow() const {
    for (Index segment = 0; segment < segments_; ++segment) {
      bool lost = false;
      for (Index k = begin_of(segment); k < ends_[segment]; ++k) {
        int& to = out_.integers[items_.place(k) - 1];
        lost |= to == out_.missing;
        if (lost) to = out_.missing;
      }
    }
  }

  const bool exclusive_;
  const Items& items_;
  const Whole ends_;
  const Index segments_, count_, pieces_;
  std::vector<Operator> open_;
  Operator begin_;
  std::atomic<bool> overflow_{false};
  const Numbers out_;
};

}  // namespace

bool HostVerbs::scan(const Request& request, bool exclusive, const Items& items, Index columns,
                     const Segments& segments, const Numbers& out) const {
  bool overflow = false;
  with_operator<false>(request.op, [&](auto type) {
    using Scan = Scanner<typename decltype(type)::Of>;
    for (Index c = 0; c < columns; ++c) {
      const Index first = c * segments.items;
      const Items column = items.column(first, segments.order);
      overflow |= Scan(request, exclusive, column, segments.offsets, out.from(first)).run(workers_);
    }
  });
  return overflow;
}

}  // namespace kernweave::arrays
