// Each column stops by itself and leaves the block. The recursive residual only proposes: at the end all residuals are
// recomputed, and columns that are not there yet start again from the true one.
#include "solve/conjugate_gradients.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "solve/long_columns.hpp"

namespace kernweave::solve {
namespace {

constexpr int kRecompute = 50;  // iterations between looks at the true residual
constexpr double kDrift = 10;   // how far the two may differ before the recursion starts again
constexpr int kStagnant = 200;  // iterations without a tenth of progress: residuals of smooth kernels rise for dozens
constexpr int kRounds = 5;      // starts from a true residual
constexpr int kAsk = 5;         // iterations between questions whether it is enough

Block columns_of(const Block& all, const std::vector<Index>& which) {
  Block out(all.rows(), static_cast<Index>(which.size()));
  for (std::size_t k = 0; k < which.size(); ++k) out.col(static_cast<Index>(k)) = all.col(which[k]);
  return out;
}

class Iteration {
 public:
  Iteration(Operator* matrix, Preconditioner* preconditioner, const Block& b, const Block& start, const Limits& limits,
            const Poll& poll, const Satisfied& satisfied)
      : matrix_(matrix), preconditioner_(preconditioner), b_(b), limits_(limits), poll_(poll), satisfied_(satisfied) {
    const auto n = static_cast<std::size_t>(b.cols());
    out_.x = start.size() ? start : Block(Block::Zero(b.rows(), b.cols()));
    out_.iterations.assign(n, 0);
    out_.coefficients.resize(n);
    out_.residual = Vector::Zero(b.cols());
    goal_ = norms(b, limits.threads) * limits.tolerance;
    from_zero_ = start.size() == 0;
  }

  Solution run() {
    std::vector<Index> open;
    for (Index c = 0; c < b_.cols(); ++c) open.push_back(c);
    bool first = true;
    for (int round = 0; round < kRounds && !open.empty(); ++round, first = false) {
      begin(open, first && from_zero_);
      while (!active_.empty() && out_.end == Solution::End::converged) {
        advance();
        if (satisfied_ && steps_ % kAsk == 0 && satisfied_(out_)) {
          give_back(active_);
          return std::move(out_);
        }
      }
      give_back(active_);
      open = check();
      if (out_.end != Solution::End::converged) break;
    }
    if (!open.empty() && out_.end == Solution::End::converged) out_.end = Solution::End::stagnant;
    if (open.empty()) out_.end = Solution::End::converged;
    return std::move(out_);
  }

 private:
  void product(const Block& x, Block* y) {
    poll_(0.0);
    matrix_->times(x, y);
    ++out_.products;
  }

  void precondition(const Block& x, Block* y) {
    if (preconditioner_) preconditioner_->inverse(x, y);
    else *y = x;
  }

  void begin(const std::vector<Index>& open, bool at_zero) {
    active_ = open;
    x_ = columns_of(out_.x, open);
    r_ = columns_of(b_, open);
    if (!at_zero) {
      product(x_, &q_);
      r_ -= q_;
    }
    restart();
    drop_done(norms(r_, limits_.threads));
  }

  void restart() {
    precondition(r_, &z_);
    d_ = z_;
    rz_ = dots(r_, z_, limits_.threads);
    best_ = norms(r_, limits_.threads);
    since_ = 0;
  }

  void advance() {
    product(d_, &q_);
    const Row dq = dots(d_, q_, limits_.threads);
    user_check((dq > 0).all() && rz_.isFinite().all(), Fault::indefinite,
               "the matrix is not positive definite, or not symmetric: a direction d has d'Ad <= 0");
    const Row alpha = rz_ / dq;
    add_multiple(&x_, d_, alpha, limits_.threads);
    add_multiple(&r_, q_, -alpha, limits_.threads);
    ++steps_;
    if (steps_ % kRecompute == 0) look_at_truth();
    precondition(r_, &z_);
    const Row next = dots(r_, z_, limits_.threads), beta = next / rz_;
    follow(&d_, z_, beta, limits_.threads);
    rz_ = next;
    record(alpha, beta);
    judge();
  }

  // Where rounding has led the recursion away, the residual is set right; directions then begin anew.
  void look_at_truth() {
    Block truth;
    product(x_, &truth);
    truth = columns_of(b_, active_) - truth;
    const Row now = norms(truth, limits_.threads), thought = norms(r_, limits_.threads);
    if ((now > kDrift * thought).any()) {
      r_ = truth;
      restart();
    }
  }

  void record(const Row& alpha, const Row& beta) {
    for (std::size_t k = 0; k < active_.size(); ++k) {
      const auto c = static_cast<std::size_t>(active_[k]);
      ++out_.iterations[c];
      out_.coefficients[c].step.push_back(alpha[static_cast<Index>(k)]);
      out_.coefficients[c].ratio.push_back(beta[static_cast<Index>(k)]);
    }
  }

  void judge() {
    const Row now = norms(r_, limits_.threads);
    out_.history.push_back(relative(now).maxCoeff());
    if ((now < 0.9 * best_).any()) {
      best_ = best_.min(now);
      since_ = 0;
    } else if (++since_ >= kStagnant) {
      out_.end = Solution::End::stagnant;
    }
    drop_done(now);
    if (!active_.empty() && steps_ >= limits_.most) out_.end = Solution::End::cap;
  }

  Row relative(const Row& residual) const {
    Row out(residual.size());
    for (Index k = 0; k < residual.size(); ++k) {
      const double goal = goal_[active_[static_cast<std::size_t>(k)]];
      out[k] = goal > 0 ? residual[k] / goal * limits_.tolerance : 0.0;
    }
    return out;
  }

  // Columns that have come far enough leave the block.
  void drop_done(const Row& now) {
    std::vector<Index> stay;
    for (std::size_t k = 0; k < active_.size(); ++k)
      if (now[static_cast<Index>(k)] > goal_[active_[k]]) stay.push_back(static_cast<Index>(k));
    if (stay.size() == active_.size()) return;
    give_back(active_);
    std::vector<Index> still;
    for (const Index k : stay) still.push_back(active_[static_cast<std::size_t>(k)]);
    active_ = still;
    for (Block* one : {&x_, &r_, &d_}) *one = columns_of(*one, stay);
    Row rz(static_cast<Index>(stay.size())), best(rz.size());
    for (std::size_t k = 0; k < stay.size(); ++k) {
      rz[static_cast<Index>(k)] = rz_[stay[k]];
      best[static_cast<Index>(k)] = best_[stay[k]];
    }
    rz_ = rz;
    best_ = best;
  }

  void give_back(const std::vector<Index>& which) {
    for (std::size_t k = 0; k < which.size(); ++k) out_.x.col(which[k]) = x_.col(static_cast<Index>(k));
  }

  // True residuals of all columns, and those that are not there.
  std::vector<Index> check() {
    product(out_.x, &q_);
    const Row left = norms(b_ - q_, limits_.threads), all = norms(b_, limits_.threads);
    std::vector<Index> open;
    for (Index c = 0; c < left.size(); ++c) {
      out_.residual[c] = all[c] > 0 ? left[c] / all[c] : 0.0;
      if (!(left[c] <= goal_[c])) open.push_back(c);
    }
    return open;
  }

  Operator* const matrix_;
  Preconditioner* const preconditioner_;
  const Block& b_;
  const Limits limits_;
  const Poll& poll_;
  const Satisfied& satisfied_;
  bool from_zero_;
  Solution out_;
  Row goal_;                   // residuals to be reached
  std::vector<Index> active_;  // columns that iterate
  Block x_, r_, z_, d_, q_;
  Row rz_, best_;
  int steps_ = 0, since_ = 0;
};

}  // namespace

Solution conjugate_gradients(Operator* matrix, Preconditioner* preconditioner, const Block& b, const Block& start,
                             const Limits& limits, const Poll& poll, const Satisfied& satisfied) {
  return Iteration(matrix, preconditioner, b, start, limits, poll, satisfied).run();
}

}  // namespace kernweave::solve
