// A value stays in the strip from the step that made it to the step that takes it, and goes to memory only where
// somebody else will ask for it.
#include "cpu/emit.hpp"

#include <algorithm>

#include "cpu/keeper.hpp"
#include "cpu/ways.hpp"
#include "plan/chain.hpp"
#include "schedule/cost.hpp"

namespace kernweave {
namespace {

// Writes the instructions of one region.
class Writer : private StripKeeper {
 public:
  Writer(const Variant& variant, Region region, Layout* layout, Pass* pass, std::vector<int>* reads, std::vector<Instruction>* out)
      : StripKeeper(region, layout, reads, out), variant_(variant), program_(variant.program), pass_(*pass) {}

  void steps(const std::vector<const Step*>& steps) {
    for (std::size_t s = 0; s < steps.size();) {
      const Step& step = *steps[s];
      std::size_t end = s + 1;
      if (step.group >= 0) {
        while (end < steps.size() && steps[end]->group == step.group) ++end;
        group(steps, s, end);
      } else if (row(step.op).form == Form::elementwise && step.width > 1) {
        while (end < steps.size() && joins(steps, s, end)) ++end;
        loop(steps, s, end);
      } else {
        one(step);
      }
      s = end;
    }
  }

  void output(const PassOutput& o, const Output& output, const TileKernel& kernel) {
    const auto one = [&] {
      take_value(output.value);
      if (o.way != PassOutput::Way::folded) store(at_component(written(o.values, output.value.width)));
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

  // Pairs of a kind that is compiled whole need no more than where everything lies.
  bool whole(const PairChain& chain, const TileKernel& kernel) {
    const PassOutput& o = pass_.outputs.front();
    const Output& output = variant_.outputs[o.number];
    const bool slope = o.difference >= 0;
    if (o.way != PassOutput::Way::folded || (slope ? !at(program_.steps[o.difference].in[0]).vector : output.width > 1)) return false;
    const WholeLoops loops = kernel.wholes();
    const WholeLoop* const end = loops.at + loops.count;
    const WholeLoop* const loop = std::find_if(loops.at, end, [&, how = weight_of(o, output)](const WholeLoop& w) {
      return w.weight == how && is_of_kind(chain, w.fold, w.reduction, w.calls, w.length);
    });
    if (loop == end) return false;
    const bool screened = loop->screened && chain.width >= kCpuFewestOfScreen;
    pass_.run_pairs = screened ? loop->screened : loop->run;
    out_.emplace_back(code_of(chain.fold, FoldShape::vector_number));
    out_.back().a = at(chain.row);
    out_.back().b = at(chain.column);
    out_.back().width = chain.width;
    for (std::size_t k = 0; k < chain.calls.size(); ++k) whole_call(chain.calls[k], *chain.steps[k]);
    out_.push_back(fold_instruction(o, output, kernel));
    if (screened) {
      out_.back().a = told(chain.row, chain.width, pass_.lanes_along_i ? Region::row : Region::column, &pass_.lane);
      out_.back().b = told(chain.column, chain.width, pass_.lanes_along_i ? Region::column : Region::row, &pass_.sweep);
    }
    out_.emplace_back(kStripEnd);
    return true;
  }

  void end() {
    settle();
    out_.emplace_back(kStripEnd);
  }

 private:
  // What a screen knows of points along an axis, which the program of that axis computes.
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

  // What it takes of a row, or of no point, first; what it takes of a column second.
  void whole_call(const CallRow& call, const Step& step) {
    Instruction i(code_of(step.op, Shape::alone));
    for (std::size_t k = 0; k < step.in.size(); ++k) {
      const int argument = k == 0 ? call.x : call.y;
      if (argument == kOfColumn) i.b = at(step.in[k]);
      else if (argument < 0) i.a = at(step.in[k]);
    }
    out_.push_back(i);
  }

  // May step `next` run in one loop over components with those before it? Its result must not take the place
  // of a value that the loop still reads or writes: places that overlap without being the same would mix
  // components.
  bool joins(const std::vector<const Step*>& steps, std::size_t first, std::size_t next) const {
    const Step& step = *steps[next];
    if (step.group >= 0 || row(step.op).form != Form::elementwise || step.width != steps[first]->width) return false;
    const auto clear = [&](int slot) {
      const Slot& a = program_.slots[slot], &b = program_.slots[step.out];
      const bool apart = a.offset + a.width <= b.offset || b.offset + b.width <= a.offset;
      return a.region != b.region || apart || (a.offset == b.offset && a.width == b.width);
    };
    for (std::size_t s = first; s <= next; ++s) {
      if (!clear(steps[s]->out)) return false;
      for (const Ref& ref : steps[s]->in)
        if (is_slot(ref) && !clear(ref.index)) return false;
    }
    return true;
  }

  // --- steps ---

  void one(const Step& step) {
    switch (row(step.op).form) {
      case Form::elementwise: return element(step);
      case Form::fold: return fold(step);
      case Form::loop: return own_loop(step);
      default: return;  // gathers are packed
    }
  }

  void element(const Step& step) {
    switch (step.in.size()) {
      case 1: unary(step); break;
      case 2: binary(step); break;
      default: ternary(step);
    }
    holds(step.out);
  }
  // A product or a sum with a number that only this step reads is not computed by itself.
  void unary(const Step& step) {
    take(step.in[0]);
    Instruction i(code_of(step.op, Shape::alone));
    const bool only_here = !out_.empty() && reads_of(step.in[0]) == 0;
    const bool scaled = only_here && out_.back().code == code_of(Op::Mult, Shape::with_number);
    const bool shifted = only_here && out_.back().code == code_of(Op::Add, Shape::with_number);
    if (scaled || shifted) {
      i.code = code_of(step.op, scaled ? Shape::scaled : Shape::shifted);
      i.a = out_.back().a;
      out_.pop_back();
    }
    out_.push_back(i);
  }
  // The strip takes part as whichever argument it holds; where it makes no difference, as the first.
  void binary(const Step& step) {
    if (!held(step.in[0]) && !held(step.in[1])) return binary_in_memory(step);
    const bool second = held(step.in[1]) && !held(step.in[0]);
    const Ref& in_strip = step.in[second], &other = step.in[!second];
    Instruction i;
    used(in_strip);
    i.a = from_memory(other);
    settle();
    const Shape first_shape = i.a.vector ? Shape::with_vector : Shape::with_number;
    const Shape second_shape = i.a.vector ? Shape::vector_with : Shape::number_with;
    i.code = code_of(step.op, second && !row(step.op).commutes ? second_shape : first_shape);
    out_.push_back(i);
  }
  void binary_in_memory(const Step& step) {
    Instruction i;
    i.a = from_memory(step.in[0]);
    i.b = from_memory(step.in[1]);
    free_strip();
    const bool shared = (i.a.vector ? i.a : i.b).column == 0;
    const Shape vector_first = shared ? Shape::row_number : Shape::vector_number;
    const Shape number_first = shared ? Shape::number_row : Shape::number_vector;
    const Shape same = i.a.vector ? Shape::vectors : Shape::with_number;
    i.code = code_of(step.op, i.a.vector == i.b.vector ? same : i.a.vector ? vector_first : number_first);
    if (!i.a.vector && !i.b.vector) {
      load(i.a);
      i.a = i.b;
    }
    out_.push_back(i);
  }
  // One argument in the strip, the others vectors in memory: a number goes into the strip; a second number is
  // spread out first.
  void ternary(const Step& step) {
    Operand in[3];
    for (int k = 0; k < 3; ++k) in[k] = from_memory(step.in[k]);
    free_strip();
    int in_strip = 0;
    for (int k = 0; k < 3; ++k)
      if (!in[k].vector) in_strip = k;
    for (int k = 0; k < 3; ++k)
      if (!in[k].vector && k != in_strip) in[k] = spread(in[k]);
    load(in[in_strip]);
    Instruction i;
    i.a = in[in_strip == 0 ? 1 : 0];
    i.b = in[in_strip == 2 ? 1 : 2];
    i.code = code_of(step.op, in_strip == 0 ? Shape::first : in_strip == 1 ? Shape::second : Shape::third);
    out_.push_back(i);
  }
  Operand spread(const Operand& number) {
    const Operand place = layout_.spare();
    load(number);
    store(place);
    return place;
  }

  // --- loops over components ---

  void loop(const std::vector<const Step*>& steps, std::size_t first, std::size_t end) {
    for_components(steps[first]->width, [&] {
      for (std::size_t s = first; s < end; ++s) element(*steps[s]);
    });
  }

  // --- folds ---

  void start_fold(const Step& fold) {
    free_strip();
    Instruction i(code_of(fold.op, FoldShape::start));
    out_.push_back(i);
    store(at_slot(fold.out));
  }
  // One component more: what came before is in memory. Where it makes no difference, the argument that the strip holds is the first.
  void next_of_fold(const Step& fold) {
    Instruction i;
    i.a = at_slot(fold.out);
    const bool two = fold.in.size() == 2;
    const bool turned = two && row(fold.op).commutes && held(fold.in[1]);
    if (two) i.b = from_memory(fold.in[!turned]);
    take(fold.in[turned]);
    i.code = code_of(fold.op, two && !i.b.vector ? FoldShape::next_number : FoldShape::next);
    out_.push_back(i);
    holds_nothing();
  }
  // The component steps of a group, then its fold.
  void group(const std::vector<const Step*>& steps, std::size_t first, std::size_t end) {
    const Step& fold = *steps[end - 1];
    start_fold(fold);
    for_components(fold_width(fold), [&] {
      for (std::size_t s = first; s + 1 < end; ++s) element(*steps[s]);
      next_of_fold(fold);
    });
  }

  void fold(const Step& step) {
    const bool two = step.in.size() == 2;
    const Operand a = at(step.in[0]);
    const Operand b = two ? at(step.in[1]) : a;
    const Operand& vector = a.vector ? a : b;
    if (a.vector != b.vector && vector.column != 0) return fold_by_component(step);
    Instruction i;
    i.a = from_memory(step.in[0]);
    if (two) i.b = from_memory(step.in[1]);
    free_strip();
    i.width = fold_width(step);
    if (!a.vector && b.vector && row(step.op).commutes) {
      std::swap(i.a, i.b);
      i.code = code_of(step.op, FoldShape::vector_number);
      out_.push_back(i);
      return holds(step.out);
    }
    const FoldShape mixed = a.vector ? FoldShape::vector_number : FoldShape::number_vector;
    i.code = code_of(step.op, a.vector != b.vector ? mixed : a.vector ? FoldShape::vectors : FoldShape::numbers);
    out_.push_back(i);
    holds(step.out);
  }
  // A vector that differs from column to column, and a number: no register is shared, so the general way does.
  void fold_by_component(const Step& step) {
    start_fold(step);
    for_components(fold_width(step), [&] { next_of_fold(step); });
  }

  void own_loop(const Step& step) {
    Instruction i(code_of(step.op, Shape::alone));
    i.a = from_memory(step.in[0]);
    if (step.in.size() == 2) i.b = from_memory(step.in[1]);
    free_strip();
    i.width = step.width;
    i.attributes = step.attributes.data();
    i.result = at_slot(step.out);
    pass_.scratch = std::max(pass_.scratch, step.width + i.a.width + i.b.width);
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
    if (o.difference >= 0) difference(program_.steps[o.difference], &i);
    else if (is_weighed(variant_, output)) i.b = from_memory(output.weight);
    i.width = output.value.width > 1 ? 1 : output.width;
    i.counted = output.keep == Keep::none ? kByPlace : kAlongSweep;
    i.state = o.lane_state + (component_ < 0 ? 0 : component_) * kernel.states[static_cast<int>(output.red)].lane_bytes * kernel.vectors;
    i.state_stride = kernel.states[static_cast<int>(output.red)].lane_bytes * kernel.vectors;
    return i;
  }
  Weight weight_of(const PassOutput& o, const Output& output) const {
    if (o.difference >= 0) return Weight::difference;
    if (!is_weighed(variant_, output)) return Weight::one;
    return at(output.weight).vector ? Weight::vector : Weight::number;
  }

  // Where the vector is subtracted, the value changes its sign instead.
  void difference(const Step& step, Instruction* i) {
    i->a = from_memory(step.in[0]);
    i->b = from_memory(step.in[1]);
    if (i->a.vector) return;
    std::swap(i->a, i->b);
    free_strip();
    out_.emplace_back(code_of(Op::Minus, Shape::alone));
  }

  const Variant& variant_;
  const Program& program_;
  Pass& pass_;
};

std::vector<const Step*> steps_of(const Program& program, const std::vector<bool>& needed, Region region) {
  std::vector<const Step*> steps;
  for (std::size_t s = 0; s < program.steps.size(); ++s)
    if (needed[s] && home(program, program.steps[s]) == region && program.steps[s].op != Op::Gather) steps.push_back(&program.steps[s]);
  return steps;
}

}  // namespace

void emit(const Plan& plan, const Variant& variant, const Share& share, const std::vector<bool>& needed, const TileKernel& kernel, Layout* layout, Pass* pass) {
  std::vector<int> reads = count_reads(variant, needed, pass->outputs);
  const Program& program = variant.program;
  const auto axis_program = [&](Region region, std::vector<Instruction>* out) {
    const std::vector<const Step*> steps = steps_of(program, needed, region);
    if (steps.empty()) return;
    Writer writer(variant, region, layout, pass, &reads, out);
    writer.steps(steps);
    writer.end();
  };
  axis_program(Region::param, &pass->once);
  axis_program(Region::row, pass->lanes_along_i ? &pass->lane : &pass->sweep);
  axis_program(Region::column, pass->lanes_along_i ? &pass->sweep : &pass->lane);

  pass->run_pairs = kernel.run;
  Writer writer(variant, Region::pair, layout, pass, &reads, &pass->pairs);
  PairChain chain;
  if (is_chain(plan, variant, share, needed, &chain) && writer.whole(chain, kernel)) return;
  writer.steps(steps_of(program, needed, Region::pair));
  for (const PassOutput& o : pass->outputs) {
    const Output& output = variant.outputs[o.number];
    writer.output(o, output, kernel);
    if (o.way == PassOutput::Way::written && o.weights >= 0) writer.weight_output(o, output);
  }
  writer.end();
}

}  // namespace kernweave
