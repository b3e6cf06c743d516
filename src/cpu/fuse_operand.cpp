// A step waits for its only reader, if both run together and the reader takes one value from the strip or from memory.
#include "cpu/fuse_operand.hpp"

#include <algorithm>

namespace kernweave {
namespace {

bool takes(const Step& reader, const Step& step) {
  const bool together = reader.region == step.region && reader.group == step.group && reader.width == step.width;
  return together && (step.group >= 0 || step.width == 1) && row(reader.op).form == Form::elementwise &&
         reader.in.size() <= 2;
}

// Numbers come from elsewhere.
bool may_be_number(const Program& program, const Ref& ref) {
  return !is_slot(ref) ||
         (program.slots[ref.index].region != Region::pair && program.slots[ref.index].region != Region::component);
}

}  // namespace

std::vector<int> fused_into(const Program& program, const std::vector<bool>& needed, const std::vector<int>& reads) {
  std::vector<int> fused(program.slots.size(), -1);
  for (std::size_t s = 0; s < needed.size(); ++s) {
    const Step& step = program.steps[s];
    if (!needed[s] || (step.op != Op::Add && step.op != Op::Mult) || reads[step.out] != 1) continue;
    if (!may_be_number(program, step.in[0]) && !may_be_number(program, step.in[1])) continue;
    for (int reader : program.readers(step.out))
      if (needed[reader] && takes(program.steps[reader], step)) fused[step.out] = reader;
  }
  return fused;
}

std::vector<int> read_until(const Program& program, const std::vector<int>& fused) {
  std::vector<int> until(program.slots.size(), -1);
  for (const Step& step : program.steps)
    for (const Ref& ref : step.in)
      if (is_slot(ref)) until[ref.index] = std::max(until[ref.index], fused[step.out]);
  return until;
}

}  // namespace kernweave
