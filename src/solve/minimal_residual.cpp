// Lanczos with a QR factor that is brought up to date by one rotation a step. Columns go in lockstep; one that is done
// stands still. The names are those of the three-term recurrences: v the Lanczos vectors, w the directions.
#include "solve/conjugate_gradients.hpp"

#include <cmath>

namespace kernweave::solve {
namespace {

constexpr double kNoRotation = 1e-10;  // of the largest number of the tridiagonal matrix: rounding, as it grows

// The rotation of the last step and of the one before.
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
      if (out_.residual[c] <= 1 || size_[c] == 0) continue;  // rounding has led away: nothing is nearer
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
    // The vectors span all they can, or the matrix is singular on their span: what is left stays.
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
  Row size_, beta_, eta_;  // eta: what is left of the residual, with a sign
  Row largest_;            // number of the tridiagonal matrix
  Eigen::Array<bool, Eigen::Dynamic, 1> open_;
  Block v_, v_before_, w_, w_before_, av_;
};

}  // namespace

Solution minimal_residual(Operator* matrix, const Block& b, const Limits& limits, const Poll& poll) {
  return Iteration(matrix, b, limits, poll).run();
}

}  // namespace kernweave::solve
