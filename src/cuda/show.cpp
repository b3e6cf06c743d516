// Codes are named by their rows, operands by where they lie.
#include "cuda/script_layout.hpp"

#include <ostream>
#include <sstream>

#include "expr/table.hpp"

namespace kernweave {
namespace cuda {
namespace {

using gpu::From;
using gpu::Instruction;
using gpu::Kind;

const char* const kKinds[] = {"end", "begin", "next", "element", "fold", "loop", "gather", "term"};
const char* const kPlaces[] = {"none",   "literal",    "strip",     "once",    "row",    "tile",
                               "column", "one_column", "own",       "one_own", "matrix", "matrix_turned",
                               "point",  "datum",      "parameter", "counter", "number"};
const char* const kUses[] = {"none", "stored", "folded", "counted_over_pairs", "kept"};
static_assert(sizeof kKinds / sizeof *kKinds == static_cast<std::size_t>(Kind::term) + 1, "a kind without a name");
static_assert(sizeof kPlaces / sizeof *kPlaces == static_cast<std::size_t>(From::number) + 1, "a place without a name");
static_assert(sizeof kUses / sizeof *kUses == static_cast<std::size_t>(gpu::Use::kept) + 1, "a use without a name");

std::string code_name(const Instruction& i) {
  switch (i.kind) {
    case Kind::element:
    case Kind::fold:
    case Kind::loop: return row(static_cast<Op>(i.code)).name;
    case Kind::term: return row(static_cast<Red>(i.code)).name;
    default: return "";
  }
}

void show_program(const char* name, const std::vector<Instruction>& program, std::ostream* out) {
  for (const Instruction& i : program) {
    *out << name << ' ' << kKinds[static_cast<int>(i.kind)] << ' ' << code_name(i) << ' ' << i.width;
    for (const gpu::Operand& o : i.in)
      if (o.from != From::none) *out << ' ' << kPlaces[static_cast<int>(o.from)] << '@' << o.at << '+' << o.step;
    *out << " to " << i.out << ' ' << kUses[static_cast<int>(i.use)] << " list " << i.list << " output " << i.output
         << '\n';
  }
}

}  // namespace

std::string show(const Interpretation& script) {
  std::ostringstream out;
  const gpu::Script& s = script.script;
  out << "sweep by " << script.sweep << ", tiles of " << s.tile << (s.staged ? " staged" : "") << ", strips of "
      << s.strip << ", own " << s.own << ", of a column " << s.column_numbers << "\nlists";
  for (int number : script.lists) out << ' ' << number;
  out << '\n';
  for (const gpu::Outcome& o : script.outcomes)
    out << "outcome " << row(o.reduction).name << ' ' << o.pairwise << o.total << " width " << o.width << " places "
        << o.places << " at " << o.lane << ' ' << o.row << ' ' << o.stride << ' ' << o.storage << ' ' << o.bytes
        << '\n';
  show_program("once", script.once, &out);
  show_program("row", script.rows, &out);
  show_program("column", script.columns, &out);
  show_program("pair", script.pairs, &out);
  return out.str();
}

}  // namespace cuda
}  // namespace kernweave
