// What the host hands to the kernels of a pass. The host and the device compiler read the same text.
#pragma once
#include "../row_numbers.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

// Pointers are to memory of the device. `once`, `columns` and `rows` hold numbers of the pass's own lane.
struct Head {
  long long lanes, sweep;            // points along the axis of the lanes, and along the one that is folded
  long long split;                   // points of the folded axis that one block takes
  long long first_block, first_split;  // of a launch
  long long blocks, splits;            // in all; a launch may have fewer
  long long first_row, rows_here;      // the rows whose states wait to be merged
  const double* numbers;             // of the program
  void* once;                        // what is the same for all pairs
  void* columns;                     // what depends on the folded axis alone, point by point
  void* rows;                        // what depends on the lanes alone, component by component: where it is wide
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
  RowNumbers numbers;
  void* states;
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
