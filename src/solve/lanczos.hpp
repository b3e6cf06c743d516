// The Lanczos process of many starts at once: each makes a tridiagonal matrix of the operator, one product serves
// all.
#pragma once
#include <functional>
#include <vector>
#include "solve/engine_operator.hpp"
#include "solve/tridiagonal.hpp"

namespace kernweave::solve {

// The looks at columns: after `first` steps, then whenever a fraction of the steps so far has been added. A look costs
// the cube of the steps.
struct Looks {
  int first, fraction;
};

class Lanczos {
 public:
  // If `basis`, room for `most` steps is kept and the vectors stay fully orthogonal; otherwise no basis is kept.
  Lanczos(Operator* matrix, const Block& starts, int most, bool basis, int threads, const Poll& poll);

  // Takes `most` steps, or fewer where nothing is left to do: enough(column) is asked at looks, and when a column is
  // exhausted.
  void run(int most, const Looks& looks, const std::function<bool(Index)>& enough);

  int steps(Index column) const { return static_cast<int>(of(column).diagonal.size()); }
  Tridiagonal tridiagonal(Index column) const;
  // Tells whether the Krylov space of the start is exhausted: no next vector exists.
  bool exhausted(Index column) const { return of(column).exhausted; }
  double size(Index column) const { return of(column).size; }  // of the start
  auto basis(Index column) const { return of(column).basis.leftCols(steps(column)); }
  int products() const { return products_; }

 private:
  struct LanczosColumn {
    std::vector<double> diagonal, beside;
    double size = 0, largest = 0;
    bool exhausted = false;
    Block basis;
  };

  const LanczosColumn& of(Index column) const { return columns_[static_cast<std::size_t>(column)]; }
  // A product for all columns that go on.
  void advance();
  void step(LanczosColumn* column, Index place);
  // Keeps the columns in `stay`. The other columns leave.
  void keep(const std::vector<Index>& stay);

  Operator* const matrix_;
  const Poll& poll_;
  const bool keeps_basis_;
  const int threads_;
  std::vector<LanczosColumn> columns_;
  std::vector<Index> active_;
  Block now_, before_, product_;  // a column for each that is active
  int products_ = 0;
};

}  // namespace kernweave::solve
