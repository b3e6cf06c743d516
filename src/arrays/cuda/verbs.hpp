// The verbs for arrays on a device: what was compiled at installation, or nothing. All pointers are to memory of the
// device, unless it says otherwise; work is put on the device's stream, and waited for only where sizes are asked.
#pragma once
#include <optional>
#include "arrays/index_add.hpp"
#include "arrays/items.hpp"
#include "arrays/reduce.hpp"
#include "arrays/sets.hpp"
#include "device/device.hpp"

namespace kernweave::arrays::cuda {

using device::Block;
using device::Device;

// Keys, of one of the two types that R has: integers or doubles.
using Column = Whole;

// Numbers of which there are as many as turn out.
struct Made {
  Block block;
  Index count = 0;
};

// Running results of columns of so many rows.
using ReduceColumns = void(Device&, const Request&, const Items&, Index rows, Index columns, const Whole& offsets,
                           double* out);
ReduceColumns reduce_all, reduce_known;
bool scan_all(Device& gpu, const Request& request, bool exclusive, const Items& items, Index rows, Index columns,
              const Whole& offsets, const Running& out);

// --- numbers ------------------------------------------------------------------------------------------------------

// The place of the first number that is not whole or not from `least` to `most`; 0 for none. Waits.
Index first_not_whole(Device& gpu, const Whole& numbers, double least, double most);
// The place of the first item that is before the item before it, missing items being last; with `strictly` also of an
// item that is equal to the item before it. 0 for none. Waits.
Index first_unsorted(Device& gpu, const Column& items, bool strictly);
// Doubles as integers, NaN as `missing`. Tells whether one was none: it is missing then, too. Waits.
bool to_integers(Device& gpu, const double* from, Index count, int missing, int* to);
// Integers as doubles, missing ones as R's NA, which is that number.
void to_doubles(Device& gpu, const int* from, Index count, int missing, double not_available, double* to);
// Bytes from one place to another.
void copy_numbers(Device& gpu, const void* from, std::size_t bytes, void* to);
// How many items come before each object, and in all: that is returned. Waits.
Index offsets_of(Device& gpu, const Whole& counts, Index* offsets);
// Writes numbers of type Index as integers.
void narrow(Device& gpu, const Index* from, Index count, int* to);
// Item order[k] (from 1) of `from`, for all k.
void take_items(Device& gpu, const Column& from, const int* order, Index count, void* to);

// --- moves --------------------------------------------------------------------------------------------------------

// An array whose items, of `bytes` 4 or 8, are moved. Lists are as in arrays/move.hpp.
struct Moved {
  const void* from;
  Index count;
  int bytes;
  void* to;
};
void remove_items(Device& gpu, const Moved& x, const Whole& at);
void insert_items(Device& gpu, const Moved& x, const void* values, const Whole& after);
void expand_items(Device& gpu, const Moved& x, const Whole& offsets, Index total);
void objects_and_ranks(Device& gpu, const Whole& offsets, Index total, int* objects, int* ranks);
void move_items(Device& gpu, const Moved& x, const Whole& from, const Whole& to, const Whole& offsets, Index total);
// Places in order, each once, of numbers from 1 to `most`. Waits.
Made rising_places(Device& gpu, const Whole& at, Index most);

// --- orders -------------------------------------------------------------------------------------------------------

// Orders of rows by columns, the last of them first; `offsets` of segments, or none.
struct OrderOf {
  std::vector<Column> columns;
  std::vector<bool> decreasing;
  Whole offsets;
};
Block order_of(Device& gpu, const OrderOf& task);
// Items sorted without an order of them, which NaN and -0 need: none is returned then. Waits.
std::optional<Block> sorted_items(Device& gpu, const Column& items, bool decreasing);
// Equal keys as segments of their order. Waits.
struct Grouped {
  Block order, codes;    // of items: numbers from 1; of each item the number of its group
  Made heads, offsets;   // an item of each group; as many numbers more by one
};
Grouped groups_of(Device& gpu, const Column& keys);

// --- two sorted lists ---------------------------------------------------------------------------------------------

void merge_items(Device& gpu, const Column& a, const Column& b, void* to);
void merge_rows(Device& gpu, const Column& a, const Column& b, int* to);
Made set_of(Device& gpu, SetOp op, bool multiset, const Column& a, const Column& b);

struct Places {
  int* at = nullptr;
  int* matched = nullptr;  // null where nobody asks
};
// Searches for sorted needles in a list without missing items.
void search_sorted(Device& gpu, const Column& needles, const Column& list, bool equal_too, int none,
                   const Places& of_needles, const Places& of_list);
void search_each(Device& gpu, const Column& needles, const Column& list, bool equal_too, int none, int* at);

struct JoinOf {
  Column x, y;
  bool keep_x, keep_y, missing_match;
  double not_available;  // R's NA, which is not NaN
};
struct Pairs {
  Block x, y;
  Index count = 0;
};
Pairs join(Device& gpu, const JoinOf& task, int none);

// --- index_add ----------------------------------------------------------------------------------------------------

// `keys`: an index that is known to be right, or null where it lies sorted in `sorted_keys`, by `order`.
struct AddTask {
  Shape shape;
  Steps steps;
  Combine op;
  bool mean, include;
  double alpha;
  const int* index;
  Index count;
  const int* sorted_keys;
  const int* order;
};
void add_doubles(Device& gpu, const AddTask& task, const double* source, double* array);
// Tells whether a total was too large. Waits.
bool add_integers(Device& gpu, const AddTask& task, const int* source, int* array);
// An index sorted, and the items by it.
void sort_index(Device& gpu, const int* index, Index count, Index extent, int* keys, int* order);

// --- what is there ------------------------------------------------------------------------------------------------

struct Verbs {
  decltype(&cuda::reduce_all) reduce_all;
  decltype(&cuda::reduce_known) reduce_known;
  decltype(&cuda::scan_all) scan_all;
  decltype(&cuda::first_not_whole) first_not_whole;
  decltype(&cuda::first_unsorted) first_unsorted;
  decltype(&cuda::to_integers) to_integers;
  decltype(&cuda::to_doubles) to_doubles;
  decltype(&cuda::offsets_of) offsets_of;
  decltype(&cuda::narrow) narrow;
  decltype(&cuda::take_items) take_items;
  decltype(&cuda::remove_items) remove_items;
  decltype(&cuda::insert_items) insert_items;
  decltype(&cuda::expand_items) expand_items;
  decltype(&cuda::objects_and_ranks) objects_and_ranks;
  decltype(&cuda::move_items) move_items;
  decltype(&cuda::rising_places) rising_places;
  decltype(&cuda::order_of) order_of;
  decltype(&cuda::sorted_items) sorted_items;
  decltype(&cuda::groups_of) groups_of;
  decltype(&cuda::merge_items) merge_items;
  decltype(&cuda::merge_rows) merge_rows;
  decltype(&cuda::set_of) set_of;
  decltype(&cuda::search_sorted) search_sorted;
  decltype(&cuda::search_each) search_each;
  decltype(&cuda::join) join;
  decltype(&cuda::add_doubles) add_doubles;
  decltype(&cuda::add_integers) add_integers;
  decltype(&cuda::sort_index) sort_index;
  decltype(&cuda::copy_numbers) copy_numbers;
  // The test whether this device runs the verbs. The runtime asks for a driver that is not older, and for code or a
  // translation.
  bool (*ready)(Device&);
};

// Null where no nvcc was found at installation.
const Verbs* compiled_verbs();

}  // namespace kernweave::arrays::cuda
