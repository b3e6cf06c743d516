// The rows of ops.def on discs. What is no element-wise operation has no value there.
#include "distance/disc.hpp"
#include "expr/on_lane.hpp"
#include "expr/table.hpp"

namespace kernweave {
namespace distance {

BoundedFn bounded(Op op) {
  if (row(op).form == Form::elementwise) return on_lane<Disc>(op);
  return [](const Disc*) { return Disc::nowhere(); };
}

}  // namespace distance
}  // namespace kernweave
