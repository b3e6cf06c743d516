// Vectors are not kept orthogonal: what that costs are eigenvalues found twice, whose weights add up to the right ones.
#include "solve/lanczos.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "solve/decompositions.hpp"

namespace kernweave::solve {
namespace {

double inverse_sum(const QuadratureRule& rule, double ridge) {
  return (rule.weights / (rule.nodes.max(0.0) + ridge).max(1e-300)).sum();
}

bool near(const QuadratureRule& gauss, const QuadratureRule& radau, double ridge, double tolerance) {
  if (gauss.nodes.size() < 2) return false;
  const double below = inverse_sum(gauss, ridge);
  return inverse_sum(radau, ridge) - below <= tolerance * below;
}

QuadratureRule other_rule(const Lanczos& process, Index column, const QuadratureRule& gauss) {
  const Tridiagonal t = process.tridiagonal(column);
  if (process.exhausted(column) || t.diagonal.size() < 2) return gauss;
  return radau_rule(t, -1e-14 * gauss.nodes.abs().maxCoeff());
}

}  // namespace

SpectralRules spectral_rules(Operator* matrix, const Block& b, double ridge, const Limits& limits, const Poll& poll) {
  SpectralRules out;
  const auto columns = static_cast<std::size_t>(b.cols());
  out.gauss.resize(columns);
  out.radau.resize(columns);
  out.steps.assign(columns, 0);
  Lanczos process(matrix, b, limits.most, false, limits.threads, poll);
  process.run(limits.most, {2, 4}, [&](Index c) {
    const auto at = static_cast<std::size_t>(c);
    out.gauss[at] = gauss_rule(process.tridiagonal(c), process.steps(c));
    out.radau[at] = other_rule(process, c, out.gauss[at]);
    return near(out.gauss[at], out.radau[at], ridge, limits.tolerance);
  });
  for (Index c = 0; c < b.cols(); ++c) out.steps[static_cast<std::size_t>(c)] = process.steps(c);
  for (const QuadratureRule& rule : out.gauss)
    if (rule.nodes.size())
      user_check(rule.nodes.minCoeff() >= -kNegative * rule.nodes.abs().maxCoeff(), Fault::indefinite,
                 "the matrix is not positive semidefinite: a value of ", rule.nodes.minCoeff(), " was met, beside ",
                 rule.nodes.maxCoeff());
  out.products = process.products();
  return out;
}

}  // namespace kernweave::solve
