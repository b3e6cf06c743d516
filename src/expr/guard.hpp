// Guards: the tests under which a cotangent flows back.
#pragma once
#include <map>
#include <tuple>
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// A flow back into a formula, and the guard of its place. Elsewhere the flow is 0, whatever `amount` is there.
struct Flow {
  Expr amount;  // null: nothing
  int guard = 0;
};

// The cotangent of `lazy_if(test, a, b)` flows back to `a` only where the test is true. Behind `a`, slopes may be
// infinite or NaN where it does not flow, and 0 times infinity or NaN is not 0. So the cotangent goes on unchanged
// beside its guard, a chain of tests, and is set to 0 elsewhere after all multiplications.
class Guards {
 public:
  static constexpr int kAlways = 0;

  // Returns the flow without its outermost selections: the guard tells where the flow is 0.
  Flow peeled(Flow flow);
  // Returns the flow as wide as its formula: summed, or repeated, where broadcasting widened or narrowed the formula.
  Flow fitted(Flow flow, int wanted);
  Flow sum(const Flow& a, const Flow& b);

  // Returns the flow as one formula: 0 where the guard, up to the outer guard `within`, is false.
  Expr selected(const Flow& flow, int within = kAlways) const;

  // Tells whether a flow into this formula is selected here.
  static bool ends_at(Expr f);

  bool is_wide(int guard) const { return at(guard).width > 1; }
  // Returns the nearest guard, this one or one around it, that is one test for all components.
  int narrow(int guard) const;
  // Returns the tests of a guard, up to the outer guard `within`, as one logical formula.
  Expr test_of(int guard, int within) const;
  // Returns the guard of a test inside another guard.
  int inside(int guard, Expr test, bool when);

 private:
  struct Guard {
    int outer;
    Expr test;
    bool when;  // true: flows where the test is true
    int width;  // of the widest test
    int depth;
  };
  const Guard& at(int guard) const { return guards_[static_cast<std::size_t>(guard)]; }
  int common(int a, int b) const;

  std::vector<Guard> guards_ = {{kAlways, Expr(), true, 1, 0}};
  std::map<std::tuple<int, const Node*, bool>, int> known_;
};

// Returns an adjoint, summed or repeated to as many components as its argument has.
Expr fitted(Expr f, int wanted);
// Returns whether any component of a logical formula holds.
Expr any_component(Expr test);

}  // namespace kernweave
