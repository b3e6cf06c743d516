// Screens pairs for nearest neighbours. In |x - y|^2 / 2 = |x|^2 / 2 + (|y|^2 / 2 - <x, y>), the bracket takes half the
// instructions of differences and their squares, and bounds the distance from below. The distance is computed, as
// without a screen, only if its bound may still enter a list. Included once per instruction set.
#pragma once
#include <cstdint>
#include "cpu/machine-inl.hpp"
#include "kernweave/difference.hpp"

namespace kernweave {
inline namespace KW_ISA {

// The error bound of the bracket, relative to |x|^2 + |y|^2.
template <class T>
KW_FN double screen_doubt(int width) {
  return expansion_error(width) * (sizeof(T) == 4 ? 0x1p-24 : 0x1p-53);
}

// The loss if numbers are too small; and the largest square whose sums and products with another point's numbers cannot
// become infinite on the way.
template <class T>
constexpr double kLostSquare = sizeof(T) == 4 ? 1e-36 : 1e-300;
template <class T>
constexpr double kLargestSquare = sizeof(T) == 4 ? 0x1p125 : 0x1p1021;

// Returns half the square of a point minus its error bound; NaN, which bounds nothing, if the square is too large.
template <class T>
KW_FN Pack<T> told_square(Pack<T> square, int width) {
  using P = Pack<T>;
  const P least = square * P(0.5 - 0.5 * screen_doubt<T>(width)) - P(kLostSquare<T>);
  return select(square <= P(kLargestSquare<T>), least, nan<P>());
}

// The screen of states that take in terms less than their bound. kPlainly computes all distances.
template <class T, template <class> class Red, void (*kPlainly)(const Frame&)>
class Screen {
  using M = Machine<T>;
  using P = Pack<T>;
  using Strip = typename M::Strip;
  using Seen = typename M::Seen;
  using State = Red<P>;

 public:
  // Runs a tile. The frame's `operands` are the distance, and the reduction with the squares of rows and columns.
  // Bounds stay as they are until all pairs have been screened, so that distances are computed side by side. If too
  // many pairs may enter, as all do before there is a bound, all distances are computed.
  __attribute__((noinline, flatten)) static void run(const Frame& frame) {
    Screen here(frame);
    if (here.looks() || !here.bounds() || !here.tell_all()) return kPlainly(frame);
    here.take_noted();
  }

 private:
  // Vectors of a strip, numbered by their places in it.
  static constexpr int kOfStrip = M::kColumns * M::kVectors;
  // Limit on computed vectors of a tile: a few, and one in kStripsOfOne strips. A vector computed alone takes several
  // times what screening a strip spares (design/012-cpu-ways.md).
  static constexpr std::int64_t kFew = 8, kStripsOfOne = 4, kMostNoted = 64;

  KW_FN explicit Screen(const Frame& frame)
      : frame_(frame),
        x_(M::seen(frame, fold().a)),
        y_(M::seen(frame, fold().b)),
        y_step_(M::advance(frame, fold().b)),
        last_(M::ready(frame, frame.operands[1], {})) {}

  KW_FN const Instruction& fold() const { return frame_.operands[0]; }
  KW_FN State* states() const { return reinterpret_cast<State*>(last_.states); }
  KW_FN bool looks() const {
    if constexpr (State::kLooks) return states()->looks();
    else return false;
  }

  KW_FN bool bounds() const {
    typename P::Mask known = states()[0].bound == states()[0].bound;
    M::vectors([&](int v) { known = known && states()[v].bound == states()[v].bound; });
    return all(known);
  }

  // Notes the vectors in which some pair may enter; returns false if there are too many.
  KW_FN bool tell_all() {
    const std::int64_t strips = (frame_.columns + M::kColumns - 1) / M::kColumns,
                       square_step = M::advance(frame_, frame_.operands[1].b);
    const std::int64_t few = kFew + strips / kStripsOfOne, most = few < kMostNoted ? few : kMostNoted;
    // The bound above which a pair cannot enter; NaN if all may.
    P limit[M::kVectors];
    M::vectors([&](int v) { limit[v] = states()[v].bound * P(0.5) - last_.a.vector(0, v); });
    Seen y = y_, square = last_.b;
    for (std::int64_t strip = 0; strip < strips; ++strip, y.at += y_step_, square.at += square_step) {
      Strip told;
      M::map_number(&told, square, [](P, P number) { return number; });
      M::go_on_folding(&told, x_, y, fold().width, [](P told, P x, P y) { return told - x * y; });
      if (none_enters(told, limit)) continue;
      if (!note(told, limit, strip, most)) return false;
    }
    return true;
  }
  static KW_FN bool none_enters(const Strip& told, const P* limit) {
    typename P::Mask plain = limit[0] <= told.at[0][0];
    M::each([&](int c, int v) { plain = plain && limit[v] <= told.at[c][v]; });
    return all(plain);
  }
  KW_FN bool note(const Strip& told, const P* limit, std::int64_t strip, std::int64_t most) {
    M::each([&](int c, int v) {
      at_[noted_] = static_cast<int>(strip) * kOfStrip + c * M::kVectors + v;
      noted_ += !all(limit[v] <= told.at[c][v]);
    });
    return noted_ <= most;
  }

  // Takes the noted vectors in, column by column, as states require.
  void take_noted() const {
    for (int first = 0; first < noted_; first += kTogether)
      take_together(first, noted_ - first < kTogether ? noted_ - first : kTogether);
  }
  static constexpr int kTogether = 4;
  KW_FN void take_together(int first, int count) const {
    Seen x[kTogether], y[kTogether];
    P sum[kTogether];
    for_each([&](int k) {
      const int at = at_[first + (k < count ? k : 0)];
      x[k] = x_;
      x[k].at += at % M::kVectors * kVectorBytes;
      y[k] = y_;
      y[k].at += at / kOfStrip * y_step_ + at % kOfStrip / M::kVectors * static_cast<std::int64_t>(sizeof(T));
      sum[k] = op::SqDist::start<P>();
    });
    for (int d = 0; d < fold().width; ++d)
      for_each([&](int k) {
        sum[k] = op::SqDist::next(sum[k], x[k].vector(0, 0), y[k].number(0));
        x[k].next();
        y[k].next();
      });
    for (int k = 0; k < count; ++k) take(at_[first + k], sum[k]);
  }
  template <class F>
  static KW_FN void for_each(F f) {
    M::for_each(f, std::make_integer_sequence<int, kTogether>());
  }
  KW_FN void take(int at, P distance) const {
    const std::int64_t column = at / M::kVectors;
    if (column >= frame_.columns) return;
    const int v = at % M::kVectors;
    const Count& count = frame_.count[last_.from->counted];
    State& state = states()[v];
    each_lane(!state.plain(distance), [&](int lane_of) {
      state.step_lane(lane_of, lane(distance, lane_of),
                      count.first + column * count.by_column + (v * M::W + lane_of) * count.by_lane);
    });
  }

  const Frame& frame_;
  const Seen x_, y_;
  const std::int64_t y_step_;
  const typename M::Ready last_;
  int noted_ = 0;
  int at_[kMostNoted + kOfStrip];
};

}  // inline namespace KW_ISA
}  // namespace kernweave
