// Makes a pass of a plan: chooses the modes of its outputs, its steps, the size of its tiles, and the order in which
// its parts are emitted.
#include "cpu/pass.hpp"

#include <algorithm>
#include <limits>

#include "cpu/limits.hpp"
#include "cpu/write_pass.hpp"
#include "cpu/write_steps.hpp"
#include "pairs/units.hpp"
#include "plan/output_groups.hpp"

namespace kernweave {
namespace {

// --- output modes: outputs are folded strip by strip, written out, or multiplied by many weights ---

using Mode = PassOutput::Mode;

// Tells whether a tile's values are better multiplied by all weights along the sweep at once: with many weights, a
// product of matrices is faster.
bool is_multiplied(const Plan& plan, const Variant& variant, const Output& output, bool lanes_along_i) {
  const Ref& weight = output.weight;
  if (output.red != Red::Sum || output.keep == Keep::both || output.value.width > 1 || weight.width < kFewestMultiplied)
    return false;
  return region_read(weight, plan, variant.program) == (lanes_along_i ? Region::column : Region::row);
}

// Returns the step that makes the weights of a sum, if it is the difference of points along the two axes and nothing
// else reads it; else -1. In reductions other than sums, the result's sign could not replace the weight's sign.
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

// Decides the mode of each of the pass' outputs, and their places. Steps that an output's fold takes over are no longer
// `needed`.
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

// --- sizes ---

// Counts the numbers that pairs read of a point along an axis, strip by strip. Weights that wait for a product are read
// by the product.
int components_of(Axis axis, const Plan& plan, const Variant& variant, const std::vector<bool>& needed,
                  const OutputGroup& group) {
  std::vector<Ref> by_outputs;
  for (int number : group.outputs) {
    const Output& output = variant.outputs[number];
    by_outputs.push_back(output.value);
    if (!is_multiplied(plan, variant, output, group.along_i)) by_outputs.push_back(output.weight);
  }
  return numbers_read(plan, variant.program, needed, by_outputs, axis);
}

// Places the lane states of a pass's outputs side by side.
void place_states(const Variant& variant, const TileKernel& kernel, Pass* pass) {
  for (PassOutput& o : pass->outputs) {
    const Output& output = variant.outputs[o.number];
    if (output.keep == Keep::both) continue;
    o.lane_state = pass->lane_state_bytes;
    pass->lane_state_bytes += kernel.states[static_cast<int>(output.red)].lane_bytes * kernel.vectors * output.width;
  }
}

std::int64_t in_strips(std::int64_t points, const Tiling& t) {
  return std::max<std::int64_t>((points + t.strip() - 1) / t.strip(), 1) * t.strip();
}

// Bytes of one place of a result in the states of lanes and of rows: a value and a row number in each.
constexpr std::int64_t kBytesOfPlace = 32;

// Counts the rows of a block. A block with few columns has enough rows to be worth a task, as long as the rows' numbers
// are few as well and there are enough blocks to deal out.
std::int64_t rows_of_block(std::int64_t rows, std::int64_t columns, std::int64_t bytes_of_row) {
  const std::int64_t worth = static_cast<std::int64_t>(kPairsOfTask) / std::max<std::int64_t>(columns, 1);
  const std::int64_t fitting = kBlockBytes / std::max<std::int64_t>(bytes_of_row, 1);
  return std::max<std::int64_t>(std::min({worth, fitting, rows / std::int64_t{kTasks}, std::int64_t{kMostTileRows}}),
                                kTileRows);
}

// `keeps`: do the values of a tile wait for their weights? Then the values have to fit as well.
Tiling tiling_for(const TileKernel& kernel, int number_bytes, std::int64_t lanes, std::int64_t sweep,
                  std::int64_t bytes_of_row, int components, bool keeps) {
  Tiling t{kernel.vectors, kernel.columns, kernel.lanes, 0, 0};
  t.rows = in_strips(rows_of_block(lanes, sweep, bytes_of_row), t);
  const std::int64_t of_column = number_bytes * std::max<std::int64_t>(keeps ? t.strip_rows() : components, 1);
  const std::int64_t fitting = kTileBytes / of_column;
  t.columns =
      std::min<std::int64_t>(std::max<std::int64_t>(fitting, kFewestColumns), kMostColumns) / t.strip() * t.strip();
  t.columns = std::max<std::int64_t>(t.columns, t.strip());
  return t;
}

// Tells whether columns may be folded in any order: no row numbers are asked for, and no pair is read or written.
bool in_any_order(const Variant& variant, const Pass& pass) {
  const auto no_number = [&](const PassOutput& o) {
    return row(variant.outputs[o.number].red).results == Results::value && o.mode != PassOutput::Mode::written;
  };
  const auto of_pairs = [](const Packed& p) { return p.space == Space::pairs; };
  return std::all_of(pass.outputs.begin(), pass.outputs.end(), no_number) &&
         std::none_of(pass.packed.begin(), pass.packed.end(), of_pairs);
}

// Returns the fewest components of squared distances that are worth a screen. A screen needs a bound, which comes from
// earlier tiles or from a look at the tile itself.
int fewest_of_screen(const Pass& pass, const Variant& variant, const TileKernel& kernel, std::int64_t sweep) {
  const auto looks = [&](const PassOutput& o) {
    return kernel.states[static_cast<int>(variant.outputs[o.number].red)].looks;
  };
  const bool bounded = sweep > pass.tiling.columns || std::all_of(pass.outputs.begin(), pass.outputs.end(), looks);
  return bounded ? kCpuFewestOfScreen : std::numeric_limits<int>::max();
}

Pass make_pass(const Plan& plan, const Variant& variant, const Sizes& sizes, const TileKernel& kernel, int number_bytes,
               const OutputGroup& group, const Loops& loops, const std::vector<Ref>& asked) {
  Pass pass;
  pass.lanes_along_i = group.along_i;
  for (int number : group.outputs) pass.outputs.push_back({number, 0});
  std::vector<bool> needed = needed_steps(variant, group.outputs);
  const auto multiplied = [&](const PassOutput& o) {
    return is_multiplied(plan, variant, variant.outputs[o.number], group.along_i);
  };
  const bool keeps = std::any_of(pass.outputs.begin(), pass.outputs.end(), multiplied);
  const std::int64_t lanes = group.along_i ? sizes.i : sizes.j, sweep = group.along_i ? sizes.j : sizes.i;
  const auto components = [&](bool along_i) {
    return components_of(along_i ? Axis::i : Axis::j, plan, variant, needed, group);
  };
  std::int64_t bytes_of_row = number_bytes * std::int64_t{components(group.along_i)};
  for (const PassOutput& o : pass.outputs)
    bytes_of_row += kBytesOfPlace * variant.outputs[o.number].width * variant.outputs[o.number].places;
  pass.tiling = tiling_for(kernel, number_bytes, lanes, sweep, bytes_of_row, components(!group.along_i), keeps);
  if (loops.rows > 0) pass.tiling.rows = in_strips(loops.rows, pass.tiling);
  if (loops.columns > 0) pass.tiling.columns = in_strips(loops.columns, pass.tiling);
  pass.tiling.rows = std::min(pass.tiling.rows, in_strips(lanes, pass.tiling));
  pass.tiling.columns = std::min(pass.tiling.columns, in_strips(sweep, pass.tiling));
  place_states(variant, kernel, &pass);
  const std::vector<int> fused = fused_into(variant.program, needed, count_reads(variant, needed, pass));
  Layout layout(plan, variant, needed, read_until(variant.program, fused), &pass);
  choose_output_modes(plan, variant, &layout, &needed, &pass);
  const int fewest = asked.empty() ? fewest_of_screen(pass, variant, kernel, sweep) : kFewestOfScreenInBoxes;
  emit(plan, variant, group, needed, kernel, fewest, fused, &layout, &pass);
  pass.in_any_order = in_any_order(variant, pass);
  for (const Ref& ref : asked) pass.asked.push_back(layout.operand(ref, Region::pair));
  return pass;
}

}  // namespace

std::vector<Pass> compile(const Plan& plan, const Variant& variant, const Sizes& sizes, const TileKernel& kernel,
                          int number_bytes, const Loops& loops, const std::vector<Ref>& asked) {
  std::vector<Pass> passes;
  for (const OutputGroup& group : output_groups(variant))
    passes.push_back(make_pass(plan, variant, sizes, kernel, number_bytes, group, loops, asked));
  return passes;
}

std::int64_t split_columns(const Tiling& t, std::int64_t lanes, std::int64_t sweep, std::int64_t told) {
  const std::int64_t blocks = (lanes + t.rows - 1) / t.rows;
  if (blocks == 0 || sweep == 0) return sweep;
  if (told == 0) {
    const double by_work = static_cast<double>(lanes) * static_cast<double>(sweep) / static_cast<double>(blocks);
    const std::int64_t wanted =
        std::min<std::int64_t>(kTasks / blocks, static_cast<std::int64_t>(by_work / kPairsOfTask));
    if (wanted <= 1) return sweep;
    told = (sweep + wanted - 1) / wanted;
  }
  return (told + t.columns - 1) / t.columns * t.columns;
}

}  // namespace kernweave
