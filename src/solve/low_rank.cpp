// Solves with a low rank and a diagonal by the eigenvectors of a k x k matrix. Columns at the landmarks are never
// stored: each use is a thin product of the engine.
#include "solve/low_rank.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace kernweave::solve {
namespace {

// Of the largest number on the diagonal: keeps a Cholesky factor of nearly dependent columns finite.
constexpr double kJitter = 1e-13;
constexpr Index kChunk = 4096;  // points at once: columns of some hundred landmarks in the second-level cache

class LowRank : public Preconditioner {
 public:
  LowRank(Entries* entries, const Places& landmarks, const Vector& shift, double ridge, int threads)
      : scales_(shift.cwiseInverse().cwiseSqrt()), threads_(threads) {
    smallest = ridge / shift.maxCoeff();
    Block own;
    entries->block(landmarks, landmarks, &own);
    own.diagonal().array() += kJitter * own.diagonal().maxCoeff() * static_cast<double>(own.rows());
    cholesky_.compute(own);
    user_check(cholesky_.info() == Eigen::Success, Fault::indefinite,
               "the matrix is not positive definite: its rows and columns at ", own.rows(), " landmarks are not");
    const Eigen::SelfAdjointEigenSolver<Block> eigen(gram(entries, landmarks));
    vectors_ = eigen.eigenvectors();
    squares_ = eigen.eigenvalues().cwiseMax(0.0);
    logdet = shift.array().log().sum() + squares_.array().log1p().sum();
  }

  void inverse(const Columns& x, Columns* y) override {
    scale_rows(scales_, x, &scaled_, threads_);
    add_low_rank(-(squares_.array() + 1.0).inverse());
    scale_rows(scales_, scaled_, y, threads_);
  }

  // With C = K[, S], W = K[S, S] = L L', X = L^-1 C' and the small matrix I + X D^-1 X': P^-1 C W^-1 and its like by X,
  // some points at a time, since X is as large as C.
  LowRankWeights weights(Entries* entries, const Places& landmarks, const Block& v) const {
    const Index n = scales_.values.size();
    const auto probes = static_cast<double>(v.cols());
    const Places all = all_places(n);
    LowRankWeights out{{}, Block(landmarks.size(), n), Vector(n)};
    Block columns, turned, few = Block::Zero(cholesky_.rows(), v.cols());
    for (Index from = 0; from < n; from += kChunk) {
      const Index count = std::min(kChunk, n - from);
      entries->block(landmarks, {all.begin() + from, all.begin() + from + count}, &columns);
      cholesky_.matrixL().solveInPlace(columns);
      few.noalias() += columns * v.middleRows(from, count);
      columns = columns * scales_.values.segment(from, count).asDiagonal();
      turned.noalias() = vectors_.transpose() * columns;
      turned = (squares_.array() + 1.0).inverse().matrix().asDiagonal() * turned;
      auto cross = out.cross.middleCols(from, count);
      cross.noalias() = vectors_ * turned;
      out.diagonal.segment(from, count) =
          scales_.values.segment(from, count).array().square() *
          (1.0 - columns.cwiseProduct(cross).colwise().sum().transpose().array());
      cross = cross * scales_.values.segment(from, count).asDiagonal();
      cholesky_.matrixU().solveInPlace(cross);
    }
    cholesky_.matrixU().solveInPlace(few);
    out.cross.noalias() -= few * v.transpose() / probes;
    out.cross *= 2;
    out.diagonal -= v.rowwise().squaredNorm() / probes;
    out.own = vectors_ * (squares_.array() / (squares_.array() + 1.0)).matrix().asDiagonal() * vectors_.transpose();
    cholesky_.matrixU().solveInPlace(out.own);
    out.own.transposeInPlace();
    cholesky_.matrixU().solveInPlace(out.own);
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
  // Of the columns at the landmarks, orthogonal to each other where K alone were measured, weighed point by point.
  Block gram(Entries* entries, const Places& landmarks) {
    const Places all = all_places(scales_.values.size());
    Block sum = Block::Zero(cholesky_.rows(), cholesky_.rows()), columns;
    for (Index from = 0; from < scales_.values.size(); from += kChunk) {
      const Index count = std::min(kChunk, scales_.values.size() - from);
      entries->block(landmarks, {all.begin() + from, all.begin() + from + count}, &columns);
      cholesky_.matrixL().solveInPlace(columns);
      columns = columns * scales_.values.segment(from, count).asDiagonal();
      sum.selfadjointView<Eigen::Lower>().rankUpdate(columns);
    }
    return sum.selfadjointView<Eigen::Lower>();
  }

  Eigen::ArrayXd root_factors() const {
    const Eigen::ArrayXd s = squares_.array(), r = (s + 1.0).sqrt();
    return -(r * (r + 1.0)).inverse();
  }

  // scaled_ += F V diag(factors) V' F' scaled_, F being the weighed columns.
  void add_low_rank(const Eigen::ArrayXd& factors) {
    scale_rows(scales_, scaled_, &weighed_, threads_);
    thin_.to->multiply(weighed_, &at_landmarks_);
    Block few = at_landmarks_.to_host();
    cholesky_.matrixL().solveInPlace(few);
    const Block turned = factors.matrix().asDiagonal() * (vectors_.transpose() * few);
    few.noalias() = vectors_ * turned;
    cholesky_.matrixU().solveInPlace(few);
    thin_.from->multiply(Columns(std::move(few)).sent_to(scaled_.device()), &weighed_);
    add_scaled_rows(scales_, weighed_, 1.0, &scaled_, threads_);
  }

  const RowScales scales_;  // of each point, one over the root of its shift
  const int threads_;
  Eigen::LLT<Block> cholesky_;
  Block vectors_;
  Vector squares_;
  Columns scaled_, weighed_, at_landmarks_;
};

}  // namespace

LowRankWeights low_rank_weights(Entries* entries, const Preconditioner& preconditioner, const Places& landmarks,
                                const Block& v) {
  const auto* low = dynamic_cast<const LowRank*>(&preconditioner);
  internal_check(low, "weights of a low rank of a preconditioner of two parts");
  return low->weights(entries, landmarks, v);
}

PreconditionerPointer low_rank_preconditioner(Entries* entries, const Places& landmarks, const Vector& shift,
                                              double ridge, int threads) {
  return std::make_unique<LowRank>(entries, landmarks, shift, ridge, threads);
}

}  // namespace kernweave::solve
