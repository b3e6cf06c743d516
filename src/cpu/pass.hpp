// Compiles a plan to strip programs: the place of every value, and the instructions of each region. Reads no data, and
// uses numbers of points only to keep tiles no larger. Programs point into the plan they were made of.
#pragma once
#include <array>
#include <cstdint>
#include <vector>
#include "cpu/inputs.hpp"
#include "cpu/kernels.hpp"
#include "plan/plan.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {

// The shape of a tile: `rows` points along the lanes, `columns` along the other axis.
struct Tiling {
  int vectors, per_strip, lanes;  // of the strip machine: vectors of lanes, columns, lanes of one vector
  std::int64_t rows, columns;

  std::int64_t strip_rows() const { return static_cast<std::int64_t>(vectors) * lanes; }
  std::int64_t strip() const { return strip_rows() * per_strip; }
};

// Returns the columns of a split: all, or whole tiles if blocks of rows are too few to deal out. Depends on sizes
// alone, so that no number of threads changes a bit. `told`: the decided columns; 0: as many as leave enough tasks.
std::int64_t split_columns(const Tiling& t, std::int64_t lanes, std::int64_t sweep, std::int64_t told);

// A variable packed into a space, its first component at place `component`.
struct Packed {
  Reading reading;
  Space space;
  int component;
};

// Components along an axis that pairs read: their place in the space of the axis' program, and in the panel.
struct Panel {
  Space from;
  int component, width;
  int place;
};

// One output of a pass. Most fold each strip as it comes. Outputs that are kept pair by pair, or have many weights,
// leave the values of a tile in `pairs`: to be written out, or to be multiplied by their weights.
struct PassOutput {
  enum class Mode { folded, written, multiplied };

  int number;               // in the plan
  std::int64_t lane_state;  // bytes from the states of a strip of lanes to its own states
  Mode mode = Mode::folded;
  int values = -1;      // the component of `pairs` where its values stand
  int weights = -1;     // the weights' component: of `pairs` if they are pairs too; of the sweep's panel if multiplied
  int difference = -1;  // the step that makes its weights, if the fold does so instead
  bool turned = false;  // the weight is y - x, but the fold computes x - y: negate the result when it is written
};

// A pass: all that is computed in one sweep over all pairs, with lanes along i or along j.
struct Pass {
  bool lanes_along_i;
  Tiling tiling;
  std::array<int, kSpaces> components{};  // numbers of components that each space holds
  std::vector<double> numbers;            // the first components of Space::once
  std::vector<Packed> packed;
  std::vector<Panel> panels;
  std::vector<Instruction> once, lane, sweep, pairs;  // programs
  std::vector<Instruction> operands;                  // of the fused loop that runs pairs, if one does
  void (*run_pairs)(const Frame& frame) = nullptr;    // the machine, or the fused loop
  std::vector<PassOutput> outputs;
  std::vector<Operand> asked;             // the operands by which pairs read the values that were asked for
  std::int64_t lane_state_bytes = 0;  // of one strip of lanes
  bool in_any_order = false;          // may columns be folded in any order, without their numbers?
  int scratch = 0;                    // vectors that operations with their own loop need

  // Returns the addresses of the data of all tables.
  std::vector<const double*> tables_of(const std::vector<View>& data) const;
  std::int64_t stride(Space space) const;  // numbers from component to component
  std::int64_t numbers_in(Space space) const;
};

// Returns the passes that give all outputs of a variant. Outputs kept along i (or folded altogether, or kept pair by
// pair) have their lanes along i, outputs kept along j have them along j.
std::vector<Pass> compile(const Plan& plan, const Variant& variant, const Sizes& sizes, const TileKernel& kernel,
                          int number_bytes, const Loops& loops = {}, const std::vector<Ref>& asked = {});

}  // namespace kernweave
