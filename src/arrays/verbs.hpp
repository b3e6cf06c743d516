// The verbs for arrays, a function each. The CPU carries them out, or a device (arrays/cuda): all pointers are to its
// memory, and a device waits only if a number is returned.
#pragma once
#include <functional>
#include <vector>
#include "arrays/index_add.hpp"
#include "arrays/items.hpp"
#include "arrays/reduce.hpp"
#include "arrays/sets.hpp"
#include "device/device.hpp"

namespace kernweave::arrays {

// An array whose items, of 1, 4, 8 or 16 bytes, are moved. If `from` is null, the items' places are written instead,
// from 1: an int or a double each, by `bytes`.
struct Moved {
  const void* from;
  Index count;
  int bytes;
  void* to;
};

// The intervals to move: as many items as the offsets tell, from place from[k] to place to[k], counted from 1. The
// intervals of an absent list lie one after the other.
struct Intervals {
  Whole from, to, offsets;
};

// Arrays that a verb makes, by their names in R's list; a null name means that the array is the value itself.
class Results {
 public:
  virtual ~Results() = default;
  // Makes room for whole numbers up to `most`.
  virtual Numbers numbers(const char* name, Index most, Index count) = 0;
  // Makes room for items of the type of the call's array.
  virtual void* items(Index count) = 0;
  // Takes over memory of a device that holds integers, or items.
  enum class Kind { integers, items };
  virtual void adopt(const char* name, device::Block block, Index count, Kind kind) = 0;
  // Gives the call's array itself, of integers, as a result.
  virtual void given(const char* name) = 0;
};

// Thrown by a verb that a device leaves to the CPU.
struct Declined {};

// An order of rows by columns, the first column first; `offsets` of segments, or none. The caller promises that no row
// is farther than `nearly` from its place; 0: no promise.
struct OrderOf {
  std::vector<Column> columns;
  std::vector<bool> decreasing;
  Whole offsets;
  Index nearly = 0;
};

// NA and NaN are two keys of a set of doubles, as R writes them.
struct SetOf {
  SetOp op;
  bool multiset;
  Column a, b;
  double not_available, nan;
};

// A search for needles in a list without missing items; `sorted`: the needles are sorted.
struct Search {
  Column needles, list;
  bool equal_too, sorted;
};

// Columns of both tables. Pairs that take more than `most_mb` are refused by the CPU.
struct JoinOf {
  std::vector<Column> x, y;
  bool keep_x, keep_y, missing_match;
  double not_available;  // R's NA, which is not NaN
  double most_mb;
};

// Segments of `items` items, by their order or, to reduce few segments, by each item's segment number (`codes`).
struct Segments {
  Index items = 0;
  Whole offsets, order;
  const int* codes = nullptr;
  Index count() const { return offsets.count - 1; }
};

struct AddTask {
  IndexAdd how;
  bool mean, include;
  double alpha;
  Whole index;                      // known to be right
  std::function<Segments()> plan;   // plan of the index, or none
  bool plan_alone;                  // the index comes from the plan
};

class Verbs {
 public:
  virtual ~Verbs() = default;

#define VERB(...) virtual __VA_ARGS__ const = 0;
#include "arrays/verbs.def"
};

}  // namespace kernweave::arrays
