// Columns are put in the order of boxes once for both kinds of pairs, and results back once.
#include "solve/operator.hpp"

namespace kernweave::solve {
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
