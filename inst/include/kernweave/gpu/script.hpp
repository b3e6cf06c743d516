// Script: a pass as numbers (instructions and places of values), for kernels that were compiled at installation. The
// host writes the script (src/cuda/script_layout.cpp), and the kernels of interpreter_kernels.hpp execute it.
#pragma once
#include "../names.hpp"
#include "arguments.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

enum class Kind : int {
  end,
  begin,  // the instructions up to `next` are done for each of `width` components
  next,
  element,  // component by component; of Op::Var, as they are
  fold,     // the first argument is the start of the fold
  loop,     // an operation with its own loop; its attributes are in the lists
  gather,   // a variable at row numbers, which the lists define
  term,     // an output takes a term: the value, the weight
};

// The place that a number is read from.
enum class ReadFrom : int {
  none,
  literal,  // `at` itself, the bits of a float
  strip,    // the result of the instruction before, of one component
  once,     // values that are the same for all pairs
  // For pairs
  row,         // of the thread's row
  tile,        // of columns, in shared memory
  column,      // of columns, where they lie
  one_column,  // the same, where a strip has one column
  own,         // the thread's own: a strip of numbers for each component
  one_own,     // the same, where a strip has one column
  matrix,      // a variable of pairs, its rows along the lanes' axis
  matrix_turned,
  // For points
  point,      // values computed for the point
  datum,      // a variable's
  parameter,  // a variable's, which has one point
  counter,    // the row number
  number,     // of the program
};

struct Operand {
  int at = 0;  // of the first component
  ReadFrom from = ReadFrom::none;
  int step = 0;  // to the next one: 0 where one serves all
};

// Use of a result, or of a term.
enum class Use : int { none, stored, folded, counted_over_pairs, kept };

struct alignas(16) Instruction {
  Kind kind = Kind::end;
  int code = 0;   // the Op, or of a term the Red
  int width = 1;  // components; of an operation with its own loop, those of the result
  int out = 0;    // where the result goes; of a term, where the states of its output lie
  Operand in[3];
  Use use = Use::none;
  int list =
      0;  // position in the lists; of a term, the bytes from one component's states to the next
  int output = 0;  // of a term
};

// List of a gather: where its first row numbers are (`datum` or `parameter`: in a variable of the row's axis or of
// none; `counter`: they are counted; `matrix` or `matrix_turned`), whether they lie along the lane axis, their
// variable, and how many variables after it are looked up in turn.
enum ListOfRows { kFrom, kAlongLanes, kVariable, kLookups, kFirstLookup };

// Bytes of a list's result, a value and its row number: kernels write results of lists over states that are merged.
inline constexpr long long kResultBytes = 16;

// An output of the pass. For each component a thread has a state in the pass's precision, and, of states that add up,
// one in float64, both in its own memory; places are in bytes.
struct Outcome {
  Red reduction;
  int pairwise, total;  // kept pair by pair? Are both axes folded?
  int width, places;
  int lane, row, stride;
  int storage;  // of the lane's state, where it needs any
  int bytes;    // of a state that waits in the device's memory, with its storage
};

struct Script {
  Head head;
  const Data* data;
  const Target* targets;
  const Outcome* outcomes;
  const Instruction* once;
  const Instruction* rows;
  const Instruction* columns;
  const Instruction* pairs;
  const int* lists;
  int outputs;
  int instructions;         // of a pair
  int column_numbers;       // of a column, that pairs read
  int tile;                 // columns of a tile
  int staged;               // do tiles go through shared memory?
  int strip;                // columns that a thread takes at a time: all that an instruction can, or one
  int own;                  // bytes of shared memory of a thread, an odd multiple of 16
  long long column_stride;  // of column values, from one component to the next; row values have head.rows_held
};

// Strip of a fused kernel (fused.hpp): a thread's rows, and the columns that it takes at a time. Fewer rows where each
// needs a list of its own.
struct FusedShape {
  int rows, columns;
};
KW_FN constexpr FusedShape fused_shape(bool lists, int number_bytes) {
  return lists ? FusedShape{2, 64 / number_bytes} : FusedShape{16 / number_bytes, 8};
}

// Strip of an instruction: 32 bytes of numbers.
template <class Number>
inline constexpr int kStripOf = 32 / static_cast<int>(sizeof(Number));

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
