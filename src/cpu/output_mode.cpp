// Folded strip by strip unless values are asked for, or so many weights are that a product of matrices is faster.
#include "cpu/output_mode.hpp"

#include "schedule/cost.hpp"

namespace kernweave {
namespace {

using Mode = PassOutput::Mode;

// The step that makes the weights of a sum, if it is the difference of points along the two axes and nobody else reads
// it; else -1. Of other reductions the result's sign could not stand for the weight's.
int difference_of(const Variant& variant, const Output& output, const std::vector<bool>& needed,
                  const std::vector<int>& reads, Layout* layout, bool* turned) {
  if (output.red != Red::Sum || !is_slot(output.weight) || output.value.width > 1 || reads[output.weight.index] != 1)
    return -1;
  for (std::size_t s = 0; s < needed.size(); ++s) {
    const Step& step = variant.program.steps[s];
    if (!needed[s] || step.out != output.weight.index || step.op != Op::Subtract || step.region != Region::pair)
      continue;
    const Operand a = layout->operand(step.in[0], Region::pair), b = layout->operand(step.in[1], Region::pair);
    const Operand& vector = a.vector ? a : b;
    if (a.vector == b.vector || vector.space != Space::lane_panel) continue;
    *turned = !a.vector;
    return static_cast<int>(s);
  }
  return -1;
}

}  // namespace

bool is_multiplied(const Plan& plan, const Variant& variant, const Output& output, bool lanes_along_i) {
  const Ref& weight = output.weight;
  if (output.red != Red::Sum || output.keep == Keep::both || output.value.width > 1 || weight.width < kFewestMultiplied)
    return false;
  const Region region = lanes_along_i ? Region::column : Region::row;
  if (is_slot(weight)) return variant.program.slots[weight.index].region == region;
  return weight.from == Ref::From::variable && plan.variables[weight.index].axis == (lanes_along_i ? Axis::j : Axis::i);
}

bool is_weighed(const Variant& variant, const Output& output) {
  return output.weight.from != Ref::From::number || variant.program.numbers[output.weight.index] != 1.0;
}

std::vector<int> count_reads(const Variant& variant, const std::vector<bool>& needed,
                             const std::vector<PassOutput>& outputs) {
  std::vector<int> reads(variant.program.slots.size(), 0);
  const auto read = [&](const Ref& ref) {
    if (is_slot(ref)) ++reads[ref.index];
  };
  for (std::size_t s = 0; s < needed.size(); ++s)
    if (needed[s])
      for (const Ref& ref : variant.program.steps[s].in) read(ref);
  for (const PassOutput& o : outputs) {
    read(variant.outputs[o.number].value);
    read(variant.outputs[o.number].weight);
    if (o.difference < 0) continue;
    for (const Ref& ref : variant.program.steps[static_cast<std::size_t>(o.difference)].in) read(ref);
  }
  return reads;
}

void choose_output_modes(const Plan& plan, const Variant& variant, Layout* layout, std::vector<bool>* needed,
                         Pass* pass) {
  const std::vector<int> reads = count_reads(variant, *needed, pass->outputs);
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
    o.difference = difference_of(variant, output, *needed, reads, layout, &o.turned);
    if (o.difference >= 0) (*needed)[static_cast<std::size_t>(o.difference)] = false;
  }
}

}  // namespace kernweave
