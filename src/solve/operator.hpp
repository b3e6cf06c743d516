// A linear map that is defined by its products, for iterative solvers; and single entries of a lazy matrix.
#pragma once
#include <functional>
#include <memory>
#include <vector>
#include "base/threads.hpp"
#include "execute/run.hpp"
#include "far/approximation.hpp"
#include "solve/columns.hpp"

namespace kernweave::solve {

class Operator {
 public:
  Operator(Index rows, Index columns) : rows(rows), columns(columns) {}
  virtual ~Operator() = default;

  // Computes y = A x for each column; resizes y, which must not be x.
  virtual void times(const Block& x, Block* y) = 0;
  // Computes y += by A x.
  virtual void add_times(const Block& x, double by, Block* y) {
    times(x, &product_);
    *y += by * product_;
  }

  // Returns the device on which columns are multiplied without copies to the host; null: the host.
  virtual device::Device* home() { return nullptr; }
  // Multiplies columns on the host or on a device; y is in the same memory. By default, columns are copied to the host.
  virtual void multiply(const Columns& x, Columns* y);
  virtual void add_multiply(const Columns& x, double by, Columns* y);

  const Index rows, columns;

 private:
  Block product_;
  Columns product_gpu_;
};

using OperatorPointer = std::unique_ptr<Operator>;
using Parts = std::vector<OperatorPointer>;

OperatorPointer diagonal_operator(Vector values);
OperatorPointer dense_operator(Block matrix);
// Returns F F'; the numbers of F are not copied.
OperatorPointer gram_operator(Eigen::Map<const Block> factor);
// A function that multiplies, such as a function of R.
using Multiply = std::function<void(const Block& x, Block* y)>;
OperatorPointer function_operator(Index rows, Index columns, Multiply multiply);

OperatorPointer sum_operator(Parts parts, std::vector<double> coefficients);
// `parts` begins with the leftmost factor.
OperatorPointer product_operator(Parts parts);
// Makes an operator by rows of blocks; a null pointer is a zero block.
OperatorPointer block_operator(std::vector<Parts> parts);
OperatorPointer kronecker_operator(OperatorPointer left, OperatorPointer right);

// --- engine_operator.cpp -------------------------------------------------------------------------------------------
// A lazy tensor as an operator: each product is a run of a plan that is kept.

// A plan of the sum over j of a formula times an operand of `width` components, with its data. If the formula has
// `components` components, each component of the operand has as many results, side by side.
struct ProductPlan {
  Index width, components;
  std::shared_ptr<KeptPlan> kept;
  std::vector<OperandData> operands;
  int vector;  // the operand that is multiplied
};

// `poll`, a solver's callback, is called between products, and within products with the share that is done. It throws
// Interrupted to stop.

// Makes an operator from `plans`, by growing width. Products run the narrowest plan with room for the columns. Columns
// beyond the widest plan wait for the next run.
OperatorPointer engine_operator(Index rows, Index columns, std::vector<ProductPlan> plans, const Known& known,
                                const Settings& settings, Poll poll);

// --- far operator ---------------------------------------------------------------------------------------------------
// An approximated matrix as an operator: far pairs by expansions, near pairs by an operator of their own.

struct FarParts {
  far::Approximation* matrix;  // must outlive the operator
  // The operator of the near pairs, null if there are none. `near_in_order`: its points are in the order of boxes.
  OperatorPointer near{};
  bool near_in_order = true;
  // The numbers to subtract for the pairs of a point with itself, which expansions include: a row for each row, a
  // column for each component of the formula. Empty: nothing is subtracted.
  Block diagonal{};
  device::Device* device = nullptr;  // the device that sums far pairs; null: the host
  arrays::Workers workers{};
};

// A column has a column of results for each component of the formula. Fails with Fault::value if one is not finite.
OperatorPointer far_operator(FarParts parts);

// --- entries --------------------------------------------------------------------------------------------------------
// Single numbers of a lazy matrix: a block of rows and columns, or a list of pairs.

using RowIndices = std::vector<double>;  // row numbers as the engine gathers them: from 1

// Returns 1 to n.
RowIndices all_places(Index n);
// Returns the places as rows from 0.
std::vector<int> rows_at(const RowIndices& places);
// Returns some of `all` places as a column on a device, or on the host.
Columns places_on(device::Device* device, const double* places, Index count, Index all);

// A kept plan that reads a formula at the places that two of its operands hold.
struct EntriesPlan {
  std::shared_ptr<KeptPlan> kept;
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
  // Computes a block of entries in the memory of its row numbers, on a device or on the host.
  void block(const Columns& rows, const Columns& columns, Columns* out);
  // Computes the entry of row rows[k] and column columns[k] as number k.
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
