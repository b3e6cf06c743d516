// A decision is found, or told; a told one is held against plan, sizes and device first.
#include "execute/plan_run.hpp"

#include "base/error.hpp"
#include "device/driver.hpp"
#include "execute/data.hpp"
#include "schedule/choose.hpp"

namespace kernweave {

Schedule PlanRun::best(const std::string& device) {
  return choose(plan, sizes, findings_for(plan, sizes, boxes_, &data), device, backends_for(device));
}

const Schedule& PlanRun::schedule(const std::string& device) {
  if (!decided_) carry_out(best(device));
  return chosen_;
}

std::vector<Schedule> PlanRun::candidates(const std::string& device) {
  return kernweave::candidates(plan, sizes, findings_for(plan, sizes, boxes_, &data), device, backends_for(device));
}

void PlanRun::carry_out(Schedule schedule) {
  chosen_ = std::move(schedule);
  found_ = chosen_.decision.loops.boxes;
  executable_ = nullptr;
  decided_ = true;
}

void PlanRun::take(const Decision& decision, const std::string& device) {
  check_decision(plan, sizes, decision, device, backends_for(device));
  check_row_numbers(plan, sizes, &data);
  if (decision.loops.boxes != Boxes::none) {
    const Growths own = growths_for(plan, plan.variants[static_cast<std::size_t>(decision.variant)], &data);
    user_check(boxes_ != Boxes::none && verdict_of(own).yes && own == decision.growths, Fault::input,
               "a decision for boxes of points, which this formula or these pairs do not allow");
  }
  carry_out({decision, "as told", "", 0});
}

void PlanRun::settle(bool boxes) {
  Schedule settled = chosen_;
  Decision& d = settled.decision;
  d.loops.boxes = boxes ? Boxes::always : Boxes::none;
  if (!boxes) {
    d.growths.clear();
    settled.seconds = backend().seconds(plan, plan.variants[static_cast<std::size_t>(d.variant)], sizes, data.home());
  }
  carry_out(std::move(settled));
}

Decision PlanRun::decision() const {
  Decision decision = chosen_.decision;
  decision.loops.boxes = found_;
  if (found_ == Boxes::none) decision.growths.clear();
  return decision;
}

const std::shared_ptr<Executable>& PlanRun::executable(Prepared* prepared, Host* host) {
  if (!executable_) {
    // A GPU that is there and cannot be used is worth a word.
    if (!chosen_.missed.empty() && device::gpu_is_here()) host->say("kernweave computes on the CPU: " + chosen_.missed);
    executable_ = prepared->executable(plan, chosen_.decision);
  }
  return executable_;
}

void PlanRun::run(Prepared* prepared, Host* host, const std::vector<Task>& tasks) {
  if (chosen_.decision.loops.boxes == Boxes::none) return executable(prepared, host)->run_all(tasks);
  for (const Task& task : tasks)
    if (!run_by_boxes(prepared, host, task)) executable(prepared, host)->run(task);
}

bool PlanRun::run_by_boxes(Prepared* prepared, Host* host, const Task& task) {
  if (chosen_.decision.loops.boxes == Boxes::none) return false;
  const bool paid = executable(prepared, host)->run_by_boxes(task);
  found_ = paid ? Boxes::always : Boxes::none;
  return paid;
}

Task PlanRun::task(const Settings& settings, Host* host, std::vector<Result> results, std::int64_t run) {
  if (!backend().holds_data()) data.all_on_host();
  const auto before = static_cast<double>(run), runs = static_cast<double>(sizes.runs());
  return {data.views_at(sizes.outer, run),
          chosen_.decision.centres,
          std::move(results),
          settings.threads,
          settings.gpu_bytes,
          [host, before, runs](double share) { host->poll((before + share) / runs); },
          [host] { host->collect(); },
          {},
          sizes.kept_runs() > 0 ? run / sizes.kept_runs() * sizes.j : 0};
}

}  // namespace kernweave
