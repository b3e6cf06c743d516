// Formulas that are made step by step, each step of the one before.
#pragma once
#include "expr/node.hpp"

namespace kernweave {

// All basis splines of a degree on knots in ascending order.
Expr b_spline(Expr knots, Expr x, int degree);

// The least cost of going through two series side by side, a step along one or both at a time, by squared differences;
// smoothed: of three ways it is not the least that counts but -gamma log(sum(exp(-cost / gamma))).
Expr soft_dtw(Expr x, Expr y, Expr gamma);

}  // namespace kernweave
