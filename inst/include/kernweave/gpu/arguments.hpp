// What the host hands to the kernels of a pass. The host and the device compiler read the same text.
#pragma once
#include "../row_numbers.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// Components, or terms of a sum, that tensor cores take at a time.
inline constexpr int kProductDepth = 16;

// How pairs are shared out where tensor cores have a part (tile.hpp). A block has 128 rows, shared out among some of
// its eight warps, and passes 64 columns at a time for each of the others; a thread has some rows, and two columns of
// each eight.
template <int kRowWarpsOf>
struct TileShape {
  static constexpr int kRowWarps = kRowWarpsOf, kColumnWarps = 8 / kRowWarps, kThreads = 256, kStages = 4;
  static constexpr int kBlockRows = 128, kSide = 64 * kColumnWarps;
  static constexpr int kRows = 16 / kRowWarps, kRowStride = 8, kColumns = 2;
  static constexpr int kParts = 4 * kColumnWarps;  // threads whose sums belong to the same row
  // Of 16 bytes: each side's halves for one step.
  static constexpr int kRowChunks = 512, kColumnChunks = kSide / 8 * 32, kStageChunks = kRowChunks + kColumnChunks;
  static constexpr int kSharedBytes = kStages * kStageChunks * 16;
};
// Where sums have many weights, each warp has all columns.
using PairTile = TileShape<4>;
using WideTile = TileShape<8>;
// Where the nearest are looked for: two numbers of the list of a row, of each warp that has some of its columns, in two
// tiles.
inline constexpr int kBounds = 2 * 2 * PairTile::kColumnWarps * PairTile::kBlockRows;

// Points, blocks and splits are counted along the whole axis, whatever part of it is on the device: pointers are to
// where the first of all points would lie. `once`, `columns` and `rows` hold numbers of the pass's own lane.
struct Head {
  long long lanes, sweep;              // points along the axis of the lanes, and along the one that is folded, in all
  long long split;                     // points of the folded axis that one block takes
  long long blocks, splits;            // in all; a launch may have fewer
  long long group;                     // splits whose states come together before they meet the others
  long long first_block, first_split;  // of a launch
  long long from, to;                  // points of a launch that has a thread for each
  long long rows_held;                 // points of the lanes' axis that are on the device
  long long first_row, rows_here;      // the rows whose states wait to be merged,
  long long splits_from, splits_here;  // and the splits that have left them
  int continues, goes_on;              // have earlier splits been merged already? are later ones to come?
  int gathers;                         // of a launch that merges: those of each group?
  const double* numbers;               // of the program
  void* once;                          // what is the same for all pairs
  void* columns;                       // what depends on the folded axis alone, point by point
  void* rows;                          // what depends on the lanes alone, component by component: where it is wide
  void* row_halves;                    // the numbers of inner products, and what undoes their scale
  void* column_halves;
  float* row_scales;
  float* column_scales;
  float* row_squares;  // of points whose distances are looked through for the least
  float* column_squares;
  void* weight_halves;  // weights of wide sums
  float* weight_scales;
  int* lost;  // set where halves or a screen cannot tell a number, or let too much pass
};

// The data of a variable, by columns, and what is to be taken off each of them, if anything.
struct Data {
  const double* at;
  const double* centre;
  long long rows;
};

// Where an output goes; where its states wait for those of other blocks.
struct Target {
  double* values;
  double factor;  // of values
  RowNumbers numbers;
  long long rows, stride;  // results from one column of pairs to the next, and from one component to the next
  void* states;
  void* merged;  // of each row so far; where both axes are folded, of each block and split
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
