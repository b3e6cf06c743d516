// An approximation P of a positive definite matrix A that is cheap to solve with: P^-1 = G G'.
#pragma once
#include <memory>
#include "solve/entries.hpp"

namespace kernweave::solve {

// A lazy matrix K of n points beside its columns at the landmarks: from them (n x k) and to them (k x n).
struct Thin {
  OperatorPointer from, to;
  Places landmarks;
};

class Preconditioner {
 public:
  virtual ~Preconditioner() = default;

  // Products with the same landmarks anew: those of an earlier call stand on data as they lay then.
  virtual void bind(Thin thin) = 0;

  virtual void root(const Block& x, Block* y) = 0;             // G x
  virtual void root_transposed(const Block& x, Block* y) = 0;  // G' x
  virtual void inverse(const Block& x, Block* y) {             // P^-1 x
    root_transposed(x, &half_);
    root(half_, y);
  }
  // Where G is triangular after P = A on its pattern, the diagonal of G'AG is 1.
  virtual bool unit_diagonal() const { return false; }

  double logdet = 0;
  // The least that an eigenvalue of G'AG can be; 0 where nothing is known.
  double smallest = 0;

 private:
  Block half_;
};

using PreconditionerPointer = std::unique_ptr<Preconditioner>;

}  // namespace kernweave::solve
