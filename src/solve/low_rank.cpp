// Solves with a low rank and a diagonal by the eigenvectors of a k x k matrix. Columns at the landmarks are never
// stored: each use is a thin product of the engine.
#include "solve/preconditioner.hpp"

#include <cmath>

#include "base/error.hpp"
#include "solve/decompositions.hpp"
#include "solve/landmarks.hpp"
#include "solve/long_columns.hpp"

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

  // tr P^-1: with X = L^-1 K[S, ], of the diagonal, less what the low rank takes of it.
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

  // (1 + s)^-1/2 = 1 + c s, where s is a square.
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

  // (1 + s)^1/2 = 1 + c s, likewise.
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

  // scaled_ += F V diag(factors) V' F' scaled_, F being the weighed columns.
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

  const RowScales scales_;  // of each point, one over the root of its shift
  const int threads_;
  const LandmarkColumns columns_;
  Block vectors_;
  Vector squares_;
  Columns scaled_, weighed_, at_landmarks_;
};

}  // namespace

namespace {

const LowRank& of_low_rank(const Preconditioner& preconditioner) {
  const auto* low = dynamic_cast<const LowRank*>(&preconditioner);
  internal_check(low, "a low rank is asked for, of a preconditioner of two parts");
  return *low;
}

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

}  // namespace kernweave::solve
