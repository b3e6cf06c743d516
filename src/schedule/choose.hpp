// Plan, sizes and facts to a schedule.
#pragma once
#include <string>
#include <vector>
#include "schedule/backend.hpp"
#include "schedule/facts.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {

// What the schedule asks to know before it can choose: whose range a gather needs, whose reach a condition.
struct Wanted {
  std::vector<bool> range, reach;  // by variable
};
Wanted wanted_facts(const Plan& plan, const Sizes& sizes);

// Is a plan better carried out in two steps at these sizes? They must leave something to be added up, spare more than
// the second step costs, and need little memory between.
bool in_two_steps(const Plan& plan, const Sizes& sizes);
// May sum number k be written where its output will be?
bool in_place(const Plan& plan, std::size_t k);
// Of the first step.
Sizes sizes_of_sums(const Stages& stages, const Sizes& sizes);

// `device`: "auto" takes the cheapest back end that can; a name takes that one or fails with
// Fault::no_device or Fault::unsupported. Facts not wanted may be empty.
Schedule choose(const Plan& plan, const Sizes& sizes, const Findings& findings, const std::string& device,
                const std::vector<const Backend*>& backends);

// Fails with Fault::index if row numbers lie outside the data they point into.
void check_gathers(const Plan& plan, const Sizes& sizes, const std::vector<Facts>& facts);

}  // namespace kernweave
