// A plan is run as it is, or in two steps: sums, then what comes after them.
#include "r_run.hpp"

#include <chrono>
#include <functional>

#include "border.hpp"
#include "cuda/status.hpp"
#include "r_device.hpp"
#include "r_job.hpp"
#include "r_result.hpp"
#include "schedule/choose.hpp"

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

  static bool interactive() {
    return Rcpp::as<bool>(Rcpp::Function("interactive")());
  }

  const Clock::time_point start_;
  Clock::time_point next_;
  bool shown_ = false;
};

// What stays the same for all steps of a call.
struct Call {
  const Given& given;
  const std::string& device;
  int threads;
  std::function<void(double)> poll;
};

// A GPU that is there and cannot be used is worth one message a process.
void tell_once(const std::string& missed) {
  static bool told = false;
  if (missed.empty() || told || !cuda::gpu_is_here()) return;
  told = true;
  Rcpp::Function("message")("kernweave computes on the CPU: " + missed);
}

// A plan on its data, at sizes that are known.
struct Run {
  Run(const Plan& plan, const Given& given, const Sizes& sizes) : plan(plan), sizes(sizes), views(views_of(plan, given)) {}

  Schedule schedule(const std::string& device) {
    centres = centres_for(plan, views);
    const Findings findings = findings_for(plan, sizes, views, centres);
    check_gathers(plan, sizes, findings.variables);
    return choose(plan, sizes, findings, device, backends());
  }

  void operator()(const Call& call, const std::vector<Result>& results) {
    const Schedule chosen = schedule(call.device);
    tell_once(chosen.missed);
    const Task task{&plan, &chosen, views, centres, results, call.threads, call.poll};
    try {
      chosen.backend->run(task);
    } catch (const Failure& failure) {
      // What R has not collected yet may hold the memory of a device: once more, without it.
      if (failure.fault != Fault::memory) throw;
      Rcpp::Function("gc")();
      chosen.backend->run(task);
    }
  }

  const Plan& plan;
  const Sizes sizes;
  std::vector<View> views;
  std::vector<std::vector<double>> centres;
};

// Sums of as many components as the output has are written where the output will be.
void run_in_two_steps(const Plan& plan, const Sizes& sizes, const Call& call, const std::vector<Result>& results) {
  const Stages& stages = *plan.stages;
  const Sizes of_sums = sizes_of_sums(stages, sizes);
  const std::vector<Output>& sums = stages.sums.variants.back().outputs;
  std::vector<std::vector<double>> memory(sums.size());
  std::vector<Result> first = results;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    if (in_place(plan, k)) continue;
    memory[k].resize(static_cast<std::size_t>(kept_rows(sums[k].keep, of_sums) * sums[k].width));
    first[k].values = memory[k].data();
  }
  Run(stages.sums, call.given, of_sums)(call, first);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    Sizes one = sizes;
    (sums[k].keep == Keep::i ? one.j : one.i) = 1;
    Run after(stages.after[k], call.given, one);
    for (std::size_t v = 0; v < after.views.size(); ++v)
      if (stages.after[k].variables[v].operand >= Variable::kResults)
        after.views[v] = {first[k].values, kept_rows(sums[k].keep, of_sums), sums[k].width};
    after(call, {results[k]});
  }
}

}  // namespace

Rcpp::List run_plan(const Plan& plan, const Given& given, const Rcpp::NumericVector& extents, const std::string& device, int threads) {
  Run run(plan, given, sizes_of(plan, views_of(plan, given), extents));
  const std::vector<Output>& outputs = plan.variants.back().outputs;
  std::vector<OutputBuffer> buffers;
  std::vector<Result> results;
  buffers.reserve(outputs.size());
  for (const Output& o : outputs) {
    buffers.emplace_back(o, run.sizes);
    results.push_back(buffers.back().result());
  }
  Progress progress;
  const Call call{given, device, threads, std::ref(progress)};
  if (in_two_steps(plan, run.sizes)) run_in_two_steps(plan, run.sizes, call, results);
  else run(call, results);
  Rcpp::List out(buffers.size());
  for (std::size_t k = 0; k < buffers.size(); ++k) out[k] = buffers[k].to_r();
  return out;
}

Schedule schedule_of(const Plan& plan, const Given& given, const Rcpp::NumericVector& extents, const std::string& device, const Plan** ran) {
  const Sizes sizes = sizes_of(plan, views_of(plan, given), extents);
  const bool two = in_two_steps(plan, sizes);
  *ran = two ? &plan.stages->sums : &plan;
  Schedule chosen = Run(**ran, given, two ? sizes_of_sums(*plan.stages, sizes) : sizes).schedule(device);
  if (two) chosen.reason += plan.stages->separable ? ", separable: each axis by itself" : ", factors along the kept axis after the sum";
  chosen.sizes = sizes;
  return chosen;
}

}  // namespace kernweave
