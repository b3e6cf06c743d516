// Plan to strip programs: where every value lies, and the instructions of each region. Knows no data, and of the
// numbers of points only that tiles need be no larger. Programs point into the plan they were made of.
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

// Columns of a split: all, or where there are too few blocks of rows to deal out whole tiles of them. By the sizes
// alone, so that no number of threads changes a bit. `told`: as decided; 0: as many as leave tasks enough.
std::int64_t split_columns(const Tiling& t, std::int64_t lanes, std::int64_t sweep, std::int64_t told);

// A variable packed into a space, its first component at place `component`.
struct Packed {
  Reading reading;
  Space space;
  int component;
};

// Components along an axis that the pairs read: where the axis' program leaves them, where they stand in the panel.
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
  std::int64_t lane_state;  // bytes to its states among those of a strip of lanes
  Mode mode = Mode::folded;
  int values = -1;      // the component of `pairs` where its values stand
  int weights = -1;     // the same of its weights, where these are pairs too; if multiplied, of the sweep's panel
  int difference = -1;  // the step that makes its weights, where the fold does so instead
  bool turned = false;  // the weight is y - x, but the fold computes x - y: negate the result when it is written
};

// Pass: what is computed in one sweep over all pairs, with lanes along i or along j.
struct Pass {
  bool lanes_along_i;
  Tiling tiling;
  std::array<int, kSpaces> components{};  // numbers of components that each space holds
  std::vector<double> numbers;            // the first components of Space::once
  std::vector<Packed> packed;
  std::vector<Panel> panels;
  std::vector<Instruction> once, lane, sweep, pairs;  // programs
  std::vector<Instruction> operands;                  // of the fused loop that runs pairs, if one does
  void (*run_pairs)(const Frame& frame) = nullptr;    // the machine, or that loop
  std::vector<PassOutput> outputs;
  std::vector<Operand> asked;             // where pairs find the values that were asked for
  std::int64_t lane_state_bytes = 0;  // of one strip of lanes
  bool in_any_order = false;          // may columns be folded in any order, without their numbers?
  int scratch = 0;                    // vectors that operations with their own loop need

  // The addresses of the data of all tables.
  std::vector<const double*> tables_of(const std::vector<View>& data) const;
  std::int64_t stride(Space space) const;  // numbers from component to component
  std::int64_t numbers_in(Space space) const;
};

// The passes that give all outputs of a variant: those kept along i (or folded altogether, or kept pair by
// pair) have their lanes along i, those kept along j along j.
std::vector<Pass> compile(const Plan& plan, const Variant& variant, const Sizes& sizes, const TileKernel& kernel,
                          int number_bytes, const Loops& loops = {}, const std::vector<Ref>& asked = {});

}  // namespace kernweave
