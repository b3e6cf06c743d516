// Runs of a pass: the rows that one device has, window by window; several devices; units of restricted pairs.
#pragma once
#include <functional>
#include <vector>
#include "cuda/data.hpp"
#include "cuda/script_layout.hpp"
#include "device/device.hpp"
#include "pairs/units.hpp"
#include "kernweave/gpu/arguments.hpp"

namespace kernweave {
namespace cuda {

// The memory that a pass plans with: memory that is expected to be free, or that the driver reports as free.
enum class MemoryRoom { expected, known };

// The code of a pass: its source, or its script if it is interpreted.
struct Code {
  std::string source;
  Interpretation interpretation;
};

// A pass and its code, made without a device.
struct WrittenPass {
  Pass pass;
  Code code;
};

// A pass on its devices, with its kernels and its cut, for all runs.
struct ReadyPass {
  Pass pass;
  Code code;
  std::vector<device::Device*> devices;
  std::vector<std::shared_ptr<const device::Kernels>> kernels;  // the kernels of each device
  SweepCut cut;
};

// `split`, `seconds`: as in cut().
ReadyPass make_ready(WrittenPass written, std::vector<device::Device*> devices, std::int64_t split, double seconds);

struct UnitTable;

class PassRun {
 public:
  // Prepares the rows of device number `which`. In a batched pass, `task` is the first element of an array with the
  // tasks of `runs` runs.
  PassRun(const ReadyPass& ready, std::size_t which, const Task& task, const Range& rows, std::int64_t runs = 1);

  // Computes and fetches all outputs, except those that fold both axes: finish() merges their states. `poll`: as in
  // Task. `tasks`: the tasks of runs that are folded together, the first of which is `task`.
  void run(MemoryRoom room, const std::function<void(double)>& poll, const std::vector<const Task*>& tasks);
  // Tells whether tensor cores or a screen failed. If so, results are invalid.
  bool lost();
  // Merges outputs that fold both axes over the blocks of all devices, and moves results that stay to their owners.
  void finish(const std::vector<std::unique_ptr<PassRun>>& all);
  // Functions for restricted pairs in place of run() and finish() (unit_run.cpp): prepare the run; sweep some units;
  // write to the results and states of another pass; merge and fetch all results.
  void enter_units(const UnitTable& table, MemoryRoom room, const std::function<void(double)>& poll);
  void sweep_units(std::int64_t first, std::int64_t end);
  void leave_to(const PassRun& other);
  void end_units(const UnitTable& table);

 private:
  // The blocks and splits of one launch.
  struct Slice {
    std::int64_t blocks, splits;
  };

  // The numbers of rows with waiting states, of waiting states for each row, and of blocks of a launch.
  struct Waiting {
    std::int64_t rows, parts, blocks;
  };

  std::int64_t rows_of(std::int64_t blocks) const { return blocks * pass_.shape.block_rows; }
  std::int64_t blocks_of(std::int64_t rows) const { return ceiling(rows, pass_.shape.block_rows); }
  Range padded(const Range& s) const;
  Range padded_rows(const Range& s) const;
  Range weights(const Range& columns) const;

  void begin(MemoryRoom room, const std::function<void(double)>& poll);
  double budget(const Needs& needs, MemoryRoom room) const;
  template <class T>
  T* room_for(device::Block* block, const Range& points, std::int64_t bytes_each, const char* what);
  void* room_for_panel(device::Block* block, const Range& points, const Panel& panel, bool by_points);
  void place_numbers();
  void begin_turn(std::int64_t turn, const Task* task);
  void enter(const Range& lanes, const Range& sweep);
  void place_rows(const Range& lanes);
  void place_columns(const Range& sweep);
  void place_script();
  void compute_rows(const Range& lanes);
  void compute_columns(const Range& sweep);

  std::vector<char> arguments() const;
  void add_arguments(std::int64_t run, std::vector<char>* bytes) const;
  std::vector<char> arguments_of_runs();
  void launch(const char* name, std::int64_t blocks, std::int64_t splits, unsigned threads, std::int64_t shared_bytes,
              int weight_blocks = 1);
  void launch_points(const char* name, const Range& points, std::int64_t times = 1, int blocks_z = 1);
  Slice slice_of(std::int64_t blocks) const;
  void sweep_window();
  void sweep_chunk(std::int64_t block, std::int64_t blocks);
  void launch_slice(const Slice& slice);
  void merge();
  void launch_units(const char* name, std::int64_t first, std::int64_t end, std::int64_t shared_bytes);

  const Pass& pass_;
  const Code& code_;
  device::Device& device_;
  const PassExtents all_;  // points of all devices
  const Range rows_;    // rows of this device
  const SweepCut& cut_;
  const device::Kernels& kernels_;
  const double limit_;  // limit of memory, set by the user
  const std::int64_t runs_;
  const std::function<void(double)>* poll_ = nullptr;
  Staging staging_;
  DeviceInputs inputs_;
  Outputs outputs_;
  Windows windows_{};
  Range lanes_{-1, -1}, sweep_{-1, -1};  // points of the window
  gpu::Head head_{};
  gpu::Script script_{};
  device::Block once_, row_numbers_, row_halves_, row_scales_, row_squares_, columns_, column_halves_, column_scales_,
      column_squares_, weight_halves_, weight_scales_, scripted_, units_, unit_spans_, unit_merges_, all_arguments_;
  Waiting waiting_{};  // waiting states of units
  std::int64_t turn_ = 0, turns_ = 1;  // turns of runs that are folded together
  device::Pointer lost_ = 0;
  std::int64_t done_ = 0;  // finished blocks times splits
};

// --- multi_device.cpp -----------------------------------------------------------------------------------------------
// One pass, on one device or divided among several by rows.

// The runs of outer axes of a pass.
struct Runs {
  const std::vector<Task>& tasks;
  Range some;        // runs that share launches; more than one only in a batched pass
  std::int64_t own;  // runs with results of their own: run k is folded into the results of run k % own
};

// Computes the outputs of the pass in some rows, and fetches those that do not stay. Returns false, with invalid
// outputs, if tensor cores or a screen have failed. If the memory is too small for all runs that share launches,
// computes one half of the runs after the other.
bool run_pass(const ReadyPass& ready, const Runs& runs, const Range& rows, MemoryRoom room);

// Calls work() on the first of some devices; if work() fails, waits for all devices.
template <class Work>
auto on_devices(const std::vector<device::Device*>& devices, Work work) {
  try {
    devices[0]->enter();
    return work();
  } catch (...) {
    for (device::Device* device : devices) device->wait_after_failure();
    throw;
  }
}

// --- unit_run.cpp ---------------------------------------------------------------------------------------------------
// Units of restricted pairs for blocks of threads, and the rows of their threads.

// A table of units, with units of full spans first. Each row is in at least one unit.
struct UnitTable {
  std::vector<gpu::Unit> units;
  std::vector<gpu::UnitSpan> spans;
  std::vector<gpu::UnitMerge> merges;
  std::int64_t full = 0;   // units of full spans
  std::int64_t trays = 0;  // trays of waiting states
  std::int64_t rows = 0;   // rows of a tray
};

// Makes the table for blocks of `rows` rows and strips of `column_step` columns.
UnitTable unit_table(const PairSpans& spans, std::int64_t rows, std::int64_t column_step);

// Returns the number of rows of a thread, at most `most`, with the least estimated time, rows of padding included.
int rows_of_thread(const PairSpans& spans, int most, int threads);

// Computes a pass over restricted pairs on one device. `partial`, if there are partial spans, runs the units of partial
// spans and writes to the results and states of `full`.
void run_units(ReadyPass* full, ReadyPass* partial, const Task& task, const UnitTable& table, MemoryRoom room);

}  // namespace cuda
}  // namespace kernweave
