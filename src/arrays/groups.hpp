// Groups of items by whole numbers: how many there are of each, a number from 1 for each group that there is, and the
// order that brings the items of a group together.
#pragma once
#include <vector>
#include "arrays/items.hpp"

namespace kernweave::arrays {

// The range of keys. `missing`: a key stands for none.
struct KeyRange {
  int least = 0, most = -1;
  bool missing = false, ascending = true;
};

KeyRange range_of(const int* keys, Index n, int missing, const Workers& workers);

// How many items have each key of a range, and behind them how many none.
std::vector<Index> count_keys(const int* keys, Index n, const KeyRange& range, int missing, const Workers& workers);

// Writes codes of keys, from 1: code_of[key - range.least]; the last code is that of a key that stands for none.
void write_codes(const int* keys, Index n, const KeyRange& range, int missing, const std::vector<int>& code_of,
                 const Workers& workers, int* codes);

// Numbers of items from 1, those of the first group first; `offsets` has a number more than there are groups.
template <class Place>
void write_order(const int* codes, Index n, const Whole& offsets, const Workers& workers, Place* order);

}  // namespace kernweave::arrays
