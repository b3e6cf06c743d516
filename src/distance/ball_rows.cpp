// The rows of ops.def on balls. What is no element-wise operation has no value there.
#include "distance/ball.hpp"
#include "expr/on_lane.hpp"
#include "expr/table.hpp"

namespace kernweave {
namespace distance {

BoundedFn bounded(Op op) {
  if (row(op).form == Form::elementwise) return on_lane<Ball>(op);
  return [](const Ball*) { return Ball::nowhere(); };
}

}  // namespace distance
}  // namespace kernweave
