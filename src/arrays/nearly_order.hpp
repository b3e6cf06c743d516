// The order of rows that are near their places: stretches that reach as far to both sides are sorted by themselves.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "arrays/radix_order.hpp"
#include "arrays/word_sort.hpp"

namespace kernweave::arrays {

// Less than 0, 0 or more, as keys of row a come before those of row b, are tied or come after.
inline int compare_rows(const Keys& keys, std::int64_t a, std::int64_t b) {
  for (int level = 0; level < keys.levels(); ++level) {
    std::uint64_t of_a, of_b;
    keys.fill(level, a, 1, &of_a);
    keys.fill(level, b, 1, &of_b);
    of_a >>= keys.index_bits();
    of_b >>= keys.index_bits();
    if (of_a != of_b) return of_a < of_b ? -1 : 1;
  }
  return 0;
}

// Rows [from, to) of the order come from rows [from - w, to + w), behind exactly those of them that come before `from`.
// Rows that go up strictly, by key and number, are all different: so that is all there is to look at, and only where
// blocks meet. False: they do not go up, the promise did not hold.
template <class Number>
bool nearly_order(const Keys& keys, const OrderTask& task, Number* order, std::uint8_t* tied) {
  const std::int64_t rows = keys.rows(), w = task.nearly, size = std::max<std::int64_t>(12288, 4 * w);
  if (rows / 2 < size) return false;
  const std::int64_t blocks = (rows + size - 1) / size;
  share_out(task.workers.threads, blocks, task.workers.poll, [&](int, std::int64_t block, const Heartbeat& beat) {
    beat();
    const std::int64_t begin = block * size, end = std::min(rows, begin + size);
    const std::int64_t from = std::max<std::int64_t>(0, begin - w), to = std::min(rows, end + w), count = to - from;
    const Keys stretch(keys, from, to);
    const Buffer<std::uint64_t> words(count), other(count);
    std::vector<std::int32_t> own(count);
    std::vector<std::uint8_t> own_tied(tied ? count : 0);
    stretch.fill(0, 0, count, words.get());
    WordSorter<std::int32_t> sorter(stretch, {stretch, own.data(), tied ? own_tied.data() : nullptr});
    sorter.sort(0, {words.get(), other.get(), count, 0}, stretch.bits(0));
    for (std::int64_t k = begin; k < end; ++k) {
      order[k] = static_cast<Number>(from + own[k - from]);
      if (tied) tied[k] = own_tied[k - from];
    }
  });
  for (std::int64_t at = size; at < rows; at += size) {
    const auto before = static_cast<std::int64_t>(order[at - 1]) - 1, after = static_cast<std::int64_t>(order[at]) - 1;
    const int way = compare_rows(keys, before, after);
    if (way > 0 || (way == 0 && before >= after)) return false;
    if (tied) tied[at] = way == 0;
  }
  return true;
}

}  // namespace kernweave::arrays
