// Chooses a schedule from a plan, sizes and facts.
#pragma once
#include <string>
#include <vector>
#include "schedule/backend.hpp"
#include "schedule/facts.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {

// Facts that the schedule asks for before it can choose: the range of row numbers, for gathers; the reach of points,
// for conditions.
struct Wanted {
  std::vector<bool> range, reach;  // by variable
};
Wanted wanted_facts(const Plan& plan, const Sizes& sizes);

// Tells whether there are enough pairs to consider boxes. `boxes`: the setting of the call.
bool boxes_are_worth_a_thought(Boxes boxes, const Sizes& sizes);

// Tells whether two steps are faster at these sizes: enough points are folded, the first step saves more than the
// second costs, and the sums need little memory.
bool in_two_steps(const Plan& plan, const Sizes& sizes);
bool may_be_two_steps(const Plan& plan, const Sizes& sizes);
// Tells whether the first step may write sum number k into the memory of its output.
bool in_place(const Plan& plan, std::size_t k);
// Returns the sizes of the first step.
Sizes sizes_of_sums(const Stages& stages, const Sizes& sizes);

// `device`: "auto" takes the fastest back end that can run the plan; a name takes that back end or fails with
// Fault::no_device or Fault::unsupported. Facts not wanted may be empty.
Schedule choose(const Plan& plan, const Sizes& sizes, const Findings& findings, const std::string& device,
                const std::vector<const Backend*>& backends);

// Lists all schedules that choose() could take, each with its other loops, ordered by estimated time.
std::vector<Schedule> candidates(const Plan& plan, const Sizes& sizes, const Findings& findings,
                                 const std::string& device, const std::vector<const Backend*>& backends);

// Fails with Fault::input if a decision is not for this plan at these sizes, and with Fault::no_device if the decision
// cannot be carried out here.
void check_decision(const Plan& plan, const Sizes& sizes, const Decision& decision, const std::string& device,
                    const std::vector<const Backend*>& backends);

// Fails with Fault::index if row numbers lie outside the data they point into.
void check_gathers(const Plan& plan, const Sizes& sizes, const std::vector<Facts>& facts);

}  // namespace kernweave
