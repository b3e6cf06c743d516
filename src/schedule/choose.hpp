// Plan, sizes and facts to a schedule.
#pragma once
#include <string>
#include <vector>
#include "schedule/backend.hpp"
#include "schedule/facts.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {

// What the schedule asks to know before it can choose: variables whose facts a condition or a gather needs.
std::vector<bool> wanted_facts(const Plan& plan);

bool holds(const Condition& condition, const Sizes& sizes, const std::vector<Facts>& facts);

// `device`: "auto" takes the cheapest back end that can; a name takes that one or fails with
// Fault::no_device or Fault::unsupported. Facts are in the order of plan.variables; those not
// wanted may be empty.
Schedule choose(const Plan& plan, const Sizes& sizes, const std::vector<Facts>& facts, const std::string& device,
                const std::vector<const Backend*>& backends);

// Fails with Fault::index if row numbers lie outside the data they point into.
void check_gathers(const Plan& plan, const Sizes& sizes, const std::vector<Facts>& facts);

}  // namespace kernweave
