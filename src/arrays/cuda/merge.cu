// Two sorted lists as one on a device, by the library's merge path: what is missing comes last, of the first list
// first.
#include <cub/device/device_merge.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include "arrays/cuda/keys.cuh"
#include "arrays/cuda/verbs.hpp"

namespace kernweave::arrays::cuda {
namespace {

template <class F>
void with_lists(const Column& a, const Column& b, F f) {
  if (a.integers) f(a.integers, b.integers);
  else f(a.doubles, b.doubles);
}

}  // namespace

void merge_items(Device& gpu, const Column& a, const Column& b, void* to) {
  with_lists(a, b, [&](auto* x, auto* y) {
    auto* const out = static_cast<std::remove_const_t<std::remove_pointer_t<decltype(x)>>*>(to);
    with_scratch(gpu, "merging", [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceMerge::MergeKeys(scratch, bytes, x, static_cast<int>(a.count), y, static_cast<int>(b.count),
                                         out, KeyLess(), stream_of(gpu));
    });
  });
}

void merge_rows(Device& gpu, const Column& a, const Column& b, int* to) {
  with_lists(a, b, [&](auto* x, auto* y) {
    const auto rows = thrust::make_counting_iterator(1);
    with_scratch(gpu, "merging", [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceMerge::MergePairs(scratch, bytes, x, rows, static_cast<int>(a.count), y,
                                          rows + static_cast<int>(a.count), static_cast<int>(b.count),
                                          thrust::make_discard_iterator(), to, KeyLess(), stream_of(gpu));
    });
  });
}

}  // namespace kernweave::arrays::cuda
