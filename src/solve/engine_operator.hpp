// A lazy tensor as an operator: each product is a run of a plan that was prepared once.
#pragma once
#include <functional>
#include <memory>
#include <vector>
#include "execute/run.hpp"
#include "solve/operator.hpp"

namespace kernweave::solve {

// A prepared sum over j of a formula times an operand of so many components, and its data. Where the formula has
// components, too, each of the operand's has as many results, side by side.
struct ProductPlan {
  Index width, components;
  std::shared_ptr<Prepared> prepared;
  std::vector<OperandData> operands;
  int vector;  // which of them is multiplied
};

// The callback of a solver to its caller, between products, and within products with the share that is done. Throws
// Interrupted to stop.
using Poll = std::function<void(double)>;

// Makes an operator of `plans`, by growing width. The narrowest plan with room for the columns runs. Columns beyond the
// widest plan wait for the next run.
OperatorPointer engine_operator(Index rows, Index columns, std::vector<ProductPlan> plans, const Known& known,
                                const Settings& settings, Poll poll);

}  // namespace kernweave::solve
