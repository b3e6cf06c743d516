// Looks at numbers on a device before anything is done with them, and changes of their type.
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

template <class Item, class Row>
void take_of(Device& gpu, const Item* items, const Row* order, Index count, Item* to) {
  for_each_number(gpu, count, [=] __device__(Index k) { to[k] = items[static_cast<Index>(order[k]) - 1]; });
}

struct AsIndex {
  Whole counts;
  KW_FN Index operator()(Index k) const { return counts[k]; }
};

}  // namespace

Index CudaVerbs::first_not_whole(const Whole& numbers, double least, double most) const {
  return first_that(gpu, numbers.count, [=] __device__(Index k) {
    constexpr double kLargest = 0x1p53;
    const double number = numbers.integers ? numbers.integers[k] : numbers.doubles[k];
    return !(number >= least && number <= most && number <= kLargest && number == trunc(number));
  });
}

Index CudaVerbs::first_unsorted(const Column& items, bool strictly) const {
  Index found = 0;
  with_array(items, [&](auto* from) { found = first_unsorted_of(gpu, from, items.count, strictly); });
  return found;
}

bool CudaVerbs::to_integers(const double* from, Index count, const Numbers& out) const {
  int* const to = out.integers;
  const int missing = out.missing;
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

void CudaVerbs::to_doubles(const int* from, Index count, const Numbers& to) const {
  for_each_number(gpu, count, [=] __device__(Index k) {
    to.doubles[k] = from[k] == to.missing ? to.not_available : from[k];
  });
}

void CudaVerbs::copy(const void* from, Index bytes, void* to) const {
  cuda::copy(gpu, to, from, static_cast<std::size_t>(bytes));
}

Index CudaVerbs::offsets(const Whole& counts, Results& made) const {
  const auto numbers = thrust::make_transform_iterator(thrust::make_counting_iterator(Index{0}), AsIndex{counts});
  const Block longs = room_for<Index>(gpu, counts.count + 1);
  const Index* const from = pointer<Index>(longs);
  const Index total = running_totals(gpu, numbers, counts.count, pointer<Index>(longs));
  user_check(total <= kMostInt, Fault::unsupported, "`counts` add up to ", total,
             ", which is more than the verbs on a GPU count");
  int* const to = made.numbers("offsets", total, counts.count + 1).integers;
  for_each_number(gpu, counts.count + 1, [=] __device__(Index k) { to[k] = static_cast<int>(from[k]); });
  return total;
}

bool CudaVerbs::ends_missing(const Column& items) const {
  if (items.count == 0) return false;
  return with_items(items, [&](auto from) { return is_missing(fetched(gpu, from + items.count - 1)); });
}

void CudaVerbs::take(const Moved& x, const Whole& order) const {
  with_array(order, [&](auto rows) {
    if (x.bytes == 4) take_of(gpu, static_cast<const int*>(x.from), rows, order.count, static_cast<int*>(x.to));
    else take_of(gpu, static_cast<const double*>(x.from), rows, order.count, static_cast<double*>(x.to));
  });
}

void CudaVerbs::rising(const Whole& at, Index most, Results& made) const {
  const Block flags = room_for<std::uint8_t>(gpu, most);
  clear(gpu, flags, static_cast<std::size_t>(most));
  auto* const flag = pointer<std::uint8_t>(flags);
  for_each_number(gpu, at.count, [=] __device__(Index k) { flag[at[k] - 1] = 1; });
  Made places = flagged_numbers(gpu, flag, most, std::min(at.count, most));
  made.adopt(nullptr, std::move(places.block), places.count, Results::Kind::integers);
}

}  // namespace kernweave::arrays::cuda
