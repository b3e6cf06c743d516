// Single numbers of a lazy matrix, where a few are wanted: a block of rows and columns, or a list of pairs.
#pragma once
#include <memory>
#include <vector>
#include "base/threads.hpp"
#include "execute/run.hpp"
#include "solve/operator.hpp"

namespace kernweave::solve {

using RowIndices = std::vector<double>;  // row numbers as the engine gathers them: from 1

// 1 to n.
RowIndices all_places(Index n);
// Returns the places as rows from 0.
std::vector<int> rows_at(const RowIndices& places);
// Some places out of `all`, as a column of a device, or of the host.
Columns places_on(device::Device* device, const double* places, Index count, Index all);

// A prepared plan that reads a formula at the places that two of its operands hold.
struct EntriesPlan {
  std::shared_ptr<Prepared> prepared;
  std::vector<OperandData> operands;
  int rows, columns;
  // The operands with data that lie on a device, and the owners of these data.
  std::vector<OperandData> there{};
  std::vector<std::unique_ptr<Kept>> copies{};
};

class Entries {
 public:
  Entries(EntriesPlan block, EntriesPlan pairs, const Settings& settings, Poll poll)
      : block_(std::move(block)), pairs_(std::move(pairs)), settings_(settings), poll_(std::move(poll)) {}

  void block(const RowIndices& rows, const RowIndices& columns, Block* out);
  // Numbers lie where the places do: computed there, where the engine can, else by way of the host.
  void block(const Columns& rows, const Columns& columns, Columns* out);
  // Number k is that of row rows[k] and column columns[k].
  void pairs(const Columns& rows, const Columns& columns, Columns* out);

  int threads() const { return allowed_threads(settings_.threads); }

 private:
  void run(EntriesPlan* plan, const View& rows, const View& columns, double* out);
  void run_where_they_are(EntriesPlan* plan, const Columns& rows, const Columns& columns, Index width, Columns* out);
  void run_gpu(EntriesPlan* plan, const Columns& rows, const Columns& columns, Index width, Columns* out);

  EntriesPlan block_, pairs_;
  const Settings settings_;
  const Poll poll_;
};

}  // namespace kernweave::solve
