// Restarted conjugate gradients, by columns or by blocks: rounds that start from true residuals, and when they end.
#pragma once
#include "solve/conjugate_gradients.hpp"

namespace kernweave::solve {

class RestartedIteration {
 public:
  RestartedIteration(const RestartedIteration&) = delete;
  RestartedIteration& operator=(const RestartedIteration&) = delete;
  virtual ~RestartedIteration() = default;

  Solution run();

 protected:
  // `home`: the device where the columns lie, or null for the host.
  RestartedIteration(Operator* matrix, const Block& b, const Block& start, const Limits& limits, const Poll& poll,
         device::Device* home);

  // Starts a round for the columns in active_, of which x_ are the solutions and r_ the true residuals.
  virtual void restart() = 0;
  virtual void advance() = 0;
  // Drops finished columns after a step.
  virtual void settle() {}
  // Tells whether the iteration may stop before residuals are small. Called every few iterations.
  virtual bool enough() const { return false; }
  // Tells whether the columns in active_ need more steps.
  virtual bool busy() const = 0;

  void product(const Columns& x, Columns* y);
  // Tells whether the recursive residual has drifted by rounding. If so, r_ is the true residual again, and directions
  // must be restarted.
  bool led_away();
  void give_back();

  Operator* const matrix_;
  const Columns b_;
  const Limits limits_;
  Solution out_;
  Row goal_;                   // residuals to be reached
  std::vector<Index> active_;  // columns that iterate
  Columns x_, r_;              // their solutions and residuals
  Row sizes_;                  // sizes of r_ at the last test
  Row best_;                   // the smallest residuals of the columns
  int since_ = 0;              // iterations without progress

 private:
  void begin(const std::vector<Index>& open, bool at_zero);
  void judge();
  double largest(const Row& residual) const;
  void note_left();
  std::vector<Index> check();
  Row energy(const Columns& x, const Columns& b, const Columns& residual) const;

  const Poll& poll_;
  const bool from_zero_;
  int steps_ = 0;
  Columns image_;
  Columns before_;  // solutions at the start of the round, their true residuals and energies
  Row size_before_, energy_before_;
  bool gained_ = true;  // has the round improved a column that has not converged?
};

}  // namespace kernweave::solve
