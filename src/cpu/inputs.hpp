// Packs data for tiles: points of a variable, in the precision of the strip, one component after the other.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>
#include "base/view.hpp"
#include "plan/plan.hpp"

namespace kernweave {

// A variable that is read directly, or by row numbers. `rows` are the variables that hold the row numbers, in the order
// in which they are looked up.
struct Reading {
  int variable;
  std::vector<int> rows;
  int width;

  friend bool operator==(const Reading& a, const Reading& b) { return a.variable == b.variable && a.rows == b.rows; }
};

// Returns the axis along which the points of a reading are counted.
Axis axis_of(const Reading& reading, const Plan& plan);

struct Point {
  std::int64_t i, j;
};

// Prefetches data that will be packed soon.
void expect(const Reading& reading, const Plan& plan, const std::vector<View>& data, Axis axis, Point first,
            std::int64_t count);

// Copies `count` points from `first` on, which follow each other along `axis`; the last one is repeated until there are
// `padded`. Component k goes to out[k * stride]. If `centre` is set, it is subtracted.
template <class T>
void pack(const Reading& reading, const Plan& plan, const std::vector<View>& data, Axis axis, Point first,
          std::int64_t count, std::int64_t padded, const double* centre, T* out, std::int64_t stride);

// The size of a block of pairs: `rows` rows in `wide` lanes, and `columns` columns, `padded` to whole strips.
struct PairStrip {
  std::int64_t rows, wide, columns, padded;
};
// Packs values of pairs: for each of some columns a strip of rows along `axis`. Strips are `wide` numbers apart.
template <class T>
void pack_pairs(const Reading& reading, const Plan& plan, const std::vector<View>& data, Axis axis, Point first,
                const PairStrip& strip, const double* centre, T* out, std::int64_t stride);

// Copies a component of some points into a panel, in which kWide numbers of each component lie together: kWide points
// at once. With a constant number and local memory, the copy is some instructions; a copy that may overlap is a
// function call.
template <class T, int kWide>
void copy_component(const T* from, std::int64_t count, std::int64_t apart, T* to) {
  for (std::int64_t p = 0; p < count; p += kWide, to += apart) {
    T some[kWide];
    std::memcpy(some, from + p, sizeof(some));
    std::memcpy(to, some, sizeof(some));
  }
}

// Copies `wide` numbers, then the next ones to a place `apart` from the first.
template <class T>
void copy_component(const T* from, std::int64_t count, std::int64_t wide, std::int64_t apart, T* to) {
  switch (wide) {
    case 4: return copy_component<T, 4>(from, count, apart, to);
    case 8: return copy_component<T, 8>(from, count, apart, to);
    case 16: return copy_component<T, 16>(from, count, apart, to);
    case 32: return copy_component<T, 32>(from, count, apart, to);
    default:
      for (std::int64_t p = 0; p < count; p += wide, to += apart) std::copy_n(from + p, wide, to);
  }
}

}  // namespace kernweave
