// The factors of a sum's terms, by the axes they vary along.
#pragma once
#include <vector>
#include "expr/build.hpp"
#include "plan/outputs.hpp"

namespace kernweave {

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
