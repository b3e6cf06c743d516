// Writes the programs of a pass: for points along each axis, and for pairs up to the states that take their values in.
// Shows programs as text.
#include "cpu/write_pass.hpp"

#include <algorithm>
#include <ostream>
#include <sstream>

#include "cpu/write_steps.hpp"
#include "expr/table.hpp"
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

  // Writes the weights of an output that is kept pair by pair, beside its values.
  void weight_output(const PassOutput& o, const Output& output) {
    const auto one = [&] {
      take_value(output.weight);
      store(at_component(written(o.weights, output.weight.width)));
    };
    if (output.weight.width > 1) for_components(output.weight.width, one);
    else one();
  }

  // Chooses a fused loop, if there is one for these pairs. A fused loop needs only the places of its operands.
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
  // Finds the loop for one output, or for a slope and then the sum of its terms; null if there is none.
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

  // Writes a call: `a` is its argument of a row or of no point, `b` its argument of a column.
  void call(const CallRow& call, const Step& step) {
    Instruction i(code_of(step.op, StepShape::alone));
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

  // Makes the fold of one value, weighed by each component of the weight. A value of several components is folded in a
  // loop, each component with its own component of the weight.
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

// --- text -----------------------------------------------------------------------------------------------------------
// Codes are named by their row and the shape of its operands.
namespace {

const char* const kSpaceNames[] = {"lane", "sweep", "lane_panel", "sweep_panel", "once", "table", "pairs", "slot"};
const char* const kShapesOfOne[] = {"alone", "scaled", "shifted"};
const char* const kShapesOfTwo[] = {"with_vector",    "with_number",  "vector_with",  "number_with", "vector_number",
                                    "number_vector",  "row_number",   "number_row",   "vectors",     "sum_row_number",
                                    "sum_number_row", "with_shifted", "shifted_with", "with_scaled", "scaled_with",
                                    "own_shifted",    "shifted_own"};
const char* const kShapesOfThree[] = {"first", "second", "third"};
const char* const kFoldShapes[] = {"start",       "first",         "next",         "last",
                                   "vectors",     "numbers",       "first_number", "next_number",
                                   "last_number", "vector_number", "number_vector"};
const char* const kWeightNames[] = {"one", "vector", "number", "difference"};
const char* const kMoveNames[] = {"load_vector", "load_number", "store",    "tell_square",
                                  "loop_begin",  "loop_end",    "strip_end"};

template <class Name, std::size_t kCount, class Last>
constexpr bool names_all(Name* const (&)[kCount], Last count) {
  return kCount == static_cast<std::size_t>(count);
}
static_assert(names_all(kSpaceNames, kSpaces), "a space without a name");
static_assert(names_all(kShapesOfOne, StepShape::of_one), "a shape without a name");
static_assert(names_all(kShapesOfTwo, StepShape::of_two), "a shape without a name");
static_assert(names_all(kShapesOfThree, StepShape::of_three), "a shape without a name");
static_assert(names_all(kFoldShapes, FoldShape::of_two), "a shape without a name");
static_assert(names_all(kWeightNames, Weight::count), "a weight without a name");
static_assert(names_all(kMoveNames, kStripEnd - kFirstMove + 1), "a move without a name");

std::string shape_name(const OpRow& r, int shape) {
  if (r.form == Form::fold) return kFoldShapes[shape];
  if (r.form != Form::elementwise) return "";
  return r.arity == 1 ? kShapesOfOne[shape] : r.arity == 2 ? kShapesOfTwo[shape] : kShapesOfThree[shape];
}

std::string code_name(std::uint16_t code) {
  if (code >= kFirstMove) return kMoveNames[code - kFirstMove];
  if (code >= kFirstReduction) {
    const int weights = static_cast<int>(Weight::count), number = code - kFirstReduction;
    return std::string(row(static_cast<Red>(number / weights)).name) + ' ' + kWeightNames[number % weights];
  }
  const auto next = std::upper_bound(std::begin(kOperationCodes.first), std::end(kOperationCodes.first), code);
  const Op op = static_cast<Op>(next - std::begin(kOperationCodes.first) - 1);
  return std::string(row(op).name) + ' ' + shape_name(row(op), code - kOperationCodes.first[static_cast<int>(op)]);
}

void show_operand(const char* name, const Operand& o, std::ostream* out) {
  const Operand none;
  if (o.space == none.space && o.offset == 0 && o.column == 0 && o.stride == 0 && !o.vector && o.width == 1) return;
  *out << ' ' << name << '=' << kSpaceNames[static_cast<int>(o.space)] << (o.vector ? " vector@" : "@") << o.offset
       << " column " << o.column << " stride " << o.stride << " width " << o.width;
}

void show_program(const char* name, const std::vector<Instruction>& program, std::ostream* out) {
  for (const Instruction& i : program) {
    *out << name << ' ' << code_name(i.code) << ' ' << i.width << (i.starts ? " starts" : "");
    show_operand("a", i.a, out);
    show_operand("b", i.b, out);
    show_operand("result", i.result, out);
    if (i.code >= kFirstReduction && i.code < kFirstMove)
      *out << " states " << i.state << " by " << i.state_stride << (i.counted == kByPlace ? " by place" : "");
    *out << '\n';
  }
}

const char* runner(const Pass& pass, const TileKernel& kernel) {
  if (pass.run_pairs == kernel.run) return "the machine";
  const FusedLoopList loops = kernel.fused();
  const bool screened = std::any_of(loops.at, loops.at + loops.count,
                                    [&](const FusedLoop& loop) { return loop.screened == pass.run_pairs; });
  return screened ? "a screened loop" : "a fused loop";
}

}  // namespace

std::string show(const Pass& pass, const TileKernel& kernel) {
  std::ostringstream out;
  out << (pass.lanes_along_i ? "lanes along i" : "lanes along j") << ", tiles of " << pass.tiling.rows << " x "
      << pass.tiling.columns << ", pairs by " << runner(pass, kernel) << "\ncomponents";
  for (int components : pass.components) out << ' ' << components;
  out << ", scratch " << pass.scratch << ", states " << pass.lane_state_bytes << '\n';
  for (const PassOutput& o : pass.outputs)
    out << "output " << o.number << " mode " << static_cast<int>(o.mode) << " states " << o.lane_state << " values "
        << o.values << " weights " << o.weights << " difference " << o.difference << (o.turned ? " turned" : "")
        << '\n';
  show_program("once", pass.once, &out);
  show_program("lane", pass.lane, &out);
  show_program("sweep", pass.sweep, &out);
  show_program("pair", pass.pairs, &out);
  show_program("loop", pass.operands, &out);
  return out.str();
}

}  // namespace kernweave
