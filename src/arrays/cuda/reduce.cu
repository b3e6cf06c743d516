// Reductions on a device for which all items count.
#include "arrays/cuda/reduce.cuh"
#include "arrays/cuda/verbs.hpp"

namespace kernweave::arrays::cuda {

void reduce_all(Device& gpu, const Request& request, const Items& items, Index rows, Index columns,
                const Whole& offsets, double* out) {
  with_operator<false>(request.op, [&](auto type) {
    reduce_by<typename decltype(type)::Of, true>(gpu, request, items, rows, columns, offsets, out);
  });
}

}  // namespace kernweave::arrays::cuda
