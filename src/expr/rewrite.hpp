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

// `fired`, where given, collects the names of the rules in the order they fired.
std::vector<Expr> simplify(const std::vector<Expr>& formulas, std::vector<std::string>* fired = nullptr);

// Replaces formulas of numbers alone by their values; changes nothing else.
std::vector<Expr> with_numbers_folded(const std::vector<Expr>& formulas);

// --- rules.cpp -----------------------------------------------------------------------------------------------------
// The simplification rules, as data. The matcher is in rewrite.cpp and knows none of them.

// Letters in a rule: a b c d any formula;  s t one component;  p one component, the same for all i and j;
// u what is seen not to be negative;  w what is seen to be positive;  m n numbers;  k a whole attribute.
// A rule fires only if its right side has the very type of its left side and does no more work: less for
// every pair, or as much and less for every row, or as much and no more once.
struct Rule {
  const char* name;
  const char* from;
  const char* to;
  const char* exactness;  // exact: the same bits, but for the sign of 0;  rounding: up to rounding and overflow
  // A condition beyond types: empty, "a has k components", "m is negative", or "saves work" where as much would not do.
  const char* when;
};

const std::vector<Rule>& rules();

// --- normalise.cpp -------------------------------------------------------------------------------------------------
// Pushes the structural operations to the leaves and writes aliases out.

// Reduces formulas to rows other than ALIAS, variables, numbers, and gathers of variables.
std::vector<Expr> normalised(const std::vector<Expr>& formulas);

// Normalises a formula for derivatives: aliases that have an adjoint of their own are kept, too.
Expr normalised_for_derivatives(Expr f);

// The formula an alias stands for, one step: the result may hold aliases again.
Expr expanded_alias(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes);

// Checks that a graph is as the stages after settling may rely on: an internal failure, naming the node, if a formula
// holds anything but normalised rows of consistent type.
void check_normalised(const std::vector<Expr>& formulas);

// --- centres -------------------------------------------------------------------------------------------------------
// Data read relative to a centre: what only differences count of may be moved, and is then rounded less.

// The variable that is read, as it lies or by row numbers.
Expr variable_read(Expr reading);
// The operand relative to whose centre two readings may be: the one that comes first.
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

// Operations of which f(x + c, y + c) = f(x, y) get their arguments relative to a common centre.
std::vector<Expr> centre_differences(const std::vector<Expr>& formulas);

}  // namespace kernweave
