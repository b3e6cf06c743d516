// Half-open ranges of places, and ranges of values.
#pragma once
#include <cstdint>

namespace kernweave {

// Places from .. to - 1: points of an axis, rows, columns.
struct Range {
  std::int64_t from = 0, to = 0;

  std::int64_t size() const { return to - from; }
  friend bool operator==(const Range& a, const Range& b) { return a.from == b.from && a.to == b.to; }
};

// Values from `least` to `most`, both among them.
struct ValueRange {
  double least, most;
};

}  // namespace kernweave
