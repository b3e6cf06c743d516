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

}  // namespace kernweave::arrays
