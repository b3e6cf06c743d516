// Data and results of a pass on a device, and their uploads and downloads: whole if they stay, else the part of a
// window.
#pragma once
#include <functional>
#include <vector>
#include "cuda/cut.hpp"
#include "device/copy.hpp"
#include "device/device.hpp"
#include "schedule/backend.hpp"
#include "kernweave/gpu/arguments.hpp"

namespace kernweave {
namespace cuda {

// Small data, sent together in one transfer.
class Staging {
 public:
  explicit Staging(device::Device* device);
  // Returns the address that the numbers will have after send().
  device::Pointer put(const double* from, std::int64_t count);
  void send();
  // Reuses the memory: data sent before must no longer be read.
  void begin_anew() { used_ = sent_ = 0, large_.clear(); }

 private:
  device::Device& device_;
  device::Block block_;
  std::vector<device::Block> large_;
  std::size_t used_ = 0, sent_ = 0;
};

// The data of a pass's variables.
class DeviceInputs {
 public:
  DeviceInputs(const Pass& pass, const Task& task, device::Device* device, Staging* staging);

  // Takes the data of another task of the same sizes.
  void take(const Task& task);
  // Adds the bytes that the data take.
  void count(Needs* needs) const;
  // Uploads data of a window that are not on the device. `whole`: there is memory for all data.
  void place(const Range& lanes, const Range& sweep, bool whole);
  // Returns the data of run number `run`; the tasks of all runs are an array that begins with the first run's task.
  std::vector<gpu::Data> data_of(std::int64_t run) const;

  std::vector<gpu::Data> data;

 private:
  // The points of a variable that a window needs.
  enum class InputReach { all, lanes, sweep, pairs };
  struct Loaded {
    InputReach reach;
    device::Block block;
    Range rows{-1, -1}, columns{-1, -1};
  };

  InputReach reach_of(int variable) const;
  bool stays(std::size_t v) const;
  void bring_all(std::size_t v);
  void bring(std::size_t v, const Range& rows, const Range& columns);
  void send_sparse(const View& view, const Range& rows, const Range& columns, device::Pointer to);

  const Pass& pass_;
  const Task* task_;
  device::Device& device_;
  Staging& staging_;
  std::vector<Loaded> loaded_;
};

// --- results --------------------------------------------------------------------------------------------------------
// Results and states of a pass on a device, and their downloads.

// The points of a window, and the number of their states that wait to be merged.
struct InWindow {
  Range lanes, sweep;
  std::int64_t waiting_rows, waiting_parts;  // numbers of rows, and of states of each row, that wait to be merged
  std::int64_t blocks_of_launch;             // blocks whose threads have states if both axes are folded
};

class Outputs {
 public:
  // Makes the outputs of one run, or of many runs, whose results lie one behind the other.
  Outputs(const Pass& pass, const Task& task, const SweepCut& cut, device::Device* device, std::int64_t runs);

  // Adds the bytes that the outputs take.
  void count(Needs* needs) const;
  void place(const InWindow& window);
  // Places the states of all turns, for outputs that fold both axes.
  void place_totals();
  // Downloads the outputs that keep this axis, to their place among all results.
  void fetch(Keep keep);
  // Moves results that stay to their owner (`Kept`).
  void hand_over();
  // Copies the states of outputs that fold both axes from another device, which has blocks first .. end - 1, to the
  // place of these blocks among ours.
  void take_merged(const Outputs& other, std::int64_t first, std::int64_t end);
  // Tells whether states of the same row are merged.
  bool merges() const { return cut_.splits * pass_.shape.parts > 1 || pass_.folded; }
  // Begins run number `turn` of `turns` runs that are folded together.
  void begin_turn(std::int64_t turn, std::int64_t turns) { turn_ = turn, turns_ = turns; }

  std::vector<gpu::Target> targets;  // targets of the first run
  std::vector<gpu::Target> targets_of(std::int64_t run) const;

 private:
  // The memory of an output.
  struct Memory {
    device::Block values, numbers, states, merged;
    Range rows, columns;  // ranges of the results in this memory
    std::int64_t numbers_of_run = 0, states_of_run = 0, merged_of_run = 0;  // a count of numbers, and bytes
  };

  const Output& output(std::size_t k) const { return pass_.variant->outputs[pass_.group.outputs[k]]; }
  const Result& result(std::size_t k) const { return task_.results[static_cast<std::size_t>(pass_.group.outputs[k])]; }
  void place_results(const Output& o, const Result& to, Memory* memory, gpu::Target* target);
  void place_states(const Output& o, const InWindow& window, Memory* memory, gpu::Target* target);
  void fetch_from(const device::Block& block, std::int64_t bytes, char* host, std::size_t k);
  void keep(device::Block* block, Kept* stay);

  const Pass& pass_;
  const Task& task_;
  const SweepCut& cut_;
  device::Device& device_;
  const PassExtents all_;
  const std::int64_t runs_;
  std::int64_t turn_ = 0, turns_ = 1;
  std::vector<Memory> memory_;
};

}  // namespace cuda
}  // namespace kernweave
