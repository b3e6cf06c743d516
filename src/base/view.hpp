// A matrix of numbers somebody else owns: pointer and extents, columns one after the other.
#pragma once
#include <cstdint>

namespace kernweave {

struct View {
  const double* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

}  // namespace kernweave
