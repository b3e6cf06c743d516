// index_add() of integers on a device: totals are exact, and told where too large.
#include "arrays/cuda/index_add.cuh"

namespace kernweave::arrays::cuda {

bool CudaVerbs::add_integers(const AddTask& task, const Whole& source, const Numbers& array) const {
  const Block large = room_for<int>(gpu, 1);
  clear(gpu, large, sizeof(int));
  with_integers(task.how.op, [&](auto op) {
    add_by<decltype(op)>(gpu, task, source.integers, array.integers, pointer<int>(large));
  });
  return fetched(gpu, pointer<int>(large)) != 0;
}

}  // namespace kernweave::arrays::cuda
