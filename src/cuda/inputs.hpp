// Data on their way to a device: whole, to stay there, or as much as a window needs.
#pragma once
#include <memory>
#include <vector>
#include "cuda/device.hpp"
#include "cuda/window.hpp"
#include "kernweave/gpu/arguments.hpp"
#include "schedule/backend.hpp"

namespace kernweave {
namespace cuda {

template <class T>
T* on_device(Pointer at) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(at));
}

// Memory of a device that holds a result, or data, for as long as somebody keeps them.
std::unique_ptr<Copy> to_stay(Device* device, Block block);
// Data sent to a device, to stay there until the copy is given up.
std::unique_ptr<Copy> sent_to_stay(const View& view, Device* device);

// Small things go together, in one transfer.
class Small {
 public:
  explicit Small(Device* device);
  // Where they will be.
  Pointer put(const double* from, std::int64_t count);
  void send();

 private:
  Device& device_;
  Block block_;
  std::vector<Block> large_;
  std::size_t used_ = 0, sent_ = 0;
};

// The data of a pass's variables.
class Inputs {
 public:
  Inputs(const Pass& pass, const Task& task, Device* device, Small* small);

  // Adds what they take.
  void count(Needs* needs) const;
  // Brings what a window needs and is not there. `whole`: there is room for all.
  void place(const Span& lanes, const Span& sweep, bool whole);

  std::vector<gpu::Data> data;

 private:
  // Which of its points a window needs.
  enum class Reach { all, lanes, sweep, pairs };
  struct Place {
    Reach reach;
    Block block;
    Span rows{-1, -1}, columns{-1, -1};
  };

  Reach reach_of(int variable) const;
  bool stays(std::size_t v) const;
  void bring(std::size_t v, const Span& rows, const Span& columns);
  void send_sparse(const View& view, const Span& rows, const Span& columns, Pointer to);

  const Pass& pass_;
  const Task& task_;
  Device& device_;
  Small& small_;
  std::vector<Place> places_;
};

}  // namespace cuda
}  // namespace kernweave
