// Conjugate gradients by columns, then by blocks. Each column has its own directions; a column that has converged
// leaves the block. With products on a device, only a few numbers of each column and values of preconditioners at
// landmarks are copied between host and device.
#include "solve/conjugate_gradients.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "solve/block.hpp"
#include "solve/restarted_iteration.hpp"

namespace kernweave::solve {
namespace {

class ColumnwiseConjugateGradients : public RestartedIteration {
 public:
  ColumnwiseConjugateGradients(Operator* matrix, Preconditioner* preconditioner, const Block& b, const Block& start,
                               const Limits& limits, const Poll& poll, const Satisfied& satisfied)
      : RestartedIteration(matrix, b, start, limits, poll, matrix->home()),
        preconditioner_(preconditioner),
        satisfied_(satisfied) {}

 private:
  void precondition(const Columns& x, Columns* y) {
    if (preconditioner_) preconditioner_->inverse(x, y);
    else *y = x;
  }

  void restart() override {
    forget_last_ratios();
    begin_directions();
    settle();
  }

  // Ends the Lanczos process at a restart: the tridiagonal matrix has a 0 between the two processes.
  void forget_last_ratios() {
    for (const Index c : active_) {
      auto& ratios = out_.coefficients[static_cast<std::size_t>(c)].ratio;
      if (!ratios.empty()) ratios.back() = 0.0;
    }
  }

  void begin_directions() {
    precondition(r_, &z_);
    d_ = z_;
    rz_ = dots(r_, z_, limits_.threads);
  }

  bool enough() const override { return satisfied_ && satisfied_(out_); }
  bool busy() const override { return !active_.empty(); }

  void advance() override {
    product(d_, &q_);
    const Row dq = dots(d_, q_, limits_.threads);
    user_check((dq > 0).all() && rz_.isFinite().all(), Fault::indefinite,
               "the matrix is not positive definite, or not symmetric: a direction d has d'Ad <= 0");
    const Row alpha = rz_ / dq;
    add_multiple(&x_, d_, alpha, limits_.threads);
    add_multiple(&r_, q_, -alpha, limits_.threads);
    if (led_away()) {
      begin_directions();
      return record(alpha, Row::Zero(alpha.size()));
    }
    precondition(r_, &z_);
    const Row next = dots(r_, z_, limits_.threads), beta = next / rz_;
    follow(&d_, z_, beta, limits_.threads);
    rz_ = next;
    record(alpha, beta);
  }

  void record(const Row& alpha, const Row& beta) {
    for (std::size_t k = 0; k < active_.size(); ++k) {
      const auto c = static_cast<std::size_t>(active_[k]);
      ++out_.iterations[c];
      out_.coefficients[c].step.push_back(alpha[static_cast<Index>(k)]);
      out_.coefficients[c].ratio.push_back(beta[static_cast<Index>(k)]);
    }
  }

  // Removes columns that have converged.
  void settle() override {
    std::vector<Index> stay;
    for (std::size_t k = 0; k < active_.size(); ++k)
      if (sizes_[static_cast<Index>(k)] > goal_[active_[k]]) stay.push_back(static_cast<Index>(k));
    if (stay.size() == active_.size()) return;
    give_back();
    std::vector<Index> still;
    for (const Index k : stay) still.push_back(active_[static_cast<std::size_t>(k)]);
    active_ = still;
    for (Columns* one : {&x_, &r_, &d_}) *one = columns_of(*one, stay);
    Row rz(static_cast<Index>(stay.size())), best(rz.size());
    for (std::size_t k = 0; k < stay.size(); ++k) {
      rz[static_cast<Index>(k)] = rz_[stay[k]];
      best[static_cast<Index>(k)] = best_[stay[k]];
    }
    rz_ = rz;
    best_ = best;
  }

  Preconditioner* const preconditioner_;
  const Satisfied& satisfied_;
  Columns z_, d_, q_;
  Row rz_;
};

}  // namespace

Solution conjugate_gradients(Operator* matrix, Preconditioner* preconditioner, const Block& b, const Block& start,
                             const Limits& limits, const Poll& poll, const Satisfied& satisfied) {
  return ColumnwiseConjugateGradients(matrix, preconditioner, b, start, limits, poll, satisfied).run();
}

// --- blocks ---------------------------------------------------------------------------------------------------------
// QR: residuals of the preconditioned system G'AG are kept as Q C with orthonormal Q.
// Directions are S = G Q + S Z', where Q - G'A S L = Q_next Z and L = (S'AS)^-1. Columns of Q that depend on others are
// dropped; columns of X stay until all are done, since their directions serve the others.

namespace {

constexpr double kDependent = 1e-13;  // relative norm of the rest of a column that depends linearly on others
// Bounds of eigenvalues of S'AS, relative to the largest: below -kNegativeCurvature the matrix is not definite; between
// the bounds an eigenvalue is rounding error.
constexpr double kNegativeCurvature = 1e-8, kNoCurvature = 1e-15;
constexpr Index kWidest = 64;  // the most columns at once: wider products save nothing, and bases cost columns^2

class BlockConjugateGradients : public RestartedIteration {
 public:
  BlockConjugateGradients(Operator* matrix, Preconditioner* preconditioner, const Block& b, const Block& start,
                          const Limits& limits, const Poll& poll)
      : RestartedIteration(matrix, b, start, limits, poll, nullptr), preconditioner_(preconditioner) {}

 private:
  void root(const Block& x, Block* y) {
    Columns root(x);
    if (preconditioner_ && x.cols()) preconditioner_->root(Columns(x), &root);
    *y = std::move(*root.here());
  }

  void root_transposed(const Block& x, Block* y) {
    Columns root(x);
    if (preconditioner_) preconditioner_->root_transposed(Columns(x), &root);
    *y = std::move(*root.here());
  }

  void restart() override {
    Block all;
    root_transposed(r_.block(), &all);
    const Row sizes = norms(all, limits_.threads);
    const Row scale = (sizes > 0).select(sizes, 1.0);
    orthonormal(all * scale.inverse().matrix().asDiagonal(), Row::Ones(sizes.size()), &coordinates_);
    coordinates_ = (coordinates_ * scale.matrix().asDiagonal()).eval();
    root(q_, &s_);
  }

  bool busy() const override { return q_.cols() > 0 && !waiting().empty(); }

  // Columns that have not converged.
  std::vector<Index> waiting() const {
    std::vector<Index> found;
    for (std::size_t k = 0; k < active_.size(); ++k)
      if (!(sizes_[static_cast<Index>(k)] <= goal_[active_[k]])) found.push_back(active_[k]);
    return found;
  }

  void advance() override {
    for (const Index c : waiting()) ++out_.iterations[static_cast<std::size_t>(c)];
    Columns image;
    product(Columns(s_), &image);
    image_ = std::move(*image.here());
    const Block inverse = inverse_forms(), step = inverse * coordinates_;
    add_product(x_.here(), s_, step, limits_.threads);
    add_product(r_.here(), image_, -step, limits_.threads);
    if (led_away()) return restart();
    root_transposed(image_, &turned_);
    Block left = q_, along;
    add_product(&left, turned_, -inverse, limits_.threads);
    orthonormal(left, 1.0 + norms(q_ - left, limits_.threads), &along);
    root(q_, &turned_);
    add_product(&turned_, s_, along.transpose(), limits_.threads);
    s_.swap(turned_);
    coordinates_ = (along * coordinates_).eval();
  }

  // Returns (S'AS)^-1, without directions that are rounding error.
  Block inverse_forms() const {
    const Block forms = inner_products(s_, image_, limits_.threads);
    user_check(forms.allFinite(), Fault::input, "the operator has products that are not finite: look at its data");
    const EigenPairs pairs = eigen_pairs(0.5 * (forms + forms.transpose()));
    const Vector& values = pairs.values;
    const double most = values[values.size() - 1];
    user_check(most > 0 && values[0] > -kNegativeCurvature * most, Fault::indefinite,
               "the matrix is not positive definite, or not symmetric: a direction d has d'Ad <= 0");
    const Row inverse = (values.array() > kNoCurvature * most).select(values.array().inverse(), 0.0);
    return pairs.vectors * inverse.matrix().asDiagonal() * pairs.vectors.transpose();
  }

  // q_ times `along` is the block, except for columns that depend on earlier columns.
  void orthonormal(const Block& block, const Row& sizes, Block* along) {
    Block made(block.rows(), block.cols());
    *along = Block::Zero(block.cols(), block.cols());
    Index rank = 0;
    for (Index c = 0; c < block.cols(); ++c) {
      Vector v = block.col(c);
      double before = v.norm(), left = before;
      for (int pass = 0; pass < 2; ++pass) {
        const Vector part = made.leftCols(rank).transpose() * v;
        v.noalias() -= made.leftCols(rank) * part;
        along->col(c).head(rank) += part;
        left = v.norm();
        if (left > 0.7 * before) break;
        before = left;
      }
      if (!(left > kDependent * sizes[c])) continue;
      (*along)(rank, c) = left;
      made.col(rank++) = v / left;
    }
    q_ = made.leftCols(rank);
    along->conservativeResize(rank, block.cols());
  }

  Preconditioner* const preconditioner_;
  Block q_, s_, image_, turned_;
  Block coordinates_;  // C in Q C
};

Block columns_from(const Block& all, Index from, Index count) {
  return all.size() ? Block(all.middleCols(from, count)) : Block();
}

// Appends the solution of a batch of columns.
void join(const Solution& part, Index from, Solution* all) {
  const Index count = part.x.cols();
  all->x.here()->middleCols(from, count) = part.x.block();
  all->residual.segment(from, count) = part.residual;
  all->iterations.insert(all->iterations.end(), part.iterations.begin(), part.iterations.end());
  all->products += part.products;
  all->history.resize(std::max(all->history.size(), part.history.size()), 0.0);
  for (std::size_t k = 0; k < part.history.size(); ++k) all->history[k] = std::max(all->history[k], part.history[k]);
  if (part.end != Solution::Ending::converged) all->end = part.end;
}

}  // namespace

Solution block_conjugate_gradients(Operator* matrix, Preconditioner* preconditioner, const Block& b, const Block& start,
                                   const Limits& limits, const Poll& poll) {
  Solution all;
  all.x = Columns(Block::Zero(b.rows(), b.cols()));
  all.residual = Vector::Zero(b.cols());
  // Batches have about equal sizes, since a small batch takes the most iterations.
  const Index lots = (b.cols() + kWidest - 1) / kWidest;
  for (Index k = 0, from = 0, count = 0; k < lots; ++k, from += count) {
    count = (b.cols() - from) / (lots - k);
    const Block side = b.middleCols(from, count), begin = columns_from(start, from, count);
    join(BlockConjugateGradients(matrix, preconditioner, side, begin, limits, poll).run(), from, &all);
  }
  return all;
}

}  // namespace kernweave::solve
