// T_m((u - v) / 2) as a sum of products T_a(u) T_b(v): a table that is the same for every formula.
#pragma once
#include <cstddef>
#include <vector>

namespace kernweave {
namespace far {

// How what is dropped of them adds up: sizes, or squares.
enum class Count { sizes, squares };

// For m below `degrees`, a and b below `terms`.
struct PairTable {
  PairTable(int degrees, int terms);

  double at(int m, int a, int b) const {
    return numbers[static_cast<std::size_t>((m * terms + a) * terms + b)];
  }
  // The sum of all |numbers|, or of all squares, for m; and of those that are not both below so many terms.
  struct Mass {
    double all = 0;
    std::vector<double> outside;
  };
  const Mass& mass(int m, Count count) const {
    return (count == Count::squares ? squares_ : sizes_)[static_cast<std::size_t>(m)];
  }

  const int degrees, terms;
  std::vector<double> numbers;

 private:
  std::vector<Mass> sizes_, squares_;
};

// Made once a process.
const PairTable& pair_table(int degrees, int terms);

}  // namespace far
}  // namespace kernweave
