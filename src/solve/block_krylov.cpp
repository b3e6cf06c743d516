// Largest eigenvalues, then a low rank, from products with blocks. Block Lanczos with full reorthogonalisation and
// Rayleigh-Ritz: A Q = Q T + N R, with N the next block, so that R times the last rows of an eigenvector of T is the
// residual of the Ritz vector. A full basis is restarted with its best Ritz vectors (thick restart).
#include "solve/block_krylov.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "solve/block.hpp"
#include "solve/lanczos.hpp"

namespace kernweave::solve {
namespace {

constexpr double kWithin = 1e-12;  // relative norm of the rest of a column that depends linearly on others

class BlockKrylov {
 public:
  BlockKrylov(Operator* matrix, const EigenLimits& limits, const Poll& poll)
      : matrix_(matrix), limits_(limits), poll_(poll), n_(matrix->rows), basis_(n_, 0) {
    const Index least = std::min(n_, limits.wanted + 3 * limits.block);
    room_ = std::min(n_, std::max(limits.basis, least));
  }

  Eigenpairs run(const Block& start) {
    Block next = first_block(start);
    for (;;) {
      extend(next);
      multiply(&next);
      const bool full = used_ == n_, crowded = used_ + next.cols() > room_, last = out_.passes >= limits_.most;
      if (!full && !crowded && !last && (used_ < limits_.wanted || out_.passes < look_)) continue;
      ritz();
      if (full || last || done()) break;
      if (crowded) restart();
    }
    give_back();
    return std::move(out_);
  }

 private:
  Block first_block(const Block& start) {
    Block block = random_block(std::min(limits_.block, n_));
    const Index given = std::min(start.cols(), block.cols());
    block.leftCols(given) = start.leftCols(given);
    Block rest;
    return orthonormal(block, block.colwise().norm().transpose(), block.cols(), &rest);
  }

  // Returns uniform random numbers, which favour no direction.
  Block random_block(Index columns) {
    Block block(n_, columns);
    for (Index k = 0; k < block.size(); ++k) block.data()[k] = random_uniform(limits_.seed, place_++) - 0.5;
    return block;
  }

  auto basis() { return basis_.leftCols(used_); }

  void extend(const Block& block) {
    if (basis_.cols() < used_ + block.cols()) {
      const Index wider = std::min(room_, std::max(2 * basis_.cols(), limits_.wanted + 4 * limits_.block));
      basis_.conservativeResize(n_, std::max(wider, used_ + block.cols()));
    }
    basis_.middleCols(used_, block.cols()) = block;
    used_ += block.cols();
    last_ = block.cols();
  }

  // Multiplies the last block: the product's coordinates in the basis become columns of T, the rest the next block.
  void multiply(Block* next) {
    poll_(0.0);
    const Block block = basis_.middleCols(used_ - last_, last_);
    Block product;
    matrix_->times(block, &product);
    user_check(product.allFinite(), Fault::input, "the operator has products that are not finite: look at its data");
    ++out_.passes;
    const Vector sizes = product.colwise().norm().transpose();
    const Block along = away_from_basis(&product);
    t_.conservativeResize(used_, used_);
    t_.rightCols(last_) = along;
    t_.bottomRows(last_) = along.transpose();
    *next = orthonormal(product, sizes, std::min(last_, n_ - used_), &rest_);
  }

  // Orthogonalises a block against the basis, twice. Returns the coordinates that were subtracted.
  Block away_from_basis(Block* block) {
    Block along = basis().transpose() * *block;
    *block -= basis() * along;
    const Block again = basis().transpose() * *block;
    *block -= basis() * again;
    return along + again;
  }

  // Returns `columns` orthonormal columns Q with Q `rest` = `block`, whose columns had the lengths `sizes` before
  // orthogonalisation. Random columns replace those that depend linearly on others.
  Block orthonormal(const Block& block, const Vector& sizes, Index columns, Block* rest) {
    Block made(n_, columns);
    *rest = Block::Zero(columns, block.cols());
    Index k = 0;
    for (Index c = 0; c < block.cols(); ++c) {
      Vector v = block.col(c);
      rest->col(c).head(k) = away_from(made.leftCols(k), &v);
      const double left = v.norm();
      if (k == columns || !(left > kWithin * sizes[c])) continue;
      if (left < 0.5 * sizes[c]) clean(made.leftCols(k), &v);
      (*rest)(k, c) = left;
      made.col(k++) = v.normalized();
    }
    while (k < columns) {
      Vector v = random_block(1);
      clean(made.leftCols(k), &v);
      made.col(k++) = v.normalized();
    }
    return made;
  }

  template <class Columns>
  static Vector away_from(const Columns& columns, Vector* v) {
    const Vector along = columns.transpose() * *v;
    *v -= columns * along;
    const Vector again = columns.transpose() * *v;
    *v -= columns * again;
    return along + again;
  }

  template <class Columns>
  void clean(const Columns& made, Vector* v) {
    v->normalize();
    away_from(basis(), v);
    away_from(made, v);
  }

  // Computes the eigenpairs of T, the largest first, and the residuals of Ritz vectors.
  void ritz() {
    const EigenPairs pairs = eigen_pairs(0.5 * (t_ + t_.transpose()));
    internal_check(pairs.found, "eigenvalues of ", used_, " x ", used_, " numbers were not found");
    theta_ = pairs.values.reverse();
    s_ = pairs.vectors.rowwise().reverse();
    residual_ = (rest_ * s_.bottomRows(last_)).colwise().norm().transpose();
    scale_ = theta_.cwiseAbs().maxCoeff();
  }

  Index found() const { return std::min(limits_.wanted, used_); }

  // Returns the largest ratio of a residual to its goal; 0 if all have reached it.
  double worst() const {
    double ratio = 0.0;
    for (Index k = 0; k < found(); ++k) {
      const double goal = std::max(limits_.tolerance * std::abs(theta_[k]), limits_.rounding * scale_);
      if (residual_[k] > goal) ratio = std::max(ratio, residual_[k] / goal);
    }
    return ratio;
  }

  // Tells whether all pairs have reached their goals; else sets the pass of the next look: a pass gains two digits.
  bool done() {
    const double ratio = used_ < limits_.wanted ? std::numeric_limits<double>::infinity() : worst();
    if (ratio == 0.0) return true;
    look_ = out_.passes + (std::isfinite(ratio) ? std::max(1, static_cast<int>(std::log10(ratio) / 2)) : 1);
    return false;
  }

  void restart() {
    const Index kept = std::min(used_, limits_.wanted + limits_.block);
    const Block best = basis() * s_.leftCols(kept);
    basis_.leftCols(kept) = best;
    used_ = kept;
    t_ = theta_.head(kept).asDiagonal();
  }

  void give_back() {
    out_.values = theta_.head(found());
    out_.vectors = basis() * s_.leftCols(found());
    out_.residuals = residual_.head(found()).cwiseMax(limits_.rounding * scale_);
    out_.converged = used_ >= limits_.wanted && worst() == 0.0;
  }

  Operator* const matrix_;
  const EigenLimits limits_;
  const Poll& poll_;
  const Index n_;
  Index room_, used_ = 0, last_ = 0;
  Block basis_, t_, rest_;
  Vector theta_, residual_;
  Block s_;
  double scale_ = 0.0;
  std::uint64_t place_ = 0;
  int look_ = 0;
  Eigenpairs out_;
};

}  // namespace

Eigenpairs largest_eigenpairs(Operator* matrix, const Block& start, const EigenLimits& limits, const Poll& poll) {
  internal_check(matrix->rows == matrix->columns && limits.wanted >= 1 && limits.wanted <= matrix->rows &&
                     limits.block >= 1 && limits.most >= 1,
                 "eigenvalues that cannot be: ", limits.wanted, " of ", matrix->rows);
  return BlockKrylov(matrix, limits, poll).run(start);
}

// --- sketch ---------------------------------------------------------------------------------------------------------
// F F' = (A W) (W'AW)^-1 (A W)' for orthonormal random columns W (Nystrom). With a tolerance, the columns are doubled
// until the tolerance is met, and F is rotated to its principal directions.

namespace {

constexpr Index kProbes = 16;         // random signs that estimate the residual's trace
constexpr Index kAtOnce = 64;         // columns of a product between interrupts
constexpr Index kFirst = 32;          // columns where there is a tolerance
constexpr double kAsymmetric = 1e-5;  // asymmetry of W'AW, relative to the largest number: products may be in float32
constexpr int kPasses = 3;            // passes of orthonormalisation
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

  // Returns the least shift for which W'(A + shift)W has a Cholesky factor.
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

  // Drops directions of F as far as the tolerance allows. Returns the residual's share of the trace.
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
  double trace_;  // trace of the matrix, or the sum of s'As over random signs s
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
