// Radix order of words that hold a limb of a row's key above its number: no two words are equal, so any way of sorting
// them gives the stable order. If a limb does not tell rows apart, the next limb is read.
#include "arrays/keys.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "arrays/host_verbs.hpp"
#include "arrays/word_sort.hpp"
#include "base/view.hpp"

namespace kernweave::arrays {
namespace {

// --- nearly in order -----------------------------------------------------------------------------------------------
// The order of rows that are near their places: overlapping stretches of rows are sorted by themselves.

// Returns a number < 0, 0 or > 0 if row a comes before row b by its keys, is tied with row b, or comes after it.
int compare_rows(const Keys& keys, std::int64_t a, std::int64_t b) {
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

// Rows [from, to) of the order are among rows [from - w, to + w): each block sorts such a stretch and keeps its own
// part. If rows ascend strictly by key and number, no row comes twice, so it suffices to compare rows where blocks
// meet. Returns false if rows do not ascend there: then the promise did not hold.
template <class Number>
bool nearly_order(const Keys& keys, const OrderTask& task, Number* order, std::uint8_t* tied) {
  const std::int64_t rows = keys.rows(), w = task.nearly, size = std::max<std::int64_t>(12288, 4 * w);
  if (rows / 2 < size) return false;
  const std::int64_t blocks = (rows + size - 1) / size;
  share_out(task.workers.threads, blocks, task.workers.poll, [&](int, std::int64_t block, const Heartbeat&) {
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

// --- in any order --------------------------------------------------------------------------------------------------

// The place of some rows' words: no buffer yet, or one of two buffers.
enum class Where { keys, first, second };

struct Bucket : Range {
  int level = 0, bits = 0;  // the low bits of the level's limb that are not the same in all its words
  Where where = Where::keys;
  bool stale = false;  // the words hold the limb of the level before
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
      const Bucket next = large_.back();
      large_.pop_back();
      split(next);
    }
    share_small();
  }

 private:
  // Adds a bucket. Large buckets, which would keep one thread busy while the others wait, are split by all threads.
  void add(Bucket bucket) {
    if (bucket.size() == 0) return;
    if (bucket.bits == 0 && bucket.level + 1 < keys_.levels()) {
      bucket.bits = keys_.bits(++bucket.level);
      bucket.stale = true;
    }
    const bool large = bucket.size() > std::max(kRowsTogether, keys_.rows() / 16);
    (large && bucket.bits > 0 ? large_ : small_).push_back(bucket);
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

  // Tells whether the first limbs ascend. For random limbs the test stops at once.
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

  // Returns the end of a run in ascending rows: the row after the last one with the first limb of `row`.
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

  // Returns the words of rows from + [first, first + count) of a bucket, in `block` if no buffer has them yet.
  const std::uint64_t* load(const Bucket& bucket, std::int64_t first, std::int64_t count, std::uint64_t* block) {
    const std::int64_t at = bucket.from + first;
    if (bucket.where == Where::keys) {
      keys_.fill(bucket.level, at, count, block);
      return block;
    }
    std::uint64_t* const words = words_of(bucket.where) + at;
    if (!bucket.stale) return words;
    std::copy(words, words + count, block);
    keys_.refill(bucket.level, count, block);
    return block;
  }

  template <class Take>
  void each_block(const Bucket& bucket, std::int64_t piece, std::int64_t size, const Heartbeat& beat, Take take) {
    std::uint64_t block[kRowsOfBlock];
    const std::int64_t end = std::min(bucket.size(), (piece + 1) * size);
    for (std::int64_t from = piece * size; from < end; from += kRowsOfBlock) {
      const std::int64_t count = std::min(kRowsOfBlock, end - from);
      take(load(bucket, from, count, block), count);
    }
    beat();
  }

  // Finds the bits that differ. Words in a buffer have bits in common, by which they were split.
  int differing_bits(const Bucket& bucket) {
    if (bucket.where == Where::keys) return bucket.bits;
    std::uint64_t block[1];
    const std::uint64_t first = *load(bucket, 0, 1, block);
    const std::int64_t size = piece_size(bucket), pieces = (bucket.size() + size - 1) / size;
    std::vector<std::uint64_t> found(pieces);
    share_out(task_.workers.threads, pieces, task_.workers.poll, [&](int, std::int64_t piece, const Heartbeat& beat) {
      std::uint64_t differ = 0;
      each_block(bucket, piece, size, beat, [&](const std::uint64_t* words, std::int64_t count) {
        for (std::int64_t k = 0; k < count; ++k) differ |= words[k] ^ first;
      });
      found[piece] = differ;
    });
    std::uint64_t differ = 0;
    for (const std::uint64_t of_piece : found) differ |= of_piece;
    return length_in_bits(differ >> keys_.index_bits());
  }

  std::int64_t piece_size(const Bucket& bucket) const {
    const std::int64_t pieces = std::min(64, 8 * task_.workers.threads);
    return std::max(kRowsTogether, (bucket.size() + pieces - 1) / pieces);
  }

  // Splits by one digit, with all threads: pieces count, then each piece knows the places of its words.
  void split(Bucket bucket) {
    bucket.bits = differing_bits(bucket);
    if (bucket.bits == 0) return add(bucket);
    const bool one_column = keys_.columns().size() == 1;
    if (bucket.where == Where::keys && bucket.bits <= kCounted && one_column) return count_codes(bucket);
    const int digit = digit_for(bucket.size(), bucket.bits), down = keys_.index_bits() + bucket.bits - digit;
    const std::int64_t bins = std::int64_t{1} << digit, mask = bins - 1;
    const std::int64_t size = piece_size(bucket), pieces = (bucket.size() + size - 1) / size;
    std::vector<std::int64_t> next(pieces * bins);
    share_out(task_.workers.threads, pieces, task_.workers.poll, [&](int, std::int64_t piece, const Heartbeat& beat) {
      std::int64_t* const counts = &next[piece * bins];
      each_block(bucket, piece, size, beat, [&](const std::uint64_t* words, std::int64_t count) {
        for (std::int64_t k = 0; k < count; ++k) ++counts[words[k] >> down & mask];
      });
    });
    const std::vector<std::int64_t> starts = turn_into_places(bucket, bins, pieces, &next);
    const bool last = bucket.bits == digit && bucket.level + 1 == keys_.levels();
    const Where target = bucket.where == Where::first ? Where::second : Where::first;
    share_out(task_.workers.threads, pieces, task_.workers.poll, [&](int, std::int64_t piece, const Heartbeat& beat) {
      std::int64_t* const to = &next[piece * bins];
      std::uint64_t* const moved = words_of(target);
      each_block(bucket, piece, size, beat, [&](const std::uint64_t* words, std::int64_t count) {
        if (last)
          for (std::int64_t k = 0; k < count; ++k) out_.put(to[words[k] >> down & mask]++, words[k]);
        else
          for (std::int64_t k = 0; k < count; ++k) moved[to[words[k] >> down & mask]++] = words[k];
      });
    });
    if (last) return out_.mark(starts);
    for (std::int64_t bin = 0; bin < bins; ++bin)
      add({starts[bin], starts[bin + 1], bucket.level, bucket.bits - digit, target});
  }

  // Turns the counts of every piece into the places of its first words. Returns where the words of each bin begin.
  static std::vector<std::int64_t> turn_into_places(const Bucket& bucket, std::int64_t bins, std::int64_t pieces,
                                                    std::vector<std::int64_t>* next) {
    std::vector<std::int64_t> starts(bins + 1, bucket.to);
    std::int64_t at = bucket.from;
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      starts[bin] = at;
      for (std::int64_t piece = 0; piece < pieces; ++piece) at += std::exchange((*next)[piece * bins + bin], at);
    }
    return starts;
  }

  // Deals out rows by the codes of one column, if these are few, without words.
  void count_codes(const Bucket& bucket) {
    const std::int64_t bins = std::int64_t{1} << bucket.bits, size = piece_size(bucket);
    const std::int64_t pieces = (bucket.size() + size - 1) / size;
    std::vector<std::int64_t> next(pieces * bins), starts;
    const auto each_code = [&](auto take) {
      share_out(task_.workers.threads, pieces, task_.workers.poll, [&](int, std::int64_t piece, const Heartbeat&) {
        const std::int64_t first = bucket.from + piece * size, last = std::min(bucket.to, first + size);
        std::int64_t* const own = &next[piece * bins];
        with_codes(keys_.columns()[0], [=](const auto& code, const void*) {
          for (std::int64_t row = first; row < last; ++row) take(own, code(row), row);
        });
      });
    };
    each_code([](std::int64_t* counts, std::uint64_t code, std::int64_t) { ++counts[code]; });
    starts = turn_into_places(bucket, bins, pieces, &next);
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
              [&](int worker, std::int64_t batch, const Heartbeat&) {
                for (std::size_t k = cuts[batch]; k < cuts[batch + 1]; ++k) sort_small(small_[k], &sorters[worker]);
              });
  }

  void sort_small(const Bucket& bucket, WordSorter<Number>* worker) {
    std::uint64_t* const words = words_of(bucket.where) + bucket.from;
    if (bucket.where == Where::keys) keys_.fill(bucket.level, bucket.from, bucket.size(), words);
    if (bucket.stale) keys_.refill(bucket.level, bucket.size(), words);
    std::uint64_t* const other = words_of(bucket.where == Where::second ? Where::first : Where::second) + bucket.from;
    worker->sort(bucket.level, {words, other, bucket.size(), bucket.from}, bucket.bits);
  }

  const Keys& keys_;
  const OrderTask& task_;
  OrderOut<Number> out_;
  Buffer<std::uint64_t> first_, second_;
  std::vector<Bucket> large_, small_;
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

KeyColumn key_of(const Column& column, bool decreasing, bool nan_apart) {
  const KeyType type = column.longs ? KeyType::int64 : column.doubles ? KeyType::float64 : KeyType::int32;
  return {type, with_items(column, [](auto items) -> const void* { return items; }), decreasing, nan_apart};
}

void HostVerbs::order(const OrderOf& task, Results& made) const {
  std::vector<KeyColumn> columns;
  for (std::size_t c = 0; c < task.columns.size(); ++c) columns.push_back(key_of(task.columns[c], task.decreasing[c]));
  OrderTask radix{{}, task.nearly, workers_};
  for (Index k = 0; k < task.offsets.count; ++k) radix.offsets.push_back(task.offsets[k]);
  const Keys keys(std::move(columns), task.columns[0].count, workers_);
  with_room(made.numbers(nullptr, keys.rows(), keys.rows()),
            [&](auto order, auto) { radix_order(keys, radix, order, nullptr); });
}

void HostVerbs::sort(const OrderOf& task, Results& made) const {
  const Column& x = task.columns[0];
  const Keys keys({key_of(x, task.decreasing[0])}, x.count, workers_);
  const auto sorted = [&](auto rows) {
    radix_order(keys, {{}, task.nearly, workers_}, rows.get(), nullptr);
    with_items(x, [&](auto from) {
      const auto to = static_cast<std::remove_const_t<std::remove_pointer_t<decltype(from)>>*>(made.items(x.count));
      each_piece(workers_, x.count, [&](Index, Index first, Index last) {
        for (Index k = first; k < last; ++k) to[k] = from[rows[k] - 1];
      });
    });
  };
  if (x.count > kMostInt) sorted(Buffer<Index>(x.count));
  else sorted(Buffer<std::int32_t>(x.count));
}

}  // namespace kernweave::arrays
