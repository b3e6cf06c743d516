// Data of a pass on a device: whole, where they stay, or as much as a window needs.
#pragma once
#include <vector>
#include "cuda/cut.hpp"
#include "device/copy.hpp"
#include "kernweave/gpu/arguments.hpp"
#include "schedule/backend.hpp"

namespace kernweave {
namespace cuda {

// Small data, sent together in one transfer.
class Staging {
 public:
  explicit Staging(device::Device* device);
  // Returns where the numbers will be after send().
  device::Pointer put(const double* from, std::int64_t count);
  void send();
  // Begins anew: what was sent before must no longer be read.
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
  // Adds the bytes that they take.
  void count(Needs* needs) const;
  // Uploads what a window needs and the device lacks. `whole`: there is room for all.
  void place(const Range& lanes, const Range& sweep, bool whole);
  // The data of one of many runs, whose tasks follow the first one's.
  std::vector<gpu::Data> data_of(std::int64_t run) const;

  std::vector<gpu::Data> data;

 private:
  // Points of a variable that a window needs.
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

}  // namespace cuda
}  // namespace kernweave
