// Counted from the rows' own costs.
#include "schedule/work.hpp"

#include <algorithm>

namespace kernweave {

double work_per_pair(const Variant& variant) {
  double work = 4;
  for (const Step& step : variant.program.steps) {
    if (home(variant.program, step) != Region::pair) continue;
    const int turns = step.group >= 0 ? variant.program.groups[step.group].width : row(step.op).form == Form::fold ? fold_width(step) : step.width;
    work += turns * std::max(1, row(step.op).cost);
  }
  for (const Output& o : variant.outputs) work += 2 * o.width;
  return work;
}

}  // namespace kernweave
