// A task is a few directions, so that points are read once for all of them; sums are kept for each task and added in
// the order of tasks, so that any number of threads gives the same bits.
#include "arrays/slices.hpp"

#include <algorithm>
#include <cstring>

#include "arrays/buffer.hpp"
#include "arrays/keys.hpp"

namespace kernweave::arrays {
namespace {

constexpr Index kDirectionsTogether = 8;      // directions of a task
constexpr Index kRowsOfStrip = 16;            // rows whose projections stay in registers
constexpr Index kStretch = 8 * kRowsOfStrip;  // rows that are read together

// Eight numbers side by side.
typedef double Pair __attribute__((vector_size(16)));
struct Eight {
  Pair a, b, c, d;
};
constexpr int kLanes = 8;  // labellings in a byte
inline Eight operator+(const Eight& x, const Eight& y) { return {x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d}; }
inline Eight operator-(const Eight& x, double y) { return {x.a - y, x.b - y, x.c - y, x.d - y}; }
inline Eight operator*(double x, const Eight& y) { return {x * y.a, x * y.b, x * y.c, x * y.d}; }
inline Eight square(const Eight& x) { return {x.a * x.a, x.b * x.b, x.c * x.c, x.d * x.d}; }
inline double square(double x) { return x * x; }

// If directions are few, each one is a task, so that they are shared out evenly.
Index tasks_of(Index directions) {
  const Index together = std::clamp<Index>(directions / 16, 1, kDirectionsTogether);
  return (directions + together - 1) / together;
}

// --- projections ---------------------------------------------------------------------------------------------------

struct RowStrip {
  Eight low, high;
};

// Copies some rows, strip by strip, each strip one column after another. Strips are filled up with zeros, so that all
// rows go the same way: equal rows have projections of the same bits.
void copy_stretch(const Slices& slices, Index row, Index count, RowStrip* to) {
  for (Index c = 0; c < slices.width; ++c) {
    const double* const column = slices.points + c * slices.rows + row;
    for (Index from = 0; from < count; from += kRowsOfStrip) {
      RowStrip& strip = to[from / kRowsOfStrip * slices.width + c];
      if (count - from >= kRowsOfStrip) {
        std::memcpy(&strip, column + from, sizeof strip);
      } else {
        strip = RowStrip();
        std::memcpy(&strip, column + from, (count - from) * sizeof(double));
      }
    }
  }
}

// Projects rows on directions first .. last - 1, side by side.
void project(const Slices& slices, Index first, Index last, double* to) {
  const Index rows = slices.rows, width = slices.width;
  std::vector<RowStrip> strips(kStretch / kRowsOfStrip * width);
  for (Index row = 0; row < rows; row += kStretch) {
    const Index count = std::min(kStretch, rows - row);
    copy_stretch(slices, row, count, strips.data());
    for (Index p = first; p < last; ++p)
      for (Index from = 0; from < count; from += kRowsOfStrip) {
        const RowStrip* const strip = &strips[from / kRowsOfStrip * width];
        const double* const direction = slices.directions + p * width;
        RowStrip sums{};
        for (Index c = 0; c < width; ++c)
          sums = {sums.low + direction[c] * strip[c].low, sums.high + direction[c] * strip[c].high};
        std::memcpy(to + (p - first) * rows + row + from, &sums, std::min(kRowsOfStrip, count - from) * sizeof(double));
      }
  }
}

// --- sums over gaps ------------------------------------------------------------------------------------------------

// Rows in the order of their projections, and the projections in that order.
struct Line {
  Index rows;
  std::int32_t* order;
  double* places;

  void take(const double* values) const {
    const Keys keys({{KeyType::float64, values}}, rows, Workers());
    radix_order(keys, OrderTask(), order, nullptr);
    for (Index k = 0; k < rows; ++k) places[k] = values[order[k] - 1];
  }
};

// The sum over gaps for two groups, or for one. For two, `ahead` = (share of one that has passed - share of the other)
// times both sizes, and the sum is of ahead^2; for one, `ahead` = rows that have passed, and the sum is of ahead *
// (size - ahead). `ahead` is constant until a row of these groups comes.
struct PairSum {
  double slope = 0, curve = 1, ahead = 0, last = 0, sum = 0;

  void come_to(double place, double step) {
    sum += ahead * (slope + curve * ahead) * (place - last);
    last = place;
    ahead += step;
  }
};

// Writes a matrix of groups by groups: energy distances, on the diagonal mean distances within groups.
void groups_apart(const Line& line, const RowGroups& groups, double* out) {
  const std::vector<Index>& sizes = groups.sizes;
  const int g = static_cast<int>(sizes.size());
  std::vector<PairSum> pairs(static_cast<std::size_t>(g) * g);
  std::vector<double> steps(pairs.size(), 1.0);
  for (int a = 0; a < g; ++a) {
    pairs[a * g + a].slope = static_cast<double>(sizes[a]);
    pairs[a * g + a].curve = -1;
    for (int b = 0; b < g; ++b)
      if (a != b) steps[a * g + b] = static_cast<double>(a < b ? sizes[b] : -sizes[b]);
  }
  for (Index k = 0; k < line.rows; ++k) {
    const int own = groups.group_of[line.order[k] - 1] - 1;
    for (int other = 0; other < g; ++other)
      pairs[std::max(own, other) * g + std::min(own, other)].come_to(line.places[k], steps[own * g + other]);
  }
  for (int a = 0; a < g; ++a)
    for (int b = 0; b <= a; ++b) {
      const double across = static_cast<double>(sizes[a]) * static_cast<double>(sizes[b]);
      out[a * g + b] = out[b * g + a] = 2 * pairs[a * g + b].sum / (a == b ? across : square(across));
    }
}

// --- labellings ----------------------------------------------------------------------------------------------------

std::vector<Eight> bits_of_bytes() {
  std::vector<Eight> bits(256);
  for (int byte = 0; byte < 256; ++byte) {
    double own[kLanes];
    for (int l = 0; l < kLanes; ++l) own[l] = byte >> l & 1;
    std::memcpy(&bits[byte], own, sizeof own);
  }
  return bits;
}

// Returns the numbers of eight labellings. `known`: the number of axes, if the compiler is to know it.
template <int known>
Eight sum_eight(const Line& line, const Labellings& labellings, Index eight, const std::vector<Eight>& bits) {
  const int axes = known > 0 ? known : static_cast<int>(labellings.axes());
  const std::uint8_t* const* const bytes = &labellings.bytes[eight * axes];
  Eight few[known > 0 ? known : 1] = {}, sums{};
  std::vector<Eight> many(known > 0 ? 0 : axes);
  Eight* const passed = known > 0 ? few : many.data();
  for (Index k = 0; k + 1 < line.rows; ++k) {
    const Index row = line.order[k] - 1;
    const double so_far = static_cast<double>(k + 1), gap = line.places[k + 1] - line.places[k];
    for (int a = 0; a < axes; ++a) passed[a] = passed[a] + bits[bytes[a][row]];
    for (int j = 0; j < axes; ++j) {
      const auto term = [&](int a) {
        return labellings.factor[a * axes + j] * (passed[a] - so_far * labellings.shares[a]);
      };
      Eight length = term(j);
      for (int a = j + 1; a < axes; ++a) length = length + term(a);
      sums = sums + gap * square(length);
    }
  }
  return sums;
}

void add_eight(const Line& line, const Labellings& labellings, Index eight, const std::vector<Eight>& bits,
               double* out) {
  const Index axes = labellings.axes();
  const auto sum = axes == 1 ? sum_eight<1> : axes == 2 ? sum_eight<2> : sum_eight<0>;
  const Eight sums = sum(line, labellings, eight, bits);
  double own[kLanes];
  std::memcpy(own, &sums, sizeof own);
  for (int l = 0; l < kLanes; ++l) out[l] += own[l];
}

}  // namespace

void compare_slices(const Slices& slices, const RowGroups& groups, const Labellings& labellings, double* distances,
                    double* numbers) {
  const Index tasks = tasks_of(slices.count), rows = slices.rows, eights = labellings.eights();
  const Index square_of = static_cast<Index>(groups.sizes.size() * groups.sizes.size()), all = eights * kLanes;
  const std::vector<Eight> bits = bits_of_bytes();
  std::vector<double> sums(static_cast<std::size_t>(tasks * all));
  share_out(slices.workers.threads, tasks, slices.workers.poll, [&](int, Index task, const Heartbeat& beat) {
    const Index first = partition::even_split(slices.count, tasks, task);
    const Index last = partition::even_split(slices.count, tasks, task + 1);
    const Buffer<double> projections((last - first) * rows), places(rows);
    const Buffer<std::int32_t> order(rows);
    const Line line{rows, order.get(), places.get()};
    project(slices, first, last, projections.get());
    for (Index p = first; p < last; ++p) {
      beat();
      line.take(projections.get() + (p - first) * rows);
      groups_apart(line, groups, distances + p * square_of);
      for (Index eight = 0; eight < eights; ++eight) {
        beat();
        add_eight(line, labellings, eight, bits, &sums[task * all + eight * kLanes]);
      }
    }
  });
  for (Index task = 0; task < tasks; ++task)
    for (Index k = 0; k < all; ++k) numbers[k] += sums[task * all + k];
}

}  // namespace kernweave::arrays
