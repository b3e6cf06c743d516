// b'A^-1 b is the sum over the iterations of conjugate gradients from 0 of step times squared residual, which are
// positive. What is missing is the same form of the residual, r'A^-1 r, and at most its square over the smallest
// eigenvalue.
#include "solve/inverse_forms.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "solve/quadrature.hpp"

namespace kernweave::solve {
namespace {

constexpr int kLooks = 8;            // an eighth of the iterations so far lies between looks at Ritz values
constexpr double kRounding = 1e-15;  // of the numbers that a difference is made of

class FormIteration {
 public:
  FormIteration(Operator* matrix, Preconditioner* preconditioner, const Block& b, const Vector& whole, double smallest,
                const Limits& limits, const Poll& poll)
      : matrix_(matrix),
        preconditioner_(preconditioner),
        whole_(whole),
        smallest_(preconditioner ? preconditioner->smallest : smallest),
        limits_(limits),
        poll_(poll),
        r_(Columns(b).sent_to(matrix->home())) {
    out_.value = Vector::Zero(b.cols());
    out_.left = Vector::Zero(b.cols());
    out_.iterations.assign(static_cast<std::size_t>(b.cols()), 0);
    numbers_.resize(static_cast<std::size_t>(b.cols()));
    lowest_ = Vector::Constant(b.cols(), smallest_);
    std::vector<Index> stay;
    for (Index c = 0; c < b.cols(); ++c) {
      active_.push_back(c);
      if (b.col(c).squaredNorm() > 0) stay.push_back(c);
    }
    precondition();
    d_ = z_;
    rz_ = dots(r_, z_, limits.threads);
    keep(stay);
  }

  Forms run() {
    for (step_ = 1; step_ <= limits_.most && !active_.empty(); ++step_) advance();
    out_.converged = active_.empty();
    return std::move(out_);
  }

 private:
  void precondition() {
    if (preconditioner_) preconditioner_->inverse(r_, &z_);
    else z_ = r_;
  }

  void advance() {
    poll_(0.0);
    matrix_->multiply(d_, &q_);
    ++out_.products;
    const Row dq = dots(d_, q_, limits_.threads);
    user_check((dq > 0).all() && rz_.isFinite().all(), Fault::indefinite,
               "the matrix is not positive definite, or not symmetric: a direction d has d'Ad <= 0");
    const Row alpha = rz_ / dq;
    add_multiple(&r_, q_, -alpha, limits_.threads);
    precondition();
    const Row next = dots(r_, z_, limits_.threads), gain = alpha * rz_, beta = next / rz_;
    follow(&d_, z_, beta, limits_.threads);
    rz_ = next;
    count(alpha, beta, gain);
  }

  void count(const Row& alpha, const Row& beta, const Row& gain) {
    const bool looks = smallest_ <= 0 && step_ == look_;
    if (looks) look_ += std::max(1, step_ / kLooks);
    std::vector<Index> stay;
    for (std::size_t at = 0; at < active_.size(); ++at) {
      const auto k = static_cast<Index>(at);
      const Index c = active_[at];
      Coefficients& numbers = numbers_[static_cast<std::size_t>(c)];
      numbers.step.push_back(alpha[k]);
      numbers.ratio.push_back(beta[k]);
      if (looks) lowest_[c] = smallest_value(tridiagonal(numbers));
      out_.value[c] += gain[k];
      ++out_.iterations[static_cast<std::size_t>(c)];
      out_.left[c] = std::max(rz_[k], 0.0) / lowest_[c];
      const double scale = whole_[c] + out_.value[c], rest = std::abs(whole_[c] - out_.value[c]);
      if (out_.left[c] > std::max(limits_.tolerance * rest, kRounding * scale)) stay.push_back(k);
    }
    keep(stay);
  }

  void keep(const std::vector<Index>& places) {
    if (places.size() == active_.size()) return;
    std::vector<Index> still;
    Row rz(static_cast<Index>(places.size()));
    for (std::size_t k = 0; k < places.size(); ++k) {
      still.push_back(active_[static_cast<std::size_t>(places[k])]);
      rz[static_cast<Index>(k)] = rz_[places[k]];
    }
    for (Columns* one : {&r_, &d_}) *one = columns_of(*one, places);
    active_ = still;
    rz_ = rz;
  }

  Operator* const matrix_;
  Preconditioner* const preconditioner_;
  const Vector& whole_;
  const double smallest_;
  const Limits limits_;
  const Poll& poll_;
  Forms out_;
  std::vector<Index> active_;
  std::vector<Coefficients> numbers_;
  Vector lowest_;  // the smallest eigenvalue for each column, or the smallest Ritz value
  int step_ = 1, look_ = 1;
  Columns r_, z_, d_, q_;
  Row rz_;
};

}  // namespace

Forms inverse_forms(Operator* matrix, Preconditioner* preconditioner, const Block& b, const Vector& whole,
                    double smallest, const Limits& limits, const Poll& poll) {
  internal_check(matrix->rows == b.rows() && whole.size() == b.cols(), "forms of ", matrix->rows, " rows with ",
                 b.rows(), " and ", whole.size());
  return FormIteration(matrix, preconditioner, b, whole, smallest, limits, poll).run();
}

}  // namespace kernweave::solve
