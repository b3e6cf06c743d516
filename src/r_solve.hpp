// Arguments and results of doors to solvers: operators, blocks of columns, entries, preconditioners.
#pragma once
#include "r_call.hpp"
#include "solve/conjugate_gradients.hpp"
#include "solve/operator.hpp"
#include "solve/preconditioner.hpp"

namespace kernweave {

using solve::Block;
using solve::Columns;
using solve::RowIndices;
using solve::Vector;

// Makes the operator of a description: nested lists of (kind, ...), plain data but for the plans of lazy tensors. The
// data of the description must outlive the operator.
solve::OperatorPointer operator_from_r(const List& description, const solve::Poll& poll);

// An operator as an argument of a door; the most threads of its lazy tensors.
struct ROperator {
  solve::OperatorPointer op;
  int threads;

  solve::Operator* get() const { return op.get(); }
  solve::Limits limits(double tol, int most) const { return {tol, most, threads}; }
};

// The numbers of a matrix on a device, where they may lie already; null: on the host.
Columns columns_from_r(SEXP matrix, device::Device* home);
// A matrix whose numbers stay where they are, be it on a device.
RObject columns_to_r(Columns columns);

RowIndices landmarks_from_r(const List& description);
solve::ConditioningSets neighbours_from_r(const List& description);

List description_behind(SEXP preconditioner);
// Ready for a call: its products read the data as they lie now. Null for R's NULL.
solve::Preconditioner* preconditioner_behind(SEXP pointer);

}  // namespace kernweave

namespace Rcpp {

template <>
kernweave::ROperator as(SEXP description);
template <>
kernweave::solve::Entries as(SEXP description);
template <>
kernweave::Block as(SEXP matrix);
template <>
SEXP wrap(const kernweave::Block& block);
template <>
kernweave::Vector as(SEXP numbers);
template <>
SEXP wrap(const kernweave::Vector& vector);

}  // namespace Rcpp
