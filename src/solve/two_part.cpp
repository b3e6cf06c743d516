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

std::vector<int> rows_at(const Places& places) {
  std::vector<int> rows;
  for (const double place : places) rows.push_back(static_cast<int>(place) - 1);
  return rows;
}

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
        of_landmarks_(rows_at(landmarks_)),
        rest_(rows_at(order_)),
        factor_(std::move(neighbours.at), threads),
        threads_(threads) {
    factor_landmarks(entries, picked(ridge, landmarks_));
    sparse(entries, picked(ridge, order_), poll);
    factor_.turn();
    logdet = factor_.logdet_of_inverse();
    if (rank()) logdet += 2 * cholesky_.matrixLLT().diagonal().array().log().sum();
  }

  bool unit_diagonal() const override { return true; }

  // With H' = -U' A[R, S] W^-1 for W = A[S, S], the columns of G are [L'^-1; 0] and [H; U].
  InverseWeights weights(device::Device* home) {
    InverseWeights found;
    found.diagonal.setZero(rank() + factor_.points());
    const Vector squares = factor_.squares_of_rows();
    for (Index i = 0; i < factor_.points(); ++i) found.diagonal[rest_.at[static_cast<std::size_t>(i)]] = squares[i];
    if (!rank()) return found;
    const Block inverse = cholesky_.solve(Block::Identity(rank(), rank()));
    thin_.from->multiply(Columns(Block(-inverse)).sent_to(home), &columns_);
    rows_to_points(columns_, nullptr, &many_, threads_);
    factor_.from_left(many_, false, &next_);
    found.own = inverse + forms_of_points(next_, threads_);
    factor_.from_left(next_, true, &found.cross);
    multiply_by(&found.cross, 2);
    for (Index k = 0; k < rank(); ++k) found.diagonal[of_landmarks_.at[static_cast<std::size_t>(k)]] = found.own(k, k);
    return found;
  }

  // Entries off the diagonal stand for both.
  WeightedPairs pairs(Index from, Index count, device::Device* home) const {
    const std::vector<std::size_t> at = starts(from, count);
    const auto all = static_cast<Index>(at.back());
    WeightedPairs found{Columns(home, all, 1), Columns(home, all, 1), Columns(home, all, 1)};
    if (home) {
      list_there(from, at, &found);
      return found;
    }
    each_task(count, [&](Index first, Index n) {
      for (Index k = first; k < first + n; ++k) {
        const std::size_t begin = at[static_cast<std::size_t>(k)];
        list_pairs_of(from + k, found.rows.here()->data() + begin, found.columns.here()->data() + begin);
        double* weight = found.weights.here()->data() + begin;
        const std::vector<double> u = numbers_of(from + k);
        for (std::size_t a = 0; a < u.size(); ++a)
          for (std::size_t b = 0; b <= a; ++b) *weight++ = (a == b ? 1 : 2) * u[a] * u[b];
      }
    });
    return found;
  }

  void root_transposed(const Columns& x, Columns* y) override {
    split(x);
    if (rank()) {
      cholesky_.matrixL().solveInPlace(few_);
      Block solved = few_;
      cholesky_.matrixU().solveInPlace(solved);
      thin_.from->multiply(Columns(std::move(solved)).sent_to(x.device()), &columns_);
      add_to_points(columns_, -1, &many_, threads_);
    }
    factor_.from_left(many_, false, &next_);
    std::swap(many_, next_);
    join(y);
  }

  // At the landmarks L x, at the rest U'^-1 x + A[R, S] L'^-1 x.
  void back(const Block& x, Block* y) override {
    split(Columns(x));
    factor_.solve_from_left(many_.here());
    if (rank()) {
      Block solved = few_;
      cholesky_.matrixU().solveInPlace(solved);
      thin_.from->multiply(Columns(std::move(solved)), &columns_);
      add_to_points(columns_, 1, &many_, threads_);
      few_ = cholesky_.matrixL() * few_;
    }
    Columns joined;
    join(&joined);
    *y = std::move(*joined.here());
  }

  void root(const Columns& x, Columns* y) override {
    split(x);
    factor_.from_left(many_, true, &next_);
    std::swap(many_, next_);
    if (rank()) {
      points_to_rows(many_, nullptr, &columns_, threads_);
      thin_.to->multiply(columns_, &at_landmarks_);
      Block solved = at_landmarks_.to_host();
      cholesky_.matrixL().solveInPlace(solved);
      few_ -= solved;
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
  Block explained(Entries* entries) const {
    Block all(rank(), factor_.points()), columns;
    for (Index from = 0; rank() && from < factor_.points(); from += kRows) {
      const Index count = std::min(kRows, factor_.points() - from);
      entries->block(landmarks_, {order_.begin() + from, order_.begin() + from + count}, &columns);
      each_task(count, [&](Index first, Index n) {
        auto part = all.middleCols(from + first, n);
        part = columns.middleCols(first, n);
        cholesky_.matrixL().solveInPlace(part);
      });
    }
    return all;
  }

  void sparse(Entries* entries, const Vector& ridge, const Poll& poll) {
    const Block explained_part = explained(entries);
    Places rows, columns;
    Vector numbers;
    for (Index from = 0; from < factor_.points(); from += kRows) {
      poll(0.0);
      const Index count = std::min(kRows, factor_.points() - from);
      const std::vector<std::size_t> begins = starts(from, count);
      rows.resize(begins.back());
      columns.resize(begins.back());
      each_task(count, [&](Index first, Index n) {
        for (Index k = first; k < first + n; ++k) {
          const std::size_t at = begins[static_cast<std::size_t>(k)];
          list_pairs_of(from + k, rows.data() + at, columns.data() + at);
        }
      });
      entries->pairs(rows, columns, &numbers);
      each_task(count, [&](Index first, Index n) {
        for (Index k = first; k < first + n; ++k)
          fill(from + k, numbers.data() + begins[static_cast<std::size_t>(k)], explained_part, ridge);
      });
    }
  }

  void list_there(Index from, const std::vector<std::size_t>& starts, WeightedPairs* to) const {
    device::Device* const home = to->rows.device();
    const std::vector<long long> begins(starts.begin(), starts.end());
    const SentCopy begins_there;
    gpu::ColumnTask task{};
    factor_.describe(home, &task);
    const Index most = (factor_.most() + 1) * (factor_.most() + 2) / 2;
    task.count = static_cast<Index>(starts.size() - 1) * most;
    task.together = static_cast<int>(from);
    task.starts = begins_there.on(home, begins.data(), begins.size());
    task.x_at = rest_.on(home);
    task.out = to->rows.at();
    task.second = to->columns.at();
    task.third = to->weights.at();
    launch(home, "listed_pairs", task);
  }

  // Where the pairs of each of some points begin in a list of all, and how many there are.
  std::vector<std::size_t> starts(Index from, Index count) const {
    std::vector<std::size_t> found(static_cast<std::size_t>(count) + 1, 0);
    for (Index k = 0; k < count; ++k) {
      const auto n = static_cast<std::size_t>(neighbours_of(from + k)) + 1;
      found[static_cast<std::size_t>(k) + 1] = found[static_cast<std::size_t>(k)] + n * (n + 1) / 2;
    }
    return found;
  }

  // The lower triangle of a point and its neighbours, by rows.
  void list_pairs_of(Index point, double* rows, double* columns) const {
    const std::vector<Index> all = members(point);
    for (std::size_t a = 0; a < all.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b) {
        *rows++ = order_[static_cast<std::size_t>(all[a])];
        *columns++ = order_[static_cast<std::size_t>(all[b])];
      }
  }

  // Calls work(first, n), some points at a time.
  template <class Work>
  void each_task(Index count, Work work) const {
    share_out(
        threads_, (count + kTask - 1) / kTask, [](double) {},
        [&](int, std::int64_t task, const Heartbeat&) { work(task * kTask, std::min(kTask, count - task * kTask)); });
  }

  Index neighbours_of(Index point) const {
    Index n = 0;
    while (n < factor_.most() && factor_.neighbour(n, point) >= 0) ++n;
    return n;
  }

  // A point's neighbours, and itself.
  std::vector<Index> members(Index point) const {
    std::vector<Index> all(static_cast<std::size_t>(neighbours_of(point)) + 1);
    for (std::size_t s = 0; s + 1 < all.size(); ++s) all[s] = factor_.neighbour(static_cast<Index>(s), point);
    all.back() = point;
    return all;
  }

  // What the factor's column has at the members.
  std::vector<double> numbers_of(Index point) const {
    const auto column = factor_.columns().col(point);
    std::vector<double> all(column.data(), column.data() + neighbours_of(point));
    all.push_back(column[factor_.most()]);
    return all;
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

  void split(const Columns& x) {
    few_ = rows_of(x, of_landmarks_);
    rows_to_points(x, &rest_, &many_, threads_);
  }

  void join(Columns* y) const {
    y->make(many_.device(), rank() + factor_.points(), many_.rows());
    put_rows(few_, of_landmarks_, y);
    points_to_rows(many_, &rest_, y, threads_);
  }

  const Places landmarks_;
  const Places order_;
  const RowList of_landmarks_, rest_;  // the same as rows
  SparseFactor factor_;
  Eigen::LLT<Block> cholesky_;
  const int threads_;
  Block few_;                       // of the landmarks: on the host, where their factor is
  Columns many_, next_;             // of the rest, a column for each point
  Columns columns_, at_landmarks_;  // a column for each right-hand side
};

}  // namespace

namespace {
template <class Any>
auto& of_two_parts(Any& preconditioner) {
  auto* const two = dynamic_cast<std::conditional_t<std::is_const_v<Any>, const TwoPart, TwoPart>*>(&preconditioner);
  internal_check(two, "inverse weights of a preconditioner of one part");
  return *two;
}
}  // namespace

InverseWeights inverse_weights(Preconditioner* preconditioner, device::Device* home) {
  return of_two_parts(*preconditioner).weights(home);
}

WeightedPairs weighted_pairs(const Preconditioner& preconditioner, Index from, Index count, device::Device* home) {
  return of_two_parts(preconditioner).pairs(from, count, home);
}

PreconditionerPointer two_part_preconditioner(Entries* entries, Places landmarks, Neighbours neighbours,
                                              const Vector& ridge, int threads, const Poll& poll) {
  return std::make_unique<TwoPart>(entries, std::move(landmarks), std::move(neighbours), ridge, threads, poll);
}

}  // namespace kernweave::solve
