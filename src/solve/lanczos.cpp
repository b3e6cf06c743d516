// Deflation: columns that are exhausted, or whose owner needs no more, leave the block.
#include "solve/lanczos.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "solve/long_columns.hpp"

namespace kernweave::solve {
namespace {

constexpr double kNoVector = 1e-14;  // a next vector that is rounding alone, relative to the largest number seen

}  // namespace

Lanczos::Lanczos(Operator* matrix, const Block& starts, int most, bool basis, int threads, const Poll& poll)
    : matrix_(matrix),
      poll_(poll),
      keeps_basis_(basis),
      threads_(threads),
      columns_(static_cast<std::size_t>(starts.cols())) {
  std::vector<Index> any;
  for (Index c = 0; c < starts.cols(); ++c) {
    LanczosColumn& column = columns_[static_cast<std::size_t>(c)];
    column.size = starts.col(c).norm();
    column.exhausted = !(column.size > 0);
    if (column.exhausted) continue;
    if (basis) column.basis.resize(starts.rows(), most);
    any.push_back(c);
  }
  active_ = any;
  now_ = columns_of(starts, any);
  for (Index k = 0; k < now_.cols(); ++k) now_.col(k) /= of(any[static_cast<std::size_t>(k)]).size;
  before_ = Block::Zero(now_.rows(), now_.cols());
}

void Lanczos::run(int most, const Looks& looks, const std::function<bool(Index)>& enough) {
  int next = looks.first;
  for (int step = 1; step <= most && !active_.empty(); ++step) {
    const std::vector<Index> open = active_;
    advance();
    const bool due = step == next || step == most;
    if (due) next += std::max(1, step / looks.fraction);
    std::vector<Index> stay;
    for (const Index c : open) {
      const bool done = (due || exhausted(c)) && enough(c);
      if (!done && !exhausted(c)) stay.push_back(c);
    }
    keep(stay);
  }
}

void Lanczos::advance() {
  poll_(0.0);
  matrix_->times(now_, &product_);
  user_check(product_.allFinite(), Fault::input, "the operator has products that are not finite: look at its data");
  ++products_;
  share_out(
      threads_, static_cast<std::int64_t>(active_.size()), [](double) {},
      [&](int, std::int64_t k, const Heartbeat&) {
        step(&columns_[static_cast<std::size_t>(active_[static_cast<std::size_t>(k)])], static_cast<Index>(k));
      });
  std::vector<Index> stay;
  for (const Index c : active_)
    if (!exhausted(c)) stay.push_back(c);
  keep(stay);
}

// The column's product loses its parts along what was before, and becomes the next vector.
void Lanczos::step(LanczosColumn* column, Index place) {
  auto v = now_.col(place);
  auto next = product_.col(place);
  if (!column->beside.empty()) next -= column->beside.back() * before_.col(place);
  const double along = v.dot(next);
  next -= along * v;
  column->diagonal.push_back(along);
  const auto used = static_cast<Index>(column->diagonal.size());
  if (keeps_basis_) {
    column->basis.col(used - 1) = v;
    for (int twice = 0; twice < 2; ++twice) {
      const Vector again = column->basis.leftCols(used).transpose() * next;
      next -= column->basis.leftCols(used) * again;
    }
  }
  const double left = next.norm();
  column->largest = std::max({column->largest, std::abs(along), left});
  column->exhausted = used == now_.rows() || !(left > kNoVector * column->largest);
  if (column->exhausted) return;
  column->beside.push_back(left);
  before_.col(place) = v;
  v = next / left;
}

void Lanczos::keep(const std::vector<Index>& stay) {
  if (stay.size() == active_.size()) return;
  std::vector<Index> places;
  for (std::size_t k = 0; k < active_.size(); ++k)
    if (std::find(stay.begin(), stay.end(), active_[k]) != stay.end()) places.push_back(static_cast<Index>(k));
  now_ = columns_of(now_, places);
  before_ = columns_of(before_, places);
  active_ = stay;
}

Tridiagonal Lanczos::tridiagonal(Index column) const {
  const LanczosColumn& from = of(column);
  const auto n = static_cast<Index>(from.diagonal.size());
  Tridiagonal t;
  t.diagonal = Eigen::Map<const Vector>(from.diagonal.data(), n);
  t.beside = Eigen::Map<const Vector>(from.beside.data(), std::max<Index>(n - 1, 0));
  return t;
}

}  // namespace kernweave::solve
