// Radix order of words that hold a limb of a row's key above its number: no two words are equal, so any way of sorting
// them gives the stable order. Where a limb does not tell rows apart, the next one is looked up.
#include "arrays/radix_order.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "arrays/key_codes.hpp"
#include "arrays/nearly_order.hpp"
#include "arrays/word_sort.hpp"

namespace kernweave::arrays {
namespace {

// Where the words of a range lie: nowhere yet, or in one of two buffers.
enum class Where { keys, first, second };

struct Range {
  std::int64_t begin, end;
  int level = 0, bits = 0;  // the low bits of the level's limb that are not the same in all its words
  Where where = Where::keys;
  bool stale = false;  // the words hold the limb of the level before
  std::int64_t size() const { return end - begin; }
};

constexpr std::int64_t kRowsOfBlock = 2048, kRowsTogether = std::int64_t{1} << 17, kBatch = std::int64_t{1} << 15;
constexpr int kCounted = 12;

template <class Number>
class Sorter {
 public:
  Sorter(const Keys& keys, const OrderTask& task, Number* order, std::uint8_t* tied)
      : keys_(keys), task_(task), out_{keys, order, tied}, first_(keys.rows()), second_(keys.rows()) {}

  void run() {
    const std::vector<std::int64_t>& cuts = task_.offsets;
    if (cuts.empty()) whole();
    for (std::size_t s = 1; s < cuts.size(); ++s) add({cuts[s - 1], cuts[s], 0, keys_.bits(0)});
    while (!large_.empty()) {
      const Range next = large_.back();
      large_.pop_back();
      split(next);
    }
    share_small();
  }

 private:
  // Those that would keep one thread busy while the others wait are split by all of them.
  void add(Range range) {
    if (range.size() == 0) return;
    if (range.bits == 0 && range.level + 1 < keys_.levels()) {
      range.bits = keys_.bits(++range.level);
      range.stale = true;
    }
    const bool large = range.size() > std::max(kRowsTogether, keys_.rows() / 16);
    (large && range.bits > 0 ? large_ : small_).push_back(range);
  }

  void whole() {
    const std::int64_t rows = keys_.rows();
    if (rows <= kRowsTogether || !ascending()) return add({0, rows, 0, keys_.bits(0)});
    for (std::int64_t from = 0; from < rows;) {
      const std::int64_t to = end_of_run(std::min(rows, from + kBatch) - 1);
      small_.push_back({from, to, 0, keys_.bits(0)});
      from = to;
    }
  }

  // Do the first limbs go up? Random ones are seen through at once.
  bool ascending() const {
    std::atomic<bool> holds{true};
    const std::int64_t pieces = (keys_.rows() + kRowsTogether - 1) / kRowsTogether;
    share_out(task_.workers.threads, pieces, task_.workers.poll, [&](int, std::int64_t piece, const Heartbeat&) {
      std::uint64_t words[kRowsOfBlock];
      const std::int64_t end = std::min(keys_.rows(), (piece + 1) * kRowsTogether + 1);
      for (std::int64_t from = piece * kRowsTogether; from + 1 < end && holds; from += kRowsOfBlock - 1) {
        const std::int64_t count = std::min(kRowsOfBlock, end - from);
        keys_.fill(0, from, count, words);
        if (!std::is_sorted(words, words + count)) holds = false;
      }
    });
    return holds;
  }

  // In ascending rows: behind the last whose first limb is that of `row`.
  std::int64_t end_of_run(std::int64_t row) const {
    const auto limb = [&](std::int64_t at) {
      std::uint64_t word;
      keys_.fill(0, at, 1, &word);
      return word >> keys_.index_bits();
    };
    const std::uint64_t own = limb(row);
    std::int64_t below = row, above = keys_.rows();
    while (above - below > 1) {
      const std::int64_t middle = below + (above - below) / 2;
      (limb(middle) == own ? below : above) = middle;
    }
    return above;
  }

  std::uint64_t* words_of(Where where) { return (where == Where::second ? second_ : first_).get(); }

  // The words of rows begin + [from, from + count) of a range; `block` is for those that lie nowhere yet.
  const std::uint64_t* load(const Range& range, std::int64_t from, std::int64_t count, std::uint64_t* block) {
    const std::int64_t at = range.begin + from;
    if (range.where == Where::keys) {
      keys_.fill(range.level, at, count, block);
      return block;
    }
    std::uint64_t* const words = words_of(range.where) + at;
    if (!range.stale) return words;
    std::copy(words, words + count, block);
    keys_.refill(range.level, count, block);
    return block;
  }

  template <class Take>
  void each_block(const Range& range, std::int64_t piece, std::int64_t size, const Heartbeat& beat, Take take) {
    std::uint64_t block[kRowsOfBlock];
    const std::int64_t end = std::min(range.size(), (piece + 1) * size);
    for (std::int64_t from = piece * size; from < end; from += kRowsOfBlock) {
      const std::int64_t count = std::min(kRowsOfBlock, end - from);
      take(load(range, from, count, block), count);
    }
    beat();
  }

  // Words that lie somewhere have bits in common by what they were split by: only those that differ are gone through.
  int differing_bits(const Range& range) {
    if (range.where == Where::keys) return range.bits;
    std::uint64_t block[1];
    const std::uint64_t first = *load(range, 0, 1, block);
    const std::int64_t size = piece_size(range), pieces = (range.size() + size - 1) / size;
    std::vector<std::uint64_t> found(pieces);
    share_out(task_.workers.threads, pieces, task_.workers.poll, [&](int, std::int64_t piece, const Heartbeat& beat) {
      std::uint64_t differ = 0;
      each_block(range, piece, size, beat, [&](const std::uint64_t* words, std::int64_t count) {
        for (std::int64_t k = 0; k < count; ++k) differ |= words[k] ^ first;
      });
      found[piece] = differ;
    });
    std::uint64_t differ = 0;
    for (const std::uint64_t of_piece : found) differ |= of_piece;
    return length_in_bits(differ >> keys_.index_bits());
  }

  std::int64_t piece_size(const Range& range) const {
    const std::int64_t pieces = std::min(64, 8 * task_.workers.threads);
    return std::max(kRowsTogether, (range.size() + pieces - 1) / pieces);
  }

  // One digit, by all threads: pieces count, then each knows where its words go.
  void split(Range range) {
    range.bits = differing_bits(range);
    if (range.bits == 0) return add(range);
    if (range.where == Where::keys && range.bits <= kCounted && keys_.columns().size() == 1) return count_codes(range);
    const int digit = digit_for(range.size(), range.bits), down = keys_.index_bits() + range.bits - digit;
    const std::int64_t bins = std::int64_t{1} << digit, mask = bins - 1;
    const std::int64_t size = piece_size(range), pieces = (range.size() + size - 1) / size;
    std::vector<std::int64_t> next(pieces * bins);
    share_out(task_.workers.threads, pieces, task_.workers.poll, [&](int, std::int64_t piece, const Heartbeat& beat) {
      std::int64_t* const counts = &next[piece * bins];
      each_block(range, piece, size, beat, [&](const std::uint64_t* words, std::int64_t count) {
        for (std::int64_t k = 0; k < count; ++k) ++counts[words[k] >> down & mask];
      });
    });
    const std::vector<std::int64_t> starts = turn_into_places(range, bins, pieces, &next);
    const bool last = range.bits == digit && range.level + 1 == keys_.levels();
    const Where target = range.where == Where::first ? Where::second : Where::first;
    share_out(task_.workers.threads, pieces, task_.workers.poll, [&](int, std::int64_t piece, const Heartbeat& beat) {
      std::int64_t* const to = &next[piece * bins];
      std::uint64_t* const moved = words_of(target);
      each_block(range, piece, size, beat, [&](const std::uint64_t* words, std::int64_t count) {
        if (last)
          for (std::int64_t k = 0; k < count; ++k) out_.put(to[words[k] >> down & mask]++, words[k]);
        else
          for (std::int64_t k = 0; k < count; ++k) moved[to[words[k] >> down & mask]++] = words[k];
      });
    });
    if (last) return out_.mark(starts);
    for (std::int64_t bin = 0; bin < bins; ++bin)
      add({starts[bin], starts[bin + 1], range.level, range.bits - digit, target});
  }

  // Counts of every piece become the places of its first words; where the words of all pieces begin.
  static std::vector<std::int64_t> turn_into_places(const Range& range, std::int64_t bins, std::int64_t pieces,
                                                    std::vector<std::int64_t>* next) {
    std::vector<std::int64_t> starts(bins + 1, range.end);
    std::int64_t at = range.begin;
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      starts[bin] = at;
      for (std::int64_t piece = 0; piece < pieces; ++piece) at += std::exchange((*next)[piece * bins + bin], at);
    }
    return starts;
  }

  // Codes of one column that are few: rows are dealt out without words.
  void count_codes(const Range& range) {
    const std::int64_t bins = std::int64_t{1} << range.bits, size = piece_size(range);
    const std::int64_t pieces = (range.size() + size - 1) / size;
    std::vector<std::int64_t> next(pieces * bins), starts;
    const auto each_code = [&](auto take) {
      share_out(task_.workers.threads, pieces, task_.workers.poll, [&](int, std::int64_t piece, const Heartbeat& beat) {
        beat();
        const std::int64_t first = range.begin + piece * size, last = std::min(range.end, first + size);
        std::int64_t* const own = &next[piece * bins];
        with_codes(keys_.columns()[0], [=](const auto& code, const void*) {
          for (std::int64_t row = first; row < last; ++row) take(own, code(row), row);
        });
      });
    };
    each_code([](std::int64_t* counts, std::uint64_t code, std::int64_t) { ++counts[code]; });
    starts = turn_into_places(range, bins, pieces, &next);
    Number* const order = out_.order;
    each_code([order](std::int64_t* to, std::uint64_t code, std::int64_t row) {
      order[to[code]++] = static_cast<Number>(row + 1);
    });
    out_.mark(starts);
  }

  void share_small() {
    std::vector<std::size_t> cuts{0};
    std::int64_t held = 0;
    for (std::size_t k = 0; k < small_.size(); ++k)
      if ((held += small_[k].size()) >= kBatch || k + 1 == small_.size()) {
        cuts.push_back(k + 1);
        held = 0;
      }
    std::vector<WordSorter<Number>> sorters(task_.workers.threads, WordSorter<Number>(keys_, out_));
    share_out(task_.workers.threads, static_cast<std::int64_t>(cuts.size()) - 1, task_.workers.poll,
              [&](int worker, std::int64_t batch, const Heartbeat& beat) {
                for (std::size_t k = cuts[batch]; k < cuts[batch + 1]; ++k) sort_small(small_[k], &sorters[worker]);
                beat();
              });
  }

  void sort_small(const Range& range, WordSorter<Number>* worker) {
    std::uint64_t* const words = words_of(range.where) + range.begin;
    if (range.where == Where::keys) keys_.fill(range.level, range.begin, range.size(), words);
    if (range.stale) keys_.refill(range.level, range.size(), words);
    std::uint64_t* const other = words_of(range.where == Where::second ? Where::first : Where::second) + range.begin;
    worker->sort(range.level, {words, other, range.size(), range.begin}, range.bits);
  }

  const Keys& keys_;
  const OrderTask& task_;
  OrderOut<Number> out_;
  Buffer<std::uint64_t> first_, second_;
  std::vector<Range> large_, small_;
};

}  // namespace

template <class Number>
void radix_order(const Keys& keys, const OrderTask& task, Number* order, std::uint8_t* tied) {
  if (task.nearly > 0 && task.offsets.empty() && nearly_order(keys, task, order, tied)) return;
  Sorter<Number>(keys, task, order, tied).run();
}

template void radix_order(const Keys&, const OrderTask&, std::int32_t*, std::uint8_t*);
template void radix_order(const Keys&, const OrderTask&, double*, std::uint8_t*);
template void radix_order(const Keys&, const OrderTask&, Index*, std::uint8_t*);

}  // namespace kernweave::arrays
