// Codes are named by their row and the shape in which it meets its operands.
#include "cpu/write_pass.hpp"

#include <algorithm>
#include <ostream>
#include <sstream>

#include "expr/table.hpp"

namespace kernweave {
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
static_assert(names_all(kShapesOfOne, Shape::of_one), "a shape without a name");
static_assert(names_all(kShapesOfTwo, Shape::of_two), "a shape without a name");
static_assert(names_all(kShapesOfThree, Shape::of_three), "a shape without a name");
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
