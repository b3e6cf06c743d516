// Quadratic forms of an inverse: b'A^-1 b = b'x + x'r + r'A^-1 r for any x, with r = b - A x, and 0 <= r'A^-1 r <=
// r'P^-1 r / (smallest eigenvalue of P^-1 A). Conjugate gradients find x, by the faster products of `quick` if it is
// given; the matrix itself computes the residual, so that the precision of `quick` does not affect the result.
#include "solve/lanczos.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace kernweave::solve {
namespace {

constexpr int kLooks = 8;                  // between looks at Ritz values, the iterations grow by an eighth
constexpr double kFormOfRounding = 1e-15;  // rounding error of a difference, relative to its two numbers
constexpr double kBetter = 0.25;  // a round of quick products is useful if it leaves at most this share of the error

// The bounds of each form's error, and the test whether the errors are small enough.
class Accuracy {
 public:
  Accuracy(const Vector& whole, double smallest, double tolerance)
      : whole_(whole), known_(smallest > 0), tolerance_(tolerance), lowest_(Vector::Constant(whole.size(), smallest)) {}

  // Tells whether a lower bound of the eigenvalues is known. If not, the smallest Ritz value replaces it.
  bool knows_bound() const { return known_; }
  void take_ritz(Index c, double value) { lowest_[c] = lowest_[c] > 0 ? std::min(lowest_[c], value) : value; }
  double left(Index c, double rz) const { return std::max(rz, 0.0) / lowest_[c]; }
  bool enough(Index c, double value, double left) const {
    const double scale = std::abs(whole_[c]) + value, rest = std::abs(whole_[c] - value);
    return left <= std::max(tolerance_ * rest, kFormOfRounding * scale);
  }

 private:
  const Vector& whole_;
  const bool known_;
  const double tolerance_;
  Vector lowest_;
};

// Iterates x of some right-hand sides from 0. Each has its own directions, and leaves when its form is accurate enough.
class FormIteration {
 public:
  FormIteration(Operator* matrix, Preconditioner* preconditioner, const Limits& limits, const Poll& poll,
                Accuracy* accuracy, Forms* forms)
      : matrix_(matrix),
        preconditioner_(preconditioner),
        limits_(limits),
        poll_(poll),
        accuracy_(accuracy),
        forms_(forms) {}

  // Adds the solutions for the columns of r to the columns `places` of x. Returns false if a direction has d'Ad <= 0.
  bool run(Columns r, const std::vector<Index>& places, Columns* x) {
    r_ = std::move(r);
    active_ = places;
    value_ = forms_->value;
    numbers_.assign(static_cast<std::size_t>(value_.size()), {});
    x_.make(r_.device(), r_.rows(), r_.cols());
    clear(&x_);
    precondition();
    d_ = z_;
    rz_ = dots(r_, z_, limits_.threads);
    bool definite = true;
    for (step_ = look_ = 1; definite && !active_.empty() && forms_->products < limits_.most; ++step_)
      definite = advance(x);
    keep({}, x);
    return definite;
  }

 private:
  void precondition() {
    if (preconditioner_) preconditioner_->inverse(r_, &z_);
    else z_ = r_;
  }

  bool advance(Columns* x) {
    poll_(0.0);
    matrix_->multiply(d_, &q_);
    ++forms_->products;
    const Row dq = dots(d_, q_, limits_.threads);
    if (!(dq > 0).all() || !rz_.isFinite().all()) return false;
    const Row alpha = rz_ / dq;
    add_multiple(&x_, d_, alpha, limits_.threads);
    add_multiple(&r_, q_, -alpha, limits_.threads);
    precondition();
    const Row next = dots(r_, z_, limits_.threads), gain = alpha * rz_, beta = next / rz_;
    follow(&d_, z_, beta, limits_.threads);
    rz_ = next;
    count(alpha, beta, gain, x);
    return true;
  }

  void count(const Row& alpha, const Row& beta, const Row& gain, Columns* x) {
    const bool looks = !accuracy_->knows_bound() && step_ == look_;
    if (looks) look_ += std::max(1, step_ / kLooks);
    std::vector<Index> stay;
    for (std::size_t at = 0; at < active_.size(); ++at) {
      const auto k = static_cast<Index>(at);
      const Index c = active_[at];
      Coefficients& numbers = numbers_[static_cast<std::size_t>(c)];
      numbers.step.push_back(alpha[k]);
      numbers.ratio.push_back(beta[k]);
      if (looks) accuracy_->take_ritz(c, smallest_value(tridiagonal(numbers)));
      value_[c] += gain[k];
      ++forms_->iterations[static_cast<std::size_t>(c)];
      if (!accuracy_->enough(c, value_[c], accuracy_->left(c, rz_[k]))) stay.push_back(k);
    }
    keep(stay, x);
  }

  // Keeps the columns in `stay`; adds the solutions of the other columns to x.
  void keep(const std::vector<Index>& stay, Columns* x) {
    if (stay.size() == active_.size()) return;
    std::vector<Index> still;
    Row rz(static_cast<Index>(stay.size()));
    auto next = stay.begin();
    for (std::size_t at = 0; at < active_.size(); ++at) {
      const auto k = static_cast<Index>(at);
      if (next == stay.end() || *next != k) {
        Columns sum = columns_of(*x, {active_[at]});
        add_multiple(&sum, columns_of(x_, {k}), 1.0, limits_.threads);
        put_column(sum, 0, x, active_[at]);
        continue;
      }
      rz[static_cast<Index>(still.size())] = rz_[k];
      still.push_back(active_[at]);
      ++next;
    }
    if (!stay.empty())
      for (Columns* one : {&x_, &r_, &d_}) *one = columns_of(*one, stay);
    active_ = still;
    rz_ = rz;
  }

  Operator* const matrix_;
  Preconditioner* const preconditioner_;
  const Limits limits_;
  const Poll& poll_;
  Accuracy* const accuracy_;
  Forms* const forms_;
  std::vector<Index> active_;
  std::vector<Coefficients> numbers_;
  Vector value_;
  int step_ = 1, look_ = 1;
  Columns x_, r_, z_, d_, q_;
  Row rz_;
};

// Restarts the iteration, each time for the last residual.
class RestartedForms {
 public:
  RestartedForms(Operator* matrix, Operator* quick, Preconditioner* preconditioner, const Block& b, const Vector& whole,
             double smallest, const Limits& limits, const Poll& poll)
      : matrix_(matrix),
        by_(quick ? quick : matrix),
        preconditioner_(preconditioner),
        limits_(limits),
        poll_(poll),
        accuracy_(whole, preconditioner ? preconditioner->smallest : smallest, limits.tolerance),
        b_(Columns(b).sent_to(matrix->home())) {
    forms_.value = Vector::Zero(b.cols());
    forms_.left = Vector::Constant(b.cols(), std::numeric_limits<double>::infinity());
    forms_.iterations.assign(static_cast<std::size_t>(b.cols()), 0);
    x_.make(b_.device(), b.rows(), b.cols());
    clear(&x_);
    for (Index c = 0; c < b.cols(); ++c) {
      if (b.col(c).squaredNorm() > 0) open_.push_back(c);
      else forms_.left[c] = 0;
    }
    r_ = b_;
  }

  Forms run() {
    while (!open_.empty() && forms_.products < limits_.most) {
      const bool definite = FormIteration(by_, preconditioner_, limits_, poll_, &accuracy_, &forms_)
                                .run(columns_of(r_, open_), open_, &x_);
      user_check(definite || by_ != matrix_, Fault::indefinite,
                 "the matrix is not positive definite, or not symmetric: a direction d has d'Ad <= 0");
      if (look() && definite) continue;
      if (by_ == matrix_) break;
      by_ = matrix_;
    }
    forms_.converged = open_.empty();
    return std::move(forms_);
  }

 private:
  // Computes the residuals of the solutions, and the forms from them. Returns false if a round was of little use.
  bool look() {
    matrix_->multiply(x_, &q_);
    ++forms_.products;
    r_ = b_;
    add_multiple(&r_, q_, -1.0, limits_.threads);
    const Row value = dots(b_, x_, limits_.threads) + dots(x_, r_, limits_.threads);
    if (preconditioner_) preconditioner_->inverse(r_, &q_);
    else q_ = r_;
    const Row rz = dots(r_, q_, limits_.threads);
    std::vector<Index> still;
    bool better = true;
    for (const Index c : open_) {
      const double left = accuracy_.left(c, rz[c]);
      forms_.value[c] = value[c];
      better = better && left <= kBetter * forms_.left[c];
      forms_.left[c] = left;
      if (!accuracy_.enough(c, value[c], left)) still.push_back(c);
    }
    open_ = still;
    return better;
  }

  Operator* const matrix_;
  Operator* by_;  // multiplies directions
  Preconditioner* const preconditioner_;
  const Limits limits_;
  const Poll& poll_;
  Accuracy accuracy_;
  Forms forms_;
  std::vector<Index> open_;
  Columns b_, x_, r_, q_;
};

}  // namespace

Forms inverse_forms(Operator* matrix, Operator* quick, Preconditioner* preconditioner, const Block& b,
                    const Vector& whole, double smallest, const Limits& limits, const Poll& poll) {
  internal_check(matrix->rows == b.rows() && whole.size() == b.cols(), "forms of ", matrix->rows, " rows with ",
                 b.rows(), " and ", whole.size());
  return RestartedForms(matrix, quick, preconditioner, b, whole, smallest, limits, poll).run();
}

}  // namespace kernweave::solve
