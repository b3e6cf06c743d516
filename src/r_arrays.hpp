// Verbs for arrays: vectors of R as the verbs have them, where they lie, and results that stay there. A door reads its
// arguments, and calls verbs of the CPU or of the device where the arrays lie that it is about (carried_out()).
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

// Number k of a vector from 0, NaN for a missing one, wherever it lies.
double number_at(SEXP x, Index k);

// --- on a device ----------------------------------------------------------------------------------------------------

// One call's device.
class OnDevice {
 public:
  explicit OnDevice(device::Device* gpu) : gpu_(gpu) {}

  device::Device& gpu() const { return *gpu_; }
  // Numbers of a vector, where they lie on the device, or sent there for the time of the call.
  Whole whole(SEXP vector);
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
  device::Block sent(SEXP vector) const;

 private:
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

// --- calls ----------------------------------------------------------------------------------------------------------

// One call of verbs: what they read, and the vectors of R that they make, all where the call's arrays lie.
class Call : public arrays::Results {
 public:
  Call(OnDevice* there, const arrays::Verbs& verbs, const arrays::HostVerbs& host, SEXP like, SEXPTYPE type)
      : there_(there), verbs_(verbs), host_(host), like_(like), type_(type) {
    made_.reserve(4);
  }

  const arrays::Verbs& verbs() const { return verbs_; }

  // Numbers of a vector, logical ones as integers; none of NULL.
  Column column(SEXP x);
  // Their first one, or the first byte of a plain vector of the CPU.
  const void* first(SEXP x);
  // Integers as doubles, if these are asked for.
  Whole of_type(SEXP x, SEXPTYPE type);
  arrays::Items items(SEXP x);
  // The plan of segments as R has it (R/array-segments.R), with codes where they are few and that is wanted.
  arrays::Segments segments(SEXP plan, bool by_codes = false);
  Whole offsets_of(SEXP plan) { return part(plan, "offsets", List(plan)["offsets"]); }
  SEXP order_of(const List& plan) const;
  // A vector that is kept with a plan, also where the call's arrays lie.
  SEXP lent(SEXP plan, const char* name, SEXP x);

  Numbers numbers(const char* name, Index most, Index count) override;
  void* items(Index count) override;
  void adopt(const char* name, device::Block block, Index count, Kind kind) override;
  void given(const char* name) override;
  void* room(const char* name, SEXPTYPE type, Index count);
  Numbers numbers_of(const char* name, SEXPTYPE type, Index count);
  static Numbers numbers_at(SEXPTYPE type, void* at);
  // A copy of a vector, with its attributes; of one that is the caller's own (`own`) the vector itself.
  void* copy_of(const char* name, SEXP x, SEXPTYPE type, bool own);
  // Room for what moves out of `x`, or with `places` for the places of that.
  arrays::Moved moved(SEXP x, bool places, SEXPTYPE type, Index count) {
    return moved_to(x, places, room(nullptr, type, count));
  }
  // The target is that of the last result.
  arrays::Moved moved_to(SEXP x, bool places, void* to);
  void tell(const char* name, const RObject& value) { made_.emplace_back(name, value); }
  // The one result without a name, or a list of all.
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

// Carries verbs out where these arrays lie, all on a device that has the verbs and no more numbers than `most`, else on
// the CPU, which also does what the device declines.
SEXP carried_out(const std::vector<SEXP>& arrays, int threads, const std::function<void(Call&)>& work,
                 Index most = kMostInt);

// The place of the first item that is before the one before it, or with `strictly` equal to it; 0 for none.
Index first_unsorted(SEXP x, bool strictly, int threads);

SEXP r_order(List columns, LogicalVector decreasing, SEXP segments, double nearly, int threads);
SEXP r_take(SEXP x, SEXP order);

}  // namespace kernweave
