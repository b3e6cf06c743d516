// Directions of each column are its own; a column that has converged leaves the block. Where the matrix is multiplied
// on a device, a few numbers of each column and what preconditioners do at landmarks cross the bus.
#include "solve/conjugate_gradients.hpp"

#include "base/error.hpp"
#include "solve/restarted_iteration.hpp"

namespace kernweave::solve {
namespace {

class ColumnwiseConjugateGradients : public RestartedIteration {
 public:
  ColumnwiseConjugateGradients(Operator* matrix, Preconditioner* preconditioner, const Block& b, const Block& start,
                               const Limits& limits, const Poll& poll, const Satisfied& satisfied)
      : RestartedIteration(matrix, b, start, limits, poll, matrix->home()),
        preconditioner_(preconditioner),
        satisfied_(satisfied) {}

 private:
  void precondition(const Columns& x, Columns* y) {
    if (preconditioner_) preconditioner_->inverse(x, y);
    else *y = x;
  }

  void restart() override {
    forget_last_ratios();
    begin_directions();
    settle();
  }

  // A round that begins anew is a Lanczos process of its own: in the tridiagonal matrix nothing stands between the two.
  void forget_last_ratios() {
    for (const Index c : active_) {
      auto& ratios = out_.coefficients[static_cast<std::size_t>(c)].ratio;
      if (!ratios.empty()) ratios.back() = 0.0;
    }
  }

  void begin_directions() {
    precondition(r_, &z_);
    d_ = z_;
    rz_ = dots(r_, z_, limits_.threads);
  }

  bool enough() const override { return satisfied_ && satisfied_(out_); }
  bool busy() const override { return !active_.empty(); }

  void advance() override {
    product(d_, &q_);
    const Row dq = dots(d_, q_, limits_.threads);
    user_check((dq > 0).all() && rz_.isFinite().all(), Fault::indefinite,
               "the matrix is not positive definite, or not symmetric: a direction d has d'Ad <= 0");
    const Row alpha = rz_ / dq;
    add_multiple(&x_, d_, alpha, limits_.threads);
    add_multiple(&r_, q_, -alpha, limits_.threads);
    if (led_away()) {
      begin_directions();
      return record(alpha, Row::Zero(alpha.size()));
    }
    precondition(r_, &z_);
    const Row next = dots(r_, z_, limits_.threads), beta = next / rz_;
    follow(&d_, z_, beta, limits_.threads);
    rz_ = next;
    record(alpha, beta);
  }

  void record(const Row& alpha, const Row& beta) {
    for (std::size_t k = 0; k < active_.size(); ++k) {
      const auto c = static_cast<std::size_t>(active_[k]);
      ++out_.iterations[c];
      out_.coefficients[c].step.push_back(alpha[static_cast<Index>(k)]);
      out_.coefficients[c].ratio.push_back(beta[static_cast<Index>(k)]);
    }
  }

  // Columns that have come far enough leave the block.
  void settle() override {
    std::vector<Index> stay;
    for (std::size_t k = 0; k < active_.size(); ++k)
      if (sizes_[static_cast<Index>(k)] > goal_[active_[k]]) stay.push_back(static_cast<Index>(k));
    if (stay.size() == active_.size()) return;
    give_back();
    std::vector<Index> still;
    for (const Index k : stay) still.push_back(active_[static_cast<std::size_t>(k)]);
    active_ = still;
    for (Columns* one : {&x_, &r_, &d_}) *one = columns_of(*one, stay);
    Row rz(static_cast<Index>(stay.size())), best(rz.size());
    for (std::size_t k = 0; k < stay.size(); ++k) {
      rz[static_cast<Index>(k)] = rz_[stay[k]];
      best[static_cast<Index>(k)] = best_[stay[k]];
    }
    rz_ = rz;
    best_ = best;
  }

  Preconditioner* const preconditioner_;
  const Satisfied& satisfied_;
  Columns z_, d_, q_;
  Row rz_;
};

}  // namespace

Solution conjugate_gradients(Operator* matrix, Preconditioner* preconditioner, const Block& b, const Block& start,
                             const Limits& limits, const Poll& poll, const Satisfied& satisfied) {
  return ColumnwiseConjugateGradients(matrix, preconditioner, b, start, limits, poll, satisfied).run();
}

}  // namespace kernweave::solve
