// The kernels of each instruction set: the language of the strip machine, the machine, and the states of its lanes.
#pragma once
#include <cstdint>
#include "kernweave/names.hpp"

namespace kernweave {

// --- strip ----------------------------------------------------------------------------------------------------------
// The strip machine's language: the form of an instruction, and the places of operands. Plain data, read on both sides
// of the instruction-set border.
//
// A strip is a block of pairs held in registers: kVectors vectors of points along the lane axis, times kColumns
// points of the sweep axis. An instruction works on the whole strip: most take it, combine it with an operand in
// memory and leave the result in registers, so a chain of operations never touches memory.

// The spaces where operands lie. Every space holds components one after the other, `stride` numbers apart.
enum class Space : std::uint8_t {
  lane,         // values along the lane axis, of the present block
  sweep,        // values along the sweep axis, of the present tile
  lane_panel,   // values of the lane axis that pairs read, all components of a strip together: side by side,
  sweep_panel,  // values do not compete for places in the cache or come in late; likewise, of the sweep axis
  once,         // parameters and numbers
  table,        // parameters that are read by place: their numbers as they are, once for all lanes
  pairs,        // matrices of pairs, packed for the present strip of lanes
  slot,         // values that the program itself has stored, one strip wide
};
constexpr int kSpaces = 8;

// The shape of a step: the order and the kinds of its operands. `other` is the operand in memory: a vector of lanes, or
// one number a column, the same in all lanes.
enum class StepShape : std::uint16_t {
  // One argument
  alone = 0,  // strip = f(strip)
  scaled,     // strip = f(strip * a), a number
  shifted,    // strip = f(strip + a), a number
  of_one,     // the number of these shapes
  // Two
  with_vector = 0,  // strip = f(strip, other)
  with_number,
  vector_with,  // strip = f(other, strip)
  number_with,
  vector_number,  // strip = f(a, b), both in memory
  number_vector,
  row_number,  // like vector_number, with a vector that all columns share
  number_row,
  vectors,
  sum_row_number,  // the sum of row_number over components
  sum_number_row,
  with_shifted,  // strip = f(strip, a + b), a vector and a number
  shifted_with,
  with_scaled,  // strip = f(strip, a * b)
  scaled_with,
  own_shifted,  // strip = f(strip, strip + a), a number
  shifted_own,
  of_two,
  // Three: the place of the strip among the vectors
  first = 0,  // strip = f(strip, a, b)
  second,
  third,
  of_three,
};
// The shapes of a fold. Most shapes run over all components of their operands in memory. The others take one component
// at a time, the strip, with a second argument in b: `first` has no earlier result; `next` and `last` have the earlier
// result in a, where `next` also leaves its result.
enum class FoldShape : std::uint16_t {
  start,
  first,
  next,
  last,
  vectors,
  numbers,
  of_one,
  first_number = of_one,
  next_number,
  last_number,
  vector_number,
  number_vector,
  of_two,
};

// Codes of operations, shape by shape and row by row without gaps, so that they number the steps of the machine.
struct Codes {
  std::uint16_t first[static_cast<int>(Op::count) + 1] = {};
};
constexpr Codes operation_codes() {
  Codes codes;
  std::uint16_t shapes[static_cast<int>(Op::count)] = {};
#define KW_SHAPES(Name, number) shapes[static_cast<int>(Op::Name)] = static_cast<std::uint16_t>(number);
#define UNARY(Name, ...) KW_SHAPES(Name, StepShape::of_one)
#define BINARY(Name, ...) KW_SHAPES(Name, StepShape::of_two)
#define TERNARY(Name, ...) KW_SHAPES(Name, StepShape::of_three)
#define FOLD1(Name, ...) KW_SHAPES(Name, FoldShape::of_one)
#define FOLD2(Name, ...) KW_SHAPES(Name, FoldShape::of_two)
#define LOOP1(Name, ...) KW_SHAPES(Name, 1)
#define LOOP2(Name, ...) KW_SHAPES(Name, 1)
#include "kernweave/ops.def"
#undef KW_SHAPES
  for (int op = 0; op < static_cast<int>(Op::count); ++op)
    codes.first[op + 1] = static_cast<std::uint16_t>(codes.first[op] + shapes[op]);
  return codes;
}
constexpr Codes kOperationCodes = operation_codes();

constexpr std::uint16_t code_of(Op op, StepShape shape) {
  return static_cast<std::uint16_t>(kOperationCodes.first[static_cast<int>(op)] + static_cast<std::uint16_t>(shape));
}
constexpr std::uint16_t code_of(Op op, FoldShape shape) { return code_of(op, static_cast<StepShape>(shape)); }

// The weight of a term: none; a vector of lanes; one number a column, or one number for all columns; or the difference
// of two points, a vector that all columns share minus a number, so that no gradient has to keep its differences.
enum class Weight : std::uint16_t { none, vector, number, difference, count };

constexpr bool takes_weights(Red red) {
  enum Inputs { value, value_weight, value_k };
  constexpr Inputs inputs_of[] = {
#define REDUCTION(Name, fn, inputs, ...) inputs,
#include "kernweave/reductions.def"
  };
  return inputs_of[static_cast<int>(red)] == value_weight;
}
// Tells whether a reduction takes a weight. A sum without weights reads the weight 1; LogSumExp would test each for 0.
constexpr bool takes(Red red, Weight weight) {
  if (weight == Weight::none) return !takes_weights(red) || red == Red::LogSumExp;
  return takes_weights(red) && (weight != Weight::difference || red == Red::Sum);
}

constexpr std::uint16_t kFirstReduction = code_of(Op::count, StepShape::alone);
constexpr std::uint16_t code_of(Red red, Weight weight) {
  constexpr std::uint16_t ways = static_cast<std::uint16_t>(Weight::count);
  return static_cast<std::uint16_t>(kFirstReduction + static_cast<std::uint16_t>(red) * ways +
                                    static_cast<std::uint16_t>(weight));
}

constexpr std::uint16_t kFirstMove = code_of(Red::count, Weight::none);
enum Move : std::uint16_t {
  kLoadVector = kFirstMove,  // strip = a
  kLoadNumber,
  kStore,       // a = strip
  kTellSquare,  // strip = told_square() of the squares of points of `width` components (screen-inl.hpp)
  kLoopBegin,   // the instructions up to kLoopEnd run for each of `width` components
  kLoopEnd,
  kStripEnd,
};

// The numbering of a reduction's terms: along the sweep, or by places in the matrix of pairs.
enum Numbering : std::uint8_t { kAlongSweep, kByPlace };
struct Count {
  std::int64_t first;  // of the first column and lane
  std::int64_t by_column;
  std::int64_t by_lane;
};

struct Operand {
  std::int64_t offset = 0;  // of its first component, in numbers
  std::int64_t column = 0;  // for vectors: numbers between columns of the strip
  std::int64_t stride = 0;  // numbers between components; 0 if one component serves all
  Space space = Space::once;
  bool vector = false;  // differs from lane to lane
  std::int32_t width = 1;
};

struct Instruction {
  Instruction() = default;
  explicit Instruction(std::uint16_t code) : code(code) {}

  std::uint16_t code = kStripEnd;
  std::int32_t width = 1;  // components of a fold, a loop, or a weight
  Operand a, b;
  Operand result;                 // of operations with their own loop
  std::int64_t state = 0;         // for reductions: bytes to the states of the first component
  std::int64_t state_stride = 0;  // bytes from component to component
  Numbering counted = kAlongSweep;
  bool starts = false;  // does the fold of a fused loop start with the number that the first call adds?
  const int* attributes = nullptr;
};

// One call of the machine: some strips side by side along the sweep axis.
struct Frame {
  const Instruction* program;
  const Instruction* operands;    // of a fused loop: its fold, calls and reductions
  void* base[kSpaces];            // address of each space for the first strip
  std::int64_t advance[kSpaces];  // numbers from strip to strip
  std::int64_t columns;           // all columns; the last strip may be short
  void* states;                   // of the present strip of lanes
  void* scratch;                  // for operations with their own loop
  void* room;                     // for the program made ready
  Count count[2];                 // of terms, by Numbering
};

// The values of a tile for a strip of lanes, as the program has kept them, and their weights in the sweep's panel.
struct Product {
  const void* values;
  const void* weights;   // of the first strip of columns
  std::int64_t advance;  // numbers of the panel from strip to strip
  std::int64_t columns;
  int width;
  void* states;  // sums, of the first weight
};

// --- kernels --------------------------------------------------------------------------------------------------------
// Declares what each instruction set offers: the strip machine in both precisions, and the states of its lanes.

// The states of one reduction, as functions. Lane states hold many rows at once in the precision of the strip; row
// states hold one row in float64 and take in the terms that lane states have gathered.
struct StateKernel {
  bool adds;                // its lane states go to the row states after every tile, for accuracy
  bool looks;               // does it take a sample of its terms first?
  std::int64_t lane_bytes;  // of one vector of lanes
  std::int64_t (*lane_storage)(int places);
  void (*lane_init)(void* state, void* storage, int places);
  void (*lane_restart)(void* state);  // for states that add: resets the sums
  void (*lane_look)(void* state);     // begins the sample: terms are not taken in until lane_end_look()
  void (*lane_end_look)(void* state);
  void (*lane_names)(void* state, const long long* names);  // of states that note places (red/state.hpp)
  double (*lane_limit)(const void* state);                  // limit() in the lane in which most terms matter; NaN: all
  std::int64_t row_bytes;
  std::int64_t (*row_storage)(int places);
  void (*row_init)(void* rows, std::int64_t count, void* storage,
                   int places);                             // consecutive states with consecutive storage
  void (*flush)(void* rows, const void* lanes, int count);  // consecutive row states take in a lane each
  void (*merge)(void* row, const void* later);
  void (*finish)(const void* rows, std::int64_t count, int places, double* values, long long* indices);  // row by row
};

// A loop compiled for pairs of one kind (fused-inl.hpp), and the list of all loops.
struct FusedLoop {
  Op fold;
  Red reduction;
  Weight weight;
  bool summed;    // are the terms of a slope summed up by themselves, too?
  const CallRow* calls;
  int length;
  void (*run)(const Frame& frame);
  void (*screened)(const Frame& frame);  // the loop with a screen (screen-inl.hpp), if there is one
};
struct FusedLoopList {
  const FusedLoop* at;
  int count;
};

struct TileKernel {
  int vectors, columns, lanes;                      // of a strip; lanes of one vector
  std::int64_t (*room)(std::int64_t instructions);  // bytes that a program takes when it runs
  void (*run)(const Frame& frame);
  FusedLoopList (*fused)();
  void (*multiply)(const Product& product);  // adds a tile's weighted values to its sums
  const StateKernel* states;                 // by Red
};

// Returns the kernel of the instruction set in use.
const TileKernel& tile_kernel(bool float32);

extern const TileKernel tile_base_float, tile_base_double;
#if defined(__x86_64__)
extern const TileKernel tile_avx2_float, tile_avx2_double, tile_avx512_float, tile_avx512_double;
#endif

}  // namespace kernweave
