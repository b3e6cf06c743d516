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
  element,  // component by component; Op::Var copies them
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
  row,         // a number of the thread's row
  tile,        // a number of columns, in shared memory
  column,      // a number of columns, in place
  one_column,  // as `column`, in strips of one column
  own,         // the thread's own strip of numbers for each component
  one_own,     // as `own`, in strips of one column
  matrix,      // a variable of pairs, its rows along the lanes' axis
  matrix_turned,
  // For points
  point,      // values computed for the point
  datum,      // a number of a variable
  parameter,  // a number of a variable that has one point
  counter,    // the row number
  number,     // a number of the program
};

struct Operand {
  int at = 0;  // place of the first component
  ReadFrom from = ReadFrom::none;
  int step = 0;  // to the next component; 0 if one number serves all
};

// The use of a result, or of a term.
enum class Use : int { none, stored, folded, counted_over_pairs, kept };

struct alignas(16) Instruction {
  Kind kind = Kind::end;
  int code = 0;   // the Op; for a term, the Red
  int width = 1;  // components; for an operation with its own loop, components of the result
  int out = 0;    // place of the result; for a term, place of the states of its output
  Operand in[3];
  Use use = Use::none;
  int list =
      0;  // position in the lists; for a term, the bytes from one component's states to the next
  int output = 0;  // for a term
};

// The list of a gather: the place of its first row numbers (`datum` or `parameter`: in a variable of the row's axis or
// of none; `counter`: they are counted; `matrix` or `matrix_turned`), whether they lie along the lane axis, their
// variable, and how many variables after it are looked up in turn.
enum ListOfRows { kFrom, kAlongLanes, kVariable, kLookups, kFirstLookup };

// Bytes of a list's result, a value and its row number: kernels write results of lists over states that are merged.
inline constexpr long long kResultBytes = 16;

// An output of the pass. For each component a thread has a state in the pass's precision and, if states add up, a state
// in float64, both in its own memory; places are in bytes.
struct Outcome {
  Red reduction;
  int pairwise, total;  // kept pair by pair? Are both axes folded?
  int width, places;
  int lane, row, stride;
  int storage;  // bytes of the lane's storage, if it needs any
  int bytes;    // bytes of a state that waits in the device's memory, with its storage
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
  int instructions;         // instructions of a pair
  int column_numbers;       // numbers of a column that pairs read
  int tile;                 // columns of a tile
  int staged;               // do tiles go through shared memory?
  int strip;                // columns that a thread takes at a time: all that an instruction can, or one
  int own;                  // bytes of shared memory of a thread, an odd multiple of 16
  long long column_stride;  // from one component of column values to the next; row values have head.rows_held
};

// Strip of a fused kernel (fused.hpp): a thread's rows, and the columns that it takes at a time. There are fewer rows
// if each row needs its own list.
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
