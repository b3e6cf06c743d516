// What is found out about data before a schedule is chosen: centres, and the facts that conditions ask for.
#pragma once
#include <vector>
#include "execute/data.hpp"
#include "schedule/facts.hpp"

namespace kernweave {

// What is taken off the data of each variable that is read relative to a centre; empty: nothing.
std::vector<std::vector<double>> centres_for(const Plan& plan, Data* data);

Findings findings_for(const Plan& plan, const Sizes& sizes, const std::vector<std::vector<double>>& centres,
                      Boxes boxes, Data* data);

// Finds the middle of points that lie on a device alone, and how far they reach from it, before that is asked: answers
// wait for what the device has been given to do.
void find_middle_and_reach(const View& points);

// Does it matter to these which numbers an operand has?
bool asks_of(const Plan& plan, const Sizes& sizes, int operand);

}  // namespace kernweave
