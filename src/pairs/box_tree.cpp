// Builds a tree: first level by level, with the boxes of a level shared by all threads; then each box with all in it.
#include "pairs/box_tree.hpp"

#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/threads.hpp"

namespace kernweave {
namespace {

// The level from which a thread takes a box with all boxes in it.
constexpr int kDealtLevel = 6;

// Moves items whose keys pass before() to the front; returns the first other item. Moves each item, needed or not: half
// of the items must move, and no processor predicts which half.
template <class SplitItem, class Before>
SplitItem* part(SplitItem* first, SplitItem* last, Before before) {
  SplitItem* end = first;
  for (; first != last; ++first) {
    const SplitItem one = *first;
    *first = *end;
    *end = one;
    end += before(one.key);
  }
  return end;
}

// Returns the key of one of a few items that is likely about the k-th of all keys.
constexpr std::ptrdiff_t kSampled = 16;
template <class SplitItem>
auto likely_key(const SplitItem* first, std::ptrdiff_t k, std::ptrdiff_t count) {
  decltype(first->key) keys[kSampled];
  for (std::ptrdiff_t s = 0; s < kSampled; ++s) keys[s] = first[s * count / kSampled].key;
  const std::ptrdiff_t place = k * kSampled / count;
  std::nth_element(keys, keys + place, keys + kSampled);
  return keys[place];
}

// Selects like std::nth_element(), which gets the rest: few items, or items left after kMostPasses passes over keys in
// an unfavourable order.
constexpr int kMostPasses = 32;
template <class SplitItem>
void set_apart(SplitItem* first, SplitItem* kth, SplitItem* last) {
  for (int pass = 0; pass < kMostPasses && last - first > 4 * kSampled; ++pass) {
    const auto key = likely_key(first, kth - first, last - first);
    SplitItem* middle = part(first, last, [&](auto x) { return x < key; });
    if (kth < middle) {
      last = middle;
      continue;
    }
    // If many items have the same key, all of these items are set apart at once.
    if (middle == first) {
      middle = part(first, last, [&](auto x) { return x <= key; });
      if (kth < middle) return;
    }
    first = middle;
  }
  std::nth_element(first, kth, last, [](const SplitItem& x, const SplitItem& y) { return x.key < y.key; });
}

}  // namespace

template <class T>
BoxTree<T>::BoxTree(const Coordinates<T>& points, std::int64_t grain, int threads,
                    const Poll& poll)
    : shape_{grain} {
  set_out(points);
  shape_.grains = (shape_.boxed + grain - 1) / grain;
  while ((shape_.grains >> (shape_.levels + 1)) > 0) ++shape_.levels;
  least_.assign(points.size(), std::vector<T>(static_cast<std::size_t>(shape_.boxes())));
  most_ = least_;
  std::vector<SplitBuffers> rooms(static_cast<std::size_t>(threads));
  const auto each_box = [&](int level, auto work) {
    const std::int64_t boxes = std::int64_t{1} << level;
    share_out(static_cast<int>(std::min<std::int64_t>(threads, boxes)), boxes, [&](double) { poll(0.0); },
              [&](int worker, std::int64_t number, const Heartbeat&) {
                work(boxes + number, &rooms[static_cast<std::size_t>(worker)]);
              });
  };
  const int dealt = std::min(levels(), kDealtLevel);
  for (int level = 0; level < dealt; ++level)
    each_box(level, [&](std::int64_t box, SplitBuffers* room) { split(level, box, room); });
  each_box(dealt, [&](std::int64_t box, SplitBuffers* room) { split_all(dealt, box, room); });
  sorted_.clear();
}

template <class T>
void BoxTree<T>::set_out(const Coordinates<T>& points) {
  const std::size_t count = points.empty() ? 0 : points[0].size();
  std::vector<std::int64_t> wild;
  order_.reserve(count);
  for (std::size_t p = 0; p < count; ++p) {
    const auto fits = [&](const std::vector<T>& axis) { return fits_in_box(axis[p]); };
    const bool all_fit = std::all_of(points.begin(), points.end(), fits);
    (all_fit ? order_ : wild).push_back(static_cast<std::int64_t>(p));
  }
  shape_.boxed = static_cast<std::int64_t>(order_.size());
  for (const std::vector<T>& axis : points) {
    sorted_.emplace_back();
    sorted_.back().reserve(order_.size());
    for (const std::int64_t p : order_) sorted_.back().push_back(axis[static_cast<std::size_t>(p)]);
  }
  order_.insert(order_.end(), wild.begin(), wild.end());
}

template <class T>
void BoxTree<T>::bound(std::int64_t box, const Range& range) {
  for (std::size_t d = 0; d < sorted_.size(); ++d) {
    T least = std::numeric_limits<T>::infinity(), most = -least;
    for (std::int64_t p = range.from; p < range.to; ++p) {
      const T x = sorted_[d][static_cast<std::size_t>(p)];
      least = x < least ? x : least;
      most = most < x ? x : most;
    }
    least_[d][static_cast<std::size_t>(box)] = least;
    most_[d][static_cast<std::size_t>(box)] = most;
  }
}

// Bounds a box, and moves the points of its first half before the points of its second half.
template <class T>
void BoxTree<T>::split(int level, std::int64_t box, SplitBuffers* room) {
  const Range range = points_of(level, box), first = points_of(level + 1, 2 * box);
  bound(box, range);
  std::size_t widest = 0;
  const auto b = static_cast<std::size_t>(box);
  for (std::size_t d = 1; d < sorted_.size(); ++d)
    if (most_[d][b] - least_[d][b] > most_[widest][b] - least_[widest][b]) widest = d;
  if (range.size() <= 1) return;
  const auto size = static_cast<std::size_t>(range.size()), from = static_cast<std::size_t>(range.from);
  room->items.resize(size);
  for (std::size_t k = 0; k < size; ++k)
    room->items[k] = {sorted_[widest][from + k], static_cast<decltype(SplitItem::at)>(k)};
  set_apart(room->items.data(), room->items.data() + (first.to - range.from), room->items.data() + size);
  const auto rearrange = [&](auto* all, auto* here) {
    here->assign(all->begin() + range.from, all->begin() + range.to);
    for (std::size_t k = 0; k < size; ++k) (*all)[from + k] = (*here)[static_cast<std::size_t>(room->items[k].at)];
  };
  for (std::vector<T>& axis : sorted_) rearrange(&axis, &room->numbers);
  rearrange(&order_, &room->order);
}

template <class T>
void BoxTree<T>::split_all(int level, std::int64_t box, SplitBuffers* room) {
  if (level == levels()) return bound(box, points_of(level, box));
  split(level, box, room);
  split_all(level + 1, 2 * box, room);
  split_all(level + 1, 2 * box + 1, room);
}

template class BoxTree<float>;
template class BoxTree<double>;

}  // namespace kernweave
