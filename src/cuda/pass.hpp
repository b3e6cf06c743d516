// One sweep over the pairs on a GPU: the numbers that threads read, and the shape of blocks. Knows no data.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>
#include "plan/output_groups.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {
namespace cuda {

// The numbers of points along the lane axis and along the sweep axis.
struct PassExtents {
  std::int64_t lanes, sweep;
};
PassExtents extents_of(const OutputGroup& group, const Sizes& sizes);

// The order of a point's numbers in memory. Narrow values come first and are kept in registers; wide values are read
// from memory.
class Panel {
 public:
  struct PanelEntry {
    Ref ref;
    int at;
    bool wide;
  };

  void want(const Ref& ref);
  // Places a value behind all others.
  void add(const Ref& ref);
  // Places all wanted values. A value wider than `widest`, or beyond `most` narrow numbers, is wide. The counts of
  // narrow numbers and of all numbers are padded to multiples of `align`.
  void lay_out(int widest, int most, int align);
  const PanelEntry* find(const Ref& ref) const;
  // Returns the place of one more narrow number: a gap, if there is one.
  int room_for_one(int align);
  bool any_wide() const;
  std::vector<int> gaps() const;  // places without a value

  std::vector<PanelEntry> entries;
  int narrow = 0, total = 0;
};

// A thread has `rows` points of the lane axis and takes `columns` of the sweep axis at a time.
struct LaunchShape {
  int rows, columns, threads, tile, unroll;
  bool staged;            // do tiles go through shared memory?
  bool few_columns;       // do row numbers of the folded axis fit an int?
  int row_stride;         // distance from one row of a thread to the next
  int block_rows;         // rows of all threads of a block
  int padding;            // columns are padded, and cut, to multiples of this
  int parts;              // threads with sums of the same row
  bool screened = false;  // does a lower bound decide which distances are computed?
};

// An inner product, or a squared distance, of rows with columns: its step and its two sides. Tensor cores compute such
// products for all pairs of a tile, and screens bound such distances.
struct Product {
  int step = -1;  // -1: none
  Ref row, column;
  int width = 0;

  bool any() const { return step >= 0; }
};

using kernweave::PassMode;

// A sum of one term for each pair with many weights for each column, which tensor cores add up; or a softmax with many
// weights. A block of threads has 8 x `eights` weights.
struct WideSum {
  Ref weight;
  int width = 0;  // 0: none
  int weight_blocks = 1, eights = 0;
  bool softens = false;

  bool any() const { return width > 0; }
  int padded_width() const { return weight_blocks * eights * 8; }
  // Returns the mode without tensor cores. A softmax is interpreted: threads have no registers for its states.
  PassMode plain_mode() const { return softens ? PassMode::interpreted : PassMode::plain; }
};

struct Pass {
  const Plan* plan;
  const Variant* variant;
  OutputGroup group;
  std::vector<bool> needed;
  bool float32;
  PassExtents all;                                   // points along both axes
  std::vector<std::optional<Epilogue>> epilogues{};  // for each output of the group: the factor of the final sum
  Product product{};
  bool nearest = false;  // is the product a distance that tensor cores screen?
  Product screen{};      // a distance that threads screen, if points are narrow
  WideSum wide{};
  bool halves = false;  // do tensor cores take each number as one float16 rather than two?
  Panel once{}, lanes{}, sweep{};
  int square_at = 0;  // the place of a column's square, for the screen
  LaunchShape shape{};
  PassMode mode = PassMode::best;
  bool units = false;    // are pairs restricted?
  bool batched = false;  // have launches many runs of outer axes?
  bool folded = false;   // do several runs share states?
  std::int64_t interpreter_bytes = 0;  // bytes of shared memory of an interpreter's block

  const Program& program() const { return variant->program; }
  Sizes sizes() const { return group.along_i ? Sizes{all.lanes, all.sweep, {}} : Sizes{all.sweep, all.lanes, {}}; }
  Region lane_region() const { return group.along_i ? Region::row : Region::column; }
  Region sweep_region() const { return group.along_i ? Region::column : Region::row; }
  // Returns the value that pairs add up for an output of the group.
  const Ref& value(std::size_t k) const {
    return epilogues[k] ? epilogues[k]->rest : variant->outputs[group.outputs[k]].value;
  }
  // Returns the kept axis of outputs that fold the sweep axis.
  Keep lane_keep() const { return group.along_i ? Keep::i : Keep::j; }
  bool pairwise(int output) const { return variant->outputs[output].keep == Keep::both; }
  bool takes_short_way() const;  // has any state a fast path?
  bool picks() const;            // does any state ignore most terms?
  bool folds_all() const;        // does any output fold both axes?
  bool by_tiles() const { return product.any() || wide.any(); }
  bool may_lose() const { return by_tiles() || screen.any(); }  // can tensor cores or a screen fail?
  bool interpreted() const { return mode == PassMode::interpreted; }
  bool stores_rows() const { return product.any() || interpreted() || lanes.any_wide(); }  // else threads compute them
  int number_bytes() const { return float32 ? 4 : 8; }
  std::int64_t shared_bytes() const;
  // Returns the bytes of the halves of a point, and of a column's weights: all weights, or those of a block of threads.
  std::int64_t product_bytes() const;
  std::int64_t weight_bytes() const;
  std::int64_t block_weight_bytes() const;
};

// Tells whether an output is a list that a thread can keep in registers.
bool is_short_list(const Output& o);

// Makes the pass of a group of outputs for these numbers of points on both axes. `strain`: the strain of the decision.
// An interpreted pass gets its shape later (script_layout.hpp).
Pass make_pass(const Plan& plan, const Variant& variant, const OutputGroup& group, std::int64_t lanes,
               std::int64_t sweep, double strain = 0, PassMode mode = PassMode::best);
// Tells whether tensor cores compute the exponents of all outputs and their softmax with many weights.
bool softens_at_once(const Plan& plan, const Variant& variant, double strain, PassMode mode);
// Limits the rows and columns of a thread to the decision's, except where tensor cores fix them.
void fit_loops(const Loops& loops, Pass* pass);

}  // namespace cuda
}  // namespace kernweave
