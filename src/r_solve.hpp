// Arguments and results of the doors to solvers: operators, blocks of columns, entries, preconditioners.
#pragma once
#include "r_call.hpp"
#include "solve/conjugate_gradients.hpp"
#include "solve/operator.hpp"
#include "solve/preconditioner.hpp"

namespace kernweave {

using solve::Block, solve::Columns, solve::RowIndices, solve::Vector;

// An operator as an argument of a door, null for R's NULL, with the most threads of its lazy tensors.
struct ROperator {
  solve::OperatorPointer op{};
  int threads = 1;

  solve::Operator* get() const { return op.get(); }
  solve::Limits limits(double tol, int most) const { return {tol, most, threads}; }
};

// Makes the operator of a description: nested lists of (kind, ...), plain data except the plans of lazy tensors. The
// data of the description must outlive the operator.
ROperator operator_from_r(const List& description, const Poll& poll);

// Makes a matrix of R whose numbers stay in place, also on a device.
RObject columns_to_r(Columns columns);

RowIndices landmarks_from_r(const List& description);
solve::ConditioningSets neighbours_from_r(const List& description);

List description_behind(SEXP preconditioner);

// A preconditioner ready for a call: its products read the present data. Null for R's NULL.
struct RPreconditioner {
  RPreconditioner(SEXP pointer);

  solve::Preconditioner* object = nullptr;
  List description{};

  solve::Preconditioner* get() const { return object; }
  solve::Preconditioner* operator->() const { return object; }
  explicit operator bool() const { return object != nullptr; }
};

}  // namespace kernweave

namespace Rcpp {

template <>
kernweave::ROperator as(SEXP description);
template <>
kernweave::solve::Entries as(SEXP description);

template <>
inline kernweave::Block as(SEXP matrix) {
  const NumericMatrix numbers(matrix);
  return Eigen::Map<const kernweave::Block>(numbers.begin(), numbers.nrow(), numbers.ncol());
}
template <>
inline SEXP wrap(const kernweave::Block& block) {
  return NumericMatrix(static_cast<int>(block.rows()), static_cast<int>(block.cols()), block.data());
}
template <>
inline kernweave::Vector as(SEXP numbers) {
  const NumericVector vector(numbers);
  return Eigen::Map<const kernweave::Vector>(vector.begin(), vector.size());
}
template <>
inline SEXP wrap(const kernweave::Vector& vector) {
  return NumericVector(vector.data(), vector.data() + vector.size());
}

}  // namespace Rcpp
