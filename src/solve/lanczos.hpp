// The Lanczos process, and its uses: quadrature, square roots and quadratic forms.
#pragma once
#include <functional>
#include <vector>
#include "solve/block.hpp"
#include "solve/conjugate_gradients.hpp"
#include "solve/operator.hpp"

namespace kernweave::solve {

// --- tridiagonal ----------------------------------------------------------------------------------------------------
// The tridiagonal matrix of a Lanczos process, and the Gauss quadrature rules that it gives.

struct Tridiagonal {
  Vector diagonal, beside;  // n and n - 1 numbers
};

// Nodes, and weights that sum to 1: w' f(B) w / w'w is near the sum of weights times f(nodes).
struct QuadratureRule {
  Eigen::ArrayXd nodes, weights;
};

// Computes the Gauss rule of the leading part of `rows` rows.
QuadratureRule gauss_rule(const Tridiagonal& t, Index rows);
// Computes the Gauss-Radau rule: the last number on the diagonal makes `node` an eigenvalue, and the bound is from the
// other side. For two rows or more.
QuadratureRule radau_rule(Tridiagonal t, double node);

double smallest_value(const Tridiagonal& t);

// The times of looks at columns: after `first` steps, then whenever a fraction of the steps so far has been added. The
// cost of a look is the cube of the number of steps.
struct Looks {
  int first, fraction;
};

class Lanczos {
 public:
  // If `basis`, room for `most` steps is kept and the vectors stay fully orthogonal; otherwise no basis is kept.
  Lanczos(Operator* matrix, const Block& starts, int most, bool basis, int threads, const Poll& poll);

  // Takes `most` steps, or fewer if nothing is left to do: enough(column) is called at looks, and when a column is
  // exhausted.
  void run(int most, const Looks& looks, const std::function<bool(Index)>& enough);

  int steps(Index column) const { return static_cast<int>(of(column).diagonal.size()); }
  Tridiagonal tridiagonal(Index column) const;
  // Tells whether the Krylov space of the start is exhausted: no next vector exists.
  bool exhausted(Index column) const { return of(column).exhausted; }
  double size(Index column) const { return of(column).size; }  // the length of the start
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
  // Multiplies all active columns.
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
  Block now_, before_, product_;  // a column for each active column
  int products_ = 0;
};

// --- spectral rules -------------------------------------------------------------------------------------------------
// Quadrature over the spectral measures of vectors, from one Lanczos process: for any function of the matrix, and for
// the matrix with any number added to its diagonal.

struct SpectralRules {
  std::vector<QuadratureRule> gauss,
      radau;  // for each column; bounds from both sides for functions such as inverse and logarithm
  std::vector<int> steps;
  int products = 0;
};

// Computes the spectral rules of a positive semidefinite matrix B. A column ends if the bounds of b'(B + ridge)^-1 b
// agree, relative to b'(B + ridge)^-1 b.
SpectralRules spectral_rules(Operator* matrix, const Block& b, double ridge, const Limits& limits, const Poll& poll);

// --- quadrature -----------------------------------------------------------------------------------------------------
// Stochastic Lanczos quadrature: the logarithm of a determinant from the coefficients of conjugate gradients.

// Returns the operator B = G'AG, for which det B = det A / det P.
OperatorPointer split_operator(Operator* matrix, Preconditioner* preconditioner);

// Returns the tridiagonal matrix of the Lanczos process of conjugate gradients.
Tridiagonal tridiagonal(const Coefficients& numbers);

// w' log(B) w / w'w for a start w, and an estimate of its error by truncation of the process (`bracket`).
struct LogForm {
  double value = 0, bracket = 0;
  double first = 0;  // w'Bw / w'w
};

// `smallest`: a lower bound of the eigenvalues of B, or 0 if none is known.
LogForm log_form(const Coefficients& numbers, double smallest);

// Returns the form of each column that was iterated.
std::vector<LogForm> log_forms(const Solution& solution, double smallest);

// Tells whether truncation errors are small beside the standard error over columns, so that more steps gain nothing.
// `first_known`: the first-order term has no noise, since its trace is known.
bool settled(const std::vector<LogForm>& forms, bool first_known);

// Columns of random signs.
Block random_signs(Index rows, Index columns, std::uint64_t seed, Index first = 0);

// --- square root ----------------------------------------------------------------------------------------------------
// The square root of a matrix times vectors, by Lanczos.

struct RootLimits {
  double tolerance;  // bound of the estimated error, relative to the result
  int most;          // steps
  Index together;    // columns at once: each has a basis
  int threads = 1;
};

struct Roots {
  Block y;
  std::vector<int> steps;  // steps of each column
  Vector change;           // the estimated relative error
  int products = 0;
  bool converged = true;
};

// y = B^1/2 x of a symmetric positive semidefinite matrix.
Roots square_root_times(Operator* matrix, const Block& x, const RootLimits& limits, const Poll& poll);

// --- inverse_forms.cpp ----------------------------------------------------------------------------------------------
// Quadratic forms of an inverse, without the solutions.

struct Forms {
  Vector value;                 // a lower bound
  Vector left;                  // a bound of the error
  std::vector<int> iterations;  // iterations of each column
  int products = 0;
  bool converged = true;
};

// Computes lower bounds of b'A^-1 b for each column. The tolerance is relative to `whole` - b'A^-1 b, as for a
// variance, or to the form itself if `whole` is 0.
// `smallest`: a lower bound of the matrix's eigenvalues, or 0. If no bound is known, for the matrix or the
// preconditioned matrix, the smallest Ritz value so far is used.
// `quick`: faster products of less precision with the same matrix, for directions; null: none. Results have the same
// accuracy.
Forms inverse_forms(Operator* matrix, Operator* quick, Preconditioner* preconditioner, const Block& b,
                    const Vector& whole, double smallest, const Limits& limits, const Poll& poll);

}  // namespace kernweave::solve
