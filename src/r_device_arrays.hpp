// Verbs for arrays: where an array lies, what is lent to its device for a call, and results that stay there. Each verb
// has one door at the border: it works on the device where the arrays lie that it is about, else on the CPU.
#pragma once
#include "arrays/cuda/verbs.hpp"
#include "border.hpp"
#include "device/copy.hpp"
#include "r_arrays.hpp"
#include "r_resident.hpp"

namespace kernweave {

// Tells whether an array's numbers lie on a device whose verbs were compiled at installation.
bool on_gpu(SEXP x);
// Tells whether the array also has no attributes, and no more numbers than integers count.
bool plain_on_gpu(SEXP x);
bool both_on_gpu(SEXP x, SEXP y);
bool has_attributes(SEXP x);

// Prepares an array that the CPU is about to read. Numbers on a device come to R, which is said once. A file that has
// changed is noticed here, where C++ unwinds.
void read_here(SEXP x);

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
  SEXP integers(device::Block block, Index count) const { return vector(INTSXP, std::move(block), count); }
  SEXP integers(arrays::cuda::Made made) const { return vector(INTSXP, std::move(made.block), made.count); }
  template <class T>
  device::Block room_for(Index count) const {
    return gpu_->allocate(static_cast<std::size_t>(count) * sizeof(T), "the result");
  }
  template <class T>
  static T* at(const device::Block& block) {
    return device::address<T>(block.at());
  }

  // A vector of the type of `x` for so many items; work(what moves) fills it.
  template <class Work>
  SEXP moved(SEXP x, Index count, Work work) {
    const arrays::Whole items = whole(x);
    const std::size_t bytes = items.integers ? sizeof(int) : sizeof(double);
    device::Block out = gpu_->allocate(static_cast<std::size_t>(count) * bytes, "the result");
    work(arrays::cuda::Moved{first_of(items), items.count, static_cast<int>(bytes), at<void>(out)});
    return vector(static_cast<SEXPTYPE>(TYPEOF(x)), std::move(out), count);
  }
  static const void* first_of(const arrays::Whole& x) {
    return x.integers ? static_cast<const void*>(x.integers) : x.doubles;
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

// Calls work(OnDevice).
template <class Work>
auto on_device_of(SEXP vector, Work work) -> decltype(work(std::declval<OnDevice&>())) {
  return with_second_try([&] {
    OnDevice here(vector);
    return waited_for(here, work);
  });
}

// --- pieces that several verbs are made of, on the device of their first array ------------------------------------

// Copies numbers to the device of another vector.
SEXP sent_to(SEXP x, SEXP like);
// Integers as doubles, on the device of another vector.
SEXP doubles_on_gpu(SEXP x, SEXP like);
// Items by an order from 1.
SEXP taken_on_gpu(SEXP x, SEXP order);
SEXP order_on_gpu(const Rcpp::List& columns, const Rcpp::LogicalVector& decreasing, SEXP offsets);
// The place of the first item that is before the one before it, or with `strictly` equal to it; 0 for none.
Index first_unsorted_on_gpu(SEXP x, bool strictly);
// Returns the place of the first number that is not whole, or out of range.
Index first_not_whole_on_gpu(SEXP x, double least, double most);

}  // namespace kernweave
