// Operators and their products; preconditioners behind pointers, which are bound to data anew in each call.
#include "r_solve.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/threads.hpp"
#include "device/copy.hpp"
#include "pairs/box_tree.hpp"
#include "solve/columns.hpp"
#include "solve/vecchia.hpp"

namespace kernweave {
namespace {

using solve::OperatorPointer;
using solve::Parts;
using solve::Poll;

OperatorPointer engine_from_r(const List& from, const Poll& poll) {
  std::vector<solve::ProductPlan> plans;
  for (const List plan : List(from["plans"]))
    plans.push_back({as<int>(plan["width"]), as<int>(plan["components"]), plan_behind(plan["plan"]),
                     operands_of({plan["data"], plan["operands"]}), as<int>(plan["vector"])});
  const NumericVector dim = from["dim"];
  return solve::engine_operator(static_cast<Index>(dim[0]), static_cast<Index>(dim[1]), std::move(plans),
                                known_from_r(from["extent"], from["pairs"]), settings_from_r(from["settings"]), poll);
}

// A function of a matrix, and so many rows of what it must return.
OperatorPointer function_from_r(const List& from) {
  const NumericVector dim = from["dim"];
  const Function apply = from["apply"];
  const auto rows = static_cast<solve::Index>(dim[0]);
  const auto multiply = [apply, rows](const Block& x, Block* y) {
    const RObject result = apply(x);
    const bool numbers = (Rf_isReal(result) || Rf_isInteger(result)) && Rf_xlength(result) == rows * x.cols();
    user_check(numbers, Fault::shape, "the function of an operator returned ", Rf_xlength(result),
               " numbers for a matrix of ", x.cols(), " columns; there must be ", rows, " for each");
    *y = Eigen::Map<const Block>(as<Vector>(result).data(), rows, x.cols());
  };
  return solve::function_operator(rows, static_cast<solve::Index>(dim[1]), multiply);
}

OperatorPointer far_from_r(const List& from, const Poll& poll) {
  solve::FarParts parts{&approximation_behind(from["pointer"]), nullptr};
  const double of_near = as<double>(from["near_share"]);
  const auto near_poll = [poll, of_near](double share) { poll(of_near * share); };
  if (!Rf_isNull(from["near"])) parts.near = operator_from_r(from["near"], near_poll);
  parts.near_in_order = as<bool>(from["in_order"]);
  if (!Rf_isNull(from["diagonal"])) parts.diagonal = as<Block>(from["diagonal"]);
  const int device = as<int>(from["device"]);
  if (device >= 0) parts.device = &device::open(device);
  const auto far_poll = [poll, of_near](double share) { poll(of_near + (1 - of_near) * share); };
  parts.workers = {allowed_threads(as<int>(from["threads"])), far_poll};
  return solve::far_operator(std::move(parts));
}

Parts parts_from_r(const List& from, const Poll& poll) {
  Parts parts;
  for (R_xlen_t k = 0; k < from.size(); ++k)
    parts.push_back(Rf_isNull(from[k]) ? nullptr : operator_from_r(from[k], poll));
  return parts;
}

// The most threads of a description's lazy tensors.
int threads_of(const List& from) {
  const std::string kind = from["kind"];
  if (kind == "engine") return allowed_threads(settings_from_r(from["settings"]).threads);
  if (kind == "far") return allowed_threads(as<int>(from["threads"]));
  int most = 1;
  if (!from.containsElementNamed("parts")) return most;
  const auto look = [&](const List& parts) {
    for (const RObject part : parts)
      if (!part.isNULL()) most = std::max(most, threads_of(List(part)));
  };
  const List parts = from["parts"];
  if (kind != "block") look(parts);
  else
    for (const List row : parts) look(row);
  return most;
}

}  // namespace

OperatorPointer operator_from_r(const List& from, const Poll& poll) {
  const std::string kind = from["kind"];
  if (kind == "engine") return engine_from_r(from, poll);
  if (kind == "diagonal") return solve::diagonal_operator(as<Vector>(from["values"]));
  if (kind == "dense") return solve::dense_operator(as<Block>(from["matrix"]));
  if (kind == "lowrank") {
    const NumericMatrix factor = from["factor"];
    return solve::gram_operator({factor.begin(), factor.nrow(), factor.ncol()});
  }
  if (kind == "function") return function_from_r(from);
  if (kind == "far") return far_from_r(from, poll);
  const List given = from["parts"];
  if (kind == "block") {
    std::vector<Parts> rows;
    for (const List row : given) rows.push_back(parts_from_r(row, poll));
    return solve::block_operator(std::move(rows));
  }
  Parts parts = parts_from_r(given, poll);
  if (kind == "sum") return solve::sum_operator(std::move(parts), as<std::vector<double>>(from["coefficients"]));
  if (kind == "product") return solve::product_operator(std::move(parts));
  internal_check(kind == "kronecker" && parts.size() == 2, "no operator of kind ", kind);
  return solve::kronecker_operator(std::move(parts[0]), std::move(parts[1]));
}

Columns columns_from_r(SEXP matrix, device::Device* home) {
  const View view{nullptr, Rf_nrows(matrix), Rf_ncols(matrix), resident(matrix)};
  if (home && view.kept && has_copy(view, *home))
    return {home, device::address<double>(kept_copy(view, home)), view.rows, view.columns};
  const Columns here(as<Block>(matrix));
  return home ? here.sent_to(home) : here;
}

RObject columns_to_r(Columns columns) {
  if (!columns.device()) return wrap(columns.block());
  const RObject made = resident_vector(REALSXP, columns.size());
  make_matrix(made, columns.rows(), columns.cols());
  const int number = columns.device()->number();  // asked first: what is given away has no device any more
  resident(made)->copies[number] = columns.given_away();
  return made;
}

// Begins to compile what products will need, where they are a GPU's.
// [[Rcpp::export(rng = false)]]
void r_expect_products(List description) {
  const auto op = operator_from_r(description, [](double) { poll_interrupt(); });
  if (device::Device* const home = op->home()) home->expect(solve::column_kernels());
}

namespace {

// Products side by side, as many of each column as of any other, times numbers of the rows that each column has, added
// up over columns.
Columns added_by_rows(const Columns& products, const Block& numbers, int threads) {
  user_check(numbers.allFinite(), Fault::value, "the numbers of rows that products are multiplied by must be finite");
  const solve::Index each = numbers.cols() ? products.cols() / numbers.cols() : 0;
  Columns sums;
  sums.make(products.device(), products.rows(), each);
  clear(&sums);
  for (solve::Index c = 0; c < numbers.cols(); ++c)
    add_scaled_rows(solve::RowScales(numbers.col(c)), columns_from(products, c * each, each), 1, &sums, threads);
  return sums;
}

}  // namespace

// The product of an operator with a matrix. With `stay` it is left on the device that the operator is at home on; with
// `by`, numbers of rows for each column, it is the sum over columns of products times these.
// [[Rcpp::export(rng = false)]]
RObject r_operator_product(List description, SEXP x, bool stay = false, SEXP by = R_NilValue) {
  const auto product = [&]() -> RObject {
    const Given nothing;
    RHost host(nothing, {});
    const auto op = operator_from_r(description, [&](double share) { host.poll(share); });
    device::Device* const home = stay ? op->home() : nullptr;
    const Columns columns = columns_from_r(x, home);
    internal_check(op->columns == columns.rows(), "an operator of ", op->columns, " columns times ", columns.rows(),
                   " rows");
    Columns y;
    op->multiply(columns, &y);
    if (Rf_isNull(by)) return columns_to_r(std::move(y));
    return columns_to_r(added_by_rows(y, as<Block>(by), threads_of(description)));
  };
  return with_second_try(product);
}

// --- preconditioners ------------------------------------------------------------------------------------------------

namespace {

solve::EntriesPlan entries_plan(const List& from) {
  return {plan_behind(from["plan"]), operands_of({from["data"], from["operands"]}), as<int>(from["rows"]),
          as<int>(from["columns"])};
}

solve::Thin thin_from_r(const List& description) {
  if (landmarks_from_r(description).empty()) return {};
  return {operator_from_r(description["from"], poll_r), operator_from_r(description["to"], poll_r)};
}

}  // namespace

RowIndices landmarks_from_r(const List& description) { return as<RowIndices>(description["landmarks"]); }

solve::ConditioningSets neighbours_from_r(const List& description) {
  const IntegerMatrix at = description["neighbours"];
  solve::ConditioningSets neighbours{as<RowIndices>(description["order"]), {}, {}};
  for (const double place : as<RowIndices>(description["sequence"]))
    neighbours.sequence.push_back(static_cast<int>(place) - 1);
  neighbours.at.resize(at.nrow(), at.ncol());
  for (R_xlen_t k = 0; k < at.size(); ++k) neighbours.at.data()[k] = at[k] == NA_INTEGER ? -1 : at[k] - 1;
  return neighbours;
}

solve::Preconditioner* preconditioner_behind(SEXP pointer) {
  if (Rf_isNull(pointer)) return nullptr;
  internal_check(TYPEOF(pointer) == EXTPTRSXP && R_ExternalPtrAddr(pointer), "a preconditioner of another session");
  auto* const found = static_cast<solve::Preconditioner*>(R_ExternalPtrAddr(pointer));
  found->bind(thin_from_r(description_behind(pointer)));
  return found;
}

List description_behind(SEXP pointer) {
  return List(R_ExternalPtrProtected(R_WeakRefValue(R_ExternalPtrProtected(pointer))));
}

// Puts a preconditioner behind a pointer: low rank and a diagonal where there is a `shift`, else landmarks and
// neighbours. Its description goes with the pointer, but into no file: pointer -> weak reference, which is not saved ->
// pointer, since R_MakeWeakRef duplicates a shared value -> description.
// [[Rcpp::export(rng = false)]]
SEXP r_preconditioner(List description) {
  auto entries = as<solve::Entries>(description["entries"]);
  const auto ridge = as<Vector>(description["ridge"]);
  const RowIndices landmarks = landmarks_from_r(description);
  const int threads = allowed_threads(as<int>(description["threads"]));
  solve::PreconditionerPointer made;
  if (!Rf_isNull(description["shift"])) {
    const auto shift = as<Vector>(description["shift"]);
    made = solve::low_rank_preconditioner(&entries, landmarks, shift, ridge.minCoeff(), threads);
  } else {
    const solve::Thin thin = thin_from_r(description);
    made = solve::landmark_vecchia_preconditioner(&entries, landmarks, neighbours_from_r(description), ridge,
                                                  thin.to ? thin.to->home() : nullptr, threads, poll_r);
  }
  const XPtr<solve::Preconditioner> pointer(made.release(), true);
  const Shield<SEXP> holder(R_MakeExternalPtr(nullptr, R_NilValue, description));
  R_SetExternalPtrProtected(pointer, R_MakeWeakRef(pointer, holder, R_NilValue, FALSE));
  return pointer;
}

// A pointer that was saved and loaded has what another one had that was made in its place.
// [[Rcpp::export(rng = false)]]
void r_take_place(SEXP empty, SEXP made) {
  const XPtr<solve::Preconditioner> filled(made);
  const Shield<SEXP> holder(R_WeakRefValue(R_ExternalPtrProtected(made)));
  R_SetExternalPtrAddr(empty, filled.get());
  R_ClearExternalPtr(made);
  R_SetExternalPtrProtected(empty, R_MakeWeakRef(empty, holder, R_NilValue, FALSE));
  XPtr<solve::Preconditioner>(empty).setDeleteFinalizer();
}

// Gives pages of the heap back that hold nothing, where the C library can.
// [[Rcpp::export(rng = false)]]
void r_trim_heap() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// Gives the memory back of one that hardly will be asked again: then it is made anew, as one that was saved.
// [[Rcpp::export(rng = false)]]
void r_empty_preconditioner(SEXP pointer) { forget<solve::Preconditioner>(pointer); }

// The first m of the points in each column that come before it, column k being point first + k of the order; missing
// ones last. `place`: the points' numbers where some are left out, which have 0.
// [[Rcpp::export(rng = false)]]
IntegerMatrix r_first_neighbours(IntegerMatrix at, Rcpp::Nullable<IntegerVector> place, double first, int m) {
  const IntegerVector places = place.isNull() ? IntegerVector() : IntegerVector(place.get());
  IntegerMatrix found(m, at.ncol());
  std::fill(found.begin(), found.end(), NA_INTEGER);
  for (int column = 0; column < at.ncol(); ++column) {
    int* to = &found(0, column);
    int* const end = to + m;
    for (const int* from = &at(0, column); from != &at(0, column) + at.nrow() && to != end; ++from) {
      if (*from == NA_INTEGER || *from >= first + column) continue;
      const int number = place.isNull() ? *from : places[*from - 1];
      if (number) *to++ = number;
    }
  }
  return found;
}

// Finds for each row of `points` the m nearest rows before it: a column of their numbers, missing numbers last. The
// attribute `along` has the rows as they lie in boxes.
// [[Rcpp::export(rng = false)]]
IntegerMatrix r_nearest_before(NumericMatrix points, int m, int threads) {
  Coordinates<double> axes;
  for (int axis = 0; axis < points.ncol(); ++axis)
    axes.emplace_back(points.column(axis).begin(), points.column(axis).end());
  IntegerVector along(points.nrow());
  const std::vector<int> found = nearest_before(axes, m, allowed_threads(threads), poll_r, along.begin());
  IntegerMatrix numbers(m, points.nrow());
  std::transform(found.begin(), found.end(), numbers.begin(), [](int at) { return at < 0 ? NA_INTEGER : at + 1; });
  for (int& at : along) ++at;
  numbers.attr("along") = along;
  return numbers;
}

// Row 1 of the means, row 2 of the variances, after data whose numbers (from 1) `near` has in a column for each place.
// [[Rcpp::export(rng = false)]]
Block r_conditional_local(solve::Entries entries, List data, List places) {
  const solve::SeenData seen{as<RowIndices>(data["at"]), as<Vector>(data["ridge"]), as<Block>(data["numbers"]),
                             as<int>(data["responses"])};
  const IntegerMatrix near = places["near"];
  const solve::Slots slots = Eigen::Map<const solve::Slots>(near.begin(), near.nrow(), near.ncol()).array() - 1;
  return solve::conditional_local(&entries, seen,
                                  {as<RowIndices>(places["at"]), slots, as<Block>(places["regressors"])}, poll_r);
}

}  // namespace kernweave

namespace Rcpp {

template <>
kernweave::ROperator as(SEXP description) {
  return {kernweave::operator_from_r(description, kernweave::poll_r), kernweave::threads_of(description)};
}

template <>
kernweave::solve::Entries as(SEXP description) {
  const List from(description);
  return {kernweave::entries_plan(from["block"]), kernweave::entries_plan(from["pairs"]),
          kernweave::settings_from_r(from["settings"]), kernweave::poll_r};
}

template <>
kernweave::Block as(SEXP matrix) {
  const NumericMatrix numbers(matrix);
  return Eigen::Map<const kernweave::Block>(numbers.begin(), numbers.nrow(), numbers.ncol());
}

template <>
SEXP wrap(const kernweave::Block& block) {
  NumericMatrix matrix(static_cast<int>(block.rows()), static_cast<int>(block.cols()));
  std::copy(block.data(), block.data() + block.size(), matrix.begin());
  return matrix;
}

template <>
kernweave::Vector as(SEXP numbers) {
  const NumericVector vector(numbers);
  return Eigen::Map<const kernweave::Vector>(vector.begin(), vector.size());
}

template <>
SEXP wrap(const kernweave::Vector& vector) {
  return NumericVector(vector.data(), vector.data() + vector.size());
}

}  // namespace Rcpp
