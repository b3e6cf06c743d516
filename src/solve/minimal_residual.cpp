// Minimal residuals: MINRES for symmetric systems, then LSMR for least squares. MINRES is Lanczos with a QR
// factorisation that is updated by one rotation a step. All columns take the same steps; finished columns do not
// change. Names of the three-term recurrences: v are the Lanczos vectors, w the directions.
#include "solve/conjugate_gradients.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "solve/block.hpp"

namespace kernweave::solve {
namespace {

constexpr double kNoRotation = 1e-10;  // smaller numbers, relative to the tridiagonal matrix's largest, are rounding

// The rotations of the last step and of the step before.
struct Rotations {
  explicit Rotations(Index n) : cosine(Row::Ones(n)), cosine_before(cosine), sine(Row::Zero(n)), sine_before(sine) {}
  Row cosine, cosine_before, sine, sine_before;
};

class Iteration {
 public:
  Iteration(Operator* matrix, const Block& b, const Limits& limits, const Poll& poll)
      : matrix_(matrix), b_(b), limits_(limits), poll_(poll), turn_(b.cols()) {
    size_ = b.colwise().norm().transpose().array();
    out_.x = Columns(Block::Zero(b.rows(), b.cols()));
    out_.iterations.assign(static_cast<std::size_t>(b.cols()), 0);
    v_before_ = w_ = w_before_ = out_.x.block();
    beta_ = eta_ = size_;
    largest_ = Row::Zero(b.cols());
    open_ = Eigen::Array<bool, Eigen::Dynamic, 1>::Constant(b.cols(), true);
    v_ = b * safe_inverse(beta_).matrix().asDiagonal();
  }

  Solution run() {
    int steps = 0;
    while ((running() > 0).any() && steps++ < limits_.most) step();
    matrix_->times(out_.x.block(), &av_);
    ++out_.products;
    out_.residual = ((b_ - av_).colwise().norm().transpose().array() * safe_inverse(size_)).matrix();
    for (Index c = 0; c < b_.cols(); ++c) {
      if (out_.residual[c] <= 1 || size_[c] == 0) continue;  // rounding has spoilt the iterate: x = 0 is nearer
      out_.x.here()->col(c).setZero();
      out_.residual[c] = 1;
    }
    if ((out_.residual.array() > limits_.tolerance).any()) out_.end = Solution::Ending::cap;
    return std::move(out_);
  }

 private:
  static Row safe_inverse(const Row& x) { return (x > 0).select(x.max(1e-300).inverse(), 0.0); }

  // 1 for columns that are not done, else 0.
  Row running() const { return (open_ && eta_.abs() > limits_.tolerance * size_).cast<double>(); }

  void step() {
    poll_(0.0);
    matrix_->times(v_, &av_);
    ++out_.products;
    const Row alpha = v_.cwiseProduct(av_).colwise().sum().transpose().array();
    Block next = av_ - v_ * alpha.matrix().asDiagonal() - v_before_ * beta_.matrix().asDiagonal();
    const Row beta = next.colwise().norm().transpose().array();
    const Row delta = turn_.cosine * alpha - turn_.cosine_before * turn_.sine * beta_;
    const Row rho = (delta.square() + beta.square()).sqrt();
    // Ends columns whose Krylov space is exhausted, or on which the matrix is singular: their residual is minimal.
    largest_ = largest_.max(alpha.abs()).max(beta);
    open_ = open_ && rho > kNoRotation * largest_;
    const Row go = running();
    open_ = open_ && beta > kNoRotation * largest_;
    const Row first = turn_.sine * alpha + turn_.cosine_before * turn_.cosine * beta_;
    const Row second = turn_.sine_before * beta_;
    turn_.cosine_before = turn_.cosine;
    turn_.sine_before = turn_.sine;
    turn_.cosine = delta * safe_inverse(rho);
    turn_.sine = beta * safe_inverse(rho);
    const Block w = (v_ - w_before_ * second.matrix().asDiagonal() - w_ * first.matrix().asDiagonal()) *
                    safe_inverse(rho).matrix().asDiagonal();
    *out_.x.here() += w * (go > 0).select(turn_.cosine * eta_, 0.0).matrix().asDiagonal();
    w_before_ = w_;
    w_ = w;
    eta_ = (go > 0).select(-turn_.sine * eta_, eta_);
    v_before_ = v_;
    v_ = next * safe_inverse(beta).matrix().asDiagonal();
    beta_ = beta;
    out_.history.push_back((eta_.abs() * safe_inverse(size_)).maxCoeff());
    for (Index c = 0; c < go.size(); ++c) out_.iterations[static_cast<std::size_t>(c)] += go[c] > 0;
  }

  Operator* const matrix_;
  const Block& b_;
  const Limits limits_;
  const Poll& poll_;
  Solution out_;
  Rotations turn_;
  Row size_, beta_, eta_;  // eta: the residual's length, with a sign
  Row largest_;            // largest number of the tridiagonal matrix
  Eigen::Array<bool, Eigen::Dynamic, 1> open_;
  Block v_, v_before_, w_, w_before_, av_;
};

}  // namespace

Solution minimal_residual(Operator* matrix, const Block& b, const Limits& limits, const Poll& poll) {
  return Iteration(matrix, b, limits, poll).run();
}

// --- least squares --------------------------------------------------------------------------------------------------
// LSMR: the bidiagonal form of Golub and Kahan, and minimal residuals of the normal equations in it. A ridge adds the
// rows diag(sqrt(ridge)) to the matrix, so that restarts are possible. Names of the recurrences: u, v are the bases, h
// and h_bar the directions.

namespace {

constexpr int kRestarts = 5;                   // the most starts from a true residual
constexpr double kResidualOfRounding = 1e-14;  // relative to |A| |b|: a residual this small is rounding

// Columns of numbers for the matrix's rows and for the rows that the ridge adds.
struct Tall {
  Block rows, ridge;
};

struct Givens {
  Givens(const Row& a, const Row& b) : length((a.square() + b.square()).sqrt()), cosine(a.size()), sine(a.size()) {
    for (Index k = 0; k < a.size(); ++k) {
      cosine[k] = length[k] > 0 ? a[k] / length[k] : 1.0;
      sine[k] = length[k] > 0 ? b[k] / length[k] : 0.0;
    }
  }
  Row length, cosine, sine;
};

Row inverse_or_zero(const Row& x) { return (x > 0).select(x.max(1e-300).inverse(), 0.0); }

class Fit {
 public:
  Fit(Operator* matrix, Operator* transposed, const Vector& ridge, const Block& b, const Block& start,
      const Limits& limits, const Poll& poll)
      : matrix_(matrix), transposed_(transposed), root_(ridge.cwiseSqrt()), b_(b), limits_(limits), poll_(poll) {
    out_.x = Columns(start.size() ? start : Block(Block::Zero(matrix->columns, b.cols())));
    out_.iterations.assign(static_cast<std::size_t>(b.cols()), 0);
    out_.residual = Vector::Zero(b.cols());
    sides_ = norms(b, limits.threads);
    Block image;
    multiply(transposed_, b_, &image);
    scale_ = norms(image, limits.threads);
    at_zero_ = start.size() == 0;
  }

  Solution run() {
    std::vector<Index> open;
    for (Index c = 0; c < b_.cols(); ++c)
      if (scale_[c] > 0 || !at_zero_) open.push_back(c);
    for (int round = 0; round < kRestarts && !open.empty() && out_.end == Solution::Ending::converged; ++round) {
      begin(open);
      while (!active_.empty() && out_.end == Solution::Ending::converged) step();
      give_back();
      open = check();
    }
    if (open.empty()) out_.end = Solution::Ending::converged;
    else if (out_.end == Solution::Ending::converged) out_.end = Solution::Ending::stagnant;
    return std::move(out_);
  }

 private:
  bool ridged() const { return root_.size() > 0; }

  void multiply(Operator* matrix, const Block& x, Block* y) {
    poll_(0.0);
    matrix->times(x, y);
    ++out_.products;
    user_check(y->allFinite(), Fault::input, "the matrix has products that are not finite: look at its data");
  }

  // Computes b - A x, and 0 - root x.
  Tall left_of(const std::vector<Index>& which) {
    Tall left;
    Block x(out_.x.rows(), static_cast<Index>(which.size()));
    left.rows.resize(b_.rows(), x.cols());
    for (Index k = 0; k < x.cols(); ++k) {
      x.col(k) = out_.x.block().col(which[static_cast<std::size_t>(k)]);
      left.rows.col(k) = b_.col(which[static_cast<std::size_t>(k)]);
    }
    if (!at_zero_) {
      Block image;
      multiply(matrix_, x, &image);
      left.rows -= image;
    }
    if (ridged()) left.ridge = root_.asDiagonal() * -x;
    return left;
  }

  void transpose_times(const Tall& u, Block* v) {
    multiply(transposed_, u.rows, v);
    if (ridged()) *v += root_.asDiagonal() * u.ridge;
  }

  // Scales columns to length 1; returns their lengths before.
  Row normalise(Tall* u) const {
    Row squares = dots(u->rows, u->rows, limits_.threads);
    if (ridged()) squares += dots(u->ridge, u->ridge, limits_.threads);
    const Row length = squares.sqrt();
    scale(&u->rows, length);
    if (ridged()) scale(&u->ridge, length);
    return length;
  }

  Row normalise(Block* v) const {
    const Row length = norms(*v, limits_.threads);
    scale(v, length);
    return length;
  }

  static void scale(Block* x, const Row& by) { *x *= inverse_or_zero(by).matrix().asDiagonal(); }

  void begin(const std::vector<Index>& open) {
    active_ = open;
    const auto n = static_cast<Index>(open.size());
    u_ = left_of(open);
    beta_ = normalise(&u_);
    transpose_times(u_, &v_);
    alpha_ = alpha_bar_ = normalise(&v_);
    zeta_bar_ = alpha_ * beta_;
    rho_ = rho_bar_ = c_bar_ = Row::Ones(n);
    s_bar_ = Row::Zero(n);
    h_ = v_;
    h_bar_ = moved_ = Block::Zero(v_.rows(), n);
    drop_done();
  }

  void step() {
    const int threads = limits_.threads;
    multiply(matrix_, v_, &image_);
    follow(&u_.rows, image_, -alpha_, threads);
    if (ridged()) follow(&u_.ridge, root_.asDiagonal() * v_, -alpha_, threads);
    beta_ = normalise(&u_);
    transpose_times(u_, &image_);
    follow(&v_, image_, -beta_, threads);
    alpha_ = normalise(&v_);
    largest_ = std::max({largest_, alpha_.maxCoeff(), beta_.maxCoeff()});

    const Givens turn(alpha_bar_, beta_);
    const Row theta = turn.sine * alpha_, theta_bar = s_bar_ * turn.length;
    alpha_bar_ = turn.cosine * alpha_;
    const Givens turn_bar(c_bar_ * turn.length, theta);
    const Row back = theta_bar * turn.length * inverse_or_zero(rho_ * rho_bar_);
    rho_ = turn.length;
    rho_bar_ = turn_bar.length;
    c_bar_ = turn_bar.cosine;
    s_bar_ = turn_bar.sine;
    const Row zeta = c_bar_ * zeta_bar_;
    zeta_bar_ *= -s_bar_;
    follow(&h_bar_, h_, -back, threads);
    add_multiple(&moved_, h_bar_, zeta * inverse_or_zero(rho_ * rho_bar_), threads);
    follow(&h_, v_, -theta * inverse_or_zero(rho_), threads);
    judge();
  }

  // Returns the residual of a column relative to A'b, or to rounding if that is more.
  double relative(double residual, Index column) const {
    const double least = kResidualOfRounding / limits_.tolerance * largest_ * sides_[column];
    const double all = std::max(scale_[column], least);
    return all > 0 ? residual / all : residual > 0 ? 1.0 : 0.0;
  }

  void judge() {
    double most = 0;
    for (std::size_t k = 0; k < active_.size(); ++k) {
      ++out_.iterations[static_cast<std::size_t>(active_[k])];
      most = std::max(most, relative(std::abs(zeta_bar_[static_cast<Index>(k)]), active_[k]));
    }
    out_.history.push_back(most);
    drop_done();
    if (!active_.empty() && ++steps_ >= limits_.most) out_.end = Solution::Ending::cap;
  }

  // Removes columns that have converged.
  void drop_done() {
    std::vector<Index> stay, still;
    for (std::size_t k = 0; k < active_.size(); ++k) {
      const double now = relative(std::abs(zeta_bar_[static_cast<Index>(k)]), active_[k]);
      if (now <= limits_.tolerance) continue;
      stay.push_back(static_cast<Index>(k));
      still.push_back(active_[k]);
    }
    if (stay.size() == active_.size()) return;
    give_back();
    active_ = still;
    for (Block* one : {&u_.rows, &u_.ridge, &v_, &h_, &h_bar_, &moved_})
      if (one->size()) keep(one, stay);
    for (Row* one : {&alpha_, &beta_, &alpha_bar_, &zeta_bar_, &rho_, &rho_bar_, &c_bar_, &s_bar_}) keep(one, stay);
  }

  static void keep(Block* all, const std::vector<Index>& which) {
    for (std::size_t k = 0; k < which.size(); ++k) all->col(static_cast<Index>(k)) = all->col(which[k]);
    all->conservativeResize(all->rows(), static_cast<Index>(which.size()));
  }

  static void keep(Row* all, const std::vector<Index>& which) {
    for (std::size_t k = 0; k < which.size(); ++k) (*all)[static_cast<Index>(k)] = (*all)[which[k]];
    all->conservativeResize(static_cast<Index>(which.size()));
  }

  // Adds the step of this round to x, once for each column.
  void give_back() {
    for (std::size_t k = 0; k < active_.size(); ++k) {
      out_.x.here()->col(active_[k]) += moved_.col(static_cast<Index>(k));
      moved_.col(static_cast<Index>(k)).setZero();
    }
  }

  // Computes true residuals of all columns; returns the columns that have not converged.
  std::vector<Index> check() {
    at_zero_ = false;
    std::vector<Index> all, open;
    for (Index c = 0; c < b_.cols(); ++c) all.push_back(c);
    Block residual;
    transpose_times(left_of(all), &residual);
    const Row sizes = norms(residual, limits_.threads);
    for (const Index c : all) {
      out_.residual[c] = relative(sizes[c], c);
      if (!(out_.residual[c] <= limits_.tolerance)) open.push_back(c);
    }
    return open;
  }

  Operator *const matrix_, *const transposed_;
  const Vector root_;  // root of the ridge
  const Block& b_;
  const Limits limits_;
  const Poll& poll_;
  Solution out_;
  Row sides_, scale_;    // lengths of b and of A'b
  double largest_ = 0;   // a lower bound of |A|
  bool at_zero_ = true;  // is x 0 throughout?
  std::vector<Index> active_;
  int steps_ = 0;
  Tall u_;
  Block v_, h_, h_bar_, moved_, image_;
  Row alpha_, beta_, alpha_bar_, zeta_bar_, rho_, rho_bar_, c_bar_, s_bar_;
};

}  // namespace

Solution least_squares(Operator* matrix, Operator* transposed, const Vector& ridge, const Block& b, const Block& start,
                       const Limits& limits, const Poll& poll) {
  return Fit(matrix, transposed, ridge, b, start, limits, poll).run();
}

}  // namespace kernweave::solve
