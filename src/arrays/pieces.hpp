// Work on arrays, shared out to threads in pieces that sizes alone decide, so that any number of threads gives the same
// bits.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include "base/threads.hpp"
#include "kernweave/partition.hpp"

namespace kernweave::arrays {

// Items of a piece: their numbers fit into a second-level cache, and take some ten times what starting a thread does.
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
  share_out(workers.threads, tasks, workers.poll, [&](int, std::int64_t task, const Heartbeat& beat) {
    beat();
    work(task);
  });
}

// Calls work(piece, first, last) for items first .. last - 1 of every piece, each once, in any order.
template <class Work>
void each_piece(const Workers& workers, Index items, Work work) {
  const Index pieces = pieces_of(items);
  each_task(workers, pieces, [&](Index piece) {
    work(piece, partition::even_split(items, pieces, piece), partition::even_split(items, pieces, piece + 1));
  });
}

}  // namespace kernweave::arrays
