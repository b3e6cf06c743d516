// Restarts of an iteration. Residual replacement: at the end of a round all residuals are recomputed, and columns that
// have not converged start again from the true ones.
#include "solve/restarted_iteration.hpp"

#include <algorithm>
#include <cmath>

namespace kernweave::solve {
namespace {

constexpr int kRecompute = 50;  // iterations between looks at the true residual
constexpr double kDrift = 10;   // the most that true and recursive residuals may differ, as a ratio
constexpr int kStagnant = 200;  // iterations without a tenth of progress: residuals of smooth kernels rise for dozens
constexpr int kAsk = 5;         // iterations between calls of enough()
constexpr int kRounds = 5;      // starts from a true residual

}  // namespace

RestartedIteration::RestartedIteration(Operator* matrix, const Block& b, const Block& start, const Limits& limits,
                                       const Poll& poll, device::Device* home)
    : matrix_(matrix), b_(Columns(b).sent_to(home)), limits_(limits), poll_(poll), from_zero_(start.size() == 0) {
  const auto n = static_cast<std::size_t>(b.cols());
  if (start.size()) {
    out_.x = Columns(start).sent_to(home);
  } else {
    out_.x.make(home, b.rows(), b.cols());
    clear(&out_.x);
  }
  out_.iterations.assign(n, 0);
  out_.coefficients.resize(n);
  out_.residual = Vector::Zero(b.cols());
  size_before_ = energy_before_ = Row::Zero(b.cols());
  goal_ = norms(b_, limits.threads) * limits.tolerance;
}

Solution RestartedIteration::run() {
  std::vector<Index> open;
  for (Index c = 0; c < b_.cols(); ++c) open.push_back(c);
  bool first = true;
  for (int round = 0; round < kRounds && !open.empty(); ++round, first = false) {
    begin(open, first && from_zero_);
    while (busy() && out_.end == Solution::Ending::converged) {
      ++steps_;
      advance();
      judge();
      settle();
      if (busy() && steps_ >= limits_.most) out_.end = Solution::Ending::cap;
      if (steps_ % kAsk == 0 && enough()) {
        give_back();
        note_left();
        return std::move(out_);
      }
    }
    give_back();
    open = check();
    if (out_.end != Solution::Ending::converged || !gained_) break;
  }
  if (!open.empty() && out_.end == Solution::Ending::converged) out_.end = Solution::Ending::stagnant;
  if (open.empty()) out_.end = Solution::Ending::converged;
  return std::move(out_);
}

void RestartedIteration::product(const Columns& x, Columns* y) {
  poll_(0.0);
  matrix_->multiply(x, y);
  ++out_.products;
}

void RestartedIteration::begin(const std::vector<Index>& open, bool at_zero) {
  active_ = open;
  x_ = columns_of(out_.x, open);
  r_ = columns_of(b_, open);
  if (!at_zero) {
    product(x_, &image_);
    add_multiple(&r_, image_, -1.0, limits_.threads);
  }
  best_ = sizes_ = norms(r_, limits_.threads);
  before_ = out_.x;
  const Row energies = energy(x_, columns_of(b_, open), r_);
  for (std::size_t k = 0; k < open.size(); ++k) {
    size_before_[open[k]] = sizes_[static_cast<Index>(k)];
    energy_before_[open[k]] = energies[static_cast<Index>(k)];
  }
  since_ = 0;
  restart();
}

bool RestartedIteration::led_away() {
  if (steps_ % kRecompute) return false;
  product(x_, &image_);
  Columns truth = columns_of(b_, active_);
  add_multiple(&truth, image_, -1.0, limits_.threads);
  const Row now = norms(truth, limits_.threads);
  if (!(now > kDrift * norms(r_, limits_.threads)).any()) return false;
  r_ = std::move(truth);
  best_ = now;
  since_ = 0;
  return true;
}

// Notes the progress of columns, and ends the round if there is no progress.
void RestartedIteration::judge() {
  sizes_ = norms(r_, limits_.threads);
  out_.history.push_back(largest(sizes_));
  if ((sizes_ < 0.9 * best_).any()) {
    best_ = best_.min(sizes_);
    since_ = 0;
  } else if (++since_ >= kStagnant) {
    out_.end = Solution::Ending::stagnant;
  }
}

double RestartedIteration::largest(const Row& residual) const {
  double most = 0;
  for (Index k = 0; k < residual.size(); ++k) {
    const double goal = goal_[active_[static_cast<std::size_t>(k)]];
    if (goal > 0) most = std::max(most, residual[k] / goal * limits_.tolerance);
  }
  return most;
}

void RestartedIteration::give_back() {
  for (std::size_t k = 0; k < active_.size(); ++k) put_column(x_, static_cast<Index>(k), &out_.x, active_[k]);
}

void RestartedIteration::note_left() {
  out_.left = out_.x;
  clear(&out_.left);
  for (std::size_t k = 0; k < active_.size(); ++k) put_column(r_, static_cast<Index>(k), &out_.left, active_[k]);
}

// The objective of conjugate gradients, x'Ax - 2 b'x: it falls even while residuals rise.
Row RestartedIteration::energy(const Columns& x, const Columns& b, const Columns& residual) const {
  return -dots(x, b, limits_.threads) - dots(x, residual, limits_.threads);
}

// Computes true residuals of all columns; returns the columns that have not converged. Resets columns that the round
// has made worse, by rounding in an ill-conditioned preconditioner.
std::vector<Index> RestartedIteration::check() {
  product(out_.x, &image_);
  Columns residual = b_;
  add_multiple(&residual, image_, -1.0, limits_.threads);
  const Row left = norms(residual, limits_.threads), all = norms(b_, limits_.threads);
  const Row energies = energy(out_.x, b_, residual);
  std::vector<Index> open;
  gained_ = false;
  for (Index c = 0; c < left.size(); ++c) {
    const bool led_away = !(left[c] <= size_before_[c]) && !(energies[c] <= energy_before_[c]);
    if (led_away) put_column(before_, c, &out_.x, c);
    const double size = led_away ? size_before_[c] : left[c];
    out_.residual[c] = all[c] > 0 ? size / all[c] : 0.0;
    if (size <= goal_[c]) continue;
    open.push_back(c);
    gained_ = gained_ || !led_away;
  }
  return open;
}

}  // namespace kernweave::solve
