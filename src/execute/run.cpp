// A plan is run as it is, or in two steps: sums, then what comes after them.
#include "execute/run.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "device/kernel_cache.hpp"
#include "device/probe.hpp"
#include "execute/backends.hpp"
#include "execute/facts.hpp"
#include "execute/ordered.hpp"
#include "plan/output_groups.hpp"
#include "schedule/choose.hpp"

namespace kernweave {
namespace {

// Pairs of a call, of all those of its points.
double share_of(const ExistingPairs& pairs, const Sizes& sizes) {
  if (!pairs.map || sizes.places() == 0) return 1;
  const PairSpans& spans = pairs.along(true);
  internal_check(spans.rows == sizes.i && spans.columns == sizes.j, "pairs of ", spans.rows, " x ", spans.columns,
                 " points where there are ", sizes.i, " x ", sizes.j);
  return (spans.full_pairs() + spans.partial_pairs()) / sizes.places();
}

double factor_of(const Finish& finish, const Sizes& sizes) {
  if (!finish.per_i && !finish.per_j) return finish.sign;
  const double along_i = finish.per_i ? static_cast<double>(sizes.i) : 1.0;
  const double along_j = finish.per_j ? static_cast<double>(sizes.j) : 1.0;
  const double terms = along_i * along_j - finish.less;
  return terms > 0 ? finish.sign / terms : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

// --- one plan ---

Findings PlanRun::look() {
  centres_ = centres_for(plan, &data);
  Findings findings = findings_for(plan, sizes, centres_, boxes, &data);
  check_gathers(plan, sizes, findings.variables);
  return findings;
}

const Schedule& PlanRun::schedule(const std::string& device) {
  if (!decided_) take(choose(plan, sizes, look(), device, backends_for(device)));
  return chosen_;
}

std::vector<Schedule> PlanRun::candidates(const std::string& device) {
  return kernweave::candidates(plan, sizes, look(), device, backends_for(device));
}

void PlanRun::take(const Schedule& schedule) {
  chosen_ = schedule;
  executable_ = nullptr;
  decided_ = true;
}

const std::shared_ptr<Executable>& PlanRun::executable(Prepared* prepared, Host* host) {
  if (!executable_) {
    // A GPU that is there and cannot be used is worth a word.
    if (!chosen_.missed.empty() && device::gpu_is_here()) host->say("kernweave computes on the CPU: " + chosen_.missed);
    executable_ = prepared->executable(plan, chosen_);
  }
  return executable_;
}

Task PlanRun::task(const Settings& settings, Host* host, const std::vector<Result>& results) {
  if (!chosen_.backend->holds_data()) data.all_on_host();
  return {data.views(),
          centres_,
          results,
          settings.threads,
          settings.gpu_bytes,
          [host](double share) { host->poll(share); },
          [host] { host->collect(); },
          {}};
}

// --- all of a call ---

Execution::Execution(std::shared_ptr<Prepared> prepared, std::vector<OperandData> operands, const Known& known,
                     Settings settings, Host* host)
    : prepared_(std::move(prepared)),
      operands_(std::move(operands)),
      settings_(std::move(settings)),
      host_(host),
      sizes_(sizes_of(prepared_->plan, Data(prepared_->plan, operands_, host).views(), known)) {
  const Plan& plan = prepared_->plan;
  if (plan.pairs == Pairs::restricted) {
    internal_check(known.pairs.map != nullptr, "restricted pairs without a map");
    pairs_ = known.pairs;
    sizes_.share = share_of(pairs_, sizes_);
    if (pairs_.along(true).partial_pairs() > 0)
      partial_ = std::make_unique<PlanRun>(*plan.partial, sizes_, operands_, host);
  }
  if (!in_two_steps(plan, sizes_)) {
    first_ = std::make_unique<PlanRun>(plan, sizes_, operands_, host);
    allow_boxes();
    if (!pairs_.map) return;
    ordered_ = std::make_unique<Ordered>(pairs_, sizes_);
    keep_to_able_device();
    if (!ordered_->any()) return;
    ordered_->arrange(first_.get());
    if (partial_) ordered_->arrange(partial_.get());
    return;
  }
  const Stages& stages = *plan.stages;
  const std::vector<Output>& sums = stages.sums.variants.back().outputs;
  first_ = std::make_unique<PlanRun>(stages.sums, sizes_of_sums(stages, sizes_), operands_, host);
  sums_.resize(sums.size());
  for (std::size_t k = 0; k < sums.size(); ++k) {
    Sizes one = sizes_;
    (sums[k].keep == Keep::i ? one.j : one.i) = 1;
    after_.push_back(std::make_unique<PlanRun>(stages.after[k], one, operands_, host));
  }
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
      if (ordered_ && ordered_->any()) ordered_->arrange(run, v);
    }
    if (asks_of(run->plan, run->sizes, operand)) run->reconsider();
  };
  renew(first_.get());
  if (partial_) renew(partial_.get());
  for (const auto& after : after_) renew(after.get());
}

std::vector<Result> Execution::room_for_results(bool stays) {
  const std::vector<Output>& outputs = prepared_->plan.variants.back().outputs;
  std::vector<Result> results;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    results.push_back(host_->allocate(k, outputs[k], sizes_, stays));
    results.back().factor = factor_of(outputs[k].finish, sizes_);
  }
  return results;
}

void Execution::expect() {
  if (pairs_.map || !after_.empty()) return;
  first_->schedule(settings_.device);
  first_->executable(prepared_.get(), host_);
}

void Execution::run() {
  agree_on_device();
  first_->schedule(settings_.device);
  const bool stays = first_->stays() && !(ordered_ && ordered_->any());
  const std::vector<Result> results = room_for_results(stays);
  if (pairs_.map) return run_restricted(results);
  if (after_.empty()) first_->executable(prepared_.get(), host_)->run(first_->task(settings_, host_, results));
  else run_in_two_steps(stays, results);
  const std::string news = device::news_of_cache();
  if (!news.empty()) host_->say(news);
}

Execution::~Execution() = default;

// What a GPU cannot do of restricted pairs, the CPU does. Whether there is one, choose() finds out.
void Execution::keep_to_able_device() {
  const std::string& device = settings_.device;
  if (device == "cpu" || device == "reference") return;
  const Backend* gpu = nullptr;
  for (const Backend* backend : backends_for(device))
    if (device == "auto" ? backend->holds_data() : device == backend->name()) gpu = backend;
  // Code for a GPU counts row numbers.
  const auto counts = [&](const Plan& plan) {
    return ordered_->any() && std::any_of(plan.variables.begin(), plan.variables.end(),
                                          [](const Variable& v) { return v.source == Source::counter; });
  };
  const auto can = [&](const PlanRun* run) {
    return !run || (gpu && gpu->can(run->plan, run->plan.variants.back(), sizes_).yes && !counts(run->plan));
  };
  if (can(first_.get()) && can(partial_.get())) return;
  if (device != "auto") host_->say("kernweave computes on the CPU: a GPU does not take these restricted pairs");
  settings_.device = "cpu";
}

// The back end of the call, which partial spans must agree to.
void Execution::agree_on_device() {
  if (!partial_ || settings_.device == "cpu") return;
  const Backend& backend = *first_->schedule(settings_.device).backend;
  const Plan& plan = partial_->plan;
  if (backend.ready_for(plan, plan.variants.back(), sizes_).yes) return;
  settings_.device = "cpu";
  first_->reconsider();
}

// Boxes need full rectangles. With a condition on pairs, the masked plan runs over the enclosing rectangles, if both
// plans have the same precision.
void Execution::allow_boxes() {
  first_->boxes = !pairs_.map || pairs_.map->rectangles() ? settings_.boxes : Boxes::none;
  if (!partial_) return;
  const std::int64_t largest = std::max(sizes_.i, sizes_.j);
  const bool alike = in_float32(partial_->plan, largest) == in_float32(first_->plan, largest);
  const PairMap* const whole = pairs_.map->whole.get();
  partial_->boxes = whole && whole->rectangles() && alike ? settings_.boxes : Boxes::none;
}

// Values of pairs that do not exist are 0 where every pair has its own.
void Execution::run_restricted(const std::vector<Result>& results) {
  const std::vector<Output>& outputs = prepared_->plan.variants.back().outputs;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k].keep == Keep::both && results[k].values)
      std::fill_n(results[k].values, kept_rows(Keep::both, sizes_) * outputs[k].width * outputs[k].places, 0.0);
  const std::vector<Result> here = ordered_->any() ? ordered_->room(outputs, results) : results;
  Task task = first_->task(settings_, host_, here);
  task.restriction.pairs = pairs_;
  std::optional<Task> of_partial;
  bool done = false;
  if (partial_) {
    partial_->schedule(first_->schedule(settings_.device).backend->name());
    of_partial.emplace(partial_->task(settings_, host_, here));
    of_partial->restriction.pairs = {pairs_.map->whole, pairs_.swapped};
    task.restriction.partial = partial_->executable(prepared_.get(), host_);
    task.restriction.task = &*of_partial;
    done = task.restriction.partial->run_by_boxes(*of_partial);
  }
  if (!done) first_->executable(prepared_.get(), host_)->run(task);
  if (ordered_->any()) ordered_->put_back(outputs, results);
}

Grain Execution::grain() {
  first_->schedule(settings_.device);
  return after_.empty() ? first_->executable(prepared_.get(), host_)->grain() : Grain();
}

void Execution::run_blocks(const std::vector<Range>& rows, const std::vector<Range>& columns) {
  internal_check(grain().rows > 0, "a plan that is not cut into blocks");
  const std::vector<Result> results = room_for_results(false);
  Executable& executable = *first_->executable(prepared_.get(), host_);
  const Task task = first_->task(settings_, host_, results);
  if (columns.empty()) {
    const auto all = [&](bool plainly) {
      return std::all_of(rows.rbegin(), rows.rend(),
                         [&](const Range& r) { return executable.run_rows(task, r, plainly); });
    };
    if (!all(false)) all(true);
    return;
  }
  std::vector<std::unique_ptr<States>> found;
  for (const Range& r : rows)
    for (const Range& c : columns) found.push_back(executable.unpack(executable.run_block(task, r, c)->pack()));
  executable.finish(task, std::move(found));
}

// Sums of as many components as the output has are written where the output will be.
Result Execution::room_for_sum(std::size_t k, bool stays, const Result& result) {
  if (in_place(prepared_->plan, k)) {
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

void Execution::run_in_two_steps(bool stays, const std::vector<Result>& results) {
  std::vector<Result> sums;
  for (std::size_t k = 0; k < results.size(); ++k) sums.push_back(room_for_sum(k, stays, results[k]));
  first_->executable(prepared_.get(), host_)->run(first_->task(settings_, host_, sums));
  const std::vector<Output>& outputs = first_->plan.variants.back().outputs;
  const std::string device = stays ? first_->schedule(settings_.device).backend->name() : settings_.device;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    PlanRun& after = *after_[k];
    const View sum{sums[k].values, kept_rows(outputs[k].keep, first_->sizes), outputs[k].width, sums[k].values_stay};
    for (std::size_t v = 0; v < after.plan.variables.size(); ++v)
      if (after.plan.variables[v].operand >= Variable::kResults) after.data.put(v, sum);
    after.schedule(device);
    const std::vector<Result> result = {results[k]};
    after.executable(prepared_.get(), host_)->run(after.task(settings_, host_, result));
  }
}

Schedule Execution::schedule() {
  Schedule chosen = first_->schedule(settings_.device);
  if (!after_.empty())
    chosen.reason += prepared_->plan.stages->separable ? ", separable: each axis by itself"
                                                       : ", factors along the kept axis after the sum";
  if (partial_ && partial_->schedule(chosen.backend->name()).traversal.boxes != Boxes::none)
    chosen.reason += ", by boxes of points";
  chosen.sizes = sizes_;
  return chosen;
}

double Execution::working_bytes() {
  const Schedule& chosen = first_->schedule(settings_.device);
  const Variant& variant = first_->plan.variants[static_cast<std::size_t>(chosen.variant)];
  return chosen.backend->working_bytes(first_->plan, variant, chosen.sizes);
}

}  // namespace kernweave
