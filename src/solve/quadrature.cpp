// Gauss quadrature by the tridiagonal matrix of the Lanczos process, which conjugate gradients run without saying so.
#include "solve/lanczos.hpp"

#include <algorithm>
#include <cmath>

#include "solve/random.hpp"

namespace kernweave::solve {
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

// The first number of the logarithm of the leading part of so many rows.
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
  constexpr double kSmall = 0.1;  // a bracket of so many standard errors lengthens the interval by half a hundredth
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

}  // namespace kernweave::solve
