// Plan, sizes and facts to a schedule.
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

// Tells whether pairs suffice to consider boxes. `boxes`: the boxes that are wanted.
bool boxes_are_worth_a_thought(Boxes boxes, const Sizes& sizes);

// Tells whether a plan is better carried out in two steps at these sizes. The first step must leave something to be
// added up, spare more than the second step costs, and need little memory in between.
bool in_two_steps(const Plan& plan, const Sizes& sizes);
bool may_be_two_steps(const Plan& plan, const Sizes& sizes);
// May the first step write sum number k where its output will be?
bool in_place(const Plan& plan, std::size_t k);
// The sizes of the first step.
Sizes sizes_of_sums(const Stages& stages, const Sizes& sizes);

// `device`: "auto" takes the cheapest back end that can; a name takes that one or fails with
// Fault::no_device or Fault::unsupported. Facts not wanted may be empty.
Schedule choose(const Plan& plan, const Sizes& sizes, const Findings& findings, const std::string& device,
                const std::vector<const Backend*>& backends);

// All that choose() could have taken, and all loops of each, the fastest first as far as is known.
std::vector<Schedule> candidates(const Plan& plan, const Sizes& sizes, const Findings& findings,
                                 const std::string& device, const std::vector<const Backend*>& backends);

// Fails with Fault::input if a decision is not one of this plan at these sizes, with Fault::no_device if it cannot be
// carried out here.
void check_decision(const Plan& plan, const Sizes& sizes, const Decision& decision, const std::string& device,
                    const std::vector<const Backend*>& backends);

// Fails with Fault::index if row numbers lie outside the data they point into.
void check_gathers(const Plan& plan, const Sizes& sizes, const std::vector<Facts>& facts);

}  // namespace kernweave
