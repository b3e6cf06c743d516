// A matrix of numbers somebody else owns: pointer and extents, columns one after the other.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace kernweave {

// What a back end has made of data, say a copy on a device.
class Copy {
 public:
  virtual ~Copy() = default;
};

// Kept by whoever owns the data, for as long as they stay what they are.
struct Kept {
  std::unique_ptr<Copy> on_gpu;
  std::vector<double> centre;  // the last one asked for, and how far the points reach from it
  double reach = 0;
};

struct View {
  const double* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Kept* kept = nullptr;  // null where nobody keeps anything
};

}  // namespace kernweave
