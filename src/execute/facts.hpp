// Finds facts of the data before a schedule is chosen: centres, and the facts that conditions ask for.
#pragma once
#include <vector>
#include "execute/data.hpp"
#include "schedule/facts.hpp"

namespace kernweave {

// Fails with Fault::index if row numbers lie outside the data they point into.
Findings findings_for(const Plan& plan, const Sizes& sizes, Boxes boxes, Data* data);
// Checks row numbers alone, if all else is decided; growths_for() finds what boxes depend on.
void check_row_numbers(const Plan& plan, const Sizes& sizes, Data* data);
Growths growths_for(const Plan& plan, const Variant& variant, Data* data);

// Finds the middle of points that lie on a device alone, and how far they reach from it, before that is asked: answers
// wait for what the device has been given to do.
void find_middle_and_reach(const View& points);

// Tells whether the decisions depend on an operand's numbers.
bool asks_of(const Plan& plan, const Sizes& sizes, int operand);

}  // namespace kernweave
