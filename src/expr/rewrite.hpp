// Rewrites of formulas: structural operations to the leaves, aliases, simplification rules, order of factors, checks.
#pragma once
#include <array>
#include <functional>
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

// --- check ---------------------------------------------------------------------------------------------------------
// Checks that a graph is as the stages after settling may rely on.

// An internal failure, naming the node, if a formula holds anything but normalised rows of consistent type.
void check_normalised(const std::vector<Expr>& formulas);

// --- factor order --------------------------------------------------------------------------------------------------
// Products, ordered by how often their factors run.

// Makes a node, simplified.
using MakeNode = std::function<Expr(Op, const std::vector<Expr>&)>;

// Regroups the factors of a product: numbers, parameters and factors that vary along one axis are multiplied among
// themselves first, numbers of one component before vectors. Signs come out as one sign. A product that is `shared` is
// left as a factor. The value is the same up to rounding.
Expr ordered_product(Expr product, const std::function<bool(Expr)>& shared, const MakeNode& make);

// --- alias.cpp -----------------------------------------------------------------------------------------------------
// The ALIAS rows: what each stands for.

// The formula an alias stands for, one step: the result may hold aliases again.
Expr expanded_alias(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes);

// --- long_formulas.cpp ---------------------------------------------------------------------------------------------
// Formulas that are made step by step, each step of the one before.

// All basis splines of a degree on knots in ascending order.
Expr b_spline(Expr knots, Expr x, int degree);

// The least cost of going through two series side by side, a step along one or both at a time, by squared differences;
// smoothed: of three ways it is not the least that counts but -gamma log(sum(exp(-cost / gamma))).
Expr soft_dtw(Expr x, Expr y, Expr gamma);

}  // namespace kernweave
