// The Lanczos process and its uses. Columns leave the block when they are exhausted or accurate enough.
#include "solve/lanczos.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "solve/block.hpp"

namespace kernweave::solve {

constexpr double kNoVector = 1e-14;  // a shorter next vector is rounding (relative to the largest number seen)

Lanczos::Lanczos(Operator* matrix, const Block& starts, int most, bool basis, int threads, const Poll& poll)
    : matrix_(matrix),
      poll_(poll),
      keeps_basis_(basis),
      threads_(threads),
      columns_(static_cast<std::size_t>(starts.cols())) {
  std::vector<Index> any;
  for (Index c = 0; c < starts.cols(); ++c) {
    LanczosColumn& column = columns_[static_cast<std::size_t>(c)];
    column.size = starts.col(c).norm();
    column.exhausted = !(column.size > 0);
    if (column.exhausted) continue;
    if (basis) column.basis.resize(starts.rows(), most);
    any.push_back(c);
  }
  active_ = any;
  now_ = columns_of(starts, any);
  for (Index k = 0; k < now_.cols(); ++k) now_.col(k) /= of(any[static_cast<std::size_t>(k)]).size;
  before_ = Block::Zero(now_.rows(), now_.cols());
}

void Lanczos::run(int most, const Looks& looks, const std::function<bool(Index)>& enough) {
  int next = looks.first;
  for (int step = 1; step <= most && !active_.empty(); ++step) {
    const std::vector<Index> open = active_;
    advance();
    const bool due = step == next || step == most;
    if (due) next += std::max(1, step / looks.fraction);
    std::vector<Index> stay;
    for (const Index c : open) {
      const bool done = (due || exhausted(c)) && enough(c);
      if (!done && !exhausted(c)) stay.push_back(c);
    }
    keep(stay);
  }
}

void Lanczos::advance() {
  poll_(0.0);
  matrix_->times(now_, &product_);
  user_check(product_.allFinite(), Fault::input, "the operator has products that are not finite: look at its data");
  ++products_;
  share_out(
      threads_, static_cast<std::int64_t>(active_.size()), [](double) {},
      [&](int, std::int64_t k, const Heartbeat&) {
        step(&columns_[static_cast<std::size_t>(active_[static_cast<std::size_t>(k)])], static_cast<Index>(k));
      });
  std::vector<Index> stay;
  for (const Index c : active_)
    if (!exhausted(c)) stay.push_back(c);
  keep(stay);
}

// Orthogonalises a column's product against the vectors before it; the result is the next vector.
void Lanczos::step(LanczosColumn* column, Index place) {
  auto v = now_.col(place);
  auto next = product_.col(place);
  if (!column->beside.empty()) next -= column->beside.back() * before_.col(place);
  const double along = v.dot(next);
  next -= along * v;
  column->diagonal.push_back(along);
  const auto used = static_cast<Index>(column->diagonal.size());
  if (keeps_basis_) {
    column->basis.col(used - 1) = v;
    for (int twice = 0; twice < 2; ++twice) {
      const Vector again = column->basis.leftCols(used).transpose() * next;
      next -= column->basis.leftCols(used) * again;
    }
  }
  const double left = next.norm();
  column->largest = std::max({column->largest, std::abs(along), left});
  column->exhausted = used == now_.rows() || !(left > kNoVector * column->largest);
  if (column->exhausted) return;
  column->beside.push_back(left);
  before_.col(place) = v;
  v = next / left;
}

void Lanczos::keep(const std::vector<Index>& stay) {
  if (stay.size() == active_.size()) return;
  std::vector<Index> places;
  for (std::size_t k = 0; k < active_.size(); ++k)
    if (std::find(stay.begin(), stay.end(), active_[k]) != stay.end()) places.push_back(static_cast<Index>(k));
  now_ = columns_of(now_, places);
  before_ = columns_of(before_, places);
  active_ = stay;
}

Tridiagonal Lanczos::tridiagonal(Index column) const {
  const LanczosColumn& from = of(column);
  const auto n = static_cast<Index>(from.diagonal.size());
  Tridiagonal t;
  t.diagonal = Eigen::Map<const Vector>(from.diagonal.data(), n);
  t.beside = Eigen::Map<const Vector>(from.beside.data(), std::max<Index>(n - 1, 0));
  return t;
}

// --- Eigen's solvers, each for one type of matrix -----------------------------------------------------------------

namespace {

using Solver = Eigen::SelfAdjointEigenSolver<Block>;

EigenPairs pairs_of(const Solver& solver) {
  return {solver.eigenvalues(), solver.eigenvectors(), solver.info() == Eigen::Success};
}

}  // namespace

EigenPairs eigen_pairs(const Block& a) { return pairs_of(Solver(a)); }

EigenPairs eigen_pairs(const Vector& diagonal, const Vector& beside) {
  Solver solver;
  solver.computeFromTridiagonal(diagonal, beside);
  return pairs_of(solver);
}

Vector eigenvalues(const Vector& diagonal, const Vector& beside) {
  Solver solver;
  solver.computeFromTridiagonal(diagonal, beside, Eigen::EigenvaluesOnly);
  return solver.eigenvalues();
}

Cholesky cholesky(const Block& a) { return Cholesky(a); }

// --- tridiagonal ----------------------------------------------------------------------------------------------------
// Golub and Welsch: nodes are eigenvalues, weights the squares of the first components of their vectors.

QuadratureRule gauss_rule(const Tridiagonal& t, Index rows) {
  const EigenPairs pairs = eigen_pairs(t.diagonal.head(rows), t.beside.head(rows - 1));
  return {pairs.values.array(), pairs.vectors.row(0).transpose().array().square()};
}

QuadratureRule radau_rule(Tridiagonal t, double node) {
  const Index n = t.diagonal.size();
  double left = t.diagonal[0] - node;
  for (Index k = 1; k + 1 < n; ++k) left = t.diagonal[k] - node - t.beside[k - 1] * t.beside[k - 1] / left;
  t.diagonal[n - 1] = node + t.beside[n - 2] * t.beside[n - 2] / left;
  return gauss_rule(t, n);
}

double smallest_value(const Tridiagonal& t) { return eigenvalues(t.diagonal, t.beside)[0]; }

// --- spectral rules -------------------------------------------------------------------------------------------------
// Vectors are not reorthogonalised: eigenvalues may be found twice, with weights that add up to the right weight.

namespace {

double inverse_sum(const QuadratureRule& rule, double ridge) {
  return (rule.weights / (rule.nodes.max(0.0) + ridge).max(1e-300)).sum();
}

bool near(const QuadratureRule& gauss, const QuadratureRule& radau, double ridge, double tolerance) {
  if (gauss.nodes.size() < 2) return false;
  const double below = inverse_sum(gauss, ridge);
  return inverse_sum(radau, ridge) - below <= tolerance * below;
}

QuadratureRule other_rule(const Lanczos& process, Index column, const QuadratureRule& gauss) {
  const Tridiagonal t = process.tridiagonal(column);
  if (process.exhausted(column) || t.diagonal.size() < 2) return gauss;
  return radau_rule(t, -1e-14 * gauss.nodes.abs().maxCoeff());
}

}  // namespace

SpectralRules spectral_rules(Operator* matrix, const Block& b, double ridge, const Limits& limits, const Poll& poll) {
  SpectralRules out;
  const auto columns = static_cast<std::size_t>(b.cols());
  out.gauss.resize(columns);
  out.radau.resize(columns);
  out.steps.assign(columns, 0);
  Lanczos process(matrix, b, limits.most, false, limits.threads, poll);
  process.run(limits.most, {2, 4}, [&](Index c) {
    const auto at = static_cast<std::size_t>(c);
    out.gauss[at] = gauss_rule(process.tridiagonal(c), process.steps(c));
    out.radau[at] = other_rule(process, c, out.gauss[at]);
    return near(out.gauss[at], out.radau[at], ridge, limits.tolerance);
  });
  for (Index c = 0; c < b.cols(); ++c) out.steps[static_cast<std::size_t>(c)] = process.steps(c);
  for (const QuadratureRule& rule : out.gauss)
    if (rule.nodes.size())
      user_check(rule.nodes.minCoeff() >= -kNegative * rule.nodes.abs().maxCoeff(), Fault::indefinite,
                 "the matrix is not positive semidefinite: a value of ", rule.nodes.minCoeff(), " was met, beside ",
                 rule.nodes.maxCoeff());
  out.products = process.products();
  return out;
}

// --- quadrature -----------------------------------------------------------------------------------------------------
// Gauss quadrature by the tridiagonal matrix of the Lanczos process, given by coefficients of conjugate gradients.

namespace {

class PreconditionedOperator : public Operator {
 public:
  PreconditionedOperator(Operator* matrix, Preconditioner* preconditioner)
      : Operator(matrix->rows, matrix->columns), matrix_(matrix), preconditioner_(preconditioner) {}

  device::Device* home() override { return matrix_->home(); }

  void times(const Block& x, Block* y) override {
    Columns product;
    multiply(Columns(x), &product);
    *y = std::move(*product.here());
  }

  void multiply(const Columns& x, Columns* y) override {
    preconditioner_->root(x, &a_);
    matrix_->multiply(a_, &b_);
    preconditioner_->root_transposed(b_, y);
  }

 private:
  Operator* const matrix_;
  Preconditioner* const preconditioner_;
  Columns a_, b_;
};

double sum_of_logs(const QuadratureRule& rule) { return (rule.weights * rule.nodes.max(1e-300).log()).sum(); }

// Returns element (1, 1) of the logarithm of the leading `rows` x `rows` part.
double first_of_log(const Tridiagonal& t, Index rows) { return sum_of_logs(gauss_rule(t, rows)); }

}  // namespace

Tridiagonal tridiagonal(const Coefficients& numbers) {
  const auto n = static_cast<Index>(numbers.step.size());
  Tridiagonal t{Vector(n), Vector(std::max<Index>(n - 1, 0))};
  for (Index k = 0; k < n; ++k) {
    const auto at = static_cast<std::size_t>(k);
    t.diagonal[k] = 1 / numbers.step[at] + (k ? numbers.ratio[at - 1] / numbers.step[at - 1] : 0.0);
    if (k + 1 < n) t.beside[k] = std::sqrt(numbers.ratio[at]) / numbers.step[at];
  }
  return t;
}

OperatorPointer split_operator(Operator* matrix, Preconditioner* preconditioner) {
  return std::make_unique<PreconditionedOperator>(matrix, preconditioner);
}

LogForm log_form(const Coefficients& numbers, double smallest) {
  const Tridiagonal t = tridiagonal(numbers);
  const Index n = t.diagonal.size();
  LogForm form;
  if (n == 0) return form;
  form.first = t.diagonal[0];
  form.value = first_of_log(t, n);
  if (n == 1) return form;
  if (smallest > 0) form.bracket = std::abs(form.value - sum_of_logs(radau_rule(t, smallest)));
  const double before = first_of_log(t, n - 1);
  const double change = std::abs(form.value - before) + (n > 2 ? std::abs(before - first_of_log(t, n - 2)) : 0.0);
  form.bracket = smallest > 0 ? std::min(form.bracket, change) : change;
  return form;
}

std::vector<LogForm> log_forms(const Solution& solution, double smallest) {
  std::vector<LogForm> forms;
  for (const Coefficients& numbers : solution.coefficients) forms.push_back(log_form(numbers, smallest));
  return forms;
}

bool settled(const std::vector<LogForm>& forms, bool first_known) {
  constexpr double kSmall = 0.1;  // a bracket of 0.1 standard errors lengthens the interval by half a hundredth
  const auto n = static_cast<Index>(forms.size());
  Vector values(n), brackets(n);
  for (Index k = 0; k < n; ++k) {
    const LogForm& form = forms[static_cast<std::size_t>(k)];
    values[k] = form.value - (first_known ? form.first : 0.0);
    brackets[k] = form.bracket;
  }
  const double squares = (values.array() - values.mean()).square().sum();
  return n > 1 && brackets.mean() < kSmall * std::sqrt(squares / static_cast<double>(n * (n - 1)));
}

Block random_signs(Index rows, Index columns, std::uint64_t seed, Index first) {
  Block out(rows, columns);
  const auto begin = static_cast<std::uint64_t>(first * rows);
  for (Index k = 0; k < out.size(); ++k) out.data()[k] = random_sign(seed, begin + static_cast<std::uint64_t>(k));
  return out;
}

// --- square root ----------------------------------------------------------------------------------------------------
// The basis Q of a Lanczos process makes B^1/2 x nearly |x| Q T^1/2 e long before the process ends.

namespace {

constexpr double kSlowest = 0.95;  // an upper limit of the ratio of successive changes

// Returns the first column of T^1/2.
Vector first_of_root(const Tridiagonal& t) {
  const EigenPairs pairs = eigen_pairs(t.diagonal, t.beside);
  const Vector& values = pairs.values;
  user_check(values[0] >= -kNegative * values.cwiseAbs().maxCoeff(), Fault::indefinite,
             "the matrix is not positive definite: a value of ", values[0], " was met, beside ", values.maxCoeff());
  const Vector roots = values.cwiseMax(0.0).cwiseSqrt();
  return pairs.vectors * (roots.asDiagonal() * pairs.vectors.row(0).transpose());
}

struct Progress {
  Vector coordinates;
  double change = 1, expected = 1, left = 1;
};

// Estimates the sum of all changes to come, if changes go on falling as the last change did. Uses the larger estimate
// of two looks, since in one column of some hundreds a step changes next to nothing by chance, long before the end.
void look(const Lanczos& process, Index column, Progress* at) {
  const Vector now = first_of_root(process.tridiagonal(column));
  Vector change = now;
  change.head(at->coordinates.size()) -= at->coordinates;
  const double moved = change.norm() / std::max(now.norm(), 1e-300);
  const double factor = std::min(moved / at->change, kSlowest);
  const double expected = moved / (1 - factor);
  at->left = process.exhausted(column) ? 0 : std::max(expected, at->expected);
  at->expected = expected;
  at->change = std::max(moved, 1e-300);
  at->coordinates = now;
}

void some_columns(Operator* matrix, const Block& x, Index from, const RootLimits& limits, const Poll& poll,
                  Roots* out) {
  Lanczos process(matrix, x, limits.most, true, limits.threads, poll);
  std::vector<Progress> progress(static_cast<std::size_t>(x.cols()));
  process.run(limits.most, {1, 8}, [&](Index c) {
    Progress& at = progress[static_cast<std::size_t>(c)];
    look(process, c, &at);
    return at.left <= limits.tolerance;
  });
  for (Index c = 0; c < x.cols(); ++c) {
    const Progress& at = progress[static_cast<std::size_t>(c)];
    const int steps = process.steps(c);
    if (steps) out->y.col(from + c) = process.size(c) * (process.basis(c) * at.coordinates);
    out->steps[static_cast<std::size_t>(from + c)] = steps;
    out->change[from + c] = steps ? at.left : 0;
  }
  out->products += process.products();
}

}  // namespace

Roots square_root_times(Operator* matrix, const Block& x, const RootLimits& limits, const Poll& poll) {
  internal_check(matrix->rows == x.rows() && limits.together >= 1 && limits.most >= 1, "a square root of ",
                 matrix->rows, " rows times ", x.rows());
  Roots out;
  out.y = Block::Zero(x.rows(), x.cols());
  out.steps.assign(static_cast<std::size_t>(x.cols()), 0);
  out.change = Vector::Zero(x.cols());
  for (Index from = 0; from < x.cols(); from += limits.together) {
    const Block some = x.middleCols(from, std::min(limits.together, x.cols() - from));
    some_columns(matrix, some, from, limits, poll, &out);
  }
  out.converged = (out.change.array() <= limits.tolerance).all();
  return out;
}

}  // namespace kernweave::solve
