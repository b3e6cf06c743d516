// The verbs that move items, each as what it does with an item, its object and its rank.
#include "arrays/cuda/verbs.hpp"
#include "arrays/cuda/walk.cuh"

namespace kernweave::arrays::cuda {
namespace {

// Counts the items that stay before each one that goes.
struct StayBefore {
  Whole at;
  KW_FN Index operator[](Index k) const { return at[k] - 1 - k; }
};

template <class T>
struct Keep : ItemsAlone {
  const T* from;
  T* to;
  __device__ void operator()(Index item, Index gone, Index) const { to[item] = from[item + gone]; }
};

template <class T>
struct Insert {
  const T *from, *values;
  T* to;
  __device__ void operator()(Index item, Index inserted, Index) const { to[item + inserted] = from[item]; }
  __device__ void end(Index inserted, Index item) const { to[item + inserted] = values[inserted]; }
};

template <class T>
struct Repeat : ItemsAlone {
  const T* from;
  T* to;
  __device__ void operator()(Index item, Index object, Index) const { to[item] = from[object]; }
};

struct Number : ItemsAlone {
  int *objects, *ranks;
  __device__ void operator()(Index item, Index object, Index rank) const {
    objects[item] = static_cast<int>(object + 1);
    ranks[item] = static_cast<int>(rank + 1);
  }
};

template <class T>
struct Transfer : ItemsAlone {
  const T* x;
  Whole from, to;
  T* out;
  __device__ void operator()(Index item, Index k, Index rank) const {
    out[to ? to[k] - 1 + rank : item] = x[from ? from[k] - 1 + rank : item];
  }
};

// Calls f with items of as many bytes.
template <class F>
void with_bytes(const Moved& x, F f) {
  if (x.bytes == 4) f(static_cast<const std::uint32_t*>(x.from), static_cast<std::uint32_t*>(x.to));
  else f(static_cast<const std::uint64_t*>(x.from), static_cast<std::uint64_t*>(x.to));
}

Objects<Whole> objects_of(const Whole& offsets, Index total) { return {offsets.from(1), offsets.count - 1, total}; }

}  // namespace

void CudaVerbs::remove(const Moved& x, const Whole& at) const {
  with_bytes(x, [&](auto* from, auto* to) {
    using T = std::decay_t<decltype(*to)>;
    walk_all(gpu, Objects<StayBefore>{{at}, at.count, x.count - at.count}, Keep<T>{{}, from, to});
  });
}

void CudaVerbs::insert(const Moved& x, const void* values, const Whole& after) const {
  with_bytes(x, [&](auto* from, auto* to) {
    using T = std::decay_t<decltype(*to)>;
    walk_all(gpu, Objects<Whole>{after, after.count, x.count}, Insert<T>{from, static_cast<const T*>(values), to});
  });
}

void CudaVerbs::expand(const Moved& x, const Whole& offsets, Index total) const {
  with_bytes(x, [&](auto* from, auto* to) {
    using T = std::decay_t<decltype(*to)>;
    walk_all(gpu, objects_of(offsets, total), Repeat<T>{{}, from, to});
  });
}

void CudaVerbs::walk(const Whole& offsets, Index total, const Numbers& objects, const Numbers& ranks) const {
  walk_all(gpu, objects_of(offsets, total), Number{{}, objects.integers, ranks.integers});
}

void CudaVerbs::move(const Moved& x, const Intervals& intervals, Index total) const {
  with_bytes(x, [&](auto* items, auto* out) {
    using T = std::decay_t<decltype(*out)>;
    walk_all(gpu, objects_of(intervals.offsets, total), Transfer<T>{{}, items, intervals.from, intervals.to, out});
  });
}

}  // namespace kernweave::arrays::cuda
