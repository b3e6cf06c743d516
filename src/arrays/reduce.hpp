// Reductions of arrays, as a whole or segment by segment.
#pragma once
#include <vector>
#include "arrays/items.hpp"
#include "arrays/request.hpp"

namespace kernweave::arrays {

// Writes, column by column, the operator's results, those of all segments one after the other. `offsets` has a number
// more than there are segments.
void reduce(const Request& request, const std::vector<Items>& columns, const Whole& offsets, const Workers& workers,
            double* out);

// Reduces items that lie in any order: `codes` are the numbers of their segments, from 1.
void reduce_groups(const Request& request, const std::vector<Items>& columns, const int* codes, const Whole& offsets,
                   const Workers& workers, double* out);

// --- scan.cpp ------------------------------------------------------------------------------------------------------
// Running reductions: of each item, what the operator makes of all items of its segment up to it.

// The target of results, as many as items: integers, `missing` for NaN and too large results, or doubles.
struct Running {
  int* integers = nullptr;
  double* doubles = nullptr;
  int missing = 0;
};

// Scans segments; with `exclusive`, up to the item before. Each result lies where its item lies. Tells of overflow.
bool scan(const Request& request, bool exclusive, const Items& items, const Whole& offsets, const Workers& workers,
          const Running& out);

}  // namespace kernweave::arrays
