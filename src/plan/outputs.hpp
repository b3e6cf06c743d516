// Outputs while they are still formulas, the factors of their terms, and the rewrites that they go through.
#pragma once
#include <vector>
#include "expr/build.hpp"
#include "expr/node.hpp"
#include "plan/plan.hpp"

namespace kernweave {

// A null weight is the number 1.
struct OutputFormula {
  Red red;
  Expr value;
  Expr weight;
  Keep keep;
  int places;
  Finish finish{};
};

// A requirement of plan.hpp, still as formulas: it must hold for a form of the outputs to be chosen.
struct ConditionGuard {
  Expr x, y;  // the variables
  Expr factor;
  double least, most;
};

// Lists for each output the weight, if it has a weight, then the value, so that the value has just been computed.
inline std::vector<Expr> formulas_of(const std::vector<OutputFormula>& outputs) {
  std::vector<Expr> out;
  for (const OutputFormula& o : outputs) {
    if (o.weight) out.push_back(o.weight);
    out.push_back(o.value);
  }
  return out;
}

// Puts formulas, listed as by formulas_of(), back in their places after a pass.
inline void put_formulas(const std::vector<Expr>& formulas, std::vector<OutputFormula>* outputs) {
  std::size_t next = 0;
  for (OutputFormula& o : *outputs) {
    if (o.weight) o.weight = formulas[next++];
    o.value = formulas[next++];
  }
}

// --- contract.cpp --------------------------------------------------------------------------------------------------
// The contracted form of a plan: squared distances in exponents become inner products, and inner products in exponents
// get a condition under which tensor cores may compute them.

// Replaces |x - y|^2 by |x|^2 + |y|^2 - 2 <x, y> in exponents, in which an absolute error in the distance is a relative
// error of a term. Returns false if no distance is in an exponent, or a distance is elsewhere, too.
bool contract(const Precision& precision, std::vector<OutputFormula>* outputs, std::vector<ConditionGuard>* guards);

// Replaces distances of few components too, which saves work only if the inner product starts with the squares.
bool expand(const Precision& precision, std::vector<OutputFormula>* outputs, std::vector<ConditionGuard>* guards);

// --- existing ------------------------------------------------------------------------------------------------------
// Outputs over the pairs for which a formula is true.

// Returns the neutral element of a reduction: a term with this value changes no result.
double neutral_value(Red red);

// Returns the outputs with neutral terms for pairs that are not `allowed`.
std::vector<OutputFormula> where_allowed(const std::vector<OutputFormula>& outputs, Expr allowed);

// --- two steps -----------------------------------------------------------------------------------------------------
// Computes sums first, then multiplies by factors that vary along the kept axis alone. For softmax means of many
// columns, computes the logarithm L of the sum of exponentials first, then a sum with the shares exp(F - L) as values.

// Outputs in two steps: first `sums`, then `after`, which has one formula of each sum.
struct Pulled {
  SecondStep second;  // separable: no term varies along both axes, so each sum is computed once
  std::vector<OutputFormula> sums, after;
};

// Splits outputs into two steps; returns false if two steps save no work.
bool in_steps(const std::vector<OutputFormula>& outputs, Pulled* pulled);

// --- scale ---------------------------------------------------------------------------------------------------------
// The scaled form of a plan: the coefficient of a distance in an exponent moves into the points.

// Replaces 2^(-c |x - y|^2) by 2^-|s x - s y|^2, s = sqrt(c), and 2^(-c |x - y|) with s = c, if nothing else reads the
// distance: this saves a product a pair, and no exponent is positive. Returns false if there is no such power.
bool scale_points(const Precision& precision, std::vector<OutputFormula>* outputs, std::vector<ConditionGuard>* guards);

// --- factors -------------------------------------------------------------------------------------------------------
// The factors of a sum's terms, by the axes they vary along.

// The factors of an output that keeps one axis. Null: no factor.
struct Factors {
  Axes kept_axis, folded_axis;
  Expr once, kept, folded;
  std::vector<Expr> pairs;

  explicit Factors(const OutputFormula& o)
      : kept_axis(o.keep == Keep::i ? Axes::i() : Axes::j()), folded_axis(o.keep == Keep::i ? Axes::j() : Axes::i()) {
    take(o.value);
    if (o.weight) take(o.weight);
  }

  static void times(Expr* product, Expr f) { *product = *product ? *product * f : f; }

 private:
  void take(Expr product) {
    for (std::vector<Expr> open = {product}; !open.empty();) {
      const Expr f = open.back();
      open.pop_back();
      if (f->op == Op::Mult) {
        open.push_back(f.arg(1));
        open.push_back(f.arg(0));
      } else if (f->op == Op::Minus) {
        times(&once, f->pool->number(-1));
        open.push_back(f.arg(0));
      } else {
        const Axes axes = f->type.axes.pairs();
        if (axes == Axes::ij()) pairs.push_back(f);
        else times(axes.empty() ? &once : axes == kept_axis ? &kept : &folded, f);
      }
    }
  }
};

}  // namespace kernweave
