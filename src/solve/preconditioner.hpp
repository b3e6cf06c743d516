// An approximation P of a positive definite matrix A that is cheap to solve with: P^-1 = G G'.
#pragma once
#include <memory>
#include "solve/operator.hpp"
#include "solve/vecchia.hpp"

namespace kernweave::solve {

// Products with the columns of K at the landmarks: from them (n x k) and to them (k x n). Null without landmarks.
struct Thin {
  OperatorPointer from, to;
};

class Preconditioner {
 public:
  virtual ~Preconditioner() = default;

  // Binds the thin products of a call, which depend on the addresses of data. Only numbers are kept between calls.
  virtual void bind(Thin thin) { thin_ = std::move(thin); }

  // Multiplies by G, G', G'^-1 or P^-1 where the columns lie.
  virtual void root(const Columns& x, Columns* y) = 0;             // G x
  virtual void root_transposed(const Columns& x, Columns* y) = 0;  // G' x
  virtual void back(const Block& x, Block* y) = 0;                 // G'^-1 x
  virtual void inverse(const Columns& x, Columns* y) {             // P^-1 x
    root_transposed(x, &half_);
    root(half_, y);
  }
  // Tells whether the diagonal of G'AG is 1: G is triangular, and P = A on its pattern.
  virtual bool unit_diagonal() const { return false; }

  // Returns the device that is the home of the preconditioner's own products.
  virtual device::Device* home() const { return thin_.to ? thin_.to->home() : nullptr; }
  // Returns the preconditioner of the matrix without grouped effects.
  virtual Preconditioner* kernel_part() { return this; }
  virtual const Preconditioner* kernel_part() const { return this; }

  double logdet = 0;
  // A lower bound of the eigenvalues of G'AG; 0 if unknown.
  double smallest = 0;

 protected:
  Thin thin_;

 private:
  Columns half_;
};

using PreconditionerPointer = std::unique_ptr<Preconditioner>;

// --- low rank -------------------------------------------------------------------------------------------------------
// The preconditioner of smooth kernels: a low rank of landmarks, and a diagonal for the residual.

// P = K[, S] K[S, S]^-1 K[S, ] + diag(shift).
PreconditionerPointer low_rank_preconditioner(Entries* entries, const RowIndices& landmarks, const Vector& shift,
                                              double ridge, int threads);

// The weights of dK[S, S], dK[S, all] and of the added diagonal in the trace of (P^-1 - V V'/p) dP, for fixed landmarks
// S; p is the number of columns of V.
struct LowRankWeights {
  Block own, cross;
  Vector diagonal;
};

// Returns the weights of a preconditioner of low rank.
LowRankWeights low_rank_weights(Entries* entries, const Preconditioner& preconditioner, const RowIndices& landmarks,
                                const Block& v);
double low_rank_inverse_trace(Entries* entries, const Preconditioner& preconditioner, const RowIndices& landmarks);

// --- landmark vecchia -----------------------------------------------------------------------------------------------
// The preconditioner of rough kernels: landmarks (inducing points) and a Vecchia approximation of the residual, a
// sparse inverse Cholesky factor.

// Conditioning sets of Vecchia's approximation: for each point that is no landmark, neighbours among the points before
// it in a random sequence.
struct ConditioningSets {
  RowIndices order;           // the points, near ones together
  Slots at;                   // a column for each: places in the order
  std::vector<int> sequence;  // the random sequence, as places in the order
};

// The numbers of P^-1 in the trace of P^-1 dA. The trace is the sum of dA[S, S] times `own`, dA[S, R] times `cross`,
// the diagonal of dA times `diagonal`, and in dA[R, R] the pairs of each point and its neighbours. `cross` has a number
// for each landmark and point, so calls take some landmarks at a time: some rows of `own` and `cross`, whose traces add
// up to the whole; the diagonal of R comes with the first landmarks.
struct InverseWeights {
  Block own;
  Columns cross;  // on the device `home`
  Vector diagonal;
};

// Pairs of points: row and column in the matrix, from 1, each pair once, and the factor of the pair's entry.
struct WeightedPairs {
  Columns rows, columns, weights;  // one column of numbers each
};

// Returns the weights of a preconditioner of landmarks and Vecchia.
InverseWeights inverse_weights(Preconditioner* preconditioner, const Range& landmarks, device::Device* home);
// Returns the pairs of `count` points of the order from number `from` on.
WeightedPairs weighted_pairs(const Preconditioner& preconditioner, Index from, Index count, device::Device* home);

// The sparse factor, the rows of its points in the matrix, and the rows of the landmarks, from 0.
struct SparsePart {
  const SparseFactor& factor;
  const std::vector<int>& rows;
  const std::vector<int>& landmarks;
};
SparsePart sparse_part(const Preconditioner& preconditioner);

// Makes the preconditioner, on the device `home` if there is one; without landmarks, Vecchia's sparse factor alone.
// `ridge`: a number for each point, added to the matrix's diagonal.
PreconditionerPointer landmark_vecchia_preconditioner(Entries* entries, RowIndices landmarks,
                                                      ConditioningSets neighbours, const Vector& ridge,
                                                      device::Device* home, int threads, const Poll& poll);

// --- grouped --------------------------------------------------------------------------------------------------------
// The preconditioner of a matrix with grouped effects, which are V V' for a sparse V.

// Makes P + V V'. `kernel` is the P of landmarks and Vecchia, bound to its products; V has a column for each effect.
PreconditionerPointer grouped_preconditioner(PreconditionerPointer kernel, SparseRows effects, int threads);

// Random z with covariance C^-1, where C = I + V'P^-1 V, and P^-1 V z: traces of (P^-1 - (P + V V')^-1) B are means of
// (P^-1 V z)'B P^-1 V z.
struct LevelProbes {
  Block levels, rows;
};
LevelProbes level_probes(Preconditioner* preconditioner, int count, std::uint64_t seed, int first);
// Computes C^-1 x; x has a row for each effect.
Block level_inverse(Preconditioner* preconditioner, const Block& x);

}  // namespace kernweave::solve
