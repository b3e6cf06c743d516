// index_add() of integers on a device: totals are exact, and told where too large.
#include "arrays/cuda/index_add.cuh"

namespace kernweave::arrays::cuda {

bool add_integers(Device& gpu, const AddTask& task, const int* source, int* array) {
  const Block large = room_for<int>(gpu, 1);
  clear(gpu, large, sizeof(int));
  const auto add = [&](auto op) { add_by<decltype(op)>(gpu, task, source, array, pointer<int>(large)); };
  switch (task.op) {
    case Combine::sum: add(combine::IntSum()); break;
    case Combine::prod: add(combine::IntProd()); break;
    case Combine::min: add(combine::IntMin()); break;
    case Combine::max: add(combine::IntMax()); break;
  }
  return fetched(gpu, pointer<int>(large)) != 0;
}

}  // namespace kernweave::arrays::cuda
