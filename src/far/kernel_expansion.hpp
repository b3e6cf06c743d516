// The expansion of the kernel on a pair of boxes: products of polynomials of positions in both, without small terms.
#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace kernweave {
namespace far {

// --- Chebyshev products ---------------------------------------------------------------------------------------------
// Chebyshev polynomials of a difference, T_m((u - v) / 2), as sums of products T_a(u) T_b(v): a table for all formulas.

// The kind of sum of dropped coefficients: of their absolute values (sizes), or of their squares.
enum class ErrorSum { sizes, squares };
inline double counted(double number, ErrorSum count) {
  return count == ErrorSum::squares ? number * number : std::abs(number);
}

// A table of the coefficients of T_a(u) T_b(v) in T_m((u - v) / 2), for m below `degrees`, a and b below `terms`.
struct ChebyshevProducts {
  ChebyshevProducts(int degrees, int terms);

  double at(int m, int a, int b) const { return numbers_[place(m, a, b)]; }
  // The sum of all coefficients of a degree m (`all`), and of the coefficients with max(a, b) >= q (`outside[q]`).
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

// Returns the table of this size. A process makes each table once.
const ChebyshevProducts& chebyshev_products(int degrees, int terms);

struct KernelExpansion {
  struct DegreePair {
    int target, source;
  };
  int degrees = 0;             // degrees of polynomials along each axis are 0 to degrees - 1
  std::vector<DegreePair> pairs;  // the possible pairs along one axis
  // Coefficients in rows: a row has a coefficient for each pair along the last axis; the digits of the row's number are
  // the pairs along the other axes.
  std::vector<int> rows;
  std::vector<double> coefficients;
  double least = 0;  // smaller coefficients are dropped
  // The sums over rows that are dropped, and over single coefficients that are dropped.
  ErrorSum count = ErrorSum::sizes;
  double of_rows = 0, of_small = 0;

  bool keeps(double coefficient) const { return std::abs(coefficient) >= least; }

  // Calls f(term of the target, term of the source, coefficient) for each coefficient, dropped or not. A term's number
  // has a digit for each axis, of `digits` values.
  template <int D, class F>
  void each(int digits, F f) const {
    const auto many = pairs.size();
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::array<std::size_t, D> at{};
      auto rest = static_cast<std::size_t>(rows[r]);
      for (std::size_t d = D - 1; d-- > 0; rest /= many) at[d] = rest % many;
      int target = 0, source = 0;
      for (std::size_t d = 0; d + 1 < D; ++d) {
        target = (target + pairs[at[d]].target) * digits;
        source = (source + pairs[at[d]].source) * digits;
      }
      for (std::size_t p = 0; p < many; ++p)
        f(target + pairs[p].target, source + pairs[p].source, coefficients[r * many + p]);
    }
  }
};

// Returns the error of an expansion with these coefficients, by the number of degrees that it keeps; with 0 degrees,
// the sum of all coefficients, once for each axis.
template <int D>
std::vector<double> left_out(const std::vector<double>& of_difference, const ChebyshevProducts& table, ErrorSum count);

// Returns the expansion in the positions in both boxes. Drops small rows and coefficients, of a sum below `room`.
template <int D>
KernelExpansion kernel_expansion(const std::vector<double>& of_difference, const ChebyshevProducts& table, int degrees,
                                 ErrorSum count, double room);

// Multiplies the leading axis, of `from` numbers, by a table; its `to` results become the last axis.
std::vector<double> along_axis(const std::vector<double>& numbers, int from, const std::vector<double>& table, int to);

}  // namespace far
}  // namespace kernweave
