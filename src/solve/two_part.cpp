// A = [S R] is a block of landmarks S and the rest R. With L L' = A[S, S] and U U' near the inverse of what L leaves of
// A[R, R], the root of the inverse is G = [L'^-1, -L'^-1 L^-1 A[S, R] U; 0, U]. Column i of U stands on the
// neighbours of point i: it is the one that makes the diagonal of G'AG equal to 1 and its determinant the least.
#include "solve/two_part.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/threads.hpp"

namespace kernweave::solve {
namespace {

constexpr Index kRows = 2048;  // points whose entries are asked for at once: a million pairs at 30 neighbours
constexpr Index kTask = 32;    // of them in one task of a thread

Vector picked(const Vector& all, const Places& places) {
  Vector out(static_cast<Index>(places.size()));
  for (std::size_t k = 0; k < places.size(); ++k) out[static_cast<Index>(k)] = all[static_cast<Index>(places[k]) - 1];
  return out;
}

// Upper triangular in the order of the points: column i has its neighbours' slots, then its own.
class SparseFactor {
 public:
  SparseFactor(Eigen::Matrix<int, Eigen::Dynamic, Eigen::Dynamic> at, int threads)
      : at_(std::move(at)), values_(Block::Zero(at_.rows() + 1, at_.cols())), threads_(threads) {}

  Index points() const { return at_.cols(); }
  Index most() const { return at_.rows(); }
  int neighbour(Index slot, Index point) const { return at_(slot, point); }
  double* column(Index point) { return values_.col(point).data(); }
  const Block& columns() const { return values_; }

  // y = x U and y = x U', for few rows x.
  Block from_left(const Block& x, bool transposed) const {
    Block y = x * values_.row(most()).asDiagonal();
    for (Index i = 0; i < points(); ++i)
      for (Index s = 0; s < most(); ++s) {
        if (at_(s, i) < 0) continue;
        if (transposed) y.col(at_(s, i)) += values_(s, i) * x.col(i);
        else y.col(i) += values_(s, i) * x.col(at_(s, i));
      }
    return y;
  }

  double logdet_of_inverse() const { return -2.0 * values_.row(most()).array().log().sum(); }

  // y = U' x, a sum over the slots of each column.
  void transposed_times(const Block& x, Block* y) const {
    y->resize(points(), x.cols());
    each([&](Index i) {
      for (Index c = 0; c < x.cols(); ++c) {
        double sum = values_(most(), i) * x(i, c);
        for (Index s = 0; s < most(); ++s)
          if (at_(s, i) >= 0) sum += values_(s, i) * x(at_(s, i), c);
        (*y)(i, c) = sum;
      }
    });
  }

  // y = U x by rows, so that threads do not meet.
  void times(const Block& x, Block* y) const {
    y->resize(points(), x.cols());
    each([&](Index i) {
      for (Index c = 0; c < x.cols(); ++c) {
        double sum = values_(most(), i) * x(i, c);
        for (std::size_t e = starts_[static_cast<std::size_t>(i)]; e < starts_[static_cast<std::size_t>(i) + 1]; ++e)
          sum += row_values_[e] * x(columns_[e], c);
        (*y)(i, c) = sum;
      }
    });
  }

  // Once the columns are there.
  void turn() {
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

 private:
  template <class Work>
  void each(Work work) const {
    constexpr Index kPoints = 4096;
    const std::int64_t tasks = (points() + kPoints - 1) / kPoints;
    share_out(
        tasks > 1 ? threads_ : 1, tasks, [](double) {},
        [&](int, std::int64_t task, const Heartbeat&) {
          const Index last = std::min(points(), (task + 1) * kPoints);
          for (Index i = task * kPoints; i < last; ++i) work(i);
        });
  }

  const Eigen::Matrix<int, Eigen::Dynamic, Eigen::Dynamic> at_;
  Block values_;
  const int threads_;
  std::vector<std::size_t> starts_;
  std::vector<int> columns_;
  std::vector<double> row_values_;
};

// The last column of the inverse of S, over the root of its last number: C'u = e for S = CC'. A point that lies where
// one before it does has nothing left to say: it is left out.
void last_column(Block* s, double* u, Index slots, Index own) {
  constexpr double kNothing = 1e-14;
  const Index n = s->rows();
  std::vector<bool> out(static_cast<std::size_t>(n), false);
  for (Index j = 0; j < n; ++j) {
    const double all = (*s)(j, j);
    double left = all - s->row(j).head(j).squaredNorm();
    out[static_cast<std::size_t>(j)] = j + 1 < n && !(left > kNothing * all);
    if (out[static_cast<std::size_t>(j)]) {
      s->col(j).setZero();
      s->row(j).head(j).setZero();
      (*s)(j, j) = 1;
      continue;
    }
    user_check(left > 0, Fault::indefinite, "the matrix is not positive definite, as far as point ", own,
               " and its neighbours tell; a ridge may be missing");
    const double root = std::sqrt(left);
    (*s)(j, j) = root;
    for (Index i = j + 1; i < n; ++i) (*s)(i, j) = ((*s)(i, j) - s->row(i).head(j).dot(s->row(j).head(j))) / root;
  }
  Vector x = Vector::Zero(n);
  x[n - 1] = 1 / (*s)(n - 1, n - 1);
  for (Index j = n - 1; j-- > 0;)
    x[j] = out[static_cast<std::size_t>(j)] ? 0 : -s->col(j).tail(n - 1 - j).dot(x.tail(n - 1 - j)) / (*s)(j, j);
  for (Index k = 0; k + 1 < n; ++k) u[k] = x[k];
  u[slots] = x[n - 1];
}

class TwoPart : public Preconditioner {
 public:
  TwoPart(Entries* entries, Places landmarks, Neighbours neighbours, const Vector& ridge, int threads, const Poll& poll)
      : landmarks_(std::move(landmarks)),
        order_(std::move(neighbours.order)),
        factor_(std::move(neighbours.at), threads) {
    factor_landmarks(entries, picked(ridge, landmarks_));
    sparse(entries, picked(ridge, order_), threads, poll);
    factor_.turn();
    logdet = factor_.logdet_of_inverse();
    if (rank()) logdet += 2 * cholesky_.matrixLLT().diagonal().array().log().sum();
  }

  bool unit_diagonal() const override { return true; }

  // With H = -L'^-1 L^-1 A[S, R] U, the columns of G are [L'^-1; 0] and [H; U].
  InverseWeights weights(Entries* entries) const {
    InverseWeights found;
    found.factor = factor_.columns();
    if (!rank()) return found;
    Block h = factor_.from_left(-explained(entries, 1), false);
    cholesky_.matrixU().solveInPlace(h);
    found.own = cholesky_.solve(Block::Identity(rank(), rank())) + h * h.transpose();
    found.cross = 2 * factor_.from_left(h, true);
    return found;
  }

  void root_transposed(const Block& x, Block* y) override {
    split(x);
    if (rank()) {
      cholesky_.matrixL().solveInPlace(few_);
      few_solved_ = few_;
      cholesky_.matrixU().solveInPlace(few_solved_);
      thin_.from->times(few_solved_, &between_);
      many_ -= between_;
    }
    factor_.transposed_times(many_, &between_);
    many_.swap(between_);
    join(y);
  }

  void root(const Block& x, Block* y) override {
    split(x);
    factor_.times(many_, &between_);
    many_.swap(between_);
    if (rank()) {
      thin_.to->times(many_, &few_solved_);
      cholesky_.matrixL().solveInPlace(few_solved_);
      few_ -= few_solved_;
      cholesky_.matrixU().solveInPlace(few_);
    }
    join(y);
  }

 private:
  Index rank() const { return static_cast<Index>(landmarks_.size()); }

  void factor_landmarks(Entries* entries, const Vector& ridge) {
    if (!rank()) return;
    Block own;
    entries->block(landmarks_, landmarks_, &own);
    own.diagonal() += ridge;
    cholesky_.compute(own);
    user_check(cholesky_.info() == Eigen::Success, Fault::indefinite,
               "the matrix is not positive definite: its rows and columns at ", own.rows(), " landmarks are not");
  }

  // L^-1 A[S, R], a column for each point of the rest.
  Block explained(Entries* entries, int threads) const {
    Block all(rank(), factor_.points()), columns;
    for (Index from = 0; rank() && from < factor_.points(); from += kRows) {
      const Index count = std::min(kRows, factor_.points() - from);
      entries->block(landmarks_, {order_.begin() + from, order_.begin() + from + count}, &columns);
      share_out(
          threads, (count + kTask - 1) / kTask, [](double) {},
          [&](int, std::int64_t task, const Heartbeat&) {
            const Index first = task * kTask, some = std::min(kTask, count - first);
            auto part = all.middleCols(from + first, some);
            part = columns.middleCols(first, some);
            cholesky_.matrixL().solveInPlace(part);
          });
    }
    return all;
  }

  void sparse(Entries* entries, const Vector& ridge, int threads, const Poll& poll) {
    const Block explained_part = explained(entries, threads);
    Places rows, columns;
    Vector numbers;
    for (Index from = 0; from < factor_.points(); from += kRows) {
      poll(0.0);
      const Index count = std::min(kRows, factor_.points() - from);
      std::vector<std::size_t> first(static_cast<std::size_t>(count));
      rows.clear();
      columns.clear();
      for (Index k = 0; k < count; ++k) {
        first[static_cast<std::size_t>(k)] = rows.size();
        list_pairs(from + k, &rows, &columns);
      }
      entries->pairs(rows, columns, &numbers);
      share_out(
          threads, (count + kTask - 1) / kTask, [](double) {},
          [&](int, std::int64_t task, const Heartbeat&) {
            const Index last = std::min(count, (task + 1) * kTask);
            for (Index k = task * kTask; k < last; ++k)
              fill(from + k, numbers.data() + first[static_cast<std::size_t>(k)], explained_part, ridge);
          });
    }
  }

  std::vector<Index> members(Index point) const {
    std::vector<Index> all;
    for (Index s = 0; s < factor_.most() && factor_.neighbour(s, point) >= 0; ++s)
      all.push_back(factor_.neighbour(s, point));
    all.push_back(point);
    return all;
  }

  // The lower triangle of a point and its neighbours, by rows.
  void list_pairs(Index point, Places* rows, Places* columns) const {
    const std::vector<Index> all = members(point);
    for (std::size_t a = 0; a < all.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        rows->push_back(order_[static_cast<std::size_t>(all[a])]);
        columns->push_back(order_[static_cast<std::size_t>(all[b])]);
      }
  }

  void fill(Index point, const double* numbers, const Block& explained_part, const Vector& ridge) {
    const std::vector<Index> all = members(point);
    const auto n = static_cast<Index>(all.size());
    Block s(n, n), w(rank(), n);
    for (Index a = 0; a < n; ++a) {
      for (Index b = 0; b <= a; ++b) s(a, b) = *numbers++;
      s(a, a) += ridge[all[static_cast<std::size_t>(a)]];
      w.col(a) = explained_part.col(all[static_cast<std::size_t>(a)]);
    }
    if (rank()) s.selfadjointView<Eigen::Lower>().rankUpdate(w.transpose(), -1.0);
    last_column(&s, factor_.column(point), factor_.most(), point + 1);
  }

  void split(const Block& x) {
    few_.resize(rank(), x.cols());
    many_.resize(factor_.points(), x.cols());
    for (Index k = 0; k < rank(); ++k) few_.row(k) = x.row(at(landmarks_, k));
    for (Index c = 0; c < x.cols(); ++c)
      for (Index k = 0; k < many_.rows(); ++k) many_(k, c) = x(at(order_, k), c);
  }

  void join(Block* y) const {
    y->resize(rank() + many_.rows(), many_.cols());
    for (Index k = 0; k < rank(); ++k) y->row(at(landmarks_, k)) = few_.row(k);
    for (Index c = 0; c < many_.cols(); ++c)
      for (Index k = 0; k < many_.rows(); ++k) (*y)(at(order_, k), c) = many_(k, c);
  }

  static Index at(const Places& places, Index k) { return static_cast<Index>(places[static_cast<std::size_t>(k)]) - 1; }

  const Places landmarks_;
  const Places order_;
  SparseFactor factor_;
  Eigen::LLT<Block> cholesky_;
  Block few_, few_solved_, many_, between_;
};

}  // namespace

InverseWeights inverse_weights(Entries* entries, const Preconditioner& preconditioner) {
  const auto* two = dynamic_cast<const TwoPart*>(&preconditioner);
  internal_check(two, "inverse weights of a preconditioner of one part");
  return two->weights(entries);
}

PreconditionerPointer two_part_preconditioner(Entries* entries, Places landmarks, Neighbours neighbours,
                                              const Vector& ridge, int threads, const Poll& poll) {
  return std::make_unique<TwoPart>(entries, std::move(landmarks), std::move(neighbours), ridge, threads, poll);
}

}  // namespace kernweave::solve
