// A stable order of rows by their keys: digits split long ranges, short ones are sorted where the cache holds them.
#pragma once
#include <cstdint>
#include <vector>

#include "arrays/keys.hpp"

namespace kernweave::arrays {

// The task of an order. `offsets` cuts the rows into segments, each ordered within itself; no offsets are one segment.
struct OrderTask {
  std::vector<std::int64_t> offsets;
  std::int64_t nearly = 0;  // no row is farther from its place than this, so says the caller; 0: nothing is said
  Workers workers;
};

// order[k] is the number, from 1, of the row that comes k-th; tied[k], where asked for, whether its keys are those of
// the row before it in the order. One of it is right, so any number of threads finds the same.
template <class Number>
void radix_order(const Keys& keys, const OrderTask& task, Number* order, std::uint8_t* tied);

}  // namespace kernweave::arrays
