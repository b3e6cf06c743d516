// Verbs for arrays: vectors of R as the verbs have them, where they lie, and results that stay there. Each verb has one
// door: it works on the device where the arrays lie that it is about, else on the CPU.
#pragma once
#include "arrays/buffer.hpp"
#include "arrays/cuda/verbs.hpp"
#include "arrays/items.hpp"
#include "arrays/keys.hpp"
#include "arrays/sorted.hpp"
#include "border.hpp"
#include "device/copy.hpp"

namespace kernweave {

using arrays::Whole;
using arrays::Workers;
using arrays::cuda::Moved;

Workers workers_from_r(int threads);

constexpr Index kMostInt = 2147483647;

// --- vectors of R ---------------------------------------------------------------------------------------------------

// Whole numbers of R, integer or double; NULL for none.
inline Whole whole_from_r(SEXP x) {
  return {TYPEOF(x) == INTSXP ? INTEGER_RO(x) : nullptr, TYPEOF(x) == REALSXP ? REAL_RO(x) : nullptr,
          Rf_isNull(x) ? 0 : static_cast<Index>(Rf_xlength(x))};
}

// Number k of a vector from 0, NaN for a missing one, wherever it lies.
double number_at(SEXP x, Index k);

// A vector of R that will be written to from end to end.
template <class Vector>
Vector fresh_vector(Index length) {
  Vector made = no_init(length);
  arrays::want_large_pages(made.begin(), static_cast<std::size_t>(length) * sizeof(*made.begin()));
  return made;
}

// Integers if they can be as large as `most`, else doubles: work(numbers, none) fills them.
template <class Work>
SEXP with_numbers(Index most, Index length, Work work) {
  if (most <= kMostInt) {
    IntegerVector made = fresh_vector<IntegerVector>(length);
    work(made.begin(), NA_INTEGER);
    return made;
  }
  NumericVector made = fresh_vector<NumericVector>(length);
  work(made.begin(), NA_REAL);
  return made;
}

// work(items) with the numbers of a vector of R: logicals and integers, doubles, integer64.
template <class Work>
auto with_items(SEXP x, Work work) {
  if (TYPEOF(x) != REALSXP) return work(static_cast<const std::int32_t*>(DATAPTR_RO(x)));
  if (Rf_inherits(x, "integer64")) return work(static_cast<const std::int64_t*>(DATAPTR_RO(x)));
  return work(static_cast<const double*>(DATAPTR_RO(x)));
}

// work(a, b) with two of the same type, sorted.
template <class Work>
auto with_sorted(SEXP x, SEXP y, Work work) {
  return with_items(x, [&](auto a) {
    const auto b = static_cast<decltype(a)>(DATAPTR_RO(y));
    return work(arrays::Sorted(a, Rf_xlength(x)), arrays::Sorted(b, Rf_xlength(y)));
  });
}

// Columns are logical, integer or double vectors, or an integer64 of bit64, where they lie.
arrays::Keys keys_from_r(const List& columns, const LogicalVector& decreasing, bool nan_apart, const Workers& workers);
// Returns the order by `columns`, as numbers from 1.
RObject order_here(const List& columns, bool decreasing, const Workers& workers);
// Items of plain numbers by an order, without attributes but the class of integer64.
SEXP taken_here(SEXP x, SEXP order);

// The plan of what lies in segments, as R has it (R/array-segments.R).
class SegmentPlan {
 public:
  SegmentPlan(SEXP plan, const Workers& workers) : plan_(plan), kept_(plan_["kept"]), workers_(workers) {}

  SEXP offsets() const { return plan_["offsets"]; }
  SEXP codes() const { return plan_["codes"]; }
  Index segments() const { return Rf_xlength(offsets()) - 1; }
  Index items() const { return whole_from_r(offsets())[segments()]; }

  // The numbers of items, segment after segment, each segment's ascending; NULL where items lie so. Found out once.
  SEXP order();

  // Both on the device of an array, where they are kept.
  struct There {
    SEXP offsets, order;
  };
  There there(SEXP like);

 private:
  const List plan_;
  Environment kept_;
  const Workers& workers_;
};

// --- on a device ----------------------------------------------------------------------------------------------------

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
  Whole whole(SEXP vector);
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

  // A vector of so many integers, or of doubles; work(numbers) fills it.
  template <class T, class Work>
  SEXP filled(Index count, Work work) const {
    device::Block out = room_for<T>(count);
    work(at<T>(out));
    return vector(std::is_same_v<T, int> ? INTSXP : REALSXP, std::move(out), count);
  }
  // A vector of the type of `x` for so many items; work(what moves) fills it.
  template <class Work>
  SEXP moved(SEXP x, Index count, Work work) {
    const Whole items = whole(x);
    const std::size_t bytes = items.integers ? sizeof(int) : sizeof(double);
    device::Block out = gpu_->allocate(static_cast<std::size_t>(count) * bytes, "the result");
    work(Moved{first_of(items), items.count, static_cast<int>(bytes), at<void>(out)});
    return vector(static_cast<SEXPTYPE>(TYPEOF(x)), std::move(out), count);
  }
  // The numbers of another vector.
  SEXP copied(SEXP x);
  static const void* first_of(const Whole& x) { return x.integers ? static_cast<const void*>(x.integers) : x.doubles; }

 private:
  device::Pointer place_of(SEXP vector);

  device::Device* gpu_;
  std::vector<device::Block> sent_;
};

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

// --- pieces that several verbs are made of, on the device of their first array --------------------------------------

// Copies numbers to the device of another vector.
SEXP sent_to(SEXP x, SEXP like);
// Items by an order from 1.
SEXP taken_on_gpu(SEXP x, SEXP order);
SEXP order_on_gpu(const List& columns, const LogicalVector& decreasing, SEXP offsets);
// The place of the first item that is before the one before it, or with `strictly` equal to it; 0 for none.
Index first_unsorted_on_gpu(SEXP x, bool strictly);
// Returns the place of the first number that is not whole, or out of range.
Index first_not_whole_on_gpu(SEXP x, double least, double most);

}  // namespace kernweave
