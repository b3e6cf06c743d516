// Arguments of the kernels of a pass. The host's compiler and the device's read the same text.
#pragma once
#include "../red/state.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// The number of components, or of terms of a sum, that tensor cores take at a time.
inline constexpr int kProductDepth = 16;

// The most shared memory of a block, in chunks of 16 bytes, for two blocks on a multiprocessor of 164 KB (A100).
inline constexpr int kMostChunks = 81 * 64;

// The shape of a tile for tensor cores (tile.hpp): how a block's eight warps divide its pairs. The 128 rows are divided
// among kRowWarps warps, the columns of a tile among 8 / kRowWarps warps with 64 columns each. A thread has some rows,
// and two of each eight columns.
template <int kRowWarpsOf>
struct TileShape {
  static constexpr int kRowWarps = kRowWarpsOf, kColumnWarps = 8 / kRowWarps, kThreads = 256;
  static constexpr int kBlockRows = 128, kSide = 64 * kColumnWarps;
  static constexpr int kRows = 16 / kRowWarps, kRowStride = 8, kColumns = 16;
  static constexpr int kParts = 4 * kColumnWarps;  // threads that share the sums of a row
  // Chunks of 16 bytes: the halves of rows and of columns for one step of 16 components.
  static constexpr int kRowChunks = 512, kColumnChunks = kSide / 8 * 32;

  // Shared memory for `steps` of inner products, beside `others` chunks. Columns come in stages of one step, or of all
  // steps if two stages fit. Rows stay in shared memory if they fit, else they come with the columns.
  static constexpr bool steps_together(int steps, int others) {
    return steps * (2 * kColumnChunks + kRowChunks) + others <= kMostChunks;
  }
  static constexpr bool rows_stay(int steps, int others) {
    return 4 * kColumnChunks + steps * kRowChunks + others <= kMostChunks;
  }
  static constexpr int stages(int steps, int others) { return steps_together(steps, others) ? 2 : 4; }
  static constexpr int stage_chunks(int steps, int others) {
    return kColumnChunks * (steps_together(steps, others) ? steps : 1) + (rows_stay(steps, others) ? 0 : kRowChunks);
  }
  static constexpr int product_chunks(int steps, int others) {
    return stages(steps, others) * stage_chunks(steps, others) + (rows_stay(steps, others) ? steps * kRowChunks : 0);
  }
};
// The shapes for pairs with an inner product, and for sums with many weights, in which each warp has all columns.
using PairTile = TileShape<4>;
using WideTile = TileShape<8>;
// The count of numbers that warps exchange in a search for nearest points (nearest.hpp): two for each row's list, by
// each warp with columns of the row, for this tile and the tile before. Four numbers fill a chunk of shared memory.
inline constexpr int kBounds = 2 * 2 * PairTile::kColumnWarps * PairTile::kBlockRows, kBoundChunks = kBounds / 4;

// A block's share of restricted pairs: rows up to `row_end`, and spans of columns by number. The states of the rows
// wait in a tray; `tray` is -1 if no other unit has these rows.
struct Unit {
  long long row, row_end, span, span_end, tray;
};
struct UnitSpan {
  long long from, to;
};
// Trays with states of the same rows.
struct UnitMerge {
  long long row, row_end, tray, tray_end;
};

// The part of the pairs that a launch has. Points, blocks and splits are counted along the whole axis, whatever part of
// the axis is on the device; pointers are the addresses that point 0 would have. `once`, `columns` and `rows` hold
// numbers of the pass's precision.
struct Head {
  long long lanes, sweep;              // points along the lane axis and the sweep axis, in all
  long long split;                     // points of the sweep axis that one block takes
  long long blocks, splits;            // in all; a launch may have fewer blocks and splits
  long long group;                     // splits of a group: their states are merged before groups are
  long long first_block, first_split;  // the first block and split of a launch
  long long from, to;                  // points of a launch that has a thread for each point
  long long rows_held;                 // points of the lane axis that are on the device
  long long first_row, rows_here;      // the rows whose states wait to be merged,
  long long splits_from, splits_here;  // and the splits of these states
  int continues, goes_on;              // have earlier splits been merged already? are later ones to come?
  int gathers;                         // does a launch merge the states of each group?
  const double* numbers;               // numbers of the program
  void* once;                          // values that are the same for all pairs
  void* columns;                       // values of the sweep axis alone, point by point
  void* rows;                          // wide values of the lane axis alone, component by component
  void* row_halves;                    // the numbers of inner products, and the inverses of their scales
  void* column_halves;
  float* row_scales;
  float* column_scales;
  float* row_squares;  // squares of points whose distances are screened
  float* column_squares;
  void* weight_halves;  // weights of wide sums
  float* weight_scales;
  const Unit* units;
  const UnitSpan* spans;
  const UnitMerge* merges;
  long long unit_rows, first_unit;  // rows of a tray; first unit of a launch
  int* lost;  // set if halves or a screen fail: results are wrong, and are computed again without them
};

// Data of a variable, by columns, and the centre that is subtracted from each point, if any.
struct Data {
  const double* at;
  const double* centre;
  long long rows;
};

// The target of an output: the memory of its results, and of states that wait to be merged.
struct Target {
  double* values;
  double factor;  // factor of the values
  RowNumbers numbers;
  long long rows, stride;  // results from one column of pairs to the next, and from one component to the next
  void* states;
  void* merged;  // the state of each row so far; if both axes are folded, of each block and split
};

template <int kVariables, int kOutputs>
struct Arguments {
  Head head;
  Data data[kVariables];
  Target targets[kOutputs];
};

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
