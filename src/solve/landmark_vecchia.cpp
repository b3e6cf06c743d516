// A = [S R] is a block of landmarks S and the rest R. With L L' = A[S, S] and U U' near the inverse of what L leaves of
// A[R, R], the root of the inverse is G = [L'^-1, -L'^-1 L^-1 A[S, R] U; 0, U].
#include "solve/preconditioner.hpp"

#include "base/error.hpp"
#include "solve/factor_columns.hpp"

namespace kernweave::solve {
namespace {

Vector picked(const Vector& all, const RowIndices& places) {
  Vector out(static_cast<Index>(places.size()));
  for (std::size_t k = 0; k < places.size(); ++k) out[static_cast<Index>(k)] = all[static_cast<Index>(places[k]) - 1];
  return out;
}

class LandmarkVecchia : public Preconditioner {
 public:
  LandmarkVecchia(Entries* entries, RowIndices landmarks, ConditioningSets neighbours, const Vector& ridge,
                  device::Device* home, int threads, const Poll& poll)
      : landmarks_(std::move(landmarks)),
        of_landmarks_(rows_at(landmarks_)),
        factor_(std::move(neighbours.at), std::move(neighbours.sequence), threads),
        pairs_(std::move(neighbours.order), factor_, threads),
        rest_(pairs_.rows()),
        threads_(threads) {
    factor_landmarks(entries, picked(ridge, landmarks_));
    const Vector ridges = picked(ridge, pairs_.order());
    build_columns({entries, landmarks_, cholesky_, pairs_, ridges}, home, poll, &factor_);
    factor_.index_rows();
    logdet = factor_.logdet_of_inverse();
    if (rank()) logdet += 2 * cholesky_.matrixLLT().diagonal().array().log().sum();
  }

  bool unit_diagonal() const override { return true; }

  // Computes the weights. G has the columns [L'^-1; 0] and [H; U], H' = -U' A[R, S] W^-1, W = A[S, S].
  InverseWeights weights(const Range& some, device::Device* home) {
    InverseWeights found;
    found.diagonal.setZero(rank() + factor_.points());
    if (some.from == 0) put_squares(&found.diagonal);
    if (some.size() == 0) return found;
    Block inverse = Block::Zero(rank(), some.size());
    inverse.middleRows(some.from, some.size()).diagonal().setOnes();
    cholesky_.solveInPlace(inverse);
    thin_.from->multiply(Columns(Block(-inverse)).sent_to(home), &columns_);
    rows_to_points(columns_, nullptr, &many_, threads_);
    columns_ = Columns();  // a number for each landmark and point: no more of them at once than need be
    factor_.from_left(many_, false, &next_);
    many_ = Columns();
    factor_.from_left(next_, true, &found.cross);
    next_ = Columns();
    points_to_rows(found.cross, nullptr, &columns_, threads_);
    thin_.to->multiply(columns_, &at_landmarks_);
    columns_ = Columns();
    found.own = (inverse - cholesky_.solve(at_landmarks_.to_host())).transpose();  // H H' = -H U' A[R, S] W^-1
    multiply_by(&found.cross, 2);
    for (Index k = 0; k < some.size(); ++k)
      found.diagonal[of_landmarks_.at[static_cast<std::size_t>(some.from + k)]] = found.own(k, some.from + k);
    return found;
  }

  WeightedPairs pairs(Index from, Index count, device::Device* home) const {
    WeightedPairs found;
    pairs_.list_weighed(pairs_.starts(from, count), home, &found.rows, &found.columns, &found.weights);
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

  // Computes L x at the landmarks, U'^-1 x + A[R, S] L'^-1 x at the rest.
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
    cholesky_ = cholesky(own);
    user_check(cholesky_.info() == Eigen::Success, Fault::indefinite,
               "the matrix is not positive definite: its rows and columns at ", own.rows(), " landmarks are not");
  }

  void put_squares(Vector* diagonal) const {
    const Vector squares = factor_.squares_of_rows();
    for (Index i = 0; i < factor_.points(); ++i) (*diagonal)[rest_.at[static_cast<std::size_t>(i)]] = squares[i];
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

  const RowIndices landmarks_;
  const RowList of_landmarks_;  // the same as rows
  SparseFactor factor_;
  const VecchiaPairs pairs_;
  const RowList& rest_;
  Cholesky cholesky_;
  const int threads_;
  Block few_;                       // of the landmarks: on the host, where their factor is
  Columns many_, next_;             // of the rest, a column for each point
  Columns columns_, at_landmarks_;  // a column for each right-hand side
};

}  // namespace

namespace {
template <class Any>
auto& as_landmark_vecchia(Any& preconditioner) {
  auto* const two =
      dynamic_cast<std::conditional_t<std::is_const_v<Any>, const LandmarkVecchia, LandmarkVecchia>*>(&preconditioner);
  internal_check(two, "inverse weights of a preconditioner of one part");
  return *two;
}
}  // namespace

InverseWeights inverse_weights(Preconditioner* preconditioner, const Range& landmarks, device::Device* home) {
  return as_landmark_vecchia(*preconditioner).weights(landmarks, home);
}

WeightedPairs weighted_pairs(const Preconditioner& preconditioner, Index from, Index count, device::Device* home) {
  return as_landmark_vecchia(preconditioner).pairs(from, count, home);
}

PreconditionerPointer landmark_vecchia_preconditioner(Entries* entries, RowIndices landmarks,
                                                      ConditioningSets neighbours, const Vector& ridge,
                                                      device::Device* home, int threads, const Poll& poll) {
  return std::make_unique<LandmarkVecchia>(entries, std::move(landmarks), std::move(neighbours), ridge, home, threads,
                                           poll);
}

}  // namespace kernweave::solve
