// Single numbers of a lazy matrix, where a few are wanted: a block of rows and columns, or a list of pairs.
#pragma once
#include <memory>
#include <vector>
#include "execute/run.hpp"
#include "solve/engine_operator.hpp"

namespace kernweave::solve {

using Places = std::vector<double>;  // row numbers as the engine gathers them: from 1

// 1 to n.
Places all_places(Index n);

// A prepared plan that reads a formula at the places that two of its operands hold.
struct EntriesPlan {
  std::shared_ptr<Prepared> prepared;
  std::vector<OperandData> operands;
  int rows, columns;
};

class Entries {
 public:
  Entries(EntriesPlan block, EntriesPlan pairs, const Settings& settings, Poll poll)
      : block_(std::move(block)), pairs_(std::move(pairs)), settings_(settings), poll_(std::move(poll)) {}

  void block(const Places& rows, const Places& columns, Block* out);
  // Number k is that of row rows[k] and column columns[k].
  void pairs(const Places& rows, const Places& columns, Vector* out);

 private:
  void run(EntriesPlan* plan, const Places& rows, const Places& columns, double* out);

  EntriesPlan block_, pairs_;
  const Settings settings_;
  const Poll poll_;
};

}  // namespace kernweave::solve
