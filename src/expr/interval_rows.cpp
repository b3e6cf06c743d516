// The rows of ops.def on intervals.
#include "expr/interval.hpp"
#include "expr/on_lane.hpp"

namespace kernweave {

IntervalFn bounded(Op op) { return on_lane<Interval>(op); }

}  // namespace kernweave
