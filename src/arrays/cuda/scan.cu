// Scans on a device.
#include "arrays/cuda/scan.cuh"
#include "arrays/cuda/verbs.hpp"

namespace kernweave::arrays::cuda {

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
  return out.integers && fetched(gpu, to.overflow);
}

}  // namespace kernweave::arrays::cuda
