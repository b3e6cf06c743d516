// An approximation P of a positive definite matrix A that is cheap to solve with: P^-1 = G G'.
#pragma once
#include <memory>
#include "solve/operator.hpp"

namespace kernweave::solve {

class Preconditioner {
 public:
  virtual ~Preconditioner() = default;

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
