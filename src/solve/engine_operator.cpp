// Products by the executor. Right-hand sides and results lie where the solver has them, on the host or on a device:
// nothing is copied where the plan is as wide as the block.
#include "solve/operator.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "execute/data.hpp"
#include "schedule/backend.hpp"
#include "solve/engine_host.hpp"

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
        poll_(std::move(poll)),
        here_(plans_.size()),
        there_(plans_.size()) {
    internal_check(!plans_.empty(), "an operator without plans");
  }

  void times(const Block& x, Block* y) override {
    if (rows == 0 || columns == 0) {  // of no points; there is no memory to point at either
      y->setZero(rows, results(x.cols()));
      return;
    }
    y->resize(rows, results(x.cols()));
    const Index widest = plans_.back().width;
    for (Index from = 0; from < x.cols(); from += widest) some_columns(x, from, std::min(widest, x.cols() - from), y);
  }

  device::Device* home() override {
    if (!looked_) home_ = looked_for();
    looked_ = true;
    return home_;
  }

  void multiply(const Columns& x, Columns* y) override {
    if (!x.device() || x.device() != home()) return Operator::multiply(x, y);
    const Index widest = plans_.back().width;
    if (x.cols() <= widest) return some_columns_gpu(x, y);
    y->make(home_, rows, results(x.cols()));
    for (Index from = 0; from < x.cols(); from += widest) {
      Columns part;
      some_columns_gpu(columns_from(x, from, std::min(widest, x.cols() - from)), &part);
      for (Index c = 0; c < part.cols(); ++c) put_column(part, c, y, results(from) + c);
    }
  }

 private:
  // A plan on operands, and who it reports to.
  struct BoundExecution {
    explicit BoundExecution(const Poll& poll) : host(poll) {}
    EngineHost host;
    std::vector<OperandData> operands;
    std::unique_ptr<Execution> execution;
  };

  Index results(Index count) const { return count * plans_.back().components; }

  // The narrowest plan that has room for so many columns.
  std::size_t plan_for(Index count) const {
    const auto plan =
        std::find_if(plans_.begin(), plans_.end(), [&](const ProductPlan& p) { return p.width >= count; });
    return static_cast<std::size_t>(plan - plans_.begin());
  }

  void some_columns(const Block& x, Index from, Index count, Block* y) {
    const std::size_t k = plan_for(count);
    const Index width = plans_[k].width;
    const bool fits = width == count;
    if (!fits) {
      if (padded_x_.rows() != columns || padded_x_.cols() != width) padded_x_.setZero(columns, width);
      copy(x.col(from).data(), columns * count, padded_x_.data());
      padded_y_.resize(rows, results(width));
    }
    const double* const numbers = fits ? x.col(from).data() : padded_x_.data();
    BoundExecution& run = here(k, numbers);
    double* const to = y->col(results(from)).data();
    run.host.to = fits ? to : padded_y_.data();
    run.execution->replace(plans_[k].vector, numbers);
    run.execution->run();
    if (!fits) copy(padded_y_.data(), rows * results(count), to);
  }

  // Copies numbers. Columns of padding keep what they have: they are multiplied, too, but their results are not read.
  void copy(const double* from, Index numbers, double* to) const {
    each_piece(numbers, 1, allowed_threads(settings_.threads),
               [&](Index first, Index last, Index) { std::copy(from + first, from + last, to + first); });
  }

  BoundExecution& here(std::size_t k, const double* numbers) {
    if (!here_[k]) {
      here_[k] = std::make_unique<BoundExecution>(poll_);
      here_[k]->operands = plans_[k].operands;
      start(here_[k].get(), k, settings_, numbers);
    }
    return *here_[k];
  }

  void start(BoundExecution* run, std::size_t k, const Settings& settings, const double* numbers) {
    View& view = run->operands[static_cast<std::size_t>(plans_[k].vector)].view;
    view = View();
    view.data = numbers;
    view.rows = columns;
    view.columns = plans_[k].width;
    run->host.operands = &run->operands;
    run->execution = std::make_unique<Execution>(plans_[k].prepared, run->operands, known_, settings, &run->host);
  }

  // --- on a device ---

  // Returns the execution of plan k on the device. All executions share columns and data there, which are copied once.
  BoundExecution& there(std::size_t k) {
    if (there_[k]) return *there_[k];
    there_[k] = std::make_unique<BoundExecution>(poll_);
    there_[k]->operands = plans_[k].operands;
    make_resident(&there_[k]->operands, &copies_);
    Settings settings = settings_;
    if (holder_) settings.device = holder_;
    start(there_[k].get(), k, settings, nullptr);
    return *there_[k];
  }

  // Finds the device on which the schedule of the widest plan has its data, or null. The host is needed by a plan that
  // looks at the vector's numbers, by points in another order, and by a sparse matrix, which has no copy.
  device::Device* looked_for() {
    const ProductPlan& plan = plans_.back();
    const auto sparse = [](const OperandData& operand) { return operand.view.sparse(); };
    if (rows == 0 || columns == 0 || settings_.device == "cpu") return nullptr;
    const ExistingPairs& pairs = known_.pairs;
    if (pairs.map && !(pairs.order(true).empty() && pairs.order(false).empty())) return nullptr;
    if (std::any_of(plan.operands.begin(), plan.operands.end(), sparse)) return nullptr;
    if (asks_of(plan.prepared->plan, {rows, columns}, plan.vector)) return nullptr;
    const Backend& backend = there(plans_.size() - 1).execution->backend();
    if (!backend.holds_data() || !columns_may_stay(backend.holder())) return nullptr;
    holder_ = backend.name();
    // Columns that are done leave the others, so that each width will be asked for.
    for (std::size_t k = 0; k < plans_.size(); ++k) there(k).execution->expect();
    return &device::open(backend.holder());
  }

  void some_columns_gpu(const Columns& x, Columns* y) {
    const std::size_t k = plan_for(x.cols());
    const Index width = plans_[k].width, count = x.cols();
    if (width != count) {
      if (padded_gpu_.cols() != width) {
        padded_gpu_.make(home_, columns, width);
        clear(&padded_gpu_);
      }
      for (Index c = 0; c < count; ++c) put_column(x, c, &padded_gpu_, c);
    }
    BoundExecution& run = there(k);
    run.host.stay = Kept();
    run.execution->replace(plans_[k].vector, nullptr, (width == count ? x : padded_gpu_).kept());
    run.execution->run();
    *y = Columns(home_, std::move(run.host.stay.copies.at(home_->number())), rows, results(count));
  }

  std::vector<ProductPlan> plans_;
  const Known known_;
  const Settings settings_;
  const Poll poll_;
  std::vector<std::unique_ptr<BoundExecution>> here_, there_;
  Block padded_x_, padded_y_;
  std::vector<std::unique_ptr<Kept>> copies_;
  bool looked_ = false;
  const char* holder_ = nullptr;
  device::Device* home_ = nullptr;
  Columns padded_gpu_;
};

}  // namespace

OperatorPointer engine_operator(Index rows, Index columns, std::vector<ProductPlan> plans, const Known& known,
                                const Settings& settings, Poll poll) {
  return std::make_unique<Engine>(rows, columns, std::move(plans), known, settings, std::move(poll));
}

}  // namespace kernweave::solve
