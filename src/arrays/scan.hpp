// Running reductions: of each item, what the operator makes of all items of its segment up to it.
#pragma once
#include "arrays/items.hpp"
#include "arrays/request.hpp"

namespace kernweave::arrays {

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
