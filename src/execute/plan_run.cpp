// Makes a decision, or takes a given one, which is first checked against plan, sizes and device.
#include "execute/plan_run.hpp"

#include "base/error.hpp"
#include "device/driver.hpp"
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

const std::shared_ptr<Executable>& PlanRun::executable(KeptPlan* kept, Host* host) {
  if (!executable_) {
    // Tells the user why a GPU of this machine is not used.
    if (!chosen_.missed.empty() && device::gpu_is_here()) host->say("kernweave computes on the CPU: " + chosen_.missed);
    executable_ = kept->executable(plan, chosen_.decision);
  }
  return executable_;
}

bool PlanRun::pays(KeptPlan* kept, Host* host, Task* task) {
  if (!may_go_by_boxes()) return false;
  task->by_boxes = executable(kept, host)->boxes_pay(*task);
  found_ = task->by_boxes ? Boxes::always : Boxes::none;
  return task->by_boxes;
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

// --- ordered -------------------------------------------------------------------------------------------------------
// Copies data in the order of points. Row numbers become data: the number of each point in the order of the data.

void Ordered::arrange(PlanRun* run, std::size_t k) {
  const Variable& v = run->plan.variables[k];
  const bool counts = v.source == Source::counter, pairwise = is_pairwise(v), along_i = v.axis == Axis::i;
  if (v.axis == Axis::param || (!counts && !run->plan.direct[k])) return;
  for (const GatherBound& bound : run->plan.gathers)
    user_check(
        bound.variable != static_cast<int>(k), Fault::unsupported, "`", v.name,
        "` is read point by point and by row numbers; of points in groups that are not sorted only one is built");
  if (!pairwise && order_of(along_i).empty()) return;
  View view = counts ? View() : run->data.on_host(k);
  user_check(!view.sparse(), Fault::unsupported, "the sparse matrix `", v.name,
             "` beside groups that are not sorted: sort points by group, or give a dense matrix");
  const bool swapped = v.axis == Axis::pair_swapped;
  if (counts) view.rows = along_i ? sizes_.i : sizes_.j, view.columns = 1;
  std::vector<double>& copy = copies_[{run, k}];
  const std::int64_t columns = view.columns * view.matrices();
  copy.resize(static_cast<std::size_t>(view.rows * columns));
  for (std::int64_t c = 0; c < columns; ++c) {
    const std::int64_t column = pairwise ? place(swapped, c) : c;
    for (std::int64_t r = 0; r < view.rows; ++r) {
      const std::int64_t row = place(pairwise ? !swapped : along_i, r);
      copy[static_cast<std::size_t>(r + c * view.rows)] =
          counts ? static_cast<double>(row + 1) : view.data[row + column * view.rows];
    }
  }
  view.data = copy.data();
  view.kept = nullptr;
  run->data.put(k, view);
}

std::vector<Result> Ordered::room(const std::vector<Output>& outputs, const std::vector<Result>& results) {
  rooms_.resize(outputs.size());
  std::vector<Result> here = results;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Output& o = outputs[k];
    const auto size = static_cast<std::size_t>(kept_rows(o.keep, sizes_) * o.width * o.places);
    if (here[k].values) {
      rooms_[k].values.assign(size, 0);
      here[k].values = rooms_[k].values.data();
    }
    if (here[k].numbers.any()) {
      rooms_[k].numbers.resize(size);
      here[k].numbers = {nullptr, rooms_[k].numbers.data(), 0};
    }
  }
  return here;
}

std::int64_t Ordered::place_of_row(Keep keep, std::int64_t row) const {
  switch (keep) {
    case Keep::i: return place(true, row);
    case Keep::j: return place(false, row);
    case Keep::none: return row;
    case Keep::both: return place(true, row % sizes_.i) + place(false, row / sizes_.i) * sizes_.i;
  }
  return row;
}

Index Ordered::place_of_number(Keep keep, Index number) const {
  if (number == 0) return 0;
  const std::int64_t at = number - 1;
  if (keep == Keep::i || keep == Keep::j) return place(keep == Keep::j, at) + 1;
  return place(true, at % sizes_.i) + place(false, at / sizes_.i) * sizes_.i + 1;
}

void Ordered::put_back(const std::vector<Output>& outputs, const std::vector<Result>& results,
                       const std::vector<ResultRows::OfOutput>* found) {
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Output& o = outputs[k];
    const std::int64_t rows = kept_rows(o.keep, sizes_), columns = o.width * o.places;
    const auto put = [&](std::int64_t row) {
      const std::int64_t to = place_of_row(o.keep, row);
      for (std::int64_t c = 0; c < columns; ++c) {
        const auto at = static_cast<std::size_t>(row + c * rows);
        if (results[k].values) results[k].values[to + c * rows] = rooms_[k].values[at];
        if (results[k].numbers.any())
          results[k].numbers.put(to + c * rows, place_of_number(o.keep, static_cast<Index>(rooms_[k].numbers[at])));
      }
    };
    // If both axes are kept, the rows are put column by column.
    const std::int64_t each = o.keep == Keep::both ? sizes_.i : rows;
    const ResultRows::OfOutput all{{0, each}}, &some = found ? (*found)[k] : all;
    for (std::int64_t before = 0; before < rows; before += each) {
      for (std::int64_t row : some.order) put(before + row);
      for (std::int64_t row = some.range.from; row < some.range.to && !some.ordered; ++row) put(before + row);
    }
  }
}

void Ordered::name(Keep keep, ResultRows::OfOutput* rows) const {
  const bool along_i = rows_along_i(keep);
  if (order_of(along_i).empty()) return;
  if (!rows->ordered)
    for (std::int64_t row = rows->range.from; row < rows->range.to; ++row) rows->order.push_back(row);
  rows->ordered = true;
  for (std::int64_t& row : rows->order) row = place(along_i, row);
}

}  // namespace kernweave
