// The table of all verbs that were compiled.
#include "arrays/cuda/verbs.hpp"
#include "arrays/cuda/runtime.cuh"

namespace kernweave::arrays::cuda {
namespace {

__global__ void probe() {}

bool ready(Device& gpu) {
  gpu.enter();
  cudaFuncAttributes attributes;
  const bool works = cudaFree(nullptr) == cudaSuccess && cudaFuncGetAttributes(&attributes, probe) == cudaSuccess;
  (void)cudaGetLastError();
  return works;
}

}  // namespace

const Verbs* compiled_verbs() {
  static const Verbs verbs{reduce_all, reduce_known, scan_all, first_not_whole, first_unsorted,
                           to_integers, to_doubles, offsets_of, narrow, take_items,
                           remove_items, insert_items, expand_items, objects_and_ranks, move_items,
                           rising_places, order_of, sorted_items, groups_of, merge_items,
                           merge_rows, set_of, search_sorted, search_each, join,
                           add_doubles, add_integers, sort_index, copy_numbers,
                           ready};
  return &verbs;
}

}  // namespace kernweave::arrays::cuda
