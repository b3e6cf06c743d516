// Runs a plan in one step, or in two: sums, then a formula of each sum.
#include "execute/run.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "device/nvrtc.hpp"
#include "plan/output_groups.hpp"
#include "schedule/choose.hpp"

namespace kernweave {
namespace {

// Returns the share of existing pairs among all pairs of points.
double share_of(const ExistingPairs& pairs, const Sizes& sizes) {
  if (!pairs.map || sizes.places() == 0) return 1;
  const PairSpans& spans = pairs.along(true);
  internal_check(spans.rows == sizes.i && spans.columns == sizes.j, "pairs of ", spans.rows, " x ", spans.columns,
                 " points where there are ", sizes.i, " x ", sizes.j);
  return (spans.full_pairs() + spans.partial_pairs()) / sizes.places();
}

const char* reason_of(SecondStep second) {
  switch (second) {
    case SecondStep::separable: return ", separable: each axis by itself";
    case SecondStep::pairs: return ", shares of a row after the sum of their exponentials";
    case SecondStep::factors: break;
  }
  return ", factors along the kept axis after the sum";
}

double factor_of(const Finish& finish, const Sizes& sizes) {
  if (!finish.per_i && !finish.per_j) return finish.sign;
  const double along_i = finish.per_i ? static_cast<double>(sizes.i) : 1.0;
  const double along_j = finish.per_j ? static_cast<double>(sizes.j) : 1.0;
  const double terms = along_i * along_j * static_cast<double>(sizes.folded_runs()) - finish.less;
  return terms > 0 ? finish.sign / terms : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Execution::Execution(std::shared_ptr<KeptPlan> kept, std::vector<OperandData> operands, const Known& known,
                     Settings settings, Host* host)
    : kept_(std::move(kept)),
      operands_(std::move(operands)),
      settings_(std::move(settings)),
      host_(host),
      sizes_(sizes_of(kept_->plan, operands_, Data(kept_->plan, operands_, host).views(), known)) {
  const Plan& plan = kept_->plan;
  sizes_.folded = settings_.folded;
  internal_check(sizes_.outer.size() >= static_cast<std::size_t>(sizes_.folded), "fewer outer axes than are folded");
  internal_check(sizes_.folded == 0 || plan.pairs == Pairs::all, "restricted pairs with outer axes that are folded");
  if (plan.pairs == Pairs::restricted) {
    internal_check(known.pairs.map != nullptr, "restricted pairs without a map");
    pairs_ = known.pairs;
    sizes_.share = share_of(pairs_, sizes_);
  }
  const bool on_one_device = pairs_.map || sizes_.folded > 0;
  if (on_one_device && settings_.device != "auto") settings_.device = backend_named(settings_.device).alone().name();
  set_out(in_two_steps(plan, sizes_) ? 2 : 1);
  if (!pairs_.map) return;
  if (pairs_.along(true).partial_pairs() > 0) partial_ = run_of_partial();
  ordered_ = std::make_unique<Ordered>(pairs_, sizes_);
  keep_to_able_device();
  if (!ordered()) return;
  ordered_->arrange(first_.get());
  if (partial_) ordered_->arrange(partial_.get());
}

// Makes the plan runs of one or two steps. Boxes need full rectangles of pairs.
void Execution::set_out(int steps) {
  after_.clear();
  sums_.clear();
  if (steps == 1) {
    const bool rectangles = !pairs_.map || pairs_.map->rectangles();
    first_ = std::make_unique<PlanRun>(kept_->plan, sizes_, operands_, host_,
                                       rectangles && sizes_.folded == 0 ? settings_.boxes : Boxes::none);
    return;
  }
  const Stages& stages = *kept_->plan.stages;
  const std::vector<Output>& sums = stages.sums.variants.back().outputs;
  first_ = std::make_unique<PlanRun>(stages.sums, sizes_of_sums(stages, sizes_), operands_, host_);
  sums_.resize(sums.size());
  for (std::size_t k = 0; k < sums.size(); ++k) {
    Sizes one = sizes_;
    if (stages.second != SecondStep::pairs) (sums[k].keep == Keep::i ? one.j : one.i) = 1;
    after_.push_back(std::make_unique<PlanRun>(stages.after[k], one, operands_, host_));
    put_sum(k, {});
  }
}

// Makes the plan run for restricted pairs with a condition. By boxes, the masked plan runs over the enclosing
// rectangles, if both plans have the same precision.
std::unique_ptr<PlanRun> Execution::run_of_partial() {
  const Plan& partial = *kept_->plan.partial;
  const std::int64_t largest = std::max(sizes_.i, sizes_.j);
  const bool alike = in_float32(partial, largest) == in_float32(kept_->plan, largest);
  const PairMap* const whole = pairs_.map->whole.get();
  return std::make_unique<PlanRun>(partial, sizes_, operands_, host_,
                                   whole && whole->rectangles() && alike ? settings_.boxes : Boxes::none);
}

void Execution::replace(int operand, const double* numbers, Kept* kept) {
  OperandData& given = operands_[static_cast<std::size_t>(operand)];
  given.view.data = numbers;
  given.view.kept = kept;
  const auto renew = [&](PlanRun* run) {
    for (std::size_t v = 0; v < run->plan.variables.size(); ++v) {
      const Variable& variable = run->plan.variables[v];
      if (!has_operand(variable) || variable.operand != operand) continue;
      View view = run->data.views()[v];
      view.data = numbers;
      view.kept = kept;
      run->data.put(v, view);
      if (ordered()) ordered_->arrange(run, v);
    }
    if (asks_of(run->plan, run->sizes, operand)) run->reconsider();
  };
  renew(first_.get());
  if (partial_) renew(partial_.get());
  for (const auto& after : after_) renew(after.get());
}

std::vector<Result> Execution::room_for_results(bool stays) {
  std::vector<Result> results;
  for (const Output& o : outputs()) {
    results.push_back(host_->allocate(results.size(), o, sizes_, stays));
    results.back().factor = factor_of(o.finish, sizes_);
  }
  return results;
}

std::vector<Result> Execution::results_of(std::int64_t run, std::vector<Result> results) const {
  if (sizes_.outer.empty()) return results;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Output& o = outputs()[k];
    const std::int64_t each = kept_rows(o.keep, sizes_) * o.width * o.places;
    Result& r = results[k];
    r.before = run % sizes_.kept_runs() * each;
    r.all = sizes_.kept_runs() * each;
    if (r.values) r.values += r.before;
    if (r.numbers.whole) r.numbers.whole += r.before;
    if (r.numbers.wide) r.numbers.wide += r.before;
  }
  return results;
}

void Execution::expect() {
  if (pairs_.map || !after_.empty() || sizes_.runs() == 0) return;
  first_->schedule(settings_.device);
  executable_of(first_.get());
}

void Execution::run() {
  const bool any = sizes_.runs() > 0;
  if (any) decide();
  const bool stays = any && first_->stays() && !ordered();
  const std::vector<Result> results = room_for_results(stays);
  if (any) compute(results, stays, nullptr);
  const std::string news = device::news_of_cache();
  if (!news.empty()) host_->say(news);
}

void Execution::compute(const std::vector<Result>& results, bool stays, ResultRows* block) {
  if (after_.empty())
    return for_all(results, block, [&](Executable& executable, const Tasks& tasks) { executable.run(tasks, block); });
  for (std::int64_t run = 0; run < sizes_.runs(); ++run)
    run_in_two_steps(run, stays, results_of(run, results), block);
}

Execution::Tasks Execution::tasks_of(PlanRun* plan, std::int64_t run, const std::vector<Result>& results) {
  Tasks tasks;
  tasks.push_back(plan->task(settings_, host_, results, run));
  return tasks;
}

void Execution::for_all(const std::vector<Result>& results, const ResultRows* block, const Compute& compute) {
  if (pairs_.map || first_->may_go_by_boxes()) return for_each(results, block, compute);
  Tasks tasks;
  for (std::int64_t run = 0; run < sizes_.runs(); ++run)
    tasks.push_back(first_->task(settings_, host_, results_of(run, results), run));
  compute(executable_of(first_.get()), tasks);
}

// Computes one run after the other. Partial spans have their own plan, which computes all pairs if it uses boxes.
void Execution::for_each(const std::vector<Result>& results, const ResultRows* block, const Compute& compute) {
  for (std::int64_t run = 0; run < sizes_.runs(); ++run) {
    const std::vector<Result> mine = results_of(run, results);
    const std::vector<Result> here = ordered() ? ordered_->room(outputs(), mine) : mine;
    if (pairs_.map) clear(here, block);
    Tasks whole = tasks_of(first_.get(), run, here), masked;
    Restriction& restriction = whole[0].restriction;
    restriction.pairs = pairs_;
    if (partial_) {
      masked = tasks_of(partial_.get(), run, here);
      masked[0].restriction.pairs = {pairs_.map->whole, pairs_.swapped};
      restriction.partial = partial_->executable(kept_.get(), host_);
      restriction.task = masked.data();
    }
    if (partial_ && partial_->pays(kept_.get(), host_, masked.data())) {
      compute(executable_of(partial_.get()), masked);
    } else {
      first_->pays(kept_.get(), host_, whole.data());
      compute(executable_of(first_.get()), whole);
    }
    if (ordered()) ordered_->put_back(outputs(), mine, block ? &block->found : nullptr);
  }
}

// Sets values of outputs that keep pairs to 0, for pairs that do not exist. A block of rows of a pair map may end after
// the rows that were asked for.
void Execution::clear(const std::vector<Result>& results, const ResultRows* block) {
  const Range rows =
      block ? Range{block->rows.from, std::min(block->rows.to + grain().rows, sizes_.i)} : Range{0, sizes_.i};
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Output& o = outputs()[k];
    if (o.keep != Keep::both || !results[k].values) continue;
    for (std::int64_t c = 0; c < sizes_.j * o.width * o.places; ++c)
      std::fill_n(results[k].values + rows.from + c * sizes_.i, rows.size(), 0.0);
  }
}

// Sets the device to the CPU if a GPU cannot compute the restricted pairs. choose() finds out whether there is a GPU.
void Execution::keep_to_able_device() {
  const std::string& device = settings_.device;
  if (device == "cpu" || device == "reference") return;
  const Backend& gpu = backend_named(device == "auto" ? "gpu" : device);
  // Code for a GPU computes row numbers, so points must be in the order of the data.
  const auto counts = [&](const Plan& plan) {
    return ordered() && std::any_of(plan.variables.begin(), plan.variables.end(),
                                    [](const Variable& v) { return v.source == Source::counter; });
  };
  const auto can = [&](const PlanRun* run) {
    return !run || (gpu.can(run->plan, run->plan.variants.back(), sizes_).yes && !counts(run->plan));
  };
  if (can(first_.get()) && can(partial_.get())) return;
  if (device != "auto") host_->say("kernweave computes on the CPU: a GPU does not take these restricted pairs");
  settings_.device = "cpu";
}

// Chooses the CPU if the back end of the call cannot compute partial spans.
void Execution::agree_on_device() {
  if (settings_.device == "cpu") return;
  first_->schedule(settings_.device);
  if (takes_partial(first_->backend())) return;
  settings_.device = "cpu";
  first_->reconsider();
}

bool Execution::takes_partial(const Backend& backend) const {
  return !partial_ || backend.ready_for(partial_->plan, partial_->plan.variants.back(), sizes_).yes;
}

// Lists the plans beside the first one. device_of_others() returns the device of the first plan for partial spans and
// for sums that stay on a device, else the device of the settings.
std::vector<PlanRun*> Execution::others() const {
  std::vector<PlanRun*> others;
  if (partial_) others.push_back(partial_.get());
  for (const auto& after : after_) others.push_back(after.get());
  return others;
}

std::string Execution::device_of_others(const Backend& first) const {
  return partial_ || (first.holds_data() && first_->data.resident()) ? first.name() : settings_.device;
}

// Takes one step instead of two if the back end computes a softmax with many weights in one pass.
void Execution::settle_steps() {
  if (settled_) return;
  settled_ = true;
  if (after_.empty() || kept_->plan.stages->second != SecondStep::pairs || !first_->backend().holds_data()) return;
  const Decision whole = PlanRun(kept_->plan, sizes_, operands_, host_).best(settings_.device).decision;
  if (backend_named(whole.backend).softens_at_once(kept_->plan, whole)) set_out(1);
}

// Chooses the schedules that are not chosen yet.
void Execution::decide() {
  agree_on_device();
  first_->schedule(settings_.device);
  settle_steps();
  first_->schedule(settings_.device);
  for (PlanRun* other : others()) other->schedule(device_of_others(first_->backend()));
}

// Returns the memory of a sum: the memory of the output, if both have the same number of components.
Result Execution::room_for_sum(std::size_t k, bool stays, const Result& result) {
  if (in_place(kept_->plan, k)) {
    Result sum = result;
    sum.factor = 1;
    return sum;
  }
  Result sum;
  if (stays) {
    sums_[k].kept = Kept();
    sum.values_stay = &sums_[k].kept;
    return sum;
  }
  const Output& output = first_->plan.variants.back().outputs[k];
  sums_[k].memory.resize(static_cast<std::size_t>(kept_rows(output.keep, first_->sizes) * output.width));
  sum.values = sums_[k].memory.data();
  return sum;
}

// Lets the second step read a sum.
void Execution::put_sum(std::size_t k, const Result& sum) {
  const Output& output = first_->plan.variants.back().outputs[k];
  PlanRun& after = *after_[k];
  const View view{sum.values, kept_rows(output.keep, first_->sizes), output.width, sum.values_stay};
  for (std::size_t v = 0; v < after.plan.variables.size(); ++v)
    if (after.plan.variables[v].operand >= Variable::kResults) after.data.put(v, view);
}

void Execution::run_in_two_steps(std::int64_t run, bool stays, const std::vector<Result>& results, ResultRows* block) {
  std::vector<Result> sums;
  for (std::size_t k = 0; k < results.size(); ++k) sums.push_back(room_for_sum(k, stays, results[k]));
  executable_of(first_.get()).run(tasks_of(first_.get(), run, sums), block);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    put_sum(k, sums[k]);
    run_after(k, tasks_of(after_[k].get(), run, {results[k]}), block);
  }
}

// Runs a second step, whose blocks have other borders: some of its rows have no sum, and their results are not used.
void Execution::run_after(std::size_t k, const Tasks& tasks, ResultRows* block) {
  Executable& executable = executable_of(after_[k].get());
  if (!block) return executable.run(tasks, nullptr);
  const Range& rows = block->found[k].range;
  if (!block->told || rows.size() == 0) return;
  const Grain grain = executable.grain();
  const std::int64_t end = (rows.to + grain.rows - 1) / grain.rows * grain.rows;
  ResultRows own{{rows.from / grain.rows * grain.rows, std::min(end, grain.all)}, block->plainly};
  executable.run(tasks, &own);
  block->told = block->told && own.told;
}

const Backend& Execution::backend() {
  decide();
  return first_->backend();
}

Schedule Execution::schedule() {
  decide();
  Schedule chosen = first_->schedule(settings_.device);
  chosen.decision = decision();
  if (!after_.empty()) chosen.reason += reason_of(kept_->plan.stages->second);
  if (partial_ && partial_->decision().loops.boxes != Boxes::none) chosen.reason += ", by boxes of points";
  return chosen;
}

Decision Execution::decision() {
  decide();
  Decision all = first_->decision();
  all.steps = after_.empty() ? 1 : 2;
  for (const PlanRun* other : others()) all.others.push_back(other->decision());
  return all;
}

std::vector<Schedule> Execution::candidates() {
  decide();
  std::vector<Schedule> all;
  const int usual = after_.empty() ? 1 : 2;
  for (const int steps : {usual, 3 - usual}) {
    if (steps == 2 && !may_be_two_steps(kept_->plan, sizes_)) continue;
    if (steps != usual) set_out(steps);
    for (Schedule& candidate : first_->candidates(settings_.device)) {
      Decision& decision = candidate.decision;
      const Backend& backend = backend_named(decision.backend);
      if (!takes_partial(backend)) continue;
      decision.steps = steps;
      for (PlanRun* other : others()) decision.others.push_back(other->best(device_of_others(backend)).decision);
      all.push_back(std::move(candidate));
    }
    if (steps != usual) set_out(usual);
  }
  return all;
}

void Execution::take(const Decision& decision) {
  settled_ = true;
  const bool two = decision.steps == 2;
  user_check(!two || may_be_two_steps(kept_->plan, sizes_), Fault::input,
             "a decision for two steps, of a formula that has one");
  if (two != !after_.empty()) set_out(decision.steps);
  const std::vector<PlanRun*> all = others();
  user_check(decision.others.size() == all.size(), Fault::input, "a decision of another formula, or for other pairs");
  Decision of_first = decision;
  of_first.steps = 1;
  of_first.others.clear();
  first_->take(of_first, settings_.device);
  for (std::size_t k = 0; k < all.size(); ++k)
    all[k]->take(decision.others[k], device_of_others(first_->backend()));
}

double Execution::working_bytes() {
  const Variant& variant = first_->plan.variants[static_cast<std::size_t>(decision().variant)];
  return first_->backend().working_bytes(first_->plan, variant, first_->sizes);
}

}  // namespace kernweave
