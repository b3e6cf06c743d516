// The programs of a pass: of points along each axis, and of pairs up to the states that take their values in.
#include "cpu/write_pass.hpp"

#include <algorithm>

#include "cpu/write_steps.hpp"
#include "plan/output_groups.hpp"

namespace kernweave {
namespace {

// The writer of the pairs' program, outputs included.
class PairWriter : public StepWriter {
 public:
  PairWriter(const Variant& variant, const std::vector<int>& fused, Layout* layout, Pass* pass, std::vector<int>* reads,
             std::vector<Instruction>* out)
      : StepWriter(variant.program, Region::pair, fused, layout, pass, reads, out), variant_(variant) {}

  void output(const PassOutput& o, const Output& output, const TileKernel& kernel) {
    const auto one = [&] {
      take_value(output.value);
      if (o.mode != PassOutput::Mode::folded) store(at_component(written(o.values, output.value.width)));
      else out_.push_back(fold_instruction(o, output, kernel));
    };
    if (output.value.width > 1) for_components(output.value.width, one);
    else one();
  }

  // Weights of pairs that are kept one by one stand beside their values.
  void weight_output(const PassOutput& o, const Output& output) {
    const auto one = [&] {
      take_value(output.weight);
      store(at_component(written(o.weights, output.weight.width)));
    };
    if (output.weight.width > 1) for_components(output.weight.width, one);
    else one();
  }

  // A fused loop, if there is one for these pairs, needs no more than where everything lies.
  void fuse(const PairChain& chain, const TileKernel& kernel, int fewest_of_screen) {
    std::vector<PassOutput> outputs = pass_.outputs;
    const auto slope = [](const PassOutput& o) { return o.difference >= 0; };
    std::stable_partition(outputs.begin(), outputs.end(), slope);
    for (const PassOutput& o : outputs)
      if (o.mode != PassOutput::Mode::folded || (!slope(o) && variant_.outputs[o.number].width > 1)) return;
    const FusedLoop* const loop = loop_for(chain, outputs, kernel.fused());
    if (!loop) return;
    const bool screened = loop->screened && chain.width >= fewest_of_screen;
    pass_.run_pairs = screened ? loop->screened : loop->run;
    out_.emplace_back(code_of(chain.fold, FoldShape::vector_number));
    out_.back().a = at(chain.row);
    out_.back().b = at(chain.column);
    out_.back().width = chain.width;
    out_.back().starts = chain.starts;
    for (std::size_t k = 0; k < chain.calls.size(); ++k) call(chain.calls[k], *chain.steps[k]);
    for (const PassOutput& o : outputs) out_.push_back(fold_instruction(o, variant_.outputs[o.number], kernel));
    if (screened) {
      out_.back().a = told(chain.row, chain.width, pass_.lanes_along_i ? Region::row : Region::column, &pass_.lane);
      out_.back().b = told(chain.column, chain.width, pass_.lanes_along_i ? Region::column : Region::row, &pass_.sweep);
    }
  }

 private:
  // One output, or a slope and then the sum of its terms.
  const FusedLoop* loop_for(const PairChain& chain, const std::vector<PassOutput>& outputs,
                            const FusedLoopList& loops) const {
    const auto output = [&](const PassOutput& o) -> const Output& { return variant_.outputs[o.number]; };
    const bool summed = outputs.size() == 2 && !is_weighed(variant_, output(outputs.back()));
    if (outputs.size() != (summed ? 2 : 1)) return nullptr;
    const Weight weight = weight_of(outputs.front(), output(outputs.front()));
    const FusedLoop* const end = loops.at + loops.count;
    const FusedLoop* const found = std::find_if(loops.at, end, [&](const FusedLoop& w) {
      return w.weight == weight && w.summed == summed && is_of_kind(chain, w.fold, w.reduction, w.calls, w.length);
    });
    return found == end ? nullptr : found;
  }
  // Appends to an axis's program the value of a point that a screen reads; returns the operand.
  Operand told(const Ref& points, int width, Region axis, std::vector<Instruction>* program) {
    if (!program->empty()) program->pop_back();  // its end
    program->emplace_back(code_of(Op::Scalprod, FoldShape::vectors));
    program->back().a = program->back().b = layout_.operand(points, axis);
    program->back().width = width;
    program->emplace_back(kTellSquare);
    program->back().width = width;
    const int place = layout_.spare_along(axis);
    program->emplace_back(kStore);
    program->back().a = layout_.along(axis, place, axis);
    program->emplace_back(kStripEnd);
    return layout_.along(axis, place, Region::pair);
  }

  // Writes a call: its argument of a row, or of no point, first; its argument of a column second.
  void call(const CallRow& call, const Step& step) {
    Instruction i(code_of(step.op, Shape::alone));
    for (std::size_t k = 0; k < step.in.size(); ++k) {
      const int argument = k == 0 ? call.x : call.y;
      if (argument == kOfTable) {
        i.a = layout_.table(step.in[k]);
        i.width = i.a.width;
        i.attributes = step.attributes.data();
      } else if (argument == kOfColumn) i.b = at(step.in[k]);
      else if (argument < 0) i.a = at(step.in[k]);
    }
    out_.push_back(i);
  }

  // --- outputs ---

  Operand written(int component, int width) const {
    Operand to;
    to.space = Space::pairs;
    to.offset = component * pass_.stride(Space::pairs);
    to.stride = width == 1 ? 0 : pass_.stride(Space::pairs);
    return to;
  }

  // One value, weighed by each component of the weight; a value of several components stands in a loop, where
  // it meets the weight of its component.
  Instruction fold_instruction(const PassOutput& o, const Output& output, const TileKernel& kernel) {
    Instruction i(code_of(output.red, weight_of(o, output)));
    if (o.difference >= 0) {
      const Step& step = program_.steps[o.difference];
      i.a = from_memory(step.in[o.turned]);
      i.b = from_memory(step.in[!o.turned]);
    } else if (weight_of(o, output) != Weight::none) {
      i.b = from_memory(output.weight);
    }
    i.width = output.value.width > 1 ? 1 : output.width;
    i.counted = output.keep == Keep::none ? kByPlace : kAlongSweep;
    i.state = o.lane_state + (component_ < 0 ? 0 : component_) *
                                 kernel.states[static_cast<int>(output.red)].lane_bytes * kernel.vectors;
    i.state_stride = kernel.states[static_cast<int>(output.red)].lane_bytes * kernel.vectors;
    return i;
  }
  Weight weight_of(const PassOutput& o, const Output& output) const {
    if (o.difference >= 0) return Weight::difference;
    if (!is_weighed(variant_, output) && takes(output.red, Weight::none)) return Weight::none;
    return at(output.weight).vector ? Weight::vector : Weight::number;
  }

  const Variant& variant_;
};

}  // namespace

void emit(const Plan& plan, const Variant& variant, const OutputGroup& group, const std::vector<bool>& needed,
          const TileKernel& kernel, int fewest_of_screen, const std::vector<int>& fused, Layout* layout, Pass* pass) {
  std::vector<int> reads = count_reads(variant, needed, *pass);
  const Program& program = variant.program;
  const auto axis_program = [&](Region region, std::vector<Instruction>* out) {
    StepWriter writer(program, region, fused, layout, pass, &reads, out);
    writer.steps(needed);
    if (!out->empty()) writer.end();
  };
  axis_program(Region::param, &pass->once);
  axis_program(Region::row, pass->lanes_along_i ? &pass->lane : &pass->sweep);
  axis_program(Region::column, pass->lanes_along_i ? &pass->sweep : &pass->lane);

  pass->run_pairs = kernel.run;
  PairChain chain;
  if (is_chain(plan, variant, group, needed, &chain)) {
    std::vector<int> reads_of_loop = reads;
    PairWriter(variant, fused, layout, pass, &reads_of_loop, &pass->operands).fuse(chain, kernel, fewest_of_screen);
  }
  PairWriter writer(variant, fused, layout, pass, &reads, &pass->pairs);
  writer.steps(needed);
  for (const PassOutput& o : pass->outputs) {
    const Output& output = variant.outputs[o.number];
    writer.output(o, output, kernel);
    if (o.mode == PassOutput::Mode::written && o.weights >= 0) writer.weight_output(o, output);
  }
  writer.end();
}

}  // namespace kernweave
