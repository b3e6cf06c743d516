// Collects the factors, then multiplies each group, then the groups.
#include "expr/factor_order.hpp"

#include <array>

namespace kernweave {
namespace {

enum FactorGroup { kOnce, kAlongI, kAlongJ, kPairs, kGroups };

FactorGroup group_of(Expr f) {
  const Axes axes = f->type.axes.pairs();
  if (axes == Axes::ij()) return kPairs;
  if (axes == Axes::i()) return kAlongI;
  return axes == Axes::j() ? kAlongJ : kOnce;
}

class GroupedFactors {
 public:
  GroupedFactors(const std::function<bool(Expr)>& shared, const MakeNode& make) : shared_(shared), make_(make) {}

  // No recursion: a product may be as long as memory allows.
  void collect(Expr product) {
    std::vector<Expr> open = {product};
    while (!open.empty()) {
      const Expr f = open.back();
      open.pop_back();
      const bool inner = f == product || !shared_(f);
      if (f->op == Op::Mult && inner) {
        open.push_back(f.arg(1));
        open.push_back(f.arg(0));
      } else if (f->op == Op::Minus && inner) {
        number_ = -number_;
        open.push_back(f.arg(0));
      } else if (f->op == Op::Number) {
        number_ *= f->number;
      } else {
        Expr& group = (width(f) == 1 ? scalars_ : vectors_)[group_of(f)];
        group = times(group, f);
      }
    }
  }

  Expr product(Pool* pool) {
    if (number_ != 1 && number_ != -1) scalars_[kOnce] = times(pool->number(number_), scalars_[kOnce]);
    take_along(kAlongI);
    take_along(kAlongJ);
    Expr scalar = times(scalars_[kPairs], scalars_[kAlongJ]);
    scalar = times(scalar, scalars_[kAlongI]);
    // A parameter goes to what runs less often than the pairs, and there is none left: it stands alone.
    Expr all = times(scalars_[kOnce], scalar);
    for (const FactorGroup g : {kOnce, kAlongI, kAlongJ, kPairs}) all = times(all, vectors_[g]);
    if (!all) return pool->number(number_);
    return number_ == -1 ? make_(Op::Minus, {all}) : all;
  }

 private:
  Expr times(Expr a, Expr b) const {
    if (!a) return b;
    return b ? make_(Op::Mult, {a, b}) : a;
  }

  // Parameters, then numbers along an axis, are taken in where they run least often: by the vector along the
  // axis, where there is one, else by the other numbers along it.
  void take_along(FactorGroup axis) {
    if (scalars_[axis] && scalars_[kOnce]) {
      scalars_[axis] = times(scalars_[kOnce], scalars_[axis]);
      scalars_[kOnce] = Expr();
    }
    Expr& vector = vectors_[axis];
    if (vector && scalars_[kPairs] && scalars_[axis]) {
      vector = times(scalars_[axis], vector);
      scalars_[axis] = Expr();
    }
  }

  const std::function<bool(Expr)>& shared_;
  const MakeNode& make_;
  double number_ = 1;
  std::array<Expr, kGroups> scalars_, vectors_;
};

}  // namespace

Expr ordered_product(Expr product, const std::function<bool(Expr)>& shared, const MakeNode& make) {
  GroupedFactors factors(shared, make);
  factors.collect(product);
  return factors.product(product->pool);
}

}  // namespace kernweave
