// An approximation P of a positive definite matrix A that is cheap to solve with: P^-1 = G G'.
#pragma once
#include <memory>
#include "solve/operator.hpp"

namespace kernweave::solve {

// Products with the columns of K at the landmarks: from them (n x k) and to them (k x n). Null where there are none.
struct Thin {
  OperatorPointer from, to;
};

class Preconditioner {
 public:
  virtual ~Preconditioner() = default;

  // What is kept from call to call is numbers. Products come with each call, since they stand on data as these lie
  // then.
  void bind(Thin thin) { thin_ = std::move(thin); }

  // Where the columns lie.
  virtual void root(const Columns& x, Columns* y) = 0;             // G x
  virtual void root_transposed(const Columns& x, Columns* y) = 0;  // G' x
  virtual void back(const Block& x, Block* y) = 0;                 // G'^-1 x
  virtual void inverse(const Columns& x, Columns* y) {             // P^-1 x
    root_transposed(x, &half_);
    root(half_, y);
  }
  // Where G is triangular after P = A on its pattern, the diagonal of G'AG is 1.
  virtual bool unit_diagonal() const { return false; }

  // Where its own products are at home.
  device::Device* home() const { return thin_.to ? thin_.to->home() : nullptr; }

  double logdet = 0;
  // The least that an eigenvalue of G'AG can be; 0 where nothing is known.
  double smallest = 0;

 protected:
  Thin thin_;

 private:
  Columns half_;
};

using PreconditionerPointer = std::unique_ptr<Preconditioner>;

}  // namespace kernweave::solve
