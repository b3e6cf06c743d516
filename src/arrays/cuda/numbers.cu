// Looks at numbers on a device before anything is done with them, and changes of their type.
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include "arrays/cuda/counts.cuh"
#include "arrays/cuda/keys.cuh"
#include "arrays/cuda/verbs.hpp"

namespace kernweave::arrays::cuda {
namespace {

constexpr unsigned long long kNowhere = ~0ull;

// The least k for which the test holds, from 1; 0 for none.
template <class Test>
Index first_that(Device& gpu, Index count, const Test& test) {
  if (count == 0) return 0;
  const Block least = room_for<unsigned long long>(gpu, 1);
  check(cudaMemsetAsync(pointer<void>(least), 0xff, sizeof(unsigned long long), stream_of(gpu)), "clearing memory");
  auto* const at = pointer<unsigned long long>(least);
  for_each_number(gpu, count, [=] __device__(Index k) {
    if (test(k)) atomicMin(at, static_cast<unsigned long long>(k));
  });
  const unsigned long long found = fetched(gpu, at);
  return found == kNowhere ? 0 : static_cast<Index>(found) + 1;
}

template <class Item>
Index first_unsorted_of(Device& gpu, const Item* items, Index count, bool strictly) {
  return first_that(gpu, count, [=] __device__(Index k) {
    if (k == 0) return false;
    const auto before = sortable(items[k - 1]), now = sortable(items[k]);
    return now < before || (strictly && now == before);
  });
}

template <class Item>
void take_of(Device& gpu, const Item* items, const int* order, Index count, Item* to) {
  for_each_number(gpu, count, [=] __device__(Index k) { to[k] = items[order[k] - 1]; });
}

struct AsIndex {
  Whole counts;
  KW_FN Index operator()(Index k) const { return counts[k]; }
};

}  // namespace

Index first_not_whole(Device& gpu, const Whole& numbers, double least, double most) {
  return first_that(gpu, numbers.count, [=] __device__(Index k) {
    constexpr double kLargest = 0x1p53;
    const double number = numbers.integers ? numbers.integers[k] : numbers.doubles[k];
    return !(number >= least && number <= most && number <= kLargest && number == trunc(number));
  });
}

Index first_unsorted(Device& gpu, const Column& items, bool strictly) {
  Index found = 0;
  with_array(items, [&](auto* from) { found = first_unsorted_of(gpu, from, items.count, strictly); });
  return found;
}

bool to_integers(Device& gpu, const double* from, Index count, int missing, int* to) {
  const Block large = room_for<int>(gpu, 1);
  clear(gpu, large, sizeof(int));
  int* const flag = pointer<int>(large);
  for_each_number(gpu, count, [=] __device__(Index k) {
    constexpr double kMost = 2147483647;
    const double number = from[k];
    const bool fits = number >= -kMost && number <= kMost;
    to[k] = fits ? static_cast<int>(number) : missing;
    if (!fits && number == number) *flag = 1;
  });
  return fetched(gpu, flag);
}

void to_doubles(Device& gpu, const int* from, Index count, int missing, double not_available, double* to) {
  for_each_number(gpu, count, [=] __device__(Index k) { to[k] = from[k] == missing ? not_available : from[k]; });
}

void copy_numbers(Device& gpu, const void* from, std::size_t bytes, void* to) { copy(gpu, to, from, bytes); }

Index offsets_of(Device& gpu, const Whole& counts, Index* offsets) {
  const auto numbers = thrust::make_transform_iterator(thrust::make_counting_iterator(Index{0}), AsIndex{counts});
  return running_totals(gpu, numbers, counts.count, offsets);
}

void narrow(Device& gpu, const Index* from, Index count, int* to) {
  for_each_number(gpu, count, [=] __device__(Index k) { to[k] = static_cast<int>(from[k]); });
}

void take_items(Device& gpu, const Column& from, const int* order, Index count, void* to) {
  if (from.integers) take_of(gpu, from.integers, order, count, static_cast<int*>(to));
  else take_of(gpu, from.doubles, order, count, static_cast<double*>(to));
}

Made rising_places(Device& gpu, const Whole& at, Index most) {
  const Block flags = room_for<std::uint8_t>(gpu, most);
  clear(gpu, flags, static_cast<std::size_t>(most));
  auto* const flag = pointer<std::uint8_t>(flags);
  for_each_number(gpu, at.count, [=] __device__(Index k) { flag[at[k] - 1] = 1; });
  const Block count = room_for<Index>(gpu, 1);
  Made made{room_for<int>(gpu, std::min(at.count, most)), 0};
  with_scratch(gpu, "places", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceSelect::Flagged(scratch, bytes, thrust::make_counting_iterator(1), flag,
                                      pointer<int>(made.block), pointer<Index>(count), most, stream_of(gpu));
  });
  made.count = fetched(gpu, pointer<Index>(count));
  return made;
}

}  // namespace kernweave::arrays::cuda
