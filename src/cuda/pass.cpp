// Makes a pass: the numbers that pairs read of each axis, and the rows and columns that a thread's registers can hold.
#include "cuda/pass.hpp"

#include <algorithm>

#include "cuda/limits.hpp"
#include "kernweave/gpu/arguments.hpp"
#include "plan/passes.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {
namespace cuda {
namespace {

bool same(const Ref& a, const Ref& b) { return a.from == b.from && a.index == b.index; }

int padded(int n, int align) { return (n + align - 1) / align * align; }

Region region_read(const Ref& ref, const Pass& pass) { return kernweave::region_read(ref, *pass.plan, pass.program()); }

// Returns the row and the column of a fold that joins a row and a column of one width; none for other folds.
Product across(const Step& fold, const Pass& pass) {
  for (const bool turned : {false, true}) {
    const Ref &row = fold.in[turned], &column = fold.in[!turned];
    if (region_read(row, pass) == pass.lane_region() && region_read(column, pass) == pass.sweep_region() &&
        row.width == column.width)
      return {pass.program().number(fold), row, column, row.width};
  }
  return {};
}

// Returns the widest inner product of a contracted variant, for tensor cores: in float32, with a range that the
// variant's condition bounds, and no output that keeps pairs or has row numbers.
Product product_of(const Pass& pass) {
  Product product;
  if (!pass.float32 || pass.variant->form != Variant::Algebra::contracted) return product;
  for (int number : pass.group.outputs)
    if (pass.pairwise(number) || row(pass.variant->outputs[number].red).results != Results::value) return product;
  const Program& program = pass.program();
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    if (!pass.needed[s] || step.op != Op::Scalprod || home(program, step) != Region::pair) continue;
    const Product found = across(step, pass);
    if (found.any() && found.width >= kGpuFewestOfProduct && found.width > product.width) product = found;
  }
  return product;
}

// Returns the squared distance of a pass whose only output picks the least distances; none for other passes.
Product picked_of(const Pass& pass) {
  if (!pass.float32 || pass.group.outputs.size() != 1) return {};
  const Output& o = pass.variant->outputs[pass.group.outputs[0]];
  if (o.keep != pass.lane_keep() || !row(o.red).picks() || o.width != 1 || o.places > kGpuLongestList) return {};
  const Step* const made = pass.program().maker(o.value);
  if (!made || made->op != Op::SqDist || made->region != Region::pair || made->group >= 0) return {};
  return across(*made, pass);
}

// Screens squared distances: tensor cores screen wide points, threads screen narrow points, which registers hold.
void screen_distances(Pass* pass) {
  const Product picked = picked_of(*pass);
  if (!picked.any()) return;
  const int places = pass->variant->outputs[pass->group.outputs[0]].places;
  pass->nearest = picked.width >= kGpuFewestOfNearest + kGpuNearestOfPlace * places;
  if (pass->nearest) pass->product = picked;
  else if (picked.width >= kGpuFewestOfScreen && picked.width < kGpuMostColumnRegisters) pass->screen = picked;
}

// Returns the only output of a pass if it is a sum or a softmax with more weights a column than a thread can hold.
WideSum wide_sum_of(const Pass& pass, int most) {
  WideSum wide;
  if (!pass.float32 || pass.group.outputs.size() != 1 || pass.pairwise(pass.group.outputs[0])) return wide;
  const Output& o = pass.variant->outputs[pass.group.outputs[0]];
  const bool weighs =
      pass.value(0).width == 1 && o.weight.width == o.width && region_read(o.weight, pass) == pass.sweep_region();
  const bool softens = o.red == Red::SumSoftMaxWeight;
  if (!softens && o.red != Red::Sum || o.keep == Keep::none || !weighs || o.width < kGpuFewestWide) return wide;
  const int blocks = (o.width + most - 1) / most;
  return {o.weight, o.width, blocks, padded((o.width + blocks - 1) / blocks, 8) / 8, softens};
}

void want(const Ref& ref, bool by_pairs, Pass* pass) {
  const Region region = region_read(ref, *pass);
  if (region == Region::param) pass->once.want(ref);
  if (by_pairs && region == pass->lane_region()) pass->lanes.want(ref);
  if (by_pairs && region == pass->sweep_region()) pass->sweep.want(ref);
}

// Puts the values that pairs read into panels. Gathers read row numbers, and the rows they select, from the data.
void fill_panels(Pass* pass) {
  const Program& program = pass->program();
  for (std::size_t n = 0; n < program.numbers.size(); ++n) pass->once.want({Ref::From::number, static_cast<int>(n), 1});
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    if (!pass->needed[s]) continue;
    if (step.region == Region::param) pass->once.want({Ref::From::slot, step.out, step.width});
    if (step.op == Op::Gather || static_cast<int>(s) == pass->product.step) continue;
    for (const Ref& ref : step.in) want(ref, home(program, step) == Region::pair, pass);
  }
  if (pass->nearest) {
    want(pass->product.row, true, pass);
    want(pass->product.column, true, pass);
  }
  for (std::size_t k = 0; k < pass->group.outputs.size(); ++k) {
    want(pass->value(k), true, pass);
    if (pass->epilogues[k]) want(pass->epilogues[k]->factor, true, pass);
    want(pass->variant->outputs[pass->group.outputs[k]].weight, true, pass);
  }
}

// The registers of one row: for values that every pair reads, and for float64 sums that are updated after each tile.
struct RowRegisters {
  int pairs;
  int tiles;

  int all() const { return pairs + tiles; }
  // A second row saves more time than registers cost for sums that are read once a tile.
  bool fit(int rows) const {
    return rows * all() <= kGpuRowRegisters || (rows == 2 && rows * pairs <= kGpuPairRegisters);
  }
};

// Counts the registers of a row's states. Long lists lie in memory.
RowRegisters state_registers(const Pass& pass) {
  const int numbers = pass.number_bytes() / 4;
  RowRegisters registers{0, 0};
  for (int number : pass.group.outputs) {
    const Output& o = pass.variant->outputs[number];
    if (pass.pairwise(number)) continue;
    if (is_short_list(o)) {
      registers.pairs += o.width * o.places * (numbers + 1);
      continue;
    }
    const int state = o.width * static_cast<int>(row(o.red).state.size) / 8;
    registers.pairs += state * numbers;
    (row(o.red).adds ? registers.tiles : registers.pairs) += state * 2;
  }
  return registers;
}

// Finds the product and the wide sum that tensor cores compute.
void find_tiles(double strain, Pass* pass) {
  const Product product = strain <= kGpuMostStrain ? product_of(*pass) : Product();
  pass->wide = wide_sum_of(*pass, product.any() ? kGpuMostWideOfProduct : kGpuMostWide);
  if (pass->wide.any() || state_registers(*pass).all() <= kGpuMostTileStates) pass->product = product;
  const bool three_digits = pass->plan->precision.compute == Format::float16;
  pass->halves = three_digits && pass->by_tiles() && strain <= kGpuMostStrainOfHalves;
}

// Counts the values of a pair: the values of the formula, and the term.
int values_of_pair(const Pass& pass) {
  return static_cast<int>(pass.program().memory[static_cast<int>(Region::pair)]) + 1;
}

// Returns the columns of a strip of a tile: all of a thread's columns, which test once for the fast path, if registers
// hold the strip's numbers and values. Two of the values replace the inner products.
template <class Tile>
int tile_columns(const Pass& pass) {
  const int of_column = pass.sweep.narrow + Tile::kRows * std::max(0, values_of_pair(pass) - 2);
  int columns = pass.takes_short_way() ? Tile::kColumns : 2;
  while (columns > 2 && columns * of_column > kGpuStripRegisters) columns /= 2;
  return columns;
}

template <class Tile>
LaunchShape tile_shape(const Pass& pass, bool few_columns) {
  return {Tile::kRows,
          tile_columns<Tile>(pass),
          Tile::kThreads,
          Tile::kSide,
          1,
          false,
          few_columns,
          Tile::kRowStride,
          Tile::kBlockRows,
          Tile::kSide,
          pass.wide.any() ? 1
          : pass.nearest  ? Tile::kColumnWarps
                          : Tile::kParts};
}

// Reduces rows and columns until a thread has registers for their numbers, states and values.
void fit_registers(const Pass& pass, std::int64_t lanes, LaunchShape* shape) {
  const int registers = pass.number_bytes() / 4,
            values = static_cast<int>(pass.program().memory[static_cast<int>(Region::pair)]) + 1,
            live = pass.lanes.any_wide() ? (values + 2) / 3 : values;  // a strip is long, and most values live briefly
  RowRegisters of_row = state_registers(pass);
  of_row.pairs += pass.lanes.narrow * registers;
  while (shape->rows > 1 && (lanes <= (shape->rows - 1) * shape->threads || !of_row.fit(shape->rows))) --shape->rows;
  const int of_column = shape->rows * live * registers;
  while (shape->columns > 1 && shape->columns * of_column > kGpuStripRegisters) shape->columns /= 2;
  if (shape->columns > 1) shape->unroll = 1;
}

// Reduces a strip until its code compiles fast. Loops over wide points, or with few iterations, are not unrolled.
void fit_length(const Pass& pass, std::int64_t sweep, LaunchShape* shape) {
  while (shape->unroll > 1 && sweep < kGpuTurnsToUnroll * shape->unroll) shape->unroll /= 2;
  const double work = pass.lanes.any_wide() ? 0 : work_per_pair(*pass.variant) * pass.number_bytes() / 4;
  const auto too_long = [&] { return shape->rows * shape->columns * shape->unroll * work > kGpuLongestStrip; };
  while (shape->unroll > 1 && too_long()) shape->unroll /= 2;
  while (shape->columns > 1 && too_long()) shape->columns /= 2;
  while (shape->rows > 1 && too_long()) --shape->rows;
}

void fit_tile(const Pass& pass, LaunchShape* shape) {
  const int bytes = std::max(pass.sweep.total, 1) * pass.number_bytes();
  while (shape->tile > 2 * shape->columns && shape->tile * bytes > kGpuTileBytes) shape->tile /= 2;
  shape->staged = shape->tile * bytes <= kGpuMostTileBytes;
}

int rows_for(const Pass& pass) {
  const auto is_list = [&](int number) { return is_short_list(pass.variant->outputs[number]); };
  if (!pass.takes_short_way())
    return pass.lanes.any_wide() ? kGpuWideRows : pass.float32 ? kGpuRows : kGpuRowsOfDoubles;
  const bool lists = std::any_of(pass.group.outputs.begin(), pass.group.outputs.end(), is_list);
  return pass.picks() && !lists ? kGpuPickRows : kGpuShortRows;
}

LaunchShape shape_for(const Pass& pass, std::int64_t lanes, std::int64_t sweep) {
  const bool few_columns = sweep < (std::int64_t{1} << 31);
  if (pass.wide.any()) return tile_shape<gpu::WideTile>(pass, few_columns);
  if (pass.product.any()) return tile_shape<gpu::PairTile>(pass, few_columns);
  const bool short_way = pass.takes_short_way(),
             many = pass.lanes.narrow * pass.number_bytes() / 4 > kGpuFewRowRegisters;
  LaunchShape shape{rows_for(pass), 1, kGpuThreads, kGpuTile, kGpuUnrolled, true, few_columns, 0, 0, 1, 1};
  if (short_way) shape.columns = kGpuShortColumns;
  else if (pass.lanes.any_wide()) shape.columns = kGpuWideColumns;
  else if (many) shape.columns = kGpuColumns;
  fit_registers(pass, lanes, &shape);
  fit_length(pass, sweep, &shape);
  fit_tile(pass, &shape);
  shape.row_stride = shape.threads;
  shape.block_rows = shape.threads * shape.rows;
  shape.padding = shape.columns;
  shape.screened = pass.screen.any();
  return shape;
}

// Makes a pass for the interpreter, which keeps all values of a point in memory, first the values that pairs read.
Pass to_interpret(Pass pass) {
  pass.epilogues.resize(pass.group.outputs.size());
  fill_panels(&pass);
  constexpr int kAny = 1 << 30;
  for (Panel* panel : {&pass.lanes, &pass.sweep}) panel->lay_out(kAny, kAny, 1);
  const Program& program = pass.program();
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    const Region region = home(program, step);
    if (!pass.needed[s] || region == Region::pair) continue;
    Panel& panel = region == Region::param ? pass.once : region == pass.lane_region() ? pass.lanes : pass.sweep;
    panel.add({Ref::From::slot, step.out, step.region == Region::component ? 1 : step.width});
    if (row(step.op).form != Form::loop) continue;
    for (const Ref& ref : step.in)
      if (ref.from == Ref::From::variable && region_read(ref, pass) == region) panel.add(ref);
  }
  pass.once.lay_out(kAny, kAny, 1);
  return pass;
}

}  // namespace

PassExtents extents_of(const OutputGroup& group, const Sizes& sizes) {
  return group.along_i ? PassExtents{sizes.i, sizes.j} : PassExtents{sizes.j, sizes.i};
}

void Panel::add(const Ref& ref) {
  if (find(ref)) return;
  entries.push_back({ref, total, true});
  total += ref.width;
}

void Panel::want(const Ref& ref) {
  if (!find(ref)) entries.push_back({ref, 0, false});
}

void Panel::lay_out(int widest, int most, int align) {
  for (PanelEntry& e : entries) {
    e.wide = e.ref.width > widest || narrow + e.ref.width > most;
    if (e.wide) continue;
    e.at = narrow;
    narrow += e.ref.width;
  }
  total = narrow = padded(narrow, align);
  for (PanelEntry& e : entries) {
    if (!e.wide) continue;
    e.at = total;
    total += padded(e.ref.width, align);
  }
}

int Panel::room_for_one(int align) {
  const std::vector<int> free = gaps();
  if (!free.empty() && free[0] < narrow) return free[0];
  narrow = total = narrow + align;
  return narrow - align;
}

const Panel::PanelEntry* Panel::find(const Ref& ref) const {
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const PanelEntry& e) { return same(e.ref, ref); });
  return at == entries.end() ? nullptr : &*at;
}

bool Panel::any_wide() const {
  return std::any_of(entries.begin(), entries.end(), [](const PanelEntry& e) { return e.wide; });
}

bool Pass::takes_short_way() const {
  const auto is_short = [&](int number) { return row(variant->outputs[number].red).is_short; };
  return std::any_of(group.outputs.begin(), group.outputs.end(), is_short);
}

bool Pass::picks() const {
  const auto picks = [&](int number) { return row(variant->outputs[number].red).picks(); };
  return std::any_of(group.outputs.begin(), group.outputs.end(), picks);
}

bool Pass::folds_all() const {
  const auto folds = [&](int number) { return variant->outputs[number].keep == Keep::none; };
  return std::any_of(group.outputs.begin(), group.outputs.end(), folds);
}

std::int64_t Pass::shared_bytes() const {
  if (interpreted()) return interpreter_bytes;
  if (!by_tiles()) return shape.staged ? static_cast<std::int64_t>(shape.tile) * sweep.total * number_bytes() : 0;
  const int steps = static_cast<int>(product_bytes() / (4 * gpu::kProductDepth)),
            weights = static_cast<int>(gpu::WideTile::kSide * block_weight_bytes() / 16) + 2 * wide.eights,
            others = nearest ? gpu::kBoundChunks : weights;
  if (!product.any()) return 16 * others;
  return 16 * (others + (wide.any() ? gpu::WideTile::product_chunks(steps, others)
                                    : gpu::PairTile::product_chunks(steps, others)));
}

// Two halves take as many bytes as a number.
std::int64_t Pass::product_bytes() const {
  return halves ? padded(product.width, 2 * gpu::kProductDepth) * 2 : padded(product.width, gpu::kProductDepth) * 4;
}
std::int64_t Pass::weight_bytes() const { return wide.weight_blocks * block_weight_bytes(); }
std::int64_t Pass::block_weight_bytes() const { return wide.eights * 8 * (halves ? 2 : 4); }

std::vector<int> Panel::gaps() const {
  std::vector<bool> taken(static_cast<std::size_t>(total), false);
  for (const PanelEntry& e : entries)
    for (int d = 0; d < e.ref.width; ++d) taken[static_cast<std::size_t>(e.at + d)] = true;
  std::vector<int> gaps;
  for (int place = 0; place < total; ++place)
    if (!taken[static_cast<std::size_t>(place)]) gaps.push_back(place);
  return gaps;
}

bool is_short_list(const Output& o) {
  return row(o.red).inputs == kernweave::Inputs::value_k && o.places * o.width <= kGpuLongestList;
}

Pass make_pass(const Plan& plan, const Variant& variant, const OutputGroup& group, std::int64_t lanes,
               std::int64_t sweep, double strain, PassMode mode) {
  Pass pass{&plan, &variant, group, needed_steps(variant, group.outputs), in_float32(plan), {lanes, sweep}};
  pass.mode = mode;
  if (mode == PassMode::interpreted) return to_interpret(std::move(pass));
  const std::vector<int> reads = count_reads(variant, pass.needed, group.outputs);
  for (int number : group.outputs) {
    const Output& o = variant.outputs[number];
    const bool apart = o.epilogue && reads[o.value.index] == 1;
    pass.epilogues.push_back(apart ? o.epilogue : std::nullopt);
    if (apart) pass.needed[variant.program.slots[o.value.index].maker] = false;
  }
  if (mode == PassMode::best) find_tiles(strain, &pass);
  if (mode == PassMode::best && !pass.product.any()) screen_distances(&pass);
  fill_panels(&pass);
  // Rows of tables are loaded two numbers at a time.
  pass.once.lay_out(kGpuMostOnce, kGpuMostOnce, 16 / pass.number_bytes());
  const int registers = pass.number_bytes() / 4;
  pass.lanes.lay_out(kGpuMostRowRegisters / registers, kGpuMostRowRegisters / registers, 1);
  // Columns are loaded 16 bytes at a time.
  pass.sweep.lay_out(kGpuMostColumnRegisters / registers, kGpuMostColumnRegisters / registers,
                     16 / pass.number_bytes());
  if (pass.screen.any()) pass.square_at = pass.sweep.room_for_one(16 / pass.number_bytes());
  pass.shape = shape_for(pass, lanes, sweep);
  pass.units = plan.pairs == Pairs::restricted;
  return pass;
}

bool softens_at_once(const Plan& plan, const Variant& variant, double strain, PassMode mode) {
  const std::vector<OutputGroup> groups = output_groups(variant);
  return std::all_of(groups.begin(), groups.end(), [&](const OutputGroup& group) {
    const Pass pass = make_pass(plan, variant, group, 1, 1, strain, mode);
    return pass.wide.softens && pass.product.any();
  });
}

void fit_loops(const Loops& loops, Pass* pass) {
  LaunchShape& shape = pass->shape;
  if (pass->interpreted() || pass->by_tiles()) return;
  if (loops.rows > 0) shape.rows = static_cast<int>(std::min<std::int64_t>(shape.rows, loops.rows));
  while (loops.columns > 0 && shape.columns > std::max<std::int64_t>(loops.columns, 1)) shape.columns /= 2;
  shape.block_rows = shape.threads * shape.rows;
  shape.padding = shape.columns;
}

}  // namespace cuda
}  // namespace kernweave
