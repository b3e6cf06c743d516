// Sorts words within a thread: by digits from the lowest if the cache holds the words, else first from the highest.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "arrays/buffer.hpp"
#include "arrays/keys.hpp"

namespace kernweave::arrays {

// Returns how many bits split so many words: all `bits`, or enough for parts that fit into the cache.
inline int digit_for(std::int64_t count, int bits) {
  constexpr int kMost = 11;
  int digit = bits <= kMost ? bits : 1;
  while (digit < kMost && count >> (digit + 13) > 0) ++digit;
  return std::min(digit, bits);
}

// The target of the order.
template <class Number>
struct OrderOut {
  const Keys& keys;
  Number* order;
  std::uint8_t* tied;

  void put(std::int64_t at, std::uint64_t word) const {
    order[at] = static_cast<Number>(static_cast<std::int64_t>(word & keys.index_mask()) + 1);
  }
  void put_all(const std::uint64_t* words, std::int64_t count, std::int64_t at) const {
    for (std::int64_t k = 0; k < count; ++k) put(at + k, words[k]);
    if (!tied) return;
    const int up = keys.index_bits();
    tied[at] = 0;
    for (std::int64_t k = 1; k < count; ++k) tied[at + k] = words[k] >> up == words[k - 1] >> up;
  }
  // Marks all words between two starts as tied.
  void mark(const std::vector<std::int64_t>& starts) const {
    if (!tied) return;
    std::fill(tied + starts.front(), tied + starts.back(), std::uint8_t{1});
    for (std::size_t bin = 0; bin + 1 < starts.size(); ++bin)
      if (starts[bin] < starts[bin + 1]) tied[starts[bin]] = 0;
  }
};

// Words, as much room beside them, and the place where their order begins.
struct Span {
  std::uint64_t *words, *other;
  std::int64_t count, at;

  Span part(std::int64_t from, std::int64_t to) const { return {words + from, other + from, to - from, at + from}; }
  Span swapped() const { return {other, words, count, at}; }
};

template <class Number>
class WordSorter {
 public:
  WordSorter(const Keys& keys, const OrderOut<Number>& out) : keys_(keys), out_(out) {}

  // The low `bits` of the level's limb are not the same in all words. Words that fit the cache are moved within it.
  void sort(int level, Span span, int bits) {
    if (span.count <= kInCache && span.count > kFew) {
      if (scratch_.empty()) scratch_.resize(kInCache);
      span.other = scratch_.data();
    }
    ordered(level, span, bits);
  }

 private:
  static constexpr std::int64_t kInCache = std::int64_t{1} << 15, kFew = 24;

  void ordered(int level, Span span, int bits) {
    if (span.count <= kFew) {
      insert(span.words, span.count);
      return emit(level, span);
    }
    if (std::is_sorted(span.words, span.words + span.count)) return emit(level, span);
    if (span.count > kInCache) return split(level, span, bits);
    emit(level, by_digits(span, bits));
  }

  static void insert(std::uint64_t* words, std::int64_t count) {
    for (std::int64_t k = 1; k < count; ++k) {
      const std::uint64_t word = words[k];
      std::int64_t to = k;
      for (; to > 0 && words[to - 1] > word; --to) words[to] = words[to - 1];
      words[to] = word;
    }
  }

  void split(int level, Span span, int bits) {
    const int digit = digit_for(span.count, bits), down = keys_.index_bits() + bits - digit;
    const std::int64_t bins = std::int64_t{1} << digit, mask = bins - 1;
    std::vector<std::int64_t> next(bins + 1), starts(bins + 1);
    for (std::int64_t k = 0; k < span.count; ++k) ++next[(span.words[k] >> down & mask) + 1];
    for (std::int64_t bin = 0; bin < bins; ++bin) next[bin + 1] += next[bin];
    starts = next;
    for (std::int64_t k = 0; k < span.count; ++k) span.other[next[span.words[k] >> down & mask]++] = span.words[k];
    for (std::int64_t bin = 0; bin < bins; ++bin)
      if (starts[bin] < starts[bin + 1])
        sort(level, span.swapped().part(starts[bin], starts[bin + 1]), bits - digit);
  }

  // Sorts by digits from the lowest, without digits that are the same in all words. The high bits tell most words
  // apart, so only enough of these are sorted by; runs that stay together are sorted afterwards.
  Span by_digits(Span span, int bits) {
    int size = 0;
    while (span.count >> size > 1) ++size;
    const int digit = std::min(std::max(size, 5), 11), digits = (std::min(bits, size + 7) + digit - 1) / digit;
    const int taken = std::min(bits, digits * digit), low = keys_.index_bits() + bits - taken;
    const std::int64_t bins = std::int64_t{1} << digit;
    counts_.assign(digits * bins, 0);
    for (int d = 0; d < digits; ++d) count(span, low + d * digit, bins - 1, &counts_[d * bins]);
    for (int d = 0; d < digits; ++d)
      if (move(span, low + d * digit, bins, &counts_[d * bins])) span = span.swapped();
    if (taken < bits) look_into_runs(span, low, bits - taken);
    return span;
  }

  static void count(const Span& span, int down, std::uint64_t mask, std::uint32_t* counts) {
    for (std::int64_t k = 0; k < span.count; ++k) ++counts[span.words[k] >> down & mask];
  }

  static bool move(const Span& span, int down, std::int64_t bins, std::uint32_t* next) {
    const std::uint64_t mask = bins - 1;
    if (next[span.words[0] >> down & mask] == span.count) return false;
    std::uint32_t at = 0;
    for (std::int64_t bin = 0; bin < bins; ++bin) at += std::exchange(next[bin], at);
    for (std::int64_t k = 0; k < span.count; ++k) span.other[next[span.words[k] >> down & mask]++] = span.words[k];
    return true;
  }

  // Sorts runs of words that are equal from bit `low` up, by the bits below.
  void look_into_runs(const Span& span, int low, int bits) {
    for (std::int64_t from = 0, to; from < span.count; from = to) {
      for (to = from + 1; to < span.count && span.words[to] >> low == span.words[from] >> low;) ++to;
      const Span run = span.part(from, to);
      if (run.count <= kFew) {
        insert(run.words, run.count);
      } else if (!std::is_sorted(run.words, run.words + run.count)) {
        const Span sorted = by_digits(run, bits);
        if (sorted.words != run.words) std::copy(sorted.words, sorted.words + run.count, run.words);
      }
    }
  }

  // Writes words that are in order. If they hold whole keys, so are the rows; else runs of equal limbs are sorted.
  void emit(int level, const Span& span) {
    if (level + 1 == keys_.levels()) return out_.put_all(span.words, span.count, span.at);
    const int up = keys_.index_bits();
    for (std::int64_t from = 0, to; from < span.count; from = to) {
      for (to = from + 1; to < span.count && span.words[to] >> up == span.words[from] >> up;) ++to;
      const Span run = span.part(from, to);
      if (run.count > 1) {
        keys_.refill(level + 1, run.count, run.words);
        ordered(level + 1, run, keys_.bits(level + 1));
      } else {
        out_.put_all(run.words, 1, run.at);
      }
    }
  }

  const Keys& keys_;
  const OrderOut<Number> out_;
  std::vector<std::uint64_t> scratch_;
  std::vector<std::uint32_t> counts_;
};

}  // namespace kernweave::arrays
