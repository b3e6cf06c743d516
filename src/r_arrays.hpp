// Verbs for arrays: passes R's vectors to the verbs in place, and leaves results in the same place. A door reads its
// arguments, and calls the verbs of the CPU or of the device that has its arrays (carried_out()).
#pragma once
#include "arrays/buffer.hpp"
#include "arrays/host_verbs.hpp"
#include "border.hpp"
#include "device/copy.hpp"

namespace kernweave {

using arrays::Column;
using arrays::kMostInt;
using arrays::Numbers;
using arrays::Whole;
using arrays::Workers;

constexpr Index kAnyLength = Index{1} << 62;

Workers workers_from_r(int threads);

// Returns number k of a vector, counted from 0, wherever the vector lies; NaN if the number is missing.
double number_at(SEXP x, Index k);

// --- on a device ----------------------------------------------------------------------------------------------------

// The device of one call.
class OnDevice {
 public:
  explicit OnDevice(device::Device* gpu) : gpu_(gpu) {}

  device::Device& gpu() const { return *gpu_; }
  // Returns a vector's numbers on the device: in place, or sent there for the time of the call.
  Whole whole(SEXP vector);
  // Makes an R vector of a result.
  SEXP vector(SEXPTYPE type, device::Block block, Index count) const;
  template <class T>
  device::Block room_for(Index count) const {
    return gpu_->allocate(static_cast<std::size_t>(count) * sizeof(T), "the result");
  }
  template <class T>
  static T* at(const device::Block& block) {
    return device::address<T>(block.at());
  }
  device::Block sent(SEXP vector) const;

 private:
  device::Device* gpu_;
  std::vector<device::Block> sent_;
};

// Waits for the device if `work` fails: memory that has been lent to the device is about to serve others.
template <class Work>
auto waited_for(OnDevice& here, Work work) {
  try {
    return work(here);
  } catch (...) {
    here.gpu().wait_after_failure();
    throw;
  }
}

// --- calls ----------------------------------------------------------------------------------------------------------

// One call of verbs: their arguments, and the R vectors that they make, all in the place of the call's arrays.
class Call : public arrays::Results {
 public:
  Call(OnDevice* there, const arrays::Verbs& verbs, const arrays::HostVerbs& host, SEXP like, SEXPTYPE type)
      : there_(there), verbs_(verbs), host_(host), like_(like), type_(type) {
    made_.reserve(4);
  }

  const arrays::Verbs& verbs() const { return verbs_; }

  // Returns the numbers of a vector, logicals as integers; no numbers for NULL.
  Column column(SEXP x);
  // Returns the address of a vector's first number, or of the first byte of a plain vector on the CPU.
  const void* first(SEXP x);
  // Returns the numbers of a vector in a type: integers become doubles if doubles are asked for.
  Whole of_type(SEXP x, SEXPTYPE type);
  arrays::Items items(SEXP x);
  // Reads R's plan of segments (R/array-segments.R), with codes if `by_codes` is set and segments are few.
  arrays::Segments segments(SEXP plan, bool by_codes = false);
  Whole offsets_of(SEXP plan) { return part(plan, "offsets", List(plan)["offsets"]); }
  SEXP order_of(const List& plan) const;
  // Returns a vector that is kept with a plan, in the place of the call's arrays.
  SEXP lent(SEXP plan, const char* name, SEXP x);

  Numbers numbers(const char* name, Index most, Index count) override;
  void* items(Index count) override;
  void adopt(const char* name, device::Block block, Index count, Kind kind) override;
  void given(const char* name) override;
  void* room(const char* name, SEXPTYPE type, Index count);
  Numbers numbers_of(const char* name, SEXPTYPE type, Index count);
  static Numbers numbers_at(SEXPTYPE type, void* at);
  // Copies a vector, with its attributes; a vector that is the caller's own (`own`) is used itself.
  void* copy_of(const char* name, SEXP x, SEXPTYPE type, bool own);
  // Makes room for the items that move out of `x` or, with `places`, for their places.
  arrays::Moved moved(SEXP x, bool places, SEXPTYPE type, Index count) {
    return moved_to(x, places, room(nullptr, type, count));
  }
  // Works as moved(), but the target `to` is the memory of the last result.
  arrays::Moved moved_to(SEXP x, bool places, void* to);
  void tell(const char* name, const RObject& value) { made_.emplace_back(name, value); }
  // Returns the one result without a name, or a list of all results.
  SEXP value() const;

 private:
  RObject fresh(SEXPTYPE type, Index count, void** at) const;
  Whole part(SEXP plan, const char* name, SEXP x);

  OnDevice* const there_;
  const arrays::Verbs& verbs_;
  const arrays::HostVerbs& host_;
  const SEXP like_;
  const SEXPTYPE type_;
  std::vector<RObject> held_;
  std::vector<std::pair<const char*, RObject>> made_;
};

// Carries verbs out where these arrays lie: on a device, if it has all of them and the verbs, and if they have at most
// `most` numbers; else on the CPU, which also carries out verbs that the device declines.
SEXP carried_out(const std::vector<SEXP>& arrays, int threads, const std::function<void(Call&)>& work,
                 Index most = kMostInt);

// Returns the place of the first item less than the item before it or, with `strictly`, equal to it; 0 for none.
Index first_unsorted(SEXP x, bool strictly, int threads);

SEXP r_order(List columns, LogicalVector decreasing, SEXP segments, double nearly, int threads);
SEXP r_take(SEXP x, SEXP order);

}  // namespace kernweave
