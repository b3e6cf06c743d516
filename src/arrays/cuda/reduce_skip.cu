// Reductions on a device that leave missing items out.
#include "arrays/cuda/reduce.cuh"
#include "arrays/cuda/verbs.hpp"

namespace kernweave::arrays::cuda {

void CudaVerbs::reduce_known(const Request& request, const Items& items, Index columns, const Segments& segments,
                             double* out) const {
  with_operator<true>(request.op, [&](auto type) {
    reduce_by<typename decltype(type)::Of, false>(gpu, request, items, columns, segments, out);
  });
}

}  // namespace kernweave::arrays::cuda
