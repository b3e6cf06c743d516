// Reductions on a device for which all items count.
#include "arrays/cuda/reduce.cuh"
#include "arrays/cuda/verbs.hpp"

namespace kernweave::arrays::cuda {

void CudaVerbs::reduce(const Request& request, const Items& items, Index columns, const Segments& segments,
                       double* out) const {
  if (request.skip) return reduce_known(request, items, columns, segments, out);
  with_operator<false>(request.op, [&](auto type) {
    reduce_by<typename decltype(type)::Of, true>(gpu, request, items, columns, segments, out);
  });
}

}  // namespace kernweave::arrays::cuda
