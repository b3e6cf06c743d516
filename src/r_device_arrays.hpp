// Verbs for arrays whose numbers lie on a device: what is lent to the device for a call, and results that stay there.
#pragma once
#include "arrays/cuda/verbs.hpp"
#include "border.hpp"
#include "device/copy.hpp"
#include "r_arrays.hpp"
#include "r_resident.hpp"

namespace kernweave {

// One call's device.
class OnDevice {
 public:
  // The device on which the numbers of this vector lie.
  explicit OnDevice(SEXP vector);
  explicit OnDevice(device::Device* gpu) : gpu_(gpu) {}

  device::Device& gpu() const { return *gpu_; }
  const arrays::cuda::Verbs& verbs() const { return *arrays::cuda::compiled_verbs(); }

  // Numbers of a vector, where they lie on the device, or sent there for the time of the call. Of NULL, none.
  arrays::Whole whole(SEXP vector);
  // Items with an order, or NULL.
  arrays::Items items(SEXP vector, SEXP order);

  // A vector of R of what was made.
  SEXP vector(SEXPTYPE type, device::Block block, Index count) const;
  template <class T>
  device::Block room_for(Index count) const {
    return gpu_->allocate(static_cast<std::size_t>(count) * sizeof(T), "the result");
  }
  template <class T>
  static T* at(const device::Block& block) {
    return device::address<T>(block.at());
  }

 private:
  device::Pointer place_of(SEXP vector);

  device::Device* gpu_;
  std::vector<device::Block> sent_;
};

// The device on which a vector lies, by its number; -1 for none.
int device_number(SEXP vector);

// Waits for what has been put to the device if the work fails: memory that it is lent is about to serve others.
template <class Work>
auto waited_for(OnDevice& here, Work work) {
  try {
    return work(here);
  } catch (...) {
    here.gpu().wait_after_failure();
    throw;
  }
}

// Calls work(OnDevice), at the border.
template <class Work>
auto on_device_of(SEXP vector, Work work) -> decltype(work(std::declval<OnDevice&>())) {
  return with_second_try([&] {
    OnDevice here(vector);
    return waited_for(here, work);
  });
}

}  // namespace kernweave
