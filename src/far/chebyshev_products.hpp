// Chebyshev polynomials of a difference, T_m((u - v) / 2), as sums of products T_a(u) T_b(v): a table for all formulas.
#pragma once
#include <cmath>
#include <cstddef>
#include <vector>

namespace kernweave {
namespace far {

// How what is dropped adds up: sizes, or squares.
enum class ErrorSum { sizes, squares };
inline double counted(double number, ErrorSum count) {
  return count == ErrorSum::squares ? number * number : std::abs(number);
}

// For m below `degrees`, a and b below `terms`.
struct ChebyshevProducts {
  ChebyshevProducts(int degrees, int terms);

  double at(int m, int a, int b) const { return numbers_[place(m, a, b)]; }
  // The sum of all numbers of an m, and of the numbers with max(a, b) >= q for each number of terms q (`outside`).
  struct Mass {
    double all = 0;
    std::vector<double> outside;
  };
  const Mass& mass(int m, ErrorSum count) const {
    return (count == ErrorSum::squares ? squares_ : sizes_)[static_cast<std::size_t>(m)];
  }

  const int degrees, terms;

 private:
  std::size_t place(int m, int a, int b) const { return static_cast<std::size_t>((m * terms + a) * terms + b); }

  std::vector<double> numbers_;
  std::vector<Mass> sizes_, squares_;
};

// The table of these sizes, which is made once a process.
const ChebyshevProducts& chebyshev_products(int degrees, int terms);

}  // namespace far
}  // namespace kernweave
