// Products and entries of a lazy matrix, by the executor. Right-hand sides and results are read and written in the
// solver's memory, on the host or on a device: nothing is copied if the plan is as wide as the block.
#include "solve/operator.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "execute/data.hpp"
#include "execute/host.hpp"
#include "schedule/backend.hpp"

namespace kernweave::solve {
namespace {

// The executor's host within a solver: it writes results to the solver's memory.
class EngineHost : public Host {
 public:
  explicit EngineHost(Poll poll) : poll_(std::move(poll)) {}

  void poll(double share) override { poll_(share); }

  // Copies numbers to the host once, since they are constant while a solver runs.
  const double* on_host(int operand) override {
    internal_check(operands, "numbers of a device where the host has none");
    const View& view = (*operands)[static_cast<std::size_t>(operand)].view;
    internal_check(view.kept && !view.kept->copies.empty(), "numbers that are nowhere");
    std::vector<double>& numbers = fetched_[operand];
    if (numbers.empty()) {
      numbers.resize(static_cast<std::size_t>(view.rows * view.columns));
      view.kept->copies.begin()->second->fetch(numbers.data(), numbers.size() * sizeof(double));
    }
    return numbers.data();
  }

  Result allocate(std::size_t, const Output&, const Sizes&, bool stays) override {
    internal_check(to || stays, "a result of a solver in another place than it expects");
    Result result;
    if (to) result.values = to;
    else result.values_stay = &stay;
    return result;
  }

  double* to = nullptr;  // null: on the device, in `stay`
  Kept stay;
  const std::vector<OperandData>* operands = nullptr;

 private:
  const Poll poll_;
  std::map<int, std::vector<double>> fetched_;
};

// Marks operands as resident on a device. Operands without a store for copies (`Kept`) get one of `copies`.
void make_resident(std::vector<OperandData>* operands, std::vector<std::unique_ptr<Kept>>* copies) {
  for (OperandData& operand : *operands) {
    operand.resident = true;
    if (operand.view.kept) continue;
    copies->push_back(std::make_unique<Kept>());
    operand.view.kept = copies->back().get();
  }
}

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
    if (rows == 0 || columns == 0) {  // no points: there is no memory to point at either
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
    if (!x.device() || x.device() != home() || !holder_) return Operator::multiply(x, y);
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
  // An execution and its host.
  struct BoundExecution {
    explicit BoundExecution(const Poll& poll) : host(poll) {}
    EngineHost host;
    std::vector<OperandData> operands;
    std::unique_ptr<Execution> execution;
  };

  Index results(Index count) const { return count * plans_.back().components; }

  // Returns the narrowest plan for at least `count` columns.
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

  // Copies numbers. Columns of padding keep old numbers: they are multiplied, too, but their results are not read.
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
    run->execution = std::make_unique<Execution>(plans_[k].kept, run->operands, known_, settings, &run->host);
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

  // Finds the device on which the widest plan runs, or null. The first of several devices keeps the columns, so that a
  // solver has the same bits on any number of devices; their products read and write the host's memory. A plan runs on
  // the host if decisions depend on the vector's numbers, if points are in another order, or if a matrix is sparse,
  // which has no copy.
  device::Device* looked_for() {
    const ProductPlan& plan = plans_.back();
    const auto sparse = [](const OperandData& operand) { return operand.view.sparse(); };
    if (rows == 0 || columns == 0 || settings_.device == "cpu") return nullptr;
    const ExistingPairs& pairs = known_.pairs;
    if (pairs.map && !(pairs.order(true).empty() && pairs.order(false).empty())) return nullptr;
    if (std::any_of(plan.operands.begin(), plan.operands.end(), sparse)) return nullptr;
    if (asks_of(plan.kept->plan, {rows, columns}, plan.vector)) return nullptr;
    const std::size_t last = plans_.size() - 1;
    const Backend &backend = there(last).execution->backend(), &one = backend.alone();
    if (!one.holds_data() || !columns_may_stay(one.holder())) return nullptr;
    if (backend.holds_data() || !pays(backend, last)) holder_ = one.name();
    if (!backend.holds_data() && holder_) there_[last].reset();
    // Blocks become narrower as columns converge, so that plans of all widths will run.
    for (std::size_t k = 0; k < plans_.size(); ++k) there(k).execution->expect();
    return &device::open(one.holder());
  }

  // Tells whether products are faster on several devices, which read and write the host's memory.
  bool pays(const Backend& several, std::size_t k) {
    const Plan& plan = plans_[k].kept->plan;
    const Decision decision = there_[k]->execution->decision();
    const Variant& variant = plan.variants[static_cast<std::size_t>(decision.variant)];
    return several.seconds(plan, variant, decision.sizes, Home::host) <
           several.alone().seconds(plan, variant, decision.sizes, Home::device);
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
  const char* holder_ = nullptr;  // the back end of one device that reads columns where they are
  device::Device* home_ = nullptr;
  Columns padded_gpu_;
};

}  // namespace

OperatorPointer engine_operator(Index rows, Index columns, std::vector<ProductPlan> plans, const Known& known,
                                const Settings& settings, Poll poll) {
  return std::make_unique<Engine>(rows, columns, std::move(plans), known, settings, std::move(poll));
}

// --- entries --------------------------------------------------------------------------------------------------------
// Each list of places needs its own run, since sizes differ.

namespace {

// The most pairs that the host computes if the data lie there: on a device, a kernel may have to be compiled first.
constexpr Index kFewPairs = 1 << 21;

View list_of(const RowIndices& places) { return {places.data(), static_cast<std::int64_t>(places.size()), 1}; }

// Returns the view of a column of places, on the host or on a device.
View list_of(const Columns& places) {
  return {places.device() ? nullptr : places.block().data(), places.size(), 1, places.kept()};
}

void put_places(const EntriesPlan& plan, const View& rows, const View& columns, std::vector<OperandData>* operands) {
  (*operands)[static_cast<std::size_t>(plan.rows)].view = rows;
  (*operands)[static_cast<std::size_t>(plan.columns)].view = columns;
}

}  // namespace

RowIndices all_places(Index n) {
  RowIndices places(static_cast<std::size_t>(n));
  for (Index k = 0; k < n; ++k) places[static_cast<std::size_t>(k)] = static_cast<double>(k + 1);
  return places;
}

std::vector<int> rows_at(const RowIndices& places) {
  std::vector<int> rows;
  for (const double place : places) rows.push_back(static_cast<int>(place) - 1);
  return rows;
}

Columns places_on(device::Device* device, const double* places, Index count, Index all) {
  Columns sent = Columns(Block(Eigen::Map<const Block>(places, count, 1))).sent_to(device);
  if (device) sent.kept()->range = ValueRange{1, static_cast<double>(all)};
  return sent;
}

void Entries::block(const RowIndices& rows, const RowIndices& columns, Block* out) {
  out->resize(static_cast<Index>(rows.size()), static_cast<Index>(columns.size()));
  run(&block_, list_of(rows), list_of(columns), out->data());
}

void Entries::block(const Columns& rows, const Columns& columns, Columns* out) {
  run_where_they_are(&block_, rows, columns, columns.size(), out);
}

void Entries::pairs(const Columns& rows, const Columns& columns, Columns* out) {
  run_where_they_are(&pairs_, rows, columns, 1, out);
}

void Entries::run_where_they_are(EntriesPlan* plan, const Columns& rows, const Columns& columns, Index width,
                                 Columns* out) {
  if (rows.device()) return run_gpu(plan, rows, columns, width, out);
  out->make(nullptr, rows.size(), width);
  run(plan, list_of(rows), list_of(columns), out->here()->data());
}

void Entries::run(EntriesPlan* plan, const View& rows, const View& columns, double* out) {
  if (rows.rows == 0 || columns.rows == 0) return;
  const auto there = [](const OperandData& operand) { return operand.view.data == nullptr; };
  const bool few = rows.rows * columns.rows <= kFewPairs &&
                   std::none_of(plan->operands.begin(), plan->operands.end(), there);
  put_places(*plan, rows, columns, &plan->operands);
  EngineHost host(poll_);
  host.to = out;
  host.operands = &plan->operands;
  Settings settings = settings_;
  if (few && settings.device != "reference") settings.device = "cpu";
  Execution(plan->kept, plan->operands, Known(), settings, &host).run();
}

void Entries::run_gpu(EntriesPlan* plan, const Columns& rows, const Columns& columns, Index width, Columns* out) {
  device::Device* const home = rows.device();
  *out = Columns();  // the old memory may serve the results
  if (plan->there.empty()) {
    plan->there = plan->operands;
    make_resident(&plan->there, &plan->copies);
  }
  put_places(*plan, list_of(rows), list_of(columns), &plan->there);
  EngineHost host(poll_);
  host.operands = &plan->there;
  Settings settings = settings_;
  if (settings.device != "auto") settings.device = std::to_string(home->number());  // this device alone
  Execution execution(plan->kept, plan->there, Known(), settings, &host);
  const Backend& backend = execution.backend();
  if (backend.holds_data() && backend.holder() == home->number()) {
    execution.run();
    *out = Columns(home, std::move(host.stay.copies.at(home->number())), rows.size(), width);
    return;
  }
  Block numbers(rows.size(), width);
  host.to = numbers.data();
  execution.run();
  *out = Columns(std::move(numbers)).sent_to(home);
}

}  // namespace kernweave::solve
