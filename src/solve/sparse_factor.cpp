// Both products are sums over what a row or a column holds, so that threads do not meet.
#include "solve/sparse_factor.hpp"

namespace kernweave::solve {

void SparseFactor::turn() {
  const auto n = static_cast<std::size_t>(points());
  starts_.assign(n + 1, 0);
  for (Index i = 0; i < points(); ++i)
    for (Index s = 0; s < most(); ++s)
      if (at_(s, i) >= 0) ++starts_[static_cast<std::size_t>(at_(s, i)) + 1];
  for (std::size_t i = 0; i < n; ++i) starts_[i + 1] += starts_[i];
  columns_.resize(starts_[n]);
  row_values_.resize(starts_[n]);
  std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
  for (Index i = 0; i < points(); ++i)
    for (Index s = 0; s < most(); ++s) {
      if (at_(s, i) < 0) continue;
      const std::size_t e = next[static_cast<std::size_t>(at_(s, i))]++;
      columns_[e] = static_cast<int>(i);
      row_values_[e] = values_(s, i);
    }
}

void SparseFactor::from_left(const Block& x, bool transposed, Block* y) const {
  y->resize(x.rows(), points());
  const auto by_column = [&](Index i) {
    y->col(i) = values_(most(), i) * x.col(i);
    for (Index s = 0; s < most(); ++s)
      if (at_(s, i) >= 0) y->col(i) += values_(s, i) * x.col(at_(s, i));
  };
  const auto by_row = [&](Index i) {
    y->col(i) = values_(most(), i) * x.col(i);
    for (std::size_t e = starts_[static_cast<std::size_t>(i)]; e < starts_[static_cast<std::size_t>(i) + 1]; ++e)
      y->col(i) += row_values_[e] * x.col(columns_[e]);
  };
  each_piece(points(), x.rows() * (most() + 1), threads_, [&](Index first, Index last, Index) {
    for (Index i = first; i < last; ++i) transposed ? by_row(i) : by_column(i);
  });
}

void SparseFactor::solve_from_left(Block* x) const {
  for (Index i = 0; i < points(); ++i) {
    for (Index s = 0; s < most(); ++s)
      if (at_(s, i) >= 0) x->col(i) -= values_(s, i) * x->col(at_(s, i));
    x->col(i) /= values_(most(), i);
  }
}

}  // namespace kernweave::solve
