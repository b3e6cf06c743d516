// A step waits for its only reader, if both run together and the reader takes one value from the strip or from memory.
#include "cpu/write_pass.hpp"

#include <algorithm>

#include "cpu/limits.hpp"
#include "plan/passes.hpp"

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

// --- output mode ---------------------------------------------------------------------------------------------------
// Folded strip by strip unless values are asked for, or so many weights are that a product of matrices is faster.

namespace {

using Mode = PassOutput::Mode;

// The step that makes the weights of a sum, if it is the difference of points along the two axes and nobody else reads
// it; else -1. Of other reductions the result's sign could not stand for the weight's.
int difference_of(const Variant& variant, const Output& output, const std::vector<int>& reads, Layout* layout,
                  bool* turned) {
  const Step* const step = variant.program.maker(output.weight);
  if (output.red != Red::Sum || !step || output.value.width > 1 || reads[output.weight.index] != 1) return -1;
  if (step->op != Op::Subtract || step->region != Region::pair) return -1;
  const Operand a = layout->operand(step->in[0], Region::pair), b = layout->operand(step->in[1], Region::pair);
  const Operand& vector = a.vector ? a : b;
  if (a.vector == b.vector || vector.space != Space::lane_panel) return -1;
  *turned = !a.vector;
  return variant.program.number(*step);
}

}  // namespace

bool is_multiplied(const Plan& plan, const Variant& variant, const Output& output, bool lanes_along_i) {
  const Ref& weight = output.weight;
  if (output.red != Red::Sum || output.keep == Keep::both || output.value.width > 1 || weight.width < kFewestMultiplied)
    return false;
  return region_read(weight, plan, variant.program) == (lanes_along_i ? Region::column : Region::row);
}

bool is_weighed(const Variant& variant, const Output& output) {
  return output.weight.from != Ref::From::number || variant.program.numbers[output.weight.index] != 1.0;
}

std::vector<int> count_reads(const Variant& variant, const std::vector<bool>& needed, const Pass& pass) {
  std::vector<bool> read = needed;
  std::vector<int> outputs;
  for (const PassOutput& o : pass.outputs) {
    outputs.push_back(o.number);
    if (o.difference >= 0) read[static_cast<std::size_t>(o.difference)] = true;
  }
  return count_reads(variant, read, outputs);
}

void choose_output_modes(const Plan& plan, const Variant& variant, Layout* layout, std::vector<bool>* needed,
                         Pass* pass) {
  const std::vector<int> reads = count_reads(variant, *needed, *pass);
  for (PassOutput& o : pass->outputs) {
    const Output& output = variant.outputs[o.number];
    if (output.keep == Keep::both) {
      o.mode = Mode::written;
      o.values = layout->written(output.value.width);
      if (is_weighed(variant, output)) o.weights = layout->written(output.weight.width);
      continue;
    }
    if (is_multiplied(plan, variant, output, pass->lanes_along_i)) {
      o.mode = Mode::multiplied;
      o.values = layout->written(1);
      o.weights =
          static_cast<int>(layout->operand(output.weight, Region::pair).offset / pass->stride(Space::sweep_panel));
      continue;
    }
    o.difference = difference_of(variant, output, reads, layout, &o.turned);
    // If spans are partial, their terms need the sign of the result: a turned difference cannot be used.
    if (plan.partial && o.turned) {
      o.difference = -1;
      o.turned = false;
    }
    if (o.difference >= 0) (*needed)[static_cast<std::size_t>(o.difference)] = false;
  }
}

}  // namespace kernweave
