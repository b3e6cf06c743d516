// Searches in a sorted list on a device: of sorted items in one way through both, of others one by one.
#include "arrays/cuda/search.cuh"

namespace kernweave::arrays::cuda {
namespace {

// Items that are missing have no place.
struct WritePlaces {
  Found to_a, to_b;
  int none;

  template <class Key>
  __device__ void of_a(Index k, Key key, Index place, bool equal) const {
    write(to_a, k, !is_missing_key(key), place, equal);
  }
  template <class Key>
  __device__ void of_b(Index k, Key key, Index place, bool equal) const {
    write(to_b, k, !is_missing_key(key), place, equal);
  }

 private:
  __device__ void write(const Found& to, Index k, bool known, Index place, bool equal) const {
    if (to.at) to.at.integers[k] = known ? static_cast<int>(place) : none;
    if (to.matched) to.matched[k] = known && equal;
  }
};

template <class Item>
void look_up(Device& gpu, const Item* needles, Index count, const Item* list, Index length, bool equal_too, int none,
             int* at) {
  for_each_number(gpu, count, [=] __device__(Index k) {
    const Item needle = needles[k];
    if (is_missing_key(sortable(needle))) at[k] = none;
    else if (equal_too) at[k] = static_cast<int>(partition::upper_bound(list, 0, length, needle));
    else at[k] = static_cast<int>(partition::lower_bound(list, 0, length, needle));
  });
}

}  // namespace

void CudaVerbs::search_both(const Search& task, const Found& of_needles, const Found& of_list) const {
  with_lists(task.needles, task.list, [&](auto* needles, auto* list) {
    using Lists = TwoLists<std::remove_const_t<std::remove_pointer_t<decltype(list)>>>;
    const Index a = task.needles.count, b = task.list.count;
    const int none = of_needles.at.missing;
    if (task.equal_too) pass_through(gpu, Lists{list, needles, b, a}, WritePlaces{of_list, of_needles, none});
    else pass_through(gpu, Lists{needles, list, a, b}, WritePlaces{of_needles, of_list, none});
  });
}

void CudaVerbs::search(const Search& task, const Numbers& at) const {
  if (task.sorted) return search_both(task, {at, nullptr}, {});
  with_lists(task.needles, task.list, [&](auto* needles, auto* list) {
    look_up(gpu, needles, task.needles.count, list, task.list.count, task.equal_too, at.missing, at.integers);
  });
}

}  // namespace kernweave::arrays::cuda
