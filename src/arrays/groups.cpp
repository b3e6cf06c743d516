// Groups by counting: each block of items, one or a few for each thread, has a table of all keys. Keys that need too
// large a table are sorted.
#include <functional>
#include "arrays/host_verbs.hpp"
#include "arrays/keys.hpp"

namespace kernweave::arrays {
namespace {

constexpr int kMissing = std::numeric_limits<int>::min();

// Returns the number of blocks: no more than threads, and not so many that their tables are larger than the items.
// Results do not depend on this number.
Index blocks_of(Index n, Index keys, const Workers& workers) {
  return std::max<Index>(1, std::min<Index>(workers.threads, n / std::max<Index>(1, keys)));
}

template <class Work>
void each_block(const Workers& workers, Index blocks, Index n, Work work) {
  each_task(workers, blocks, [&](Index block) {
    work(block, partition::even_split(n, blocks, block), partition::even_split(n, blocks, block + 1));
  });
}

// The range of keys. `missing`: some key is missing.
struct KeyRange {
  int least = 0, most = -1;
  bool missing = false, ascending = true;
};

KeyRange range_of(const int* keys, Index n, const Workers& workers) {
  std::vector<KeyRange> found(static_cast<std::size_t>(pieces_of(n)));
  each_piece(workers, n, [&](Index piece, Index first, Index last) {
    constexpr int kMost = 2147483647;
    int least = kMost, most = -kMost;
    bool none = false, ascending = true;
    for (Index k = first; k < last; ++k) {
      const int key = keys[k];
      none |= key == kMissing;
      least = std::min(least, key == kMissing ? kMost : key);
      most = std::max(most, key);
      ascending &= k == 0 || keys[k - 1] <= key;
    }
    found[static_cast<std::size_t>(piece)] = {least, most, none, ascending && !none};
  });
  KeyRange all;
  if (!found.empty()) all = found[0];
  for (const KeyRange& piece : found) {
    all.least = std::min(all.least, piece.least);
    all.most = std::max(all.most, piece.most);
    all.missing |= piece.missing;
    all.ascending &= piece.ascending;
  }
  if (all.most < all.least) all = {0, -1, all.missing, all.ascending};
  return all;
}

// Counts the items of each key of a range and, as the last count, the items whose key is missing.
std::vector<Index> count_keys(const int* keys, Index n, const KeyRange& range, const Workers& workers) {
  const Index wide = static_cast<Index>(range.most) - range.least + 2, blocks = blocks_of(n, wide, workers);
  std::vector<std::vector<Index>> tables(static_cast<std::size_t>(blocks));
  each_block(workers, blocks, n, [&](Index block, Index first, Index last) {
    std::vector<Index>& table = tables[static_cast<std::size_t>(block)];
    table.assign(static_cast<std::size_t>(wide), 0);
    for (Index k = first; k < last; ++k)
      ++table[static_cast<std::size_t>(keys[k] == kMissing ? wide - 1 : static_cast<Index>(keys[k]) - range.least)];
  });
  for (std::size_t block = 1; block < tables.size(); ++block)
    std::transform(tables[0].begin(), tables[0].end(), tables[block].begin(), tables[0].begin(), std::plus<>());
  return tables[0];
}

// Writes codes of keys, from 1: code_of[key - range.least]; the last code is the code of a missing key.
void write_codes(const int* keys, Index n, const KeyRange& range, const std::vector<int>& code_of,
                 const Workers& workers, int* codes) {
  each_piece(workers, n, [&](Index, Index first, Index last) {
    for (Index k = first; k < last; ++k)
      codes[k] = keys[k] == kMissing ? code_of.back()
                                    : code_of[static_cast<std::size_t>(static_cast<Index>(keys[k]) - range.least)];
  });
}

struct Counted {
  std::vector<int> keys;      // the key of each group
  std::vector<Index> counts;  // the items of each group
  std::vector<int> code_of;   // the code of each possible key
};

Counted counted(const std::vector<Index>& counts, const KeyRange& range) {
  Counted groups;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] > 0) {
      groups.counts.push_back(counts[k]);
      groups.keys.push_back(k + 1 == counts.size() ? kMissing : static_cast<int>(range.least + static_cast<Index>(k)));
    }
    groups.code_of.push_back(static_cast<int>(groups.counts.size()));
  }
  return groups;
}

void write_counted(const Column& by, const KeyRange& range, const Workers& workers, Results& made) {
  const Counted groups = counted(count_keys(by.integers, by.count, range, workers), range);
  const auto n = static_cast<Index>(groups.keys.size());
  std::copy(groups.keys.begin(), groups.keys.end(), made.numbers("keys", 0, n).integers);
  with_room(made.numbers("offsets", by.count, n + 1),
            [&](auto to, auto) { write_offsets(groups.counts.data(), n, to, Workers()); });
  if (range.ascending) return;
  // If the keys are the codes already, no codes are written.
  if (!range.missing && range.least == 1 && range.most == n) return made.given("codes");
  write_codes(by.integers, by.count, range, groups.code_of, workers,
              made.numbers("codes", n, by.count).integers);
}

void write_sorted(const Column& by, const Workers& workers, Results& made) {
  const Index n = by.count;
  const Buffer<std::uint8_t> tied(n);
  const Numbers order = made.numbers("order", n, n);
  const Keys keys({key_of(by, false)}, n, workers);
  with_room(order, [&](auto rows, auto) { radix_order(keys, {{}, 0, workers}, rows, tied.get()); });
  const Index groups = std::count(tied.get(), tied.get() + n, 0);
  int* const codes = made.numbers("codes", groups, n).integers;
  const Numbers heads = made.numbers("heads", n, groups), offsets = made.numbers("offsets", n, groups + 1);
  const Whole rows{order.integers, order.doubles, n};
  const auto put = [](const Numbers& to, Index k, Index value) {
    with_room(to, [&](auto* at, auto) { at[k] = static_cast<std::decay_t<decltype(*at)>>(value); });
  };
  Index group = 0;
  for (Index k = 0; k < n; ++k) {
    if (!tied[k]) {
      put(heads, group, rows[k]);
      put(offsets, group++, k);
    }
    codes[rows[k] - 1] = static_cast<int>(group);
  }
  put(offsets, groups, n);
}

}  // namespace

// Counting takes memory for every integer of the range: if the range is too wide, keys are sorted, as doubles are.
void HostVerbs::groups(const Column& keys, Results& made) const {
  if (keys.integers) {
    const KeyRange range = range_of(keys.integers, keys.count, workers_);
    const double wide = static_cast<double>(range.most) - range.least;
    if (wide < 2.0 * static_cast<double>(keys.count) + 65536) return write_counted(keys, range, workers_, made);
  }
  write_sorted(keys, workers_, made);
}

void HostVerbs::group_order(const int* codes, Index n, const Whole& offsets, const Numbers& order) const {
  const Index groups = offsets.count - 1, blocks = blocks_of(n, groups, workers_);
  std::vector<std::vector<Index>> next(static_cast<std::size_t>(blocks));
  each_block(workers_, blocks, n, [&](Index block, Index first, Index last) {
    std::vector<Index>& counts = next[static_cast<std::size_t>(block)];
    counts.assign(static_cast<std::size_t>(groups), 0);
    for (Index k = first; k < last; ++k) ++counts[static_cast<std::size_t>(codes[k]) - 1];
  });
  for (Index group = 0; group < groups; ++group) {
    Index at = offsets[group];
    for (std::vector<Index>& table : next) {
      const Index count = table[static_cast<std::size_t>(group)];
      table[static_cast<std::size_t>(group)] = at;
      at += count;
    }
  }
  each_block(workers_, blocks, n, [&](Index block, Index first, Index last) {
    std::vector<Index>& at = next[static_cast<std::size_t>(block)];
    with_room(order, [&](auto to, auto) {
      for (Index k = first; k < last; ++k)
        to[at[static_cast<std::size_t>(codes[k]) - 1]++] = static_cast<std::decay_t<decltype(*to)>>(k + 1);
    });
  });
}

}  // namespace kernweave::arrays
