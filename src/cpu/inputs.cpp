// Reads R's columns. Row numbers have been checked by the schedule.
#include "cpu/inputs.hpp"

#include <algorithm>

#include "base/view.hpp"

namespace kernweave {
namespace {

std::int64_t place_on(const Variable& v, const View& view, Point p) {
  switch (v.axis) {
    case Axis::i: return p.i;
    case Axis::j: return p.j;
    case Axis::param: return 0;
    case Axis::pair: return view.first() + p.i + p.j * view.step();
    case Axis::pair_swapped: return view.first() + p.j + p.i * view.step();
  }
  return 0;
}

// Tells whether row numbers are counted. If points are reordered, their row numbers are data.
bool counts(const Variable& v, const View& view) { return v.source == Source::counter && !view.data; }

// Returns the row of the variable that a reading takes at a point.
std::int64_t row_at(const Reading& reading, const Plan& plan, const std::vector<View>& data, Point p) {
  if (reading.rows.empty()) return place_on(plan.variables[reading.variable], data[reading.variable], p);
  std::int64_t row = place_on(plan.variables[reading.rows[0]], data[reading.rows[0]], p);
  for (int rows : reading.rows) {
    row = counts(plan.variables[rows], data[rows]) ? row : static_cast<std::int64_t>(data[rows].data[row]) - 1;
  }
  return row;
}

// Reads a sparse matrix of pairs, down a column or, entry by entry, along a row.
template <class T>
void read_sparse(const Variable& v, const View& view, Axis axis, Point first, std::int64_t count, T* out) {
  const bool forth = v.axis == Axis::pair;
  const std::int64_t row = forth ? first.i : first.j, column = forth ? first.j : first.i;
  if (forth == (axis == Axis::i)) return write_column(view, column, row, count, out);
  for (std::int64_t p = 0; p < count; ++p) out[p] = static_cast<T>(entry(view, row, column + p));
}

// Tells whether the numbers along an axis already lie side by side.
bool is_plain(const Reading& reading, const Plan& plan, const View& view, Axis axis) {
  const Variable& v = plan.variables[reading.variable];
  const bool in_a_row = v.axis == axis || v.axis == (axis == Axis::i ? Axis::pair : Axis::pair_swapped);
  return reading.rows.empty() && !counts(v, view) && in_a_row && !view.sparse();
}

// Copies eight numbers at a time, which compilers turn into vectors.
template <class T>
void copy_less(const double* __restrict from, double off, std::int64_t count, T* __restrict to) {
  std::int64_t p = 0;
  for (; p + 8 <= count; p += 8)
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) to[p + k] = static_cast<T>(from[p + k] - off);
  for (; p < count; ++p) to[p] = static_cast<T>(from[p] - off);
}

// Returns the list that has a row number for each point along an axis; null if rows are found another way.
const double* listed_rows(const Reading& reading, const Plan& plan, const std::vector<View>& data, Axis axis,
                          Point first) {
  if (reading.rows.size() != 1) return nullptr;
  const Variable& v = plan.variables[reading.rows[0]];
  const View& list = data[reading.rows[0]];
  return v.axis == axis && !counts(v, list) ? list.data + place_on(v, list, first) : nullptr;
}

}  // namespace

Axis axis_of(const Reading& reading, const Plan& plan) {
  return plan.variables[reading.rows.empty() ? reading.variable : reading.rows[0]].axis;
}

void expect(const Reading& reading, const Plan& plan, const std::vector<View>& data, Axis axis, Point first,
            std::int64_t count) {
  const View& view = data[reading.variable];
  if (!is_plain(reading, plan, view, axis)) return;
  constexpr std::int64_t kLine = 8;
  const double* const from = view.data + place_on(plan.variables[reading.variable], view, first);
  for (int d = 0; d < reading.width; ++d)
    for (std::int64_t p = 0; p < count; p += kLine) __builtin_prefetch(from + p + d * view.rows);
}

template <class T>
void pack(const Reading& reading, const Plan& plan, const std::vector<View>& data, Axis axis, Point first,
          std::int64_t count, std::int64_t padded, const double* centre, T* out, std::int64_t stride) {
  const Variable& v = plan.variables[reading.variable];
  const View& view = data[reading.variable];
  const bool is_count = counts(v, view);
  // Columns whose numbers lie side by side are copied whole, other columns point by point.
  const bool plain = is_plain(reading, plan, view, axis);
  const double* const listed = is_count ? nullptr : listed_rows(reading, plan, data, axis, first);
  const std::int64_t start = place_on(v, view, first);
  if (view.sparse()) {
    read_sparse(v, view, axis, first, count, out);
    for (std::int64_t p = 0; p < padded; ++p)
      out[p] = p < count ? static_cast<T>(out[p] - (centre ? centre[0] : 0.0)) : out[count - 1];
    return;
  }
  for (int d = 0; d < reading.width; ++d) {
    const double off = centre ? centre[d] : 0.0;
    T* to = out + d * stride;
    const double* const column = view.data + d * view.rows;
    if (plain) copy_less(column + start, off, count, to);
    for (std::int64_t p = 0; p < count && listed; ++p)
      to[p] = static_cast<T>(column[static_cast<std::int64_t>(listed[p]) - 1] - off);
    for (std::int64_t p = 0; p < count && !plain && !listed; ++p) {
      const Point at = axis == Axis::i ? Point{first.i + p, first.j} : Point{first.i, first.j + p};
      const std::int64_t row = row_at(reading, plan, data, at);
      to[p] = static_cast<T>(is_count ? static_cast<double>(row + 1) : column[row] - off);
    }
    std::fill(to + count, to + padded, to[count - 1]);
  }
}

template <class T>
void pack_pairs(const Reading& reading, const Plan& plan, const std::vector<View>& data, Axis axis, Point first,
                const PairStrip& strip, const double* centre, T* out, std::int64_t stride) {
  const View& view = data[reading.variable];
  const std::int64_t last = strip.columns - 1;
  if (is_plain(reading, plan, view, axis)) {
    const double* const from = view.data + place_on(plan.variables[reading.variable], view, first);
    const double off = centre ? centre[0] : 0.0;
    for (std::int64_t c = 0; c < strip.padded; ++c, out += strip.wide) {
      const double* const column = from + std::min(c, last) * view.step();
      __builtin_prefetch(column + strip.wide);  // of the next strip: columns are too far apart for the hardware
      copy_less(column, off, strip.rows, out);
      std::fill(out + strip.rows, out + strip.wide, out[strip.rows - 1]);
    }
    return;
  }
  for (std::int64_t c = 0; c < strip.padded; ++c, out += strip.wide) {
    const std::int64_t along = std::min(c, last);
    const Point at = axis == Axis::i ? Point{first.i, first.j + along} : Point{first.i + along, first.j};
    pack(reading, plan, data, axis, at, strip.rows, strip.wide, centre, out, stride);
  }
}

template void pack_pairs(const Reading&, const Plan&, const std::vector<View>&, Axis, Point, const PairStrip&,
                         const double*, float*, std::int64_t);
template void pack_pairs(const Reading&, const Plan&, const std::vector<View>&, Axis, Point, const PairStrip&,
                         const double*, double*, std::int64_t);
template void pack(const Reading&, const Plan&, const std::vector<View>&, Axis, Point, std::int64_t, std::int64_t,
                   const double*, float*, std::int64_t);
template void pack(const Reading&, const Plan&, const std::vector<View>&, Axis, Point, std::int64_t, std::int64_t,
                   const double*, double*, std::int64_t);

}  // namespace kernweave
