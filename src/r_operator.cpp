// Operators and their products; preconditioners behind pointers, which are bound to data anew in each call.
#include "r_solve.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/threads.hpp"
#include "device/copy.hpp"
#include "pairs/point_tree.hpp"
#include "solve/columns.hpp"
#include "solve/vecchia.hpp"

namespace kernweave {
namespace {

using solve::OperatorPointer, solve::Parts;

// Reads a description, and notes the most threads of its lazy tensors.
struct OperatorReader {
  Poll poll;
  int threads = 1;

  OperatorPointer read(const List& from);
  OperatorPointer engine(const List& from);
  OperatorPointer far(const List& from);
  Parts parts(const List& from) {
    Parts found;
    for (const RObject part : from) found.push_back(part.isNULL() ? nullptr : read(List(part)));
    return found;
  }
  void note(int asked) { threads = std::max(threads, allowed_threads(asked)); }
};

OperatorPointer OperatorReader::engine(const List& from) {
  std::vector<solve::ProductPlan> plans;
  for (const List plan : List(from["plans"]))
    plans.push_back({as<int>(plan["width"]), as<int>(plan["components"]), plan_behind(plan["plan"]),
                     operands_of({plan["data"], plan["operands"]}), as<int>(plan["vector"])});
  const NumericVector dim = from["dim"];
  const Settings settings = settings_from_r(from["settings"]);
  note(settings.threads);
  return solve::engine_operator(static_cast<Index>(dim[0]), static_cast<Index>(dim[1]), std::move(plans),
                                known_from_r(from["extent"], from["pairs"]), settings, poll);
}

// Makes an operator of a function of a matrix; the function must return dim[0] rows.
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

OperatorPointer OperatorReader::far(const List& from) {
  solve::FarParts parts{&approximation_behind(from["pointer"])};
  const double of_near = as<double>(from["near_share"]);
  const Poll whole = poll;
  if (!Rf_isNull(from["near"])) {
    OperatorReader near{[whole, of_near](double share) { whole(of_near * share); }};
    parts.near = near.read(from["near"]);
  }
  parts.near_in_order = as<bool>(from["in_order"]);
  if (!Rf_isNull(from["diagonal"])) parts.diagonal = as<Block>(from["diagonal"]);
  const int device = as<int>(from["device"]), asked = as<int>(from["threads"]);
  note(asked);
  if (device >= 0) parts.device = &device::open(device);
  parts.workers = {allowed_threads(asked), [whole, of_near](double share) { whole(of_near + (1 - of_near) * share); }};
  return solve::far_operator(std::move(parts));
}

OperatorPointer OperatorReader::read(const List& from) {
  const std::string kind = from["kind"];
  if (kind == "engine") return engine(from);
  if (kind == "diagonal") return solve::diagonal_operator(as<Vector>(from["values"]));
  if (kind == "dense") return solve::dense_operator(as<Block>(from["matrix"]));
  if (kind == "lowrank") {
    const NumericMatrix factor = from["factor"];
    return solve::gram_operator({factor.begin(), factor.nrow(), factor.ncol()});
  }
  if (kind == "function") return function_from_r(from);
  if (kind == "far") return far(from);
  const List given = from["parts"];
  if (kind == "block") {
    std::vector<Parts> rows;
    for (const List row : given) rows.push_back(parts(row));
    return solve::block_operator(std::move(rows));
  }
  Parts read = parts(given);
  if (kind == "sum") return solve::sum_operator(std::move(read), as<std::vector<double>>(from["coefficients"]));
  if (kind == "product") return solve::product_operator(std::move(read));
  internal_check(kind == "kronecker" && read.size() == 2, "no operator of kind ", kind);
  return solve::kronecker_operator(std::move(read[0]), std::move(read[1]));
}

// Scales the rows of products, `each` for every column of `numbers`, by this column, and adds up over columns.
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

// Returns a matrix's numbers on a device, where they may lie already; if `home` is null, on the host.
Columns columns_from_r(SEXP matrix, device::Device* home) {
  const View view{nullptr, Rf_nrows(matrix), Rf_ncols(matrix), resident(matrix)};
  if (home && view.kept && has_copy(view, *home))
    return {home, device::address<double>(kept_copy(view, home)), view.rows, view.columns};
  const Columns here(as<Block>(matrix));
  return home ? here.sent_to(home) : here;
}

solve::EntriesPlan entries_plan(const List& from) {
  return {plan_behind(from["plan"]), operands_of({from["data"], from["operands"]}), as<int>(from["rows"]),
          as<int>(from["columns"])};
}

// Reads a sparse matrix by rows: the start of each row, from 0, and all columns and values.
solve::SparseRows sparse_rows_from_r(const List& from) {
  const IntegerVector starts = from["starts"], columns = from["columns"];
  const NumericVector values = from["values"];
  const auto rows = static_cast<Index>(starts.size()) - 1, count = static_cast<Index>(values.size());
  return Eigen::Map<const solve::SparseRows>(rows, as<int>(from["count"]), count, starts.begin(), columns.begin(),
                                             values.begin());
}

solve::Thin thin_from_r(const List& description) {
  if (landmarks_from_r(description).empty()) return {};
  return {operator_from_r(description["from"], poll_r).op, operator_from_r(description["to"], poll_r).op};
}

}  // namespace

ROperator operator_from_r(const List& description, const Poll& poll) {
  OperatorReader reader{poll};
  OperatorPointer op = reader.read(description);
  return {std::move(op), reader.threads};
}

RObject columns_to_r(Columns columns) {
  if (!columns.device()) return wrap(columns.block());
  const RObject made = resident_vector(REALSXP, columns.size());
  make_matrix(made, columns.rows(), columns.cols());
  const int number = columns.device()->number();  // asked first, since the device is unknown after given_away()
  resident(made)->range = columns.kept()->range;
  resident(made)->copies[number] = columns.given_away();
  return made;
}

// Begins to compile the kernels that products need, if a GPU computes them.
// [[Rcpp::export(rng = false)]]
void r_expect_products(ROperator matrix) {
  if (device::Device* const home = matrix.op->home()) home->expect(solve::column_kernels());
}

// Returns the product of an operator with a matrix. With `stay` it is left on the operator's device; with `by`, numbers
// of rows for each column, it is the sum over columns of products times these numbers.
// [[Rcpp::export(rng = false)]]
RObject r_operator_product(List description, SEXP x, bool stay = false, SEXP by = R_NilValue) {
  const auto product = [&]() -> RObject {
    const Given nothing;
    RHost host(nothing, {});
    const ROperator matrix = operator_from_r(description, [&](double share) { host.poll(share); });
    const Columns columns = columns_from_r(x, stay ? matrix.op->home() : nullptr);
    internal_check(matrix.op->columns == columns.rows(), "an operator of ", matrix.op->columns, " columns times ",
                   columns.rows(), " rows");
    Columns y;
    matrix.op->multiply(columns, &y);
    if (!Rf_isNull(by)) y = added_by_rows(y, as<Block>(by), matrix.threads);
    return columns_to_r(std::move(y));
  };
  return with_second_try(product);
}

// --- preconditioners ------------------------------------------------------------------------------------------------

RowIndices landmarks_from_r(const List& description) { return as<RowIndices>(description["landmarks"]); }

solve::ConditioningSets neighbours_from_r(const List& description) {
  const IntegerMatrix at = description["neighbours"];
  solve::ConditioningSets neighbours{as<RowIndices>(description["order"]), {}, {}};
  for (const double place : as<RowIndices>(description["sequence"]))
    neighbours.sequence.push_back(static_cast<int>(place) - 1);
  const auto place = [](int number) { return number == NA_INTEGER ? -1 : number - 1; };
  neighbours.at = Eigen::Map<const solve::Slots>(at.begin(), at.nrow(), at.ncol()).unaryExpr(place);
  return neighbours;
}

List description_behind(SEXP pointer) { return List(held_by(pointer)); }

RPreconditioner::RPreconditioner(SEXP pointer) {
  if (Rf_isNull(pointer)) return;
  internal_check(TYPEOF(pointer) == EXTPTRSXP && R_ExternalPtrAddr(pointer), "a preconditioner of another session");
  description = description_behind(pointer);
  object = static_cast<solve::Preconditioner*>(R_ExternalPtrAddr(pointer));
  object->bind(thin_from_r(description));
}

// Puts a preconditioner behind a pointer, a new pointer or one that was saved and loaded: low rank and a diagonal if
// there is a `shift`, else landmarks and neighbours, with grouped effects if there are any. Its description goes with
// the pointer, but into no file.
// [[Rcpp::export(rng = false)]]
SEXP r_preconditioner(List description, SEXP empty = R_NilValue) {
  auto entries = as<solve::Entries>(description["entries"]);
  const auto ridge = as<Vector>(description["ridge"]);
  const RowIndices landmarks = landmarks_from_r(description);
  const int threads = allowed_threads(as<int>(description["threads"]));
  solve::PreconditionerPointer made;
  if (!Rf_isNull(description["shift"])) {
    const auto shift = as<Vector>(description["shift"]);
    made = solve::low_rank_preconditioner(&entries, landmarks, shift, ridge.minCoeff(), threads);
  } else {
    solve::Thin thin = thin_from_r(description);
    made = solve::landmark_vecchia_preconditioner(&entries, landmarks, neighbours_from_r(description), ridge,
                                                  thin.to ? thin.to->home() : nullptr, threads, poll_r);
    if (!Rf_isNull(description["effects"])) {
      made->bind(std::move(thin));
      made = solve::grouped_preconditioner(std::move(made), sparse_rows_from_r(description["effects"]), threads);
    }
  }
  const Shield<SEXP> pointer(Rf_isNull(empty) ? R_MakeExternalPtr(nullptr, R_NilValue, R_NilValue) : empty);
  hold(pointer, description, pointer);
  R_SetExternalPtrAddr(pointer, made.release());
  R_RegisterCFinalizer(pointer, forget<solve::Preconditioner>);
  return pointer;
}

// Returns unused pages of the heap to the system, if the C library can.
// [[Rcpp::export(rng = false)]]
void r_trim_heap() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// Frees a preconditioner that is unlikely to be used again; if it is, it is made anew, like one that was saved.
// [[Rcpp::export(rng = false)]]
void r_empty_preconditioner(SEXP pointer) { forget<solve::Preconditioner>(pointer); }

// Finds the first m points in each column that come before it; column k is point first + k of the order; missing points
// come last. `place`: the points' numbers if some points are left out, 0 for these.
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
// attribute `along` lists the rows in the order of boxes.
// [[Rcpp::export(rng = false)]]
IntegerMatrix r_nearest_before(NumericMatrix points, int m, int threads) {
  IntegerVector along(points.nrow());
  const std::vector<int> found = nearest_before(axes_of(points), m, allowed_threads(threads), poll_r, along.begin());
  IntegerMatrix numbers(m, points.nrow());
  std::transform(found.begin(), found.end(), numbers.begin(), [](int at) { return at < 0 ? NA_INTEGER : at + 1; });
  for (int& at : along) ++at;
  numbers.attr("along") = along;
  return numbers;
}

// Returns means in row 1, variances in row 2, given data: column k of `near` has their numbers, from 1, for place k.
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
  if (Rf_isNull(description)) return {};
  return kernweave::operator_from_r(List(description), kernweave::poll_r);
}

template <>
kernweave::solve::Entries as(SEXP description) {
  const List from(description);
  return {kernweave::entries_plan(from["block"]), kernweave::entries_plan(from["pairs"]),
          kernweave::settings_from_r(from["settings"]), kernweave::poll_r};
}

}  // namespace Rcpp
