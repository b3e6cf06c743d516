// Work counted from the costs of the tables' rows and from widths.
#include "schedule/cost.hpp"

#include <algorithm>

namespace kernweave {

double work_per_pair(const Variant& variant) {
  double work = 4;
  for (const Step& step : variant.program.steps) {
    if (home(variant.program, step) != Region::pair) continue;
    const int turns = step.group >= 0                   ? variant.program.groups[step.group].width
                      : row(step.op).form == Form::fold ? fold_width(step)
                                                        : step.width;
    work += turns * std::max(1, row(step.op).cost);
  }
  for (const Output& o : variant.outputs) work += 2 * o.width;
  return work;
}

double transfer_seconds(const Plan& plan, const Variant& variant, const Sizes& sizes) {
  const double points = static_cast<double>(sizes.i) + static_cast<double>(sizes.j);
  double numbers = 0;
  for (const Variable& v : plan.variables) numbers += v.width;
  for (const Output& o : variant.outputs) numbers += o.width * o.places;
  return points * numbers * sizeof(double) / kGpuBytesPerSecond;
}

}  // namespace kernweave
