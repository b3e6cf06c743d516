// Preconditioners for smooth and for rough kernels. Systems with a low rank plus a diagonal are solved by the
// eigenvectors of a k x k matrix; columns at the landmarks are never stored: each use is a thin product of the engine.
#include "solve/preconditioner.hpp"

#include <cmath>

#include "base/error.hpp"
#include "solve/block.hpp"
#include "solve/landmarks.hpp"
#include "solve/vecchia.hpp"

namespace kernweave::solve {
namespace {

class LowRank : public Preconditioner {
 public:
  LowRank(Entries* entries, const RowIndices& landmarks, const Vector& shift, double ridge, int threads)
      : scales_(shift.cwiseInverse().cwiseSqrt()), threads_(threads), columns_(entries, landmarks, threads) {
    smallest = ridge / shift.maxCoeff();
    EigenPairs pairs = eigen_pairs(columns_.gram(entries, landmarks, scales_.values));
    vectors_ = std::move(pairs.vectors);
    squares_ = pairs.values.cwiseMax(0.0);
    logdet = shift.array().log().sum() + squares_.array().log1p().sum();
  }

  void inverse(const Columns& x, Columns* y) override {
    scale_rows(scales_, x, &scaled_, threads_);
    add_low_rank(-(squares_.array() + 1.0).inverse());
    scale_rows(scales_, scaled_, y, threads_);
  }

  // Computes tr P^-1 = tr D^-1 - tr D^-1 X' (I + X D^-1 X')^-1 X D^-1, for the diagonal D and X = L^-1 K[S, ].
  double inverse_trace(Entries* entries, const RowIndices& landmarks) const {
    const Vector squares = scales_.values.cwiseAbs2();
    Block turned;
    turned.noalias() = vectors_.transpose() * columns_.gram(entries, landmarks, squares);
    double taken = 0;
    for (Index k = 0; k < turned.rows(); ++k) taken += turned.row(k).dot(vectors_.col(k)) / (squares_[k] + 1);
    return squares.sum() - taken;
  }

  // Computes P^-1 C W^-1 and similar weights by X, some points at a time, since X is as large as C. C = K[, S],
  // W = K[S, S] = L L', X = L^-1 C', and the small matrix is I + X D^-1 X'.
  LowRankWeights weights(Entries* entries, const RowIndices& landmarks, const Block& v) const {
    const Index n = scales_.values.size();
    const auto probes = static_cast<double>(v.cols());
    LowRankWeights out{{}, Block(landmarks.size(), n), Vector(n)};
    PartSums sums(vectors_.rows(), v.cols());
    columns_.each_part(entries, landmarks, n, [&](const Range& at, Eigen::Ref<Block> x, std::size_t part) {
      const auto scales = scales_.values.segment(at.from, at.size());
      sums.of[part].noalias() += x * v.middleRows(at.from, at.size());
      x = x * scales.asDiagonal();
      auto cross = out.cross.middleCols(at.from, at.size());
      const Block turned = (squares_.array() + 1.0).inverse().matrix().asDiagonal() * (vectors_.transpose() * x);
      cross.noalias() = vectors_ * turned;
      out.diagonal.segment(at.from, at.size()) =
          scales.array().square() * (1.0 - x.cwiseProduct(cross).colwise().sum().transpose().array());
      cross = cross * scales.asDiagonal();
      columns_.by_right(cross);
    });
    Block few = sums.total();
    columns_.by_right(few);
    each_piece(n, few.rows(), threads_, [&](Index first, Index last, Index) {
      auto cross = out.cross.middleCols(first, last - first);
      cross.noalias() -= few * v.middleRows(first, last - first).transpose() / probes;
      cross *= 2;
      out.diagonal.segment(first, last - first) -= v.middleRows(first, last - first).rowwise().squaredNorm() / probes;
    });
    out.own = vectors_ * (squares_.array() / (squares_.array() + 1.0)).matrix().asDiagonal() * vectors_.transpose();
    columns_.by_right(out.own);
    out.own.transposeInPlace();
    columns_.by_right(out.own);
    out.own = few * few.transpose() / probes - out.own;
    return out;
  }

  // Multiplies by (1 + s)^-1/2 = 1 + c s, where s is a square.
  void root(const Columns& x, Columns* y) override {
    scaled_ = x;
    add_low_rank(root_factors());
    scale_rows(scales_, scaled_, y, threads_);
  }

  void root_transposed(const Columns& x, Columns* y) override {
    scale_rows(scales_, x, &scaled_, threads_);
    add_low_rank(root_factors());
    std::swap(*y, scaled_);
  }

  // Multiplies by (1 + s)^1/2 = 1 + c s, likewise.
  void back(const Block& x, Block* y) override {
    scaled_ = Columns(x);
    add_low_rank(((squares_.array() + 1.0).sqrt() + 1.0).inverse());
    scale_rows(scales_.values.cwiseInverse(), scaled_.block(), y, threads_);
  }

 private:
  Eigen::ArrayXd root_factors() const {
    const Eigen::ArrayXd s = squares_.array(), r = (s + 1.0).sqrt();
    return -(r * (r + 1.0)).inverse();
  }

  // Computes scaled_ += F V diag(factors) V' F' scaled_, where F are the weighed columns.
  void add_low_rank(const Eigen::ArrayXd& factors) {
    scale_rows(scales_, scaled_, &weighed_, threads_);
    thin_.to->multiply(weighed_, &at_landmarks_);
    Block few = at_landmarks_.to_host();
    columns_.by_left(few);
    const Block turned = factors.matrix().asDiagonal() * (vectors_.transpose() * few);
    few.noalias() = vectors_ * turned;
    columns_.by_right(few);
    thin_.from->multiply(Columns(std::move(few)).sent_to(scaled_.device()), &weighed_);
    add_scaled_rows(scales_, weighed_, 1.0, &scaled_, threads_);
  }

  const RowScales scales_;  // for each point, one over the root of its shift
  const int threads_;
  const LandmarkColumns columns_;
  Block vectors_;
  Vector squares_;
  Columns scaled_, weighed_, at_landmarks_;
};

// --- landmarks and Vecchia ------------------------------------------------------------------------------------------
// A has rows S of landmarks and other rows R. With L L' = A[S, S] and U U' near the inverse of A[R, R] less the part
// that landmarks explain, the root of the inverse is G = [L'^-1, -L'^-1 L^-1 A[S, R] U; 0, U].

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
    columns_ = Columns();  // landmarks x points numbers: the memory is freed at once
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

  SparsePart sparse_part() const { return {factor_, rest_.at, of_landmarks_.at}; }

  WeightedPairs pairs(Index from, Index count, device::Device* home) const {
    WeightedPairs found;
    pairs_.list_weighed(pairs_.starts(from, count), home, &found.rows, &found.columns, &found.weights);
    const ValueRange points{1, static_cast<double>(rank() + factor_.points())};
    if (home) found.rows.kept()->range = found.columns.kept()->range = points;
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
  const RowList of_landmarks_;  // landmarks_ as rows from 0
  SparseFactor factor_;
  const VecchiaPairs pairs_;
  const RowList& rest_;
  Cholesky cholesky_;
  const int threads_;
  Block few_;                       // numbers at the landmarks: on the host, as their factor
  Columns many_, next_;             // numbers of the rest, a column for each point
  Columns columns_, at_landmarks_;  // a column for each right-hand side
};

// Casts a preconditioner to the kind that a function needs, or fails.
template <class Kind, class Any>
Kind& as_kind(Any& preconditioner, const char* otherwise) {
  auto* const found = dynamic_cast<Kind*>(preconditioner.kernel_part());
  internal_check(found, otherwise);
  return *found;
}
const LowRank& of_low_rank(const Preconditioner& preconditioner) {
  return as_kind<const LowRank>(preconditioner, "a low rank is asked for, of a preconditioner of two parts");
}
constexpr const char* kOnePart = "inverse weights of a preconditioner of one part";

}  // namespace

LowRankWeights low_rank_weights(Entries* entries, const Preconditioner& preconditioner, const RowIndices& landmarks,
                                const Block& v) {
  return of_low_rank(preconditioner).weights(entries, landmarks, v);
}

double low_rank_inverse_trace(Entries* entries, const Preconditioner& preconditioner, const RowIndices& landmarks) {
  return of_low_rank(preconditioner).inverse_trace(entries, landmarks);
}

PreconditionerPointer low_rank_preconditioner(Entries* entries, const RowIndices& landmarks, const Vector& shift,
                                              double ridge, int threads) {
  return std::make_unique<LowRank>(entries, landmarks, shift, ridge, threads);
}

InverseWeights inverse_weights(Preconditioner* preconditioner, const Range& landmarks, device::Device* home) {
  return as_kind<LandmarkVecchia>(*preconditioner, kOnePart).weights(landmarks, home);
}

WeightedPairs weighted_pairs(const Preconditioner& preconditioner, Index from, Index count, device::Device* home) {
  return as_kind<const LandmarkVecchia>(preconditioner, kOnePart).pairs(from, count, home);
}

SparsePart sparse_part(const Preconditioner& preconditioner) {
  return as_kind<const LandmarkVecchia>(preconditioner, kOnePart).sparse_part();
}

PreconditionerPointer landmark_vecchia_preconditioner(Entries* entries, RowIndices landmarks,
                                                      ConditioningSets neighbours, const Vector& ridge,
                                                      device::Device* home, int threads, const Poll& poll) {
  return std::make_unique<LandmarkVecchia>(entries, std::move(landmarks), std::move(neighbours), ridge, home, threads,
                                           poll);
}

}  // namespace kernweave::solve
