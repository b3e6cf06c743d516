// Short sums that begin with what is added to them, which spares the addition.
#pragma once
#include <vector>
#include "cuda/pass.hpp"

namespace kernweave {
namespace cuda {

// What becomes of a step of a pass.
struct Beginning {
  const Ref* before = nullptr;  // of a fold: what it begins with
  const Ref* sum = nullptr;     // of an addition: the fold's result, which is the sum already
  const Step* first = nullptr;  // another one, which is to come right before it
  bool moved = false;           // is it such another one, that is to come earlier than it stands?
};

// By step.
std::vector<Beginning> beginnings_of(const Pass& pass);

}  // namespace cuda
}  // namespace kernweave
