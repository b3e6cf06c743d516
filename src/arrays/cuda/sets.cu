// Sorted lists on a device: sets and multisets by the library's balanced path, where what is missing is the caller's,
// and two lists as one by its merge path.
#include <cub/device/device_merge.cuh>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/set_operations.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/unique.h>
#include "arrays/cuda/keys.cuh"
#include "arrays/cuda/runtime.cuh"
#include "arrays/cuda/verbs.hpp"

namespace kernweave::arrays::cuda {
namespace {

// Memory for the library, from the engine's pool.
class Lender {
 public:
  using value_type = char;
  explicit Lender(Device* gpu) : gpu_(gpu) {}
  char* allocate(std::ptrdiff_t bytes) {
    lent_.push_back(gpu_->allocate(static_cast<std::size_t>(bytes), "the workspace of this call"));
    return pointer<char>(lent_.back());
  }
  void deallocate(char* at, std::size_t) {
    const auto is_it = [at](const Block& block) { return pointer<char>(block) == at; };
    lent_.erase(std::remove_if(lent_.begin(), lent_.end(), is_it), lent_.end());
  }

 private:
  Device* gpu_;
  std::vector<Block> lent_;
};

template <class Item>
class SetMaker {
 public:
  SetMaker(Device& gpu, SetOp op) : gpu_(gpu), lender_(&gpu), op_(op) {}

  Made run(const Item* a, Index a_count, const Item* b, Index b_count) {
    Made made{room_for<Item>(gpu_, a_count + b_count), 0};
    made.count = write(a, a + a_count, b, b + b_count, pointer<Item>(made.block)) - pointer<Item>(made.block);
    return made;
  }
  Made distinct(const Item* items, Index count) {
    Made made{room_for<Item>(gpu_, count), 0};
    Item* const to = pointer<Item>(made.block);
    made.count = thrust::unique_copy(policy(), items, items + count, to) - to;
    return made;
  }

 private:
  auto policy() { return thrust::cuda::par(lender_).on(stream_of(gpu_)); }
  Item* write(const Item* a, const Item* a_end, const Item* b, const Item* b_end, Item* to) {
    switch (op_) {
      case SetOp::unite: return thrust::set_union(policy(), a, a_end, b, b_end, to);
      case SetOp::intersect: return thrust::set_intersection(policy(), a, a_end, b, b_end, to);
      case SetOp::subtract: return thrust::set_difference(policy(), a, a_end, b, b_end, to);
      case SetOp::symmetric: break;
    }
    return thrust::set_symmetric_difference(policy(), a, a_end, b, b_end, to);
  }

  Device& gpu_;
  Lender lender_;
  const SetOp op_;
};

template <class Item>
Made set_by(Device& gpu, SetOp op, bool multiset, const Item* a, Index a_count, const Item* b, Index b_count) {
  SetMaker<Item> maker(gpu, op);
  if (multiset) return maker.run(a, a_count, b, b_count);
  const Made once_a = maker.distinct(a, a_count), once_b = maker.distinct(b, b_count);
  return maker.run(pointer<Item>(once_a.block), once_a.count, pointer<Item>(once_b.block), once_b.count);
}

}  // namespace

// The CPU alone knows what becomes of missing items.
void CudaVerbs::set(const SetOf& task, Results& made) const {
  const Column &a = task.a, &b = task.b;
  if (ends_missing(a) || ends_missing(b)) throw Declined();
  Made found;
  try {
    with_lists(a, b, [&](auto* x, auto* y) {
      found = set_by(gpu, task.op, task.multiset, x, a.count, y, b.count);
    });
  } catch (const thrust::system_error& error) {
    internal_check(false, "the GPU failed at a set: ", error.what());
  }
  made.adopt(nullptr, std::move(found.block), found.count, Results::Kind::items);
}

// --- merges ---------------------------------------------------------------------------------------------------------
// Missing items come last, of the first list first.

void CudaVerbs::merge(const Column& a, const Column& b, void* to) const {
  with_lists(a, b, [&](auto* x, auto* y) {
    auto* const out = static_cast<std::remove_const_t<std::remove_pointer_t<decltype(x)>>*>(to);
    with_scratch(gpu, "merging", [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceMerge::MergeKeys(scratch, bytes, x, static_cast<int>(a.count), y, static_cast<int>(b.count),
                                         out, KeyLess(), stream_of(gpu));
    });
  });
}

void CudaVerbs::merge_rows(const Column& a, const Column& b, const Numbers& to) const {
  with_lists(a, b, [&](auto* x, auto* y) {
    const auto rows = thrust::make_counting_iterator(1);
    with_scratch(gpu, "merging", [&](void* scratch, std::size_t& bytes) {
      return cub::DeviceMerge::MergePairs(scratch, bytes, x, rows, static_cast<int>(a.count), y,
                                          rows + static_cast<int>(a.count), static_cast<int>(b.count),
                                          thrust::make_discard_iterator(), to.integers, KeyLess(), stream_of(gpu));
    });
  });
}

}  // namespace kernweave::arrays::cuda
