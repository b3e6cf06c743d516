// A plan is run as it is, or in two steps: sums, then what comes after them.
#include "r_run.hpp"

#include <chrono>
#include <functional>
#include <limits>

#include "border.hpp"
#include "device/probe.hpp"
#include "r_device.hpp"
#include "r_job.hpp"
#include "r_result.hpp"
#include "schedule/choose.hpp"
#include "schedule/cost.hpp"

namespace kernweave {
namespace {

// Looks for the user's interrupt; in an interactive session, says how far a long call has come.
class Progress {
 public:
  Progress() : start_(Clock::now()), next_(start_ + std::chrono::seconds(2)) {}
  ~Progress() {
    if (shown_) REprintf("\r%*s\r", kWidth, "");
  }

  void operator()(double share) {
    poll_interrupt();
    const Clock::time_point now = Clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(500);
    if (!interactive()) return;
    const double spent = std::chrono::duration<double>(now - start_).count();
    REprintf("\rkernweave: %3.0f %%, about %.0f s to go   ", 100 * share, share > 0 ? spent / share - spent : 0.0);
    shown_ = true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kWidth = 48;

  static bool interactive() { return Rcpp::as<bool>(Rcpp::Function("interactive")()); }

  const Clock::time_point start_;
  Clock::time_point next_;
  bool shown_ = false;
};

void collect() { Rcpp::Function("gc")(); }

// What stays the same for all steps of a call.
struct Call {
  Prepared* prepared;
  const Given& given;
  const std::string& device;
  int threads;
  std::function<void(double)> poll;
};

// A GPU that is there and cannot be used is worth one message a process.
void tell_once(const std::string& missed) {
  static bool told = false;
  if (missed.empty() || told || !device::gpu_is_here()) return;
  told = true;
  Rcpp::Function("message")("kernweave computes on the CPU: " + missed);
}

// A plan on its data, at sizes that are known.
struct Run {
  Run(const Plan& plan, const Sizes& sizes, Views views) : plan(plan), sizes(sizes), views(std::move(views)) {}

  Schedule schedule(const std::string& device) {
    centres = centres_for(plan, &views);
    const Findings findings = findings_for(plan, sizes, centres, &views);
    check_gathers(plan, sizes, findings.variables);
    return choose(plan, sizes, findings, device, backends_for(device));
  }

  void operator()(const Schedule& chosen, const Call& call, const std::vector<Result>& results) {
    tell_once(chosen.missed);
    if (!chosen.backend->holds_data()) views.all_on_host();
    std::unique_ptr<Memo>* memo = &call.prepared->memos[{&plan, chosen.backend}];
    chosen.backend->run({&plan, &chosen, views.all(), centres, results, call.threads, call.poll, collect, memo});
  }

  const Plan& plan;
  const Sizes sizes;
  Views views;
  std::vector<std::vector<double>> centres;
};

// Shall results stay on a device? Where the data of the call do, and what computes them holds data.
bool stay(const Run& run, const Schedule& chosen) { return chosen.backend->holds_data() && run.views.resident(); }

// R does not see how much memory of a device its vectors hold.
void collect_now_and_then(double bytes) {
  static double since = 0;
  since += bytes;
  if (since < kGpuBytesBetweenCollections) return;
  since = bytes;
  collect();
}

double factor_of(const Finish& finish, const Sizes& sizes) {
  if (!finish.per_i && !finish.per_j) return finish.sign;
  const double terms =
      (finish.per_i ? static_cast<double>(sizes.i) : 1.0) * (finish.per_j ? static_cast<double>(sizes.j) : 1.0) -
      finish.less;
  return terms > 0 ? finish.sign / terms : std::numeric_limits<double>::quiet_NaN();
}

class Buffers {
 public:
  Buffers(const Plan& plan, const Sizes& sizes, const Given& given, bool stay) : names_(names_of(plan, given)) {
    const std::vector<Output>& outputs = plan.variants.back().outputs;
    buffers_.reserve(outputs.size());
    for (const Output& o : outputs) {
      if (stay)
        collect_now_and_then(static_cast<double>(kept_rows(o.keep, sizes)) * o.width * o.places * sizeof(double));
      buffers_.emplace_back(o, sizes, names_, stay);
      all.push_back(buffers_.back().result());
      all.back().factor = factor_of(o.finish, sizes);
    }
  }
  Rcpp::List to_r() {
    Rcpp::List out(buffers_.size());
    for (std::size_t k = 0; k < buffers_.size(); ++k) out[k] = buffers_[k].to_r();
    return out;
  }
  std::vector<Result> all;

 private:
  const PointNames names_;
  std::vector<OutputBuffer> buffers_;
};

// Sums of the first step on their way to the second: those of as many components as the output has are written where
// the output will be.
struct Between {
  Between(const Plan& plan, const Sizes& of_sums, bool stay, const std::vector<Result>& results)
      : first(results), kept(results.size()), memory(results.size()) {
    const std::vector<Output>& sums = plan.stages->sums.variants.back().outputs;
    for (std::size_t k = 0; k < sums.size(); ++k) {
      first[k].factor = 1;
      if (in_place(plan, k)) continue;
      first[k] = Result();
      if (stay) {
        first[k].values_stay = &kept[k];
        continue;
      }
      memory[k].resize(static_cast<std::size_t>(kept_rows(sums[k].keep, of_sums) * sums[k].width));
      first[k].values = memory[k].data();
    }
  }
  std::vector<Result> first;
  std::vector<Kept> kept;
  std::vector<std::vector<double>> memory;
};

Rcpp::List run_in_two_steps(const Sizes& sizes, const Call& call) {
  const Plan& plan = call.prepared->plan;
  const Stages& stages = *plan.stages;
  const Sizes of_sums = sizes_of_sums(stages, sizes);
  const std::vector<Output>& sums = stages.sums.variants.back().outputs;
  Run adds(stages.sums, of_sums, Views(stages.sums, call.given));
  const Schedule chosen = adds.schedule(call.device);
  const bool stays = stay(adds, chosen);
  Buffers results(plan, sizes, call.given, stays);
  const Between between(plan, of_sums, stays, results.all);
  adds(chosen, call, between.first);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    Sizes one = sizes;
    (sums[k].keep == Keep::i ? one.j : one.i) = 1;
    Run after(stages.after[k], one, Views(stages.after[k], call.given));
    const Result& sum = between.first[k];
    for (std::size_t v = 0; v < stages.after[k].variables.size(); ++v)
      if (stages.after[k].variables[v].operand >= Variable::kResults)
        after.views.put(v, {sum.values, kept_rows(sums[k].keep, of_sums), sums[k].width, sum.values_stay});
    after(after.schedule(stays ? chosen.backend->name() : call.device), call, {results.all[k]});
  }
  return results.to_r();
}

Rcpp::List run_at_once(const Sizes& sizes, Views views, const Call& call) {
  const Plan& plan = call.prepared->plan;
  Run run(plan, sizes, std::move(views));
  const Schedule chosen = run.schedule(call.device);
  Buffers results(plan, sizes, call.given, stay(run, chosen));
  run(chosen, call, results.all);
  return results.to_r();
}

}  // namespace

Rcpp::List run_plan(Prepared* prepared, const Given& given, const Rcpp::NumericVector& extents,
                    const std::string& device, int threads) {
  Views views(prepared->plan, given);
  const Sizes sizes = sizes_of(prepared->plan, views.all(), extents);
  Progress progress;
  const Call call{prepared, given, device, threads, std::ref(progress)};
  return in_two_steps(prepared->plan, sizes) ? run_in_two_steps(sizes, call)
                                             : run_at_once(sizes, std::move(views), call);
}

Schedule schedule_of(const Plan& plan, const Given& given, const Rcpp::NumericVector& extents,
                     const std::string& device, const Plan** ran, double* working_bytes) {
  const Sizes sizes = sizes_of(plan, Views(plan, given).all(), extents);
  const bool two = in_two_steps(plan, sizes);
  *ran = two ? &plan.stages->sums : &plan;
  Schedule chosen = Run(**ran, two ? sizes_of_sums(*plan.stages, sizes) : sizes, Views(**ran, given)).schedule(device);
  *working_bytes =
      chosen.backend->working_bytes(**ran, (*ran)->variants[static_cast<std::size_t>(chosen.variant)], chosen.sizes);
  if (two)
    chosen.reason +=
        plan.stages->separable ? ", separable: each axis by itself" : ", factors along the kept axis after the sum";
  chosen.sizes = sizes;
  return chosen;
}

}  // namespace kernweave
