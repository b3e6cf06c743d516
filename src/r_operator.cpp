// Conversion of R's descriptions to operators, and their products.
#include "r_operator.hpp"

#include "base/threads.hpp"
#include "border.hpp"
#include "device/copy.hpp"
#include "r_data.hpp"
#include "r_far.hpp"
#include "r_host.hpp"
#include "r_plan.hpp"
#include "r_preconditioner.hpp"
#include "r_resident.hpp"
#include "solve/columns.hpp"
#include "solve/operator.hpp"

namespace kernweave {
namespace {

using solve::Block;
using solve::OperatorPointer;
using solve::Parts;
using solve::Poll;

solve::ProductPlan product_plan(const Rcpp::List& from) {
  return {Rcpp::as<int>(from["width"]), Rcpp::as<int>(from["components"]), plan_behind(from["plan"]),
          operands_of({from["data"], from["operands"]}), Rcpp::as<int>(from["vector"])};
}

OperatorPointer engine_from_r(const Rcpp::List& from, const Poll& poll) {
  std::vector<solve::ProductPlan> plans;
  for (const Rcpp::List plan : Rcpp::List(from["plans"])) plans.push_back(product_plan(plan));
  const Rcpp::NumericVector dim = from["dim"];
  return solve::engine_operator(static_cast<solve::Index>(dim[0]), static_cast<solve::Index>(dim[1]), std::move(plans),
                                known_from_r(from["extent"], from["pairs"]), settings_from_r(from["settings"]), poll);
}

// A function of a matrix, and so many rows of what it must return.
OperatorPointer function_from_r(const Rcpp::List& from) {
  const Rcpp::NumericVector dim = from["dim"];
  const Rcpp::Function apply = from["apply"];
  const auto rows = static_cast<solve::Index>(dim[0]);
  const auto multiply = [apply, rows](const Block& x, Block* y) {
    const Rcpp::RObject result = apply(block_to_r(x));
    const bool numbers = (Rf_isReal(result) || Rf_isInteger(result)) && Rf_xlength(result) == rows * x.cols();
    user_check(numbers, Fault::shape, "the function of an operator returned ", Rf_xlength(result),
               " numbers for a matrix of ", x.cols(), " columns; there must be ", rows, " for each");
    const Rcpp::NumericVector values(result);
    *y = Eigen::Map<const Block>(values.begin(), rows, x.cols());
  };
  return solve::function_operator(rows, static_cast<solve::Index>(dim[1]), multiply);
}

OperatorPointer far_from_r(const Rcpp::List& from, const Poll& poll) {
  solve::FarParts parts{&approximation_behind(from["pointer"]), nullptr};
  const double of_near = Rcpp::as<double>(from["near_share"]);
  const auto near_poll = [poll, of_near](double share) { poll(of_near * share); };
  if (!Rf_isNull(from["near"])) parts.near = operator_from_r(from["near"], near_poll);
  parts.near_in_order = Rcpp::as<bool>(from["in_order"]);
  if (!Rf_isNull(from["diagonal"])) parts.diagonal = block_from_r(from["diagonal"]);
  const int device = Rcpp::as<int>(from["device"]);
  if (device >= 0) parts.device = &device::open(device);
  const auto far_poll = [poll, of_near](double share) { poll(of_near + (1 - of_near) * share); };
  parts.workers = {allowed_threads(Rcpp::as<int>(from["threads"])), far_poll};
  return solve::far_operator(std::move(parts));
}

Parts parts_from_r(const Rcpp::List& from, const Poll& poll) {
  Parts parts;
  for (R_xlen_t k = 0; k < from.size(); ++k)
    parts.push_back(Rf_isNull(from[k]) ? nullptr : operator_from_r(from[k], poll));
  return parts;
}

}  // namespace

OperatorPointer operator_from_r(const Rcpp::List& from, const Poll& poll) {
  const std::string kind = from["kind"];
  if (kind == "engine") return engine_from_r(from, poll);
  if (kind == "diagonal") return solve::diagonal_operator(vector_from_r(from["values"]));
  if (kind == "dense") return solve::dense_operator(block_from_r(from["matrix"]));
  if (kind == "lowrank") {
    const Rcpp::NumericMatrix factor = from["factor"];
    return solve::gram_operator({factor.begin(), factor.nrow(), factor.ncol()});
  }
  if (kind == "function") return function_from_r(from);
  if (kind == "far") return far_from_r(from, poll);
  const Rcpp::List given = from["parts"];
  if (kind == "block") {
    std::vector<Parts> rows;
    for (const Rcpp::List row : given) rows.push_back(parts_from_r(row, poll));
    return solve::block_operator(std::move(rows));
  }
  Parts parts = parts_from_r(given, poll);
  if (kind == "sum") return solve::sum_operator(std::move(parts), Rcpp::as<std::vector<double>>(from["coefficients"]));
  if (kind == "product") return solve::product_operator(std::move(parts));
  internal_check(kind == "kronecker" && parts.size() == 2, "no operator of kind ", kind);
  return solve::kronecker_operator(std::move(parts[0]), std::move(parts[1]));
}

int threads_of(const Rcpp::List& from) {
  const std::string kind = from["kind"];
  if (kind == "engine") return allowed_threads(settings_from_r(from["settings"]).threads);
  if (kind == "far") return allowed_threads(Rcpp::as<int>(from["threads"]));
  int most = 1;
  if (!from.containsElementNamed("parts")) return most;
  const auto look = [&](const Rcpp::List& parts) {
    for (const Rcpp::RObject part : parts)
      if (!part.isNULL()) most = std::max(most, threads_of(Rcpp::List(part)));
  };
  const Rcpp::List parts = from["parts"];
  if (kind != "block") look(parts);
  else for (const Rcpp::List row : parts) look(row);
  return most;
}

Block block_from_r(const Rcpp::NumericMatrix& matrix) {
  return Eigen::Map<const Block>(matrix.begin(), matrix.nrow(), matrix.ncol());
}

Rcpp::NumericMatrix block_to_r(const Block& block) {
  Rcpp::NumericMatrix matrix(static_cast<int>(block.rows()), static_cast<int>(block.cols()));
  std::copy(block.data(), block.data() + block.size(), matrix.begin());
  return matrix;
}

solve::Columns columns_from_r(SEXP matrix, device::Device* home) {
  const View view{nullptr, Rf_nrows(matrix), Rf_ncols(matrix), resident(matrix)};
  if (home && view.kept && has_copy(view, *home))
    return {home, device::address<double>(kept_copy(view, home)), view.rows, view.columns};
  const solve::Columns here(block_from_r(matrix));
  return home ? here.sent_to(home) : here;
}

Rcpp::RObject columns_to_r(solve::Columns columns) {
  if (!columns.device()) return block_to_r(columns.block());
  const Rcpp::IntegerVector dim = {static_cast<int>(columns.rows()), static_cast<int>(columns.cols())};
  Rcpp::RObject made = resident_vector(REALSXP, columns.size());
  const int number = columns.device()->number();  // asked first: what is given away has no device any more
  resident(made)->copies[number] = columns.given_away();
  made.attr("dim") = dim;
  return made;
}

solve::Vector vector_from_r(const Rcpp::NumericVector& vector) {
  return Eigen::Map<const solve::Vector>(vector.begin(), vector.size());
}

Rcpp::NumericVector vector_to_r(const solve::Vector& vector) {
  return Rcpp::NumericVector(vector.data(), vector.data() + vector.size());
}

}  // namespace kernweave

// Begins to compile what products will need, where they are a GPU's.
// [[Rcpp::export(rng = false)]]
void r_expect_products(Rcpp::List description) {
  kernweave::at_border([&] {
    const auto op = kernweave::operator_from_r(description, [](double) { kernweave::poll_interrupt(); });
    if (kernweave::device::Device* const home = op->home()) home->expect(kernweave::solve::column_kernels());
  });
}

namespace kernweave {
namespace {

// Products side by side, as many of each column as of any other, times numbers of the rows that each column has, added
// up over columns.
solve::Columns added_by_rows(const solve::Columns& products, const solve::Block& numbers, int threads) {
  user_check(numbers.allFinite(), Fault::value, "the numbers of rows that products are multiplied by must be finite");
  const solve::Index each = numbers.cols() ? products.cols() / numbers.cols() : 0;
  solve::Columns sums;
  sums.make(products.device(), products.rows(), each);
  clear(&sums);
  for (solve::Index c = 0; c < numbers.cols(); ++c)
    add_scaled_rows(solve::RowScales(numbers.col(c)), columns_from(products, c * each, each), 1, &sums, threads);
  return sums;
}

}  // namespace
}  // namespace kernweave

// The product of an operator with a matrix. With `stay` it is left on the device that the operator is at home on; with
// `by`, numbers of rows for each column, it is the sum over columns of products times these.
// [[Rcpp::export(rng = false)]]
Rcpp::RObject r_operator_product(Rcpp::List description, SEXP x, bool stay = false, SEXP by = R_NilValue) {
  const auto product = [&]() -> Rcpp::RObject {
    const kernweave::Given nothing;
    kernweave::RHost host(nothing, {});
    const auto op = kernweave::operator_from_r(description, [&](double share) { host.poll(share); });
    kernweave::device::Device* const home = stay ? op->home() : nullptr;
    const kernweave::solve::Columns columns = kernweave::columns_from_r(x, home);
    kernweave::internal_check(op->columns == columns.rows(), "an operator of ", op->columns, " columns times ",
                              columns.rows(), " rows");
    kernweave::solve::Columns y;
    op->multiply(columns, &y);
    if (Rf_isNull(by)) return kernweave::columns_to_r(std::move(y));
    return kernweave::columns_to_r(
        kernweave::added_by_rows(y, kernweave::block_from_r(by), kernweave::threads_of(description)));
  };
  return kernweave::at_border([&] { return kernweave::with_second_try(product); });
}
