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

  // Binds the products of a call, since products depend on data as these lie then. Only numbers are kept from call to
  // call.
  void bind(Thin thin) { thin_ = std::move(thin); }

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
