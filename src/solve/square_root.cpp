// In the basis Q of a Lanczos process B^1/2 x = |x| Q T^1/2 e, nearly so long before the process ends.
#include "solve/lanczos.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "solve/decompositions.hpp"

namespace kernweave::solve {
namespace {

constexpr double kSlowest = 0.95;  // from look to look what changes falls by this much at least, as is assumed

// The first column of T^1/2.
Vector first_of_root(const Tridiagonal& t) {
  const EigenPairs pairs = eigen_pairs(t.diagonal, t.beside);
  const Vector& values = pairs.values;
  user_check(values[0] >= -kNegative * values.cwiseAbs().maxCoeff(), Fault::indefinite,
             "the matrix is not positive definite: a value of ", values[0], " was met, beside ", values.maxCoeff());
  const Vector roots = values.cwiseMax(0.0).cwiseSqrt();
  return pairs.vectors * (roots.asDiagonal() * pairs.vectors.row(0).transpose());
}

struct Progress {
  Vector coordinates;
  double change = 1, left = 1;
};

// Estimates the changes to come: their sum, if changes go on falling as the last change did.
void look(const Lanczos& process, Index column, Progress* at) {
  const Vector now = first_of_root(process.tridiagonal(column));
  Vector change = now;
  change.head(at->coordinates.size()) -= at->coordinates;
  const double moved = change.norm() / std::max(now.norm(), 1e-300);
  const double factor = std::min(moved / at->change, kSlowest);
  at->left = process.exhausted(column) ? 0 : moved / (1 - factor);
  at->change = std::max(moved, 1e-300);
  at->coordinates = now;
}

void some_columns(Operator* matrix, const Block& x, Index from, const RootLimits& limits, const Poll& poll,
                  Roots* out) {
  Lanczos process(matrix, x, limits.most, true, limits.threads, poll);
  std::vector<Progress> progress(static_cast<std::size_t>(x.cols()));
  process.run(limits.most, {1, 8}, [&](Index c) {
    Progress& at = progress[static_cast<std::size_t>(c)];
    look(process, c, &at);
    return at.left <= limits.tolerance;
  });
  for (Index c = 0; c < x.cols(); ++c) {
    const Progress& at = progress[static_cast<std::size_t>(c)];
    const int steps = process.steps(c);
    if (steps) out->y.col(from + c) = process.size(c) * (process.basis(c) * at.coordinates);
    out->steps[static_cast<std::size_t>(from + c)] = steps;
    out->change[from + c] = steps ? at.left : 0;
  }
  out->products += process.products();
}

}  // namespace

Roots square_root_times(Operator* matrix, const Block& x, const RootLimits& limits, const Poll& poll) {
  internal_check(matrix->rows == x.rows() && limits.together >= 1 && limits.most >= 1, "a square root of ",
                 matrix->rows, " rows times ", x.rows());
  Roots out;
  out.y = Block::Zero(x.rows(), x.cols());
  out.steps.assign(static_cast<std::size_t>(x.cols()), 0);
  out.change = Vector::Zero(x.cols());
  for (Index from = 0; from < x.cols(); from += limits.together) {
    const Block some = x.middleCols(from, std::min(limits.together, x.cols() - from));
    some_columns(matrix, some, from, limits, poll, &out);
  }
  out.converged = (out.change.array() <= limits.tolerance).all();
  return out;
}

}  // namespace kernweave::solve
