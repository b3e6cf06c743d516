// Stochastic Lanczos quadrature: the logarithm of a determinant from the coefficients of conjugate gradients.
#pragma once
#include "solve/conjugate_gradients.hpp"
#include "solve/tridiagonal.hpp"

namespace kernweave::solve {

// B = G'AG, whose determinant is that of A over that of P.
OperatorPointer split_operator(Operator* matrix, Preconditioner* preconditioner);

// The Lanczos process that ran along.
Tridiagonal tridiagonal(const Coefficients& numbers);

// w' log(B) w / w'w for a start w, and how far the truncation of the process may have led it astray.
struct LogForm {
  double value = 0, bracket = 0;
  double first = 0;  // w'Bw / w'w
};

// `smallest`: a number that no eigenvalue of B is below, or 0 where none is known.
LogForm log_form(const Coefficients& numbers, double smallest);

// Returns the form of each column that was iterated.
std::vector<LogForm> log_forms(const Solution& solution, double smallest);

// Tells whether truncation is small beside how far the columns differ from each other: more steps gain nothing.
// `first_known`: the first-order term has no noise, since its trace is known.
bool settled(const std::vector<LogForm>& forms, bool first_known);

// Columns of random signs.
Block random_signs(Index rows, Index columns, std::uint64_t seed, Index first = 0);

}  // namespace kernweave::solve
