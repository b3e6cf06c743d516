// Scans on a device.
#include "arrays/cuda/scan.cuh"
#include "arrays/cuda/verbs.hpp"

namespace kernweave::arrays::cuda {
namespace {

// The last item, or missing where any has been.
struct Spoiled : operators::OperatorDefaults {
  double last;
  bool any, spoiled;

  KW_FN void init() { any = spoiled = false; }
  KW_FN void take(double value, Index) {
    last = value;
    any = true;
    spoiled |= value != value;
  }
  KW_FN void merge(const Spoiled& later) {
    if (later.any) last = later.last;
    any |= later.any;
    spoiled |= later.spoiled;
  }
  KW_FN void finish(double* values) const { values[0] = spoiled ? nan<operators::Lane>().v : last; }
};

}  // namespace

bool scan_all(Device& gpu, const Request& request, bool exclusive, const Items& items, Index rows, Index columns,
              const Whole& offsets, const Running& out) {
  const Block overflow = room_for<int>(gpu, 1);
  clear(gpu, overflow, sizeof(int));
  const RunningTo to{out.doubles, out.integers, pointer<int>(overflow)};
  with_operator<false>(request.op, [&](auto type) {
    using Operator = typename decltype(type)::Of;
    if constexpr (Operator::kResults == 1)
      scan_by<Operator>(gpu, request, exclusive, items, rows, columns, offsets, to);
  });
  if (!out.integers || !fetched(gpu, to.overflow)) return false;
  // Nothing is known of what comes after a number that was too large.
  const Items found{out.integers, nullptr, items.order, items.missing, items.not_available};
  scan_by<Spoiled>(gpu, Request{request.op, false, false, 0}, false, found, rows, columns, offsets, to);
  return true;
}

}  // namespace kernweave::arrays::cuda
