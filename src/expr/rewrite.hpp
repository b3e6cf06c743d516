// Rewrites of formulas: structural operations to the leaves, aliases, simplification rules, order of factors, centres,
// checks.
#pragma once
#include <array>
#include <string>
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// Estimates the cost of a formula: instructions for every pair, for every row or column, and once.
std::array<long long, 3> work_of(Expr formula);

// `fired`, if given, collects the names of the rules in the order they fired.
std::vector<Expr> simplify(const std::vector<Expr>& formulas, std::vector<std::string>* fired = nullptr);

// Replaces formulas of numbers alone by their values; changes nothing else.
std::vector<Expr> with_numbers_folded(const std::vector<Expr>& formulas);

// --- rules.cpp -----------------------------------------------------------------------------------------------------
// The simplification rules, as data. The matcher is in rewrite.cpp and knows none of them.

// Letters in a rule: a b c d any formula;  s t one component;  p one component, the same for all i and j;
// u a formula seen not to be negative;  w a formula seen to be positive;  m n numbers;  k a whole attribute.
// A rule fires only if its right side has the exact type of its left side and does no more work: less for
// every pair, or equal work for every pair and less for every row, or equal work for both and no more once.
struct Rule {
  const char* name;
  const char* from;
  const char* to;
  const char* exactness;  // exact: the same bits, but for the sign of 0;  rounding: up to rounding and overflow
  // A condition beyond types: empty, "a has k components", "m is negative", or "saves work": equal work will not do.
  const char* when;
};

const std::vector<Rule>& rules();

// --- normalise.cpp -------------------------------------------------------------------------------------------------
// Pushes the structural operations to the leaves and writes aliases out.

// Reduces formulas to rows other than ALIAS, variables, numbers, and gathers of variables.
std::vector<Expr> normalised(const std::vector<Expr>& formulas);

// Normalises a formula for derivatives: aliases that have an adjoint of their own are kept, too.
Expr normalised_for_derivatives(Expr f);

// Expands an alias by one step: the result may hold aliases again.
Expr expanded_alias(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes);

// Checks the properties of a graph that the stages after settling rely on: an internal failure, naming the node, if a
// formula holds anything but normalised rows of consistent type.
void check_normalised(const std::vector<Expr>& formulas);

// --- centres -------------------------------------------------------------------------------------------------------
// Data are read relative to a centre: data of which only differences count may be moved, and are then rounded less.

// Returns the variable of a reading, which is read directly or by row numbers.
Expr variable_read(Expr reading);
// Returns the operand relative to whose centre two readings may be: the first operand that has a middle.
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
// Tells whether f is an inner product of points along i with points along j, each maybe times a parameter.
bool is_inner_across(Expr f);

// Gives the arguments of operations with f(x + c, y + c) = f(x, y) a common centre.
std::vector<Expr> centre_differences(const std::vector<Expr>& formulas);

}  // namespace kernweave
