// Operators made of numbers, of other operators, and of an approximated matrix.
#include "solve/operator.hpp"

#include "base/error.hpp"

namespace kernweave::solve {

void Operator::multiply(const Columns& x, Columns* y) {
  if (!x.device()) return times(x.block(), y->here());
  Block product;
  times(x.to_host(), &product);
  *y = Columns(std::move(product)).sent_to(x.device());
}

void Operator::add_multiply(const Columns& x, double by, Columns* y) {
  if (!x.device()) return add_times(x.block(), by, y->here());
  multiply(x, &product_gpu_);
  add_multiple(y, product_gpu_, by, 1);
}

namespace {

// Returns the home of the first part with a home.
device::Device* first_home(const Parts& parts) {
  for (const OperatorPointer& part : parts)
    if (device::Device* const home = part->home()) return home;
  return nullptr;
}

class Diagonal : public Operator {
 public:
  explicit Diagonal(Vector values) : Operator(values.size(), values.size()), scales_(std::move(values)) {}
  void times(const Block& x, Block* y) override { *y = scales_.values.asDiagonal() * x; }
  void add_times(const Block& x, double by, Block* y) override { *y += (by * scales_.values).asDiagonal() * x; }
  void multiply(const Columns& x, Columns* y) override { scale_rows(scales_, x, y, kAlone); }
  void add_multiply(const Columns& x, double by, Columns* y) override { add_scaled_rows(scales_, x, by, y, kAlone); }

 private:
  static constexpr int kAlone = 1;  // threads: the work is little beside that of other products
  const RowScales scales_;
};

class Dense : public Operator {
 public:
  explicit Dense(Block matrix) : Operator(matrix.rows(), matrix.cols()), matrix_(std::move(matrix)) {}
  void times(const Block& x, Block* y) override { y->noalias() = matrix_ * x; }

 private:
  const Block matrix_;
};

class Gram : public Operator {
 public:
  explicit Gram(Eigen::Map<const Block> factor) : Operator(factor.rows(), factor.rows()), factor_(factor) {}
  void times(const Block& x, Block* y) override {
    few_.noalias() = factor_.transpose() * x;
    y->noalias() = factor_ * few_;
  }

 private:
  const Eigen::Map<const Block> factor_;
  Block few_;
};

class FunctionOperator : public Operator {
 public:
  FunctionOperator(Index rows, Index columns, Multiply multiply)
      : Operator(rows, columns), multiply_(std::move(multiply)) {}
  void times(const Block& x, Block* y) override { multiply_(x, y); }

 private:
  const Multiply multiply_;
};

class SumOperator : public Operator {
 public:
  SumOperator(Parts parts, std::vector<double> coefficients)
      : Operator(parts.front()->rows, parts.front()->columns),
        parts_(std::move(parts)),
        coefficients_(std::move(coefficients)) {
    internal_check(parts_.size() == coefficients_.size(), "coefficients of a sum: ", coefficients_.size());
    for (const OperatorPointer& part : parts_)
      internal_check(part->rows == rows && part->columns == columns, "a sum of operators of several sizes");
  }

  void times(const Block& x, Block* y) override {
    parts_[0]->times(x, y);
    if (coefficients_[0] != 1) *y *= coefficients_[0];
    for (std::size_t k = 1; k < parts_.size(); ++k) parts_[k]->add_times(x, coefficients_[k], y);
  }

  device::Device* home() override { return first_home(parts_); }

  void multiply(const Columns& x, Columns* y) override {
    parts_[0]->multiply(x, y);
    if (coefficients_[0] != 1) multiply_by(y, coefficients_[0]);
    for (std::size_t k = 1; k < parts_.size(); ++k) parts_[k]->add_multiply(x, coefficients_[k], y);
  }

 private:
  const Parts parts_;
  const std::vector<double> coefficients_;
};

class ProductOperator : public Operator {
 public:
  explicit ProductOperator(Parts parts)
      : Operator(parts.front()->rows, parts.back()->columns), parts_(std::move(parts)) {
    for (std::size_t k = 1; k < parts_.size(); ++k)
      internal_check(parts_[k - 1]->columns == parts_[k]->rows, "a product of operators that do not fit");
  }

  void times(const Block& x, Block* y) override {
    parts_.back()->times(x, y);
    for (std::size_t k = parts_.size() - 1; k-- > 0;) {
      between_.swap(*y);
      parts_[k]->times(between_, y);
    }
  }

  device::Device* home() override { return first_home(parts_); }

  void multiply(const Columns& x, Columns* y) override {
    parts_.back()->multiply(x, y);
    for (std::size_t k = parts_.size() - 1; k-- > 0;) {
      std::swap(there_, *y);
      parts_[k]->multiply(there_, y);
    }
  }

 private:
  const Parts parts_;
  Block between_;
  Columns there_;
};

class Blocks : public Operator {
 public:
  Blocks(std::vector<Parts> parts, std::vector<Index> heights, std::vector<Index> widths)
      : Operator(sum(heights), sum(widths)),
        parts_(std::move(parts)),
        heights_(std::move(heights)),
        widths_(std::move(widths)) {}

  void times(const Block& x, Block* y) override {
    y->setZero(rows, x.cols());
    Index row = 0;
    for (std::size_t r = 0; r < parts_.size(); row += heights_[r++]) {
      Index column = 0;
      for (std::size_t c = 0; c < parts_[r].size(); column += widths_[c++]) {
        if (!parts_[r][c]) continue;
        own_ = x.middleRows(column, widths_[c]);
        parts_[r][c]->times(own_, &one_);
        y->middleRows(row, heights_[r]) += one_;
      }
    }
  }

 private:
  static Index sum(const std::vector<Index>& extents) {
    Index all = 0;
    for (const Index n : extents) all += n;
    return all;
  }

  const std::vector<Parts> parts_;
  const std::vector<Index> heights_, widths_;
  Block own_, one_;
};

// (A x B) vec(X) = vec(B X A'), where X has a column for each column of A.
class Kronecker : public Operator {
 public:
  Kronecker(OperatorPointer left, OperatorPointer right)
      : Operator(left->rows * right->rows, left->columns * right->columns),
        left_(std::move(left)),
        right_(std::move(right)) {}

  void times(const Block& x, Block* y) override {
    y->resize(rows, x.cols());
    for (Index k = 0; k < x.cols(); ++k) {
      const Block own = Eigen::Map<const Block>(x.col(k).data(), right_->columns, left_->columns);
      right_->times(own, &half_);
      const Block turned = half_.transpose();
      left_->times(turned, &whole_);
      Eigen::Map<Block>(y->col(k).data(), right_->rows, left_->rows) = whole_.transpose();
    }
  }

 private:
  const OperatorPointer left_, right_;
  Block half_, whole_;
};

}  // namespace

OperatorPointer diagonal_operator(Vector values) { return std::make_unique<Diagonal>(std::move(values)); }
OperatorPointer dense_operator(Block matrix) { return std::make_unique<Dense>(std::move(matrix)); }
OperatorPointer gram_operator(Eigen::Map<const Block> factor) { return std::make_unique<Gram>(factor); }
OperatorPointer function_operator(Index rows, Index columns, Multiply multiply) {
  return std::make_unique<FunctionOperator>(rows, columns, std::move(multiply));
}
OperatorPointer sum_operator(Parts parts, std::vector<double> coefficients) {
  internal_check(!parts.empty(), "a sum of no operators");
  return std::make_unique<SumOperator>(std::move(parts), std::move(coefficients));
}
OperatorPointer product_operator(Parts parts) {
  internal_check(!parts.empty(), "a product of no operators");
  return std::make_unique<ProductOperator>(std::move(parts));
}
OperatorPointer kronecker_operator(OperatorPointer left, OperatorPointer right) {
  return std::make_unique<Kronecker>(std::move(left), std::move(right));
}

// Each row and each column of blocks has at least one block that is not null, which gives its extent.
OperatorPointer block_operator(std::vector<Parts> parts) {
  internal_check(!parts.empty() && !parts[0].empty(), "an operator of no blocks");
  std::vector<Index> heights(parts.size(), -1), widths(parts[0].size(), -1);
  for (std::size_t r = 0; r < parts.size(); ++r) {
    internal_check(parts[r].size() == widths.size(), "rows of blocks of several lengths");
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (!parts[r][c]) continue;
      const Operator& one = *parts[r][c];
      internal_check(heights[r] < 0 || heights[r] == one.rows, "blocks of several heights in a row");
      internal_check(widths[c] < 0 || widths[c] == one.columns, "blocks of several widths in a column");
      heights[r] = one.rows;
      widths[c] = one.columns;
    }
  }
  for (const Index n : heights) internal_check(n >= 0, "a row of blocks of zeros alone");
  for (const Index n : widths) internal_check(n >= 0, "a column of blocks of zeros alone");
  return std::make_unique<Blocks>(std::move(parts), std::move(heights), std::move(widths));
}

// --- far operator ---------------------------------------------------------------------------------------------------
// The columns are sorted into the order of boxes once for both kinds of pairs, and the results are sorted back once.

namespace {

Vector negative_column(const Block& diagonal) { return diagonal.cols() == 1 ? Vector(-diagonal.col(0)) : Vector(); }

class Far : public Operator {
 public:
  explicit Far(FarParts parts)
      : Operator(static_cast<Index>(parts.matrix->order_of_rows().size()),
                 static_cast<Index>(parts.matrix->order_of_columns().size())),
        parts_(std::move(parts)),
        less_(negative_column(parts_.diagonal)) {}

  void times(const Block& x, Block* y) override {
    const auto count = static_cast<int>(x.cols());
    y->resize(rows, results(count));
    sorted_.resize(columns, count);
    far::check_finite(parts_.matrix->sort(x.data(), count, parts_.workers, sorted_.data()));
    if (parts_.near) parts_.near->times(parts_.near_in_order ? sorted_ : x, &near_);
    const bool together = parts_.near && parts_.near_in_order;
    parts_.matrix->multiply(sorted_.data(), together ? near_.data() : nullptr, count, parts_.workers, y->data(),
                            nullptr);
    if (parts_.near && !together) *y += near_;
    if (parts_.diagonal.size()) take_off_diagonal(x, y);
  }

  device::Device* home() override {
    if (!parts_.device || rows == 0 || columns == 0) return nullptr;
    const bool diagonal_gpu = parts_.diagonal.size() == 0 || (rows == columns && parts_.diagonal.cols() == 1);
    const bool near_gpu = !parts_.near || (parts_.near_in_order && parts_.near->home() == parts_.device);
    return diagonal_gpu && near_gpu ? parts_.device : nullptr;
  }

  void multiply(const Columns& x, Columns* y) override {
    if (!x.device() || x.device() != home()) return Operator::multiply(x, y);
    const auto count = static_cast<int>(x.cols());
    far::DeviceProduct& product = parts_.matrix->on(x.device(), parts_.workers);
    sorted_gpu_.make(x.device(), columns, count);
    far::check_finite(product.sort(false, x.at(), count, sorted_gpu_.at(), true));
    if (parts_.near) parts_.near->multiply(sorted_gpu_, &near_gpu_);
    sums_gpu_.make(x.device(), rows, Index{count} * product.sums());
    product.multiply(sorted_gpu_.at(), count, sums_gpu_.at());
    y->make(x.device(), rows, results(count));
    product.put_back(sums_gpu_.at(), parts_.near ? near_gpu_.at() : nullptr, count, y->at());
    if (parts_.diagonal.size()) add_scaled_rows(less_, x, 1, y, parts_.workers.threads);
  }

 private:
  Index results(int count) const { return Index{count} * parts_.matrix->components(); }

  void take_off_diagonal(const Block& x, Block* y) const {
    const Block& diagonal = parts_.diagonal;
    const Index both = std::min(rows, columns);
    for (Index c = 0; c < y->cols(); ++c)
      y->col(c).head(both).array() -= diagonal.col(c % diagonal.cols()).head(both).array() *
                                      x.col(c / diagonal.cols()).head(both).array();
  }

  const FarParts parts_;
  const RowScales less_;
  Block sorted_, near_;
  Columns sorted_gpu_, near_gpu_, sums_gpu_;
};

}  // namespace

OperatorPointer far_operator(FarParts parts) { return std::make_unique<Far>(std::move(parts)); }

}  // namespace kernweave::solve
