// Cholesky factors of bordered sparse matrices: a sparse factor, and a dense factor of the border's Schur complement.
#include "solve/bordered.hpp"

#include "base/error.hpp"

namespace kernweave::solve {
namespace {

constexpr const char* kNotDefinite = "the matrix of the levels of groups is not positive definite";

}  // namespace

template <class Work>
void BorderedTriangle::each_part(Block* x, Work work) const {
  constexpr Index kTogether = 4;  // columns of a task: 16 columns give 4 tasks
  share_out(
      threads_, (x->cols() + kTogether - 1) / kTogether, [](double) {},
      [&](int, std::int64_t part, const Heartbeat&) {
        const Index from = part * kTogether;
        auto columns = x->middleCols(from, std::min(kTogether, x->cols() - from));
        work(columns.topRows(sparse_.rows()), columns.bottomRows(corner_.rows()));
      });
}

void BorderedTriangle::solve(Block* x) const {
  each_part(x, [&](auto inner, auto border) {
    for (Index k = 0; k < inner.cols(); ++k) {
      Vector column = inner.col(k);
      sparse_.triangularView<Eigen::Lower>().solveInPlace(column);
      inner.col(k) = column;
    }
    border.noalias() -= across_.transpose() * inner;
    corner_.triangularView<Eigen::Lower>().solveInPlace(border);
  });
}

void BorderedTriangle::solve_transposed(Block* x) const {
  each_part(x, [&](auto inner, auto border) {
    corner_.triangularView<Eigen::Lower>().transpose().solveInPlace(border);
    inner.noalias() -= across_ * border;
    for (Index k = 0; k < inner.cols(); ++k) {
      Vector column = inner.col(k);
      sparse_.transpose().triangularView<Eigen::Upper>().solveInPlace(column);
      inner.col(k) = column;
    }
  });
}

double BorderedTriangle::sum_of_logs() const {
  return Vector(sparse_.diagonal()).array().log().sum() + corner_.diagonal().array().log().sum();
}

BorderedTriangle BorderedTriangle::plus_identity() const {
  BorderedTriangle out = *this;
  out.sparse_.diagonal().array() += 1.0;
  out.corner_.diagonal().array() += 1.0;
  return out;
}

BorderedFactor::BorderedFactor(BorderedMatrix c, int threads) {
  SparseColumns sparse(c.sparse.rows(), c.sparse.cols());
  if (sparse.rows()) {
    const Eigen::SimplicialLLT<SparseColumns> found(c.sparse);
    user_check(found.info() == Eigen::Success, Fault::indefinite, kNotDefinite);
    sparse = found.matrixL();
    c.across = found.permutationP() * c.across;
    for (Index k = 0; k < sparse.rows(); ++k)  // row k of C is row P(k) of the factor
      order_.push_back(c.inner[static_cast<std::size_t>(found.permutationPinv().indices()[k])]);
    BorderedTriangle(sparse, Block(sparse.rows(), 0), Block(0, 0), threads).solve(&c.across);
  }
  order_.insert(order_.end(), c.border.begin(), c.border.end());
  Block corner(c.corner.rows(), c.corner.cols());
  if (corner.rows()) {
    c.corner.noalias() -= c.across.transpose() * c.across;
    const Cholesky found = cholesky(c.corner);
    user_check(found.info() == Eigen::Success, Fault::indefinite, kNotDefinite);
    corner = found.matrixL();
  }
  lower_.emplace_back(std::move(sparse), std::move(c.across), std::move(corner), threads);
  lower_.push_back(lower_.front().plus_identity());
}

Block BorderedFactor::in_order(const Block& x) const {
  Block out(x.rows(), x.cols());
  for (Index k = 0; k < size(); ++k) out.row(k) = x.row(order_[static_cast<std::size_t>(k)]);
  return out;
}

Block BorderedFactor::restored(const Block& x) const {
  Block out(x.rows(), x.cols());
  for (Index k = 0; k < size(); ++k) out.row(order_[static_cast<std::size_t>(k)]) = x.row(k);
  return out;
}

}  // namespace kernweave::solve
