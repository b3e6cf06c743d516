// A linear map that is known by its products. What iterations need of a matrix, and nothing else.
#pragma once
#include <functional>
#include <memory>
#include <vector>
#include "solve/columns.hpp"

namespace kernweave::solve {

class Operator {
 public:
  Operator(Index rows, Index columns) : rows(rows), columns(columns) {}
  virtual ~Operator() = default;

  // y = A x for each column; y is given the extents it needs, and is never x.
  virtual void times(const Block& x, Block* y) = 0;
  // y += by A x.
  virtual void add_times(const Block& x, double by, Block* y) {
    times(x, &product_);
    *y += by * product_;
  }

  // The device that multiplies columns where they lie, without a look at the host; null: the host.
  virtual device::Device* home() { return nullptr; }
  // Multiplies columns wherever they lie; y lies there, too. By default the product goes by way of the host.
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
// F F' of numbers that lie elsewhere and stay there.
OperatorPointer gram_operator(Eigen::Map<const Block> factor);
// The product of another operator: a function of R, say.
using Multiply = std::function<void(const Block& x, Block* y)>;
OperatorPointer function_operator(Index rows, Index columns, Multiply multiply);

OperatorPointer sum_operator(Parts parts, std::vector<double> coefficients);
// The leftmost factor first.
OperatorPointer product_operator(Parts parts);
// Makes an operator by rows of blocks; a null pointer is a zero block.
OperatorPointer block_operator(std::vector<Parts> parts);
OperatorPointer kronecker_operator(OperatorPointer left, OperatorPointer right);

}  // namespace kernweave::solve
