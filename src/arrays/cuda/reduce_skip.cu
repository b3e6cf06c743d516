// Reductions on a device that leave missing items out.
#include "arrays/cuda/reduce.cuh"
#include "arrays/cuda/verbs.hpp"

namespace kernweave::arrays::cuda {

void reduce_known(Device& gpu, const Request& request, const Items& items, Index rows, Index columns,
                  const Whole& offsets, double* out) {
  with_operator<true>(request.op, [&](auto type) {
    reduce_by<typename decltype(type)::Of, false>(gpu, request, items, rows, columns, offsets, out);
  });
}

}  // namespace kernweave::arrays::cuda
