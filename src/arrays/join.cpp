// Joins: rows of x know their partners as a stretch of the order of all rows, so pairs are written row by row.
#include "arrays/join.hpp"

#include <algorithm>

#include "arrays/keys.hpp"
#include "arrays/pieces.hpp"

namespace kernweave::arrays {

template <class Row>
Joined<Row>::Joined(const Keys& keys, const JoinTask& task)
    : task_(task), x_rows_(task.x_rows), y_rows_(keys.rows() - task.x_rows), order_(keys.rows()), partners_(x_rows_),
      y_alone_(y_rows_) {
  const Buffer<std::uint8_t> tied(keys.rows());
  OrderTask order;
  order.workers = task.workers;
  radix_order(keys, order, order_.get(), tied.get());
  note_runs(keys, tied.get());
  x_before_.assign(static_cast<std::size_t>(pieces_of(x_rows_)) + 1, 0);
  each_piece(task_.workers, x_rows_, [&](Index piece, Index first, Index last) {
    Index total = 0;
    for (Index row = first; row < last; ++row)
      total += std::max<Index>(partners_[row].count, task_.keep_x);
    x_before_[piece + 1] = total;
  });
  for (std::size_t piece = 1; piece < x_before_.size(); ++piece) x_before_[piece] += x_before_[piece - 1];
  y_before_ = task_.keep_y ? piece_totals(y_alone_.get(), y_rows_, task_.workers) : std::vector<Index>{0};
}

// A piece takes the runs that begin in it.
template <class Row>
void Joined<Row>::note_runs(const Keys& keys, const std::uint8_t* tied) {
  each_piece(task_.workers, keys.rows(), [&](Index, Index from, Index last) {
    while (from < last && tied[from]) ++from;
    while (from < last) {
      Index to = from + 1;
      while (to < keys.rows() && tied[to]) ++to;
      note_run(keys, from, to);
      from = to;
    }
  });
}

// The order is stable: a key's rows of x come before those of y, each in their order.
template <class Row>
void Joined<Row>::note_run(const Keys& keys, Index from, Index to) {
  const bool matches = task_.missing_match || !has_missing(keys, static_cast<Index>(order_[from]) - 1);
  Index middle = from;
  while (middle < to && order_[middle] <= x_rows_) ++middle;
  const Partners own{static_cast<Row>(middle), static_cast<Row>(matches ? to - middle : 0)};
  const std::uint8_t alone = middle == from || !matches;
  for (Index k = from; k < middle; ++k) partners_[static_cast<Index>(order_[k]) - 1] = own;
  for (Index k = middle; k < to; ++k) {
    order_[k] -= static_cast<Row>(x_rows_);
    y_alone_[static_cast<Index>(order_[k]) - 1] = alone;
  }
}

template <class Row>
bool Joined<Row>::has_missing(const Keys& keys, Index row) const {
  const std::vector<KeyColumn>& columns = keys.columns();
  return std::any_of(columns.begin(), columns.end(), [row](const KeyColumn& c) { return is_missing(c, row); });
}

template <class Row>
template <class Number>
void Joined<Row>::write(Number* x, Number* y, Number none) const {
  each_piece(task_.workers, x_rows_, [&](Index piece, Index first, Index last) {
    Index at = x_before_[piece];
    for (Index row = first; row < last; ++row) {
      const Partners& partners = partners_[row];
      const Row* const from = &order_[partners.first];
      for (Index k = 0; k < partners.count; ++k, ++at) {
        x[at] = static_cast<Number>(row + 1);
        y[at] = static_cast<Number>(from[k]);
      }
      if (partners.count > 0 || !task_.keep_x) continue;
      x[at] = static_cast<Number>(row + 1);
      y[at++] = none;
    }
  });
  if (!task_.keep_y) return;
  each_piece(task_.workers, y_rows_, [&](Index piece, Index first, Index last) {
    Index at = x_before_.back() + y_before_[piece];
    for (Index row = first; row < last; ++row) {
      if (!y_alone_[row]) continue;
      x[at] = none;
      y[at++] = static_cast<Number>(row + 1);
    }
  });
}

template class Joined<std::int32_t>;
template class Joined<Index>;
template void Joined<std::int32_t>::write(std::int32_t*, std::int32_t*, std::int32_t) const;
template void Joined<Index>::write(double*, double*, double) const;

}  // namespace kernweave::arrays
