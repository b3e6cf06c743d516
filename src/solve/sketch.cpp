// F F' = (A W) (W'AW)^-1 (A W)' for orthonormal random columns W: the best that products with W can tell of A. With a
// tolerance the columns are doubled until it is reached, and F is turned to its leading directions.
#include "solve/block_krylov.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "solve/decompositions.hpp"
#include "solve/lanczos.hpp"
#include "solve/random.hpp"

namespace kernweave::solve {
namespace {

constexpr Index kProbes = 16;         // for what is left of the trace
constexpr Index kAtOnce = 64;         // columns of a product between interrupts
constexpr Index kFirst = 32;          // columns where there is a tolerance
constexpr double kAsymmetric = 1e-5;  // of numbers of W'AW, relative to the largest: products may be in float32
constexpr int kPasses = 3;            // of making columns orthonormal: random ones are nearly so
constexpr int kShifts = 8;            // attempts at a shift that makes W'AW definite in spite of rounding

class Sketching {
 public:
  Sketching(Operator* matrix, const Enough& enough, double trace, std::uint64_t seed, const Poll& poll)
      : matrix_(matrix),
        n_(matrix->rows),
        enough_(enough),
        trace_(trace),
        seed_(seed),
        poll_(poll),
        random_(n_, 0),
        products_(n_, 0) {
    if (std::isfinite(trace)) return;
    signs_ = random_signs(n_, std::min(kProbes, n_), seed + 1);
    const Block images = times(signs_);
    trace_ = signs_.cwiseProduct(images).sum();
  }

  Sketch run() {
    Index width = enough_.tolerance > 0 ? std::min(kFirst, enough_.most) : enough_.most;
    for (;;) {
      widen(width);
      factorise();
      if (width == enough_.most || residual() <= enough_.tolerance) break;
      width = std::min(2 * width, enough_.most);
    }
    const double left = enough_.tolerance > 0 ? keep_leading() : residual();
    return {std::move(factor_), left};
  }

 private:
  Block times(const Block& x) {
    Block all(n_, x.cols()), some;
    for (Index from = 0; from < x.cols(); from += kAtOnce) {
      poll_(0.0);
      const Index count = std::min(kAtOnce, x.cols() - from);
      matrix_->times(x.middleCols(from, count), &some);
      all.middleCols(from, count) = some;
    }
    user_check(all.allFinite(), Fault::input, "the operator has products that are not finite: look at its data");
    return all;
  }

  void widen(Index width) {
    Block fresh(n_, width - random_.cols());
    for (Index k = 0; k < fresh.size(); ++k) fresh.data()[k] = random_uniform(seed_, place_++) - 0.5;
    for (int round = 0; round < kPasses; ++round) {
      fresh -= random_ * (random_.transpose() * fresh);
      const Cholesky root = cholesky(fresh.transpose() * fresh);
      internal_check(root.info() == Eigen::Success, "random columns that depend on each other: ", width, " of ", n_);
      root.matrixU().solveInPlace<Eigen::OnTheRight>(fresh);
    }
    const Block images = times(fresh);
    random_.conservativeResize(n_, width);
    products_.conservativeResize(n_, width);
    random_.rightCols(fresh.cols()) = fresh;
    products_.rightCols(fresh.cols()) = images;
  }

  // The least shift for which W'(A + shift)W has a Cholesky factor.
  void factorise() {
    const Block own = random_.transpose() * products_;
    const double size = products_.norm();
    user_check((own - own.transpose()).cwiseAbs().maxCoeff() <= kAsymmetric * own.cwiseAbs().maxCoeff(),
               Fault::indefinite, "the operator is not symmetric: a low rank F F' would not be near it");
    double shift = std::numeric_limits<double>::epsilon() * size;
    for (int k = 0; k < kShifts; ++k, shift *= 10) {
      Block shifted = 0.5 * (own + own.transpose());
      shifted.diagonal().array() += shift;
      const Cholesky root = cholesky(shifted);
      if (root.info() != Eigen::Success) continue;
      factor_ = products_ + shift * random_;
      root.matrixU().solveInPlace<Eigen::OnTheRight>(factor_);
      return;
    }
    user_check(size == 0, Fault::indefinite, "the operator is not positive semi-definite: a low rank F F' is");
    factor_ = Block::Zero(n_, random_.cols());
  }

  double residual() const {
    if (!(trace_ > 0)) return 0.0;
    const double explained = signs_.size() ? (factor_.transpose() * signs_).squaredNorm() : factor_.squaredNorm();
    return std::max(0.0, 1.0 - explained / trace_);
  }

  // Directions of F without which the tolerance is kept are dropped; what that leaves of the trace in all.
  double keep_leading() {
    const EigenPairs pairs = eigen_pairs(factor_.transpose() * factor_);
    const Vector& sizes = pairs.values;
    const double all = signs_.size() ? trace_ / static_cast<double>(signs_.cols()) : trace_;
    double left = residual() * all;
    Index drop = 0;
    while (drop < sizes.size() && left + std::max(0.0, sizes[drop]) <= enough_.tolerance * all)
      left += std::max(0.0, sizes[drop++]);
    factor_ = (factor_ * pairs.vectors.rightCols(sizes.size() - drop)).eval();
    return all > 0 ? left / all : 0.0;
  }

  Operator* const matrix_;
  const Index n_;
  const Enough enough_;
  double trace_;  // of the matrix, or the sum of its forms of the signs
  const std::uint64_t seed_;
  const Poll& poll_;
  std::uint64_t place_ = 0;
  Block random_, products_, factor_, signs_;
};

}  // namespace

Sketch sketched(Operator* matrix, const Enough& enough, double trace, std::uint64_t seed, const Poll& poll) {
  return Sketching(matrix, enough, trace, seed, poll).run();
}

}  // namespace kernweave::solve
