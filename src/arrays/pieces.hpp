// Shares out work on arrays in pieces that depend on sizes alone, so that any number of threads gives the same bits.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>
#include "base/threads.hpp"
#include "kernweave/partition.hpp"

namespace kernweave::arrays {

// The items of a piece: they fit into a second-level cache, and take some ten times as long as starting a thread.
constexpr Index kPiece = 1 << 15;

// The number of threads, and the function called now and then on the calling thread.
struct Workers {
  int threads = 1;
  std::function<void(double)> poll = [](double) {};
};

constexpr Index pieces_of(Index items) { return (items + kPiece - 1) / kPiece; }

// Calls work(task) for tasks 0 .. tasks - 1, each once, in any order.
template <class Work>
void each_task(const Workers& workers, Index tasks, Work work) {
  share_out(workers.threads, tasks, workers.poll, [&](int, std::int64_t task, const Heartbeat&) { work(task); });
}

// Calls work(piece, first, last) for items first .. last - 1 of every piece, each once, in any order.
template <class Work>
void each_piece(const Workers& workers, Index items, Work work) {
  const Index pieces = pieces_of(items);
  each_task(workers, pieces, [&](Index piece) {
    work(piece, partition::even_split(items, pieces, piece), partition::even_split(items, pieces, piece + 1));
  });
}

// --- offsets -------------------------------------------------------------------------------------------------------
// Running totals of counts, in three phases: a total for each piece, the pieces' running total, each item's total.

// Returns the sum of the counts before each piece, and of all counts.
template <class Count>
std::vector<Index> piece_totals(const Count& counts, Index n, const Workers& workers) {
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
Index total_of(const Count& counts, Index n, const Workers& workers) {
  return piece_totals(counts, n, workers).back();
}

// Writes n + 1 numbers: 0, and the totals of the first 1 .. n counts.
template <class Count, class Offset>
void write_offsets(const Count& counts, Index n, Offset* to, const Workers& workers) {
  const std::vector<Index> before = piece_totals(counts, n, workers);
  to[0] = 0;
  each_piece(workers, n, [&](Index piece, Index first, Index last) {
    Index total = before[static_cast<std::size_t>(piece)];
    for (Index k = first; k < last; ++k) to[k + 1] = static_cast<Offset>(total += static_cast<Index>(counts[k]));
  });
}

}  // namespace kernweave::arrays
