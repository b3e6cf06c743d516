// Searches in a sorted list on a device: of sorted items in one way through both, of others one by one.
#include "arrays/cuda/search.cuh"

namespace kernweave::arrays::cuda {
namespace {

// Items that are missing have no place.
struct WritePlaces {
  Places to_a, to_b;
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
  __device__ void write(const Places& to, Index k, bool known, Index place, bool equal) const {
    if (to.at) to.at[k] = known ? static_cast<int>(place) : none;
    if (to.matched) to.matched[k] = known && equal;
  }
};

template <class Item>
void pass(Device& gpu, const Item* needles, Index count, const Item* list, Index length, bool equal_too, int none,
          const Places& of_needles, const Places& of_list) {
  if (equal_too)
    pass_through(gpu, TwoLists<Item>{list, needles, length, count}, WritePlaces{of_list, of_needles, none});
  else pass_through(gpu, TwoLists<Item>{needles, list, count, length}, WritePlaces{of_needles, of_list, none});
}

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

void search_sorted(Device& gpu, const Column& needles, const Column& list, bool equal_too, int none,
                   const Places& of_needles, const Places& of_list) {
  if (needles.integers)
    pass(gpu, needles.integers, needles.count, list.integers, list.count, equal_too, none, of_needles, of_list);
  else
    pass(gpu, needles.doubles, needles.count, list.doubles, list.count, equal_too, none, of_needles, of_list);
}

void search_each(Device& gpu, const Column& needles, const Column& list, bool equal_too, int none, int* at) {
  if (needles.integers)
    look_up(gpu, needles.integers, needles.count, list.integers, list.count, equal_too, none, at);
  else look_up(gpu, needles.doubles, needles.count, list.doubles, list.count, equal_too, none, at);
}

}  // namespace kernweave::arrays::cuda
