// Products by the executor. Right-hand sides and results lie where the solver has them: nothing is copied where the
// plan is as wide as the block.
#include "solve/engine_operator.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "solve/engine_host.hpp"
#include "solve/long_columns.hpp"

namespace kernweave::solve {
namespace {

class Engine : public Operator {
 public:
  Engine(Index rows, Index columns, std::vector<ProductPlan> plans, const Known& known, const Settings& settings,
         Poll poll)
      : Operator(rows, columns),
        plans_(std::move(plans)),
        known_(known),
        settings_(settings),
        target_(std::move(poll)) {
    internal_check(!plans_.empty(), "an operator without plans");
    runs_.resize(plans_.size());
  }

  void times(const Block& x, Block* y) override {
    if (rows == 0 || columns == 0) {  // of no points; there is no memory to point at either
      y->setZero(rows, x.cols());
      return;
    }
    y->resize(rows, x.cols());
    const Index widest = plans_.back().width;
    for (Index from = 0; from < x.cols(); from += widest) columns_of(x, from, std::min(widest, x.cols() - from), y);
  }

 private:
  void columns_of(const Block& x, Index from, Index count, Block* y) {
    const auto plan =
        std::find_if(plans_.begin(), plans_.end(), [&](const ProductPlan& p) { return p.width >= count; });
    const auto k = static_cast<std::size_t>(plan - plans_.begin());
    const bool fits = plan->width == count;
    if (!fits) {
      if (padded_x_.rows() != columns || padded_x_.cols() != plan->width) padded_x_.setZero(columns, plan->width);
      copy(x.col(from).data(), columns * count, padded_x_.data());
      padded_y_.resize(rows, plan->width);
    }
    target_.to = fits ? y->col(from).data() : padded_y_.data();
    multiply(k, fits ? x.col(from).data() : padded_x_.data());
    if (!fits) copy(padded_y_.data(), rows * count, y->col(from).data());
  }

  // What stands in columns beyond those copied is multiplied, too, and not looked at.
  void copy(const double* from, Index numbers, double* to) const {
    each_piece(numbers, 1, allowed_threads(settings_.threads),
               [&](Index first, Index last, Index) { std::copy(from + first, from + last, to + first); });
  }

  void multiply(std::size_t k, const double* vector) {
    ProductPlan& plan = plans_[k];
    if (runs_[k]) {
      runs_[k]->replace(plan.vector, vector);
    } else {
      View& view = plan.operands[static_cast<std::size_t>(plan.vector)].view;
      view = View();
      view.data = vector;
      view.rows = columns;
      view.columns = plan.width;
      runs_[k] = std::make_unique<Execution>(plan.prepared, plan.operands, known_, settings_, &target_);
    }
    runs_[k]->run();
  }

  std::vector<ProductPlan> plans_;
  const Known known_;
  const Settings settings_;
  EngineHost target_;
  std::vector<std::unique_ptr<Execution>> runs_;
  Block padded_x_, padded_y_;
};

}  // namespace

OperatorPointer engine_operator(Index rows, Index columns, std::vector<ProductPlan> plans, const Known& known,
                                const Settings& settings, Poll poll) {
  return std::make_unique<Engine>(rows, columns, std::move(plans), known, settings, std::move(poll));
}

}  // namespace kernweave::solve
