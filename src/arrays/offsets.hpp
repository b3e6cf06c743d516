// Running totals of counts, in three phases: a total for each piece, their running total, and that of each item.
#pragma once
#include <vector>
#include "arrays/pieces.hpp"

namespace kernweave::arrays {

// Returns the sum of the counts before each piece, and of all counts.
template <class Count>
std::vector<Index> piece_totals(const Count* counts, Index n, const Workers& workers) {
  std::vector<Index> before(static_cast<std::size_t>(pieces_of(n)) + 1, 0);
  each_piece(workers, n, [&](Index piece, Index first, Index last) {
    Index total = 0;
    for (Index k = first; k < last; ++k) total += static_cast<Index>(counts[k]);
    before[static_cast<std::size_t>(piece) + 1] = total;
  });
  for (std::size_t piece = 1; piece < before.size(); ++piece) before[piece] += before[piece - 1];
  return before;
}

template <class Count>
Index total_of(const Count* counts, Index n, const Workers& workers) {
  return piece_totals(counts, n, workers).back();
}

// Writes n + 1 numbers: 0, and the totals of the first 1 .. n counts.
template <class Count, class Offset>
void write_offsets(const Count* counts, Index n, Offset* to, const Workers& workers) {
  const std::vector<Index> before = piece_totals(counts, n, workers);
  to[0] = 0;
  each_piece(workers, n, [&](Index piece, Index first, Index last) {
    Index total = before[static_cast<std::size_t>(piece)];
    for (Index k = first; k < last; ++k) to[k + 1] = static_cast<Offset>(total += static_cast<Index>(counts[k]));
  });
}

}  // namespace kernweave::arrays
