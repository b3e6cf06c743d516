// Lays out the shared memory of a block, with as many threads as fit. Writes a script as text.
#include "cuda/script_layout.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <ostream>
#include <sstream>
#include <type_traits>

#include "base/error.hpp"
#include "cuda/cut.hpp"
#include "cuda/limits.hpp"
#include "device/nvrtc.hpp"
#include "expr/table.hpp"

// Made by nvcc from ahead_interpret32.cu and ahead_interpret64.cu, or by ahead_none.cpp.
extern "C" {
extern const unsigned char kernweave_ahead_interpret32[];
extern const unsigned char kernweave_ahead_interpret64[];
}

namespace kernweave {
namespace cuda {
namespace {

using gpu::ReadFrom;
using gpu::Instruction;
using gpu::Kind;
using gpu::Operand;

constexpr int kWarp = 32;

// The bytes that are moved at a time.
constexpr std::int64_t kChunk = 16;

std::int64_t even(std::int64_t bytes, std::int64_t step) { return ceiling(bytes, step) * step; }

std::vector<gpu::Outcome> outcomes_of(const Pass& pass) {
  std::vector<gpu::Outcome> outcomes;
  for (int number : pass.group.outputs) {
    const Output& output = pass.variant->outputs[static_cast<std::size_t>(number)];
    const StateRow& state = row(output.red).state;
    const int size = static_cast<int>(state.size);
    gpu::Outcome o{};
    o.reduction = output.red;
    o.pairwise = pass.pairwise(number);
    o.total = output.keep == Keep::none;
    o.width = output.width;
    o.places = output.places;
    o.row = size;
    o.storage = 2 * size;
    o.stride = size + static_cast<int>(state.bytes(output.places));
    o.bytes = static_cast<int>(state_bytes(pass, output));
    outcomes.push_back(o);
  }
  return outcomes;
}

// A block's shape, and how its shared memory is used.
struct Layout {
  int rows;      // rows of a thread,
  int strip;     // and columns at a time
  bool staged;   // do tiles go through shared memory?
  int tile = 0;  // columns of a tile
  int threads = 0;
  std::int64_t own = 0, bytes = 0;
};

// Returns the bytes of a column in a tile.
std::int64_t bytes_staged(const Pass& pass) {
  return std::max<std::int64_t>(1, pass.sweep.narrow) * pass.number_bytes();
}

int tile_for(std::int64_t of_column, int fewest) {
  int tile = kGpuTile;
  while (tile > fewest && tile * of_column > kGpuTileBytes) tile /= 2;
  return tile;
}

// Rounds up to an odd multiple of 16, so that threads have no bank conflicts.
std::int64_t apart(std::int64_t bytes) { return even(bytes + 16, 32) - 16; }

// Returns the most bytes of a block: few enough that other blocks fit; for a single warp or less, all bytes.
std::int64_t may_take(int threads) { return threads > kWarp ? kGpuMostTileBytes : kGpuMostShared; }

class LayoutSearch {
 public:
  LayoutSearch(const Pass& pass, int own_numbers, Interpretation* script)
      : pass_(pass), own_numbers_(own_numbers), script_(*script) {}

  // Takes the first layout that fits.
  bool fit(Layout* layout) {
    const int strip = 32 / pass_.number_bytes();
    for (const Layout& base : {Layout{1, strip, true}, Layout{1, strip, false}, Layout{1, 1, false}})
      for (int threads = kGpuThreads; threads >= kGpuFewestThreads; threads /= 2) {
        *layout = laid_out(base, threads);
        if (layout->bytes <= may_take(threads)) return true;
      }
    return false;
  }

 private:
  Layout laid_out(Layout layout, int threads) {
    const std::int64_t of_column = bytes_staged(pass_);
    layout.threads = threads;
    layout.tile = layout.staged ? tile_for(of_column, 2 * 32 / pass_.number_bytes()) : kGpuTile;
    layout.own =
        place_states(even(static_cast<std::int64_t>(own_numbers_) * layout.strip * pass_.number_bytes(), kChunk));
    const std::int64_t program = static_cast<std::int64_t>(script_.pairs.size() * sizeof(Instruction));
    layout.bytes = program + (layout.staged ? even(layout.tile * of_column, kChunk) : 0) + threads * layout.own;
    return layout;
  }

  // Places states after `first` bytes of a thread's values, whose memory is reused when a list is finished.
  std::int64_t place_states(std::int64_t first) {
    for (const gpu::Outcome& o : script_.outcomes)
      if (o.places > 1) first = std::max<std::int64_t>(first, gpu::kResultBytes * o.places);
    for (gpu::Outcome& o : script_.outcomes) {
      if (o.pairwise) continue;
      o.lane = static_cast<int>(first);
      first += static_cast<std::int64_t>(o.stride) * o.width;
    }
    return apart(first);
  }

  const Pass& pass_;
  const int own_numbers_;
  Interpretation& script_;
};

// Lays out the shared memory of a fused kernel: a tile, then for each thread its lists, preceded by the memory in which
// lists are finished.
bool fit_fused(const Pass& pass, gpu::Outcome* o, Layout* layout) {
  const StateRow& state = row(o->reduction).state;
  const gpu::FusedShape shape = gpu::fused_shape(state.storage(1) > 0, pass.number_bytes());
  const std::int64_t of_column = bytes_staged(pass), list = state.storage(o->places);
  *layout = {shape.rows, shape.columns, true, tile_for(of_column, shape.columns)};
  const int before = static_cast<int>(gpu::kResultBytes * o->places), of_row = static_cast<int>(even(list, 8));
  if (list > 0) layout->own = apart(before + shape.rows * of_row);
  for (layout->threads = kGpuThreads; layout->threads >= kWarp; layout->threads /= 2) {
    layout->bytes = even(layout->tile * of_column, kChunk) + layout->threads * layout->own;
    if (layout->bytes > may_take(layout->threads)) continue;
    o->lane = before;
    o->stride = of_row;
    return true;
  }
  return false;
}

// Adapts instructions to the layout: to strips of one column, or to columns that are read from global memory.
void apply(const Layout& layout, Interpretation* script) {
  for (Instruction& i : script->pairs) {
    for (Operand& o : i.in) {
      if (o.from == ReadFrom::tile && !layout.staged)
        o.from = layout.strip == 1 ? ReadFrom::one_column : ReadFrom::column;
      if (o.from == ReadFrom::own && layout.strip == 1) o.from = ReadFrom::one_own;
    }
    if (i.kind != Kind::term) continue;
    const gpu::Outcome& o = script->outcomes[static_cast<std::size_t>(i.output)];
    i.out = o.lane;
    i.list = o.stride;
  }
}

Verdict lists_of_pairs(const Pass& pass) {
  for (int number : pass.group.outputs) {
    const Output& o = pass.variant->outputs[static_cast<std::size_t>(number)];
    if (pass.pairwise(number) && row(o.red).state.storage(o.places) > 0)
      return Verdict::no("lists kept pair by pair are not interpreted");
  }
  return {};
}

Verdict too_much(const Interpretation& script, const Layout& layout) {
  return Verdict::no(sentence("a pair's values and a row's states take ", layout.own, " bytes, and its ",
                              script.pairs.size(), " instructions ", script.pairs.size() * sizeof(Instruction),
                              "; a block has ", kGpuMostShared, " bytes for ", kGpuFewestThreads, " pairs"));
}

}  // namespace

Verdict interpret(Pass* pass, Interpretation* script) {
  const Verdict possible = lists_of_pairs(*pass);
  if (!possible.yes) return possible;
  instruct_points(*pass, Region::param, pass->once, &script->once, &script->lists);
  instruct_points(*pass, pass->lane_region(), pass->lanes, &script->rows, &script->lists);
  instruct_points(*pass, pass->sweep_region(), pass->sweep, &script->columns, &script->lists);
  const int own_numbers = instruct_pairs(*pass, &script->pairs, &script->lists);
  script->outcomes = outcomes_of(*pass);
  Layout layout{};
  const char* const fused = fused_kernel(*pass, script->pairs);
  if (fused && fit_fused(*pass, &script->outcomes[0], &layout)) {
    script->sweep = fused;
    fold_first(&script->pairs);
  } else {
    if (!LayoutSearch(*pass, own_numbers, script).fit(&layout)) return too_much(*script, layout);
    apply(layout, script);
  }
  gpu::Script& s = script->script;
  s.outputs = static_cast<int>(script->outcomes.size());
  s.instructions = static_cast<int>(script->pairs.size());
  s.column_numbers = pass->sweep.narrow;
  s.tile = layout.tile;
  s.staged = layout.staged;
  s.strip = layout.strip;
  s.own = static_cast<int>(layout.own);
  const int padding = std::max(layout.strip, 32 / pass->number_bytes());
  pass->shape = {layout.rows,
                 layout.strip,
                 layout.threads,
                 layout.tile,
                 1,
                 layout.staged,
                 false,
                 layout.threads,
                 layout.threads * layout.rows,
                 padding,
                 1};
  pass->interpreter_bytes = layout.bytes;
  return {};
}

Packed::Packed(const Interpretation& from, const std::vector<gpu::Data>& data, const std::vector<gpu::Target>& targets)
    : script_(from.script),
      once_(add(from.once)),
      rows_(add(from.rows)),
      columns_(add(from.columns)),
      pairs_(add(from.pairs)),
      lists_(add(from.lists)),
      outcomes_(add(from.outcomes)),
      data_(add(data)),
      targets_(add(targets)) {}

template <class T>
std::size_t Packed::add(const std::vector<T>& list) {
  const std::size_t at = bytes.size();
  bytes.resize(
      static_cast<std::size_t>(even(static_cast<std::int64_t>(at + list.size() * sizeof(T)), alignof(Instruction))));
  if (!list.empty()) std::memcpy(bytes.data() + at, list.data(), list.size() * sizeof(T));
  return at;
}

gpu::Script Packed::script(std::uint64_t address) const {
  gpu::Script s = script_;
  const auto point = [&](auto** pointer, std::size_t at) {
    *pointer = reinterpret_cast<std::decay_t<decltype(*pointer)>>(static_cast<std::uintptr_t>(address + at));
  };
  point(&s.once, once_);
  point(&s.rows, rows_);
  point(&s.columns, columns_);
  point(&s.pairs, pairs_);
  point(&s.lists, lists_);
  point(&s.outcomes, outcomes_);
  point(&s.data, data_);
  point(&s.targets, targets_);
  return s;
}

std::string rows_called(const Interpretation& from) {
  std::string names;
  for (const std::vector<Instruction>* list : {&from.once, &from.rows, &from.columns, &from.pairs})
    for (const Instruction& i : *list) {
      if (i.kind == Kind::term) names += sentence(row(static_cast<Red>(i.code)).name, " ");
      else if (i.kind == Kind::gather) names += "Gather ";
      else if (static_cast<Op>(i.code) != Op::Var) names += sentence(row(static_cast<Op>(i.code)).name, " ");
    }
  return names;
}

const unsigned char* interpreter_image(bool float32) {
  return device::image_in(float32 ? kernweave_ahead_interpret32 : kernweave_ahead_interpret64);
}

// --- text -----------------------------------------------------------------------------------------------------------
// Text names operations by their rows of the table, and operands by their memory.

namespace {

const char* const kKinds[] = {"end", "begin", "next", "element", "fold", "loop", "gather", "term"};
const char* const kPlaces[] = {"none",   "literal",    "strip",     "once",    "row",    "tile",
                               "column", "one_column", "own",       "one_own", "matrix", "matrix_turned",
                               "point",  "datum",      "parameter", "counter", "number"};
const char* const kUses[] = {"none", "stored", "folded", "counted_over_pairs", "kept"};
static_assert(sizeof kKinds / sizeof *kKinds == static_cast<std::size_t>(Kind::term) + 1, "a kind without a name");
static_assert(std::size(kPlaces) == static_cast<std::size_t>(ReadFrom::number) + 1, "a place without a name");
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
      if (o.from != ReadFrom::none) *out << ' ' << kPlaces[static_cast<int>(o.from)] << '@' << o.at << '+' << o.step;
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
