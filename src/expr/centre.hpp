// Data read relative to a centre: what only differences count of may be moved, and is then rounded less.
#pragma once
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// A variable that holds numbers, as it lies or read by row numbers.
bool is_reading(Expr f);
// The variable that is read.
Expr variable_read(Expr reading);

// Two readings relative to the same centre, that of the one that comes first among the operands. False where they
// cannot be: both are parameters, or one counts.
bool have_common_centre(Expr a, Expr b);
int common_centre(Expr a, Expr b);
Expr centred(Expr reading, int centre);

// Tells whether f is the same for all pairs.
bool is_parameter(Expr f);
// Points, maybe times a parameter.
struct ScaledPoints {
  Expr reading;
  Expr scale;  // null: 1
};
ScaledPoints side_of(Expr f);

// Tells whether f is a squared distance between points along i and points along j which may be read relative to a
// common centre and are multiplied by the same parameter.
bool is_distance_across(Expr f);

// Operations of which f(x + c, y + c) = f(x, y) get their arguments relative to a common centre.
std::vector<Expr> centre_differences(const std::vector<Expr>& formulas);

}  // namespace kernweave
