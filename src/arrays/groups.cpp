// Groups by counting: blocks of items, one or a few for each thread, have a table of all keys each.
#include "arrays/groups.hpp"
#include <functional>

namespace kernweave::arrays {
namespace {

// No more blocks than threads, nor so many that their tables would be larger than the items. Results do not depend on
// how many there are.
Index blocks_of(Index n, Index keys, const Workers& workers) {
  return std::max<Index>(1, std::min<Index>(workers.threads, n / std::max<Index>(1, keys)));
}

template <class Work>
void each_block(const Workers& workers, Index blocks, Index n, Work work) {
  each_task(workers, blocks, [&](Index block) {
    work(block, partition::even_split(n, blocks, block), partition::even_split(n, blocks, block + 1));
  });
}

}  // namespace

KeyRange range_of(const int* keys, Index n, int missing, const Workers& workers) {
  std::vector<KeyRange> found(static_cast<std::size_t>(pieces_of(n)));
  each_piece(workers, n, [&](Index piece, Index first, Index last) {
    constexpr int kMost = 2147483647;
    int least = kMost, most = -kMost;
    bool none = false, ascending = true;
    for (Index k = first; k < last; ++k) {
      const int key = keys[k];
      none |= key == missing;
      least = std::min(least, key == missing ? kMost : key);
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

std::vector<Index> count_keys(const int* keys, Index n, const KeyRange& range, int missing, const Workers& workers) {
  const Index wide = static_cast<Index>(range.most) - range.least + 2, blocks = blocks_of(n, wide, workers);
  std::vector<std::vector<Index>> tables(static_cast<std::size_t>(blocks));
  each_block(workers, blocks, n, [&](Index block, Index first, Index last) {
    std::vector<Index>& table = tables[static_cast<std::size_t>(block)];
    table.assign(static_cast<std::size_t>(wide), 0);
    for (Index k = first; k < last; ++k)
      ++table[static_cast<std::size_t>(keys[k] == missing ? wide - 1 : static_cast<Index>(keys[k]) - range.least)];
  });
  for (std::size_t block = 1; block < tables.size(); ++block)
    std::transform(tables[0].begin(), tables[0].end(), tables[block].begin(), tables[0].begin(), std::plus<>());
  return tables[0];
}

void write_codes(const int* keys, Index n, const KeyRange& range, int missing, const std::vector<int>& code_of,
                 const Workers& workers, int* codes) {
  each_piece(workers, n, [&](Index, Index first, Index last) {
    for (Index k = first; k < last; ++k)
      codes[k] = keys[k] == missing ? code_of.back()
                                    : code_of[static_cast<std::size_t>(static_cast<Index>(keys[k]) - range.least)];
  });
}

template <class Place>
void write_order(const int* codes, Index n, const Whole& offsets, const Workers& workers, Place* order) {
  const Index groups = offsets.count - 1, blocks = blocks_of(n, groups, workers);
  std::vector<std::vector<Index>> next(static_cast<std::size_t>(blocks));
  each_block(workers, blocks, n, [&](Index block, Index first, Index last) {
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
  each_block(workers, blocks, n, [&](Index block, Index first, Index last) {
    std::vector<Index>& at = next[static_cast<std::size_t>(block)];
    for (Index k = first; k < last; ++k)
      order[at[static_cast<std::size_t>(codes[k]) - 1]++] = static_cast<Place>(k + 1);
  });
}

template void write_order(const int*, Index, const Whole&, const Workers&, int*);
template void write_order(const int*, Index, const Whole&, const Workers&, double*);

}  // namespace kernweave::arrays
