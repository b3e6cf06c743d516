// Golub and Welsch: nodes are eigenvalues, weights the squares of the first components of their vectors.
#include "solve/lanczos.hpp"

#include "solve/decompositions.hpp"

namespace kernweave::solve {

QuadratureRule gauss_rule(const Tridiagonal& t, Index rows) {
  const EigenPairs pairs = eigen_pairs(t.diagonal.head(rows), t.beside.head(rows - 1));
  return {pairs.values.array(), pairs.vectors.row(0).transpose().array().square()};
}

QuadratureRule radau_rule(Tridiagonal t, double node) {
  const Index n = t.diagonal.size();
  double left = t.diagonal[0] - node;
  for (Index k = 1; k + 1 < n; ++k) left = t.diagonal[k] - node - t.beside[k - 1] * t.beside[k - 1] / left;
  t.diagonal[n - 1] = node + t.beside[n - 2] * t.beside[n - 2] / left;
  return gauss_rule(t, n);
}

double smallest_value(const Tridiagonal& t) { return eigenvalues(t.diagonal, t.beside)[0]; }

}  // namespace kernweave::solve
