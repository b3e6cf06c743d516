// What the tasks of a pass have found: states, until those of all chunks of a block of rows are there.
#pragma once
#include <memory>
#include <vector>
#include "cpu/cut.hpp"
#include "cpu/outputs.hpp"
#include "cpu/worker.hpp"

namespace kernweave {

// Some blocks of rows, and some chunks of columns of each: from .. to - 1.
struct Piece {
  Range blocks, chunks;

  std::int64_t tasks() const { return blocks.size() * chunks.size(); }
};

// The states that a piece of a pass leaves: of the rows of each block, and, where a part folds the rows too, of each
// block and chunk one state.
struct PassStates {
  Piece piece;
  std::vector<RowStates> rows, totals;
};

class Found {
 public:
  explicit Found(const PassRun& job);

  // What comes next belongs to this piece. Where it is kept, states are not finished but wait for those of others.
  void begin(const Piece& piece, bool kept);
  std::int64_t rows_of(std::int64_t block) const;
  // The states a task has gathered; it gets others in return. Only the task itself touches its place.
  void take(std::int64_t block, std::int64_t chunk, RowStates* states);
  // Results of the rows that are complete, or the states, if they are kept.
  void finish();
  PassStates give();
  // Pieces in the order of their blocks, and of chunks for the same blocks; together they are the whole.
  void finish_all(std::vector<PassStates>* pieces);

 private:
  bool folds_rows(std::size_t part) const { return job_.shape->parts[part].output->keep == Keep::none; }
  const Result& result(std::size_t part) const { return job_.task->results[job_.shape->parts[part].number]; }
  std::size_t place(std::int64_t block, std::int64_t chunk) const;
  void finish_rows(std::int64_t block, RowStates* states);
  void finish_totals(const std::vector<RowStates*>& in_order);

  const PassRun& job_;
  Piece piece_{};
  bool kept_ = false, folds_rows_ = false;
  std::vector<RowStates> rows_;    // of each task
  std::vector<RowStates> totals_;  // the same, of all its rows
  RowStates all_;
};

}  // namespace kernweave
