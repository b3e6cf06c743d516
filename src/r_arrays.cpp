// R's way to the verbs for arrays: what is checked there, plans.
#include "r_arrays.hpp"
#include "border.hpp"
#include <cmath>
#include "arrays/offsets.hpp"
#include "arrays/reduce.hpp"
#include "arrays/scan.hpp"

namespace kernweave {

arrays::Workers workers_from_r(int threads) {
  return {allowed_threads(threads), [](double) { poll_interrupt(); }};
}

}  // namespace kernweave

// The place of the first number that is not whole, or out of range; 0 for none.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_first_not_whole(SEXP x, double least, double most) {
  return kernweave::at_border([&] {
    const R_xlen_t n = Rf_xlength(x);
    R_xlen_t at = n;
    bool whole = true;
    if (TYPEOF(x) == INTSXP) {
      const int* const values = INTEGER_RO(x);
      at = std::find_if(values, values + n, [&](int v) { return v == NA_INTEGER || v < least || v > most; }) - values;
      whole = at == n || values[at] != NA_INTEGER;
    } else {
      const double* const values = REAL_RO(x);
      constexpr double kLargest = 0x1p53;
      const auto wrong = [&](double v) { return !(v >= least && v <= most && v <= kLargest && v == std::trunc(v)); };
      at = std::find_if(values, values + n, wrong) - values;
      whole = at == n || values[at] == std::trunc(values[at]);
    }
    return Rcpp::List::create(Rcpp::_["at"] = at == n ? 0.0 : static_cast<double>(at) + 1, Rcpp::_["whole"] = whole);
  });
}

// How many items come before each object, of objects with so many items, and how many there are in all. Integers while
// they can be.
// [[Rcpp::export(rng = false)]]
SEXP r_offsets(SEXP counts, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const kernweave::arrays::Whole whole = kernweave::whole_from_r(counts);
    const kernweave::arrays::Workers workers = kernweave::workers_from_r(threads);
    kernweave::Index total = 0;
    with_array(whole, [&](auto values) { total = kernweave::arrays::total_of(values, whole.count, workers); });
    const bool small = total <= kernweave::kMostInt;
    const Rcpp::Shield<SEXP> out(Rf_allocVector(small ? INTSXP : REALSXP, static_cast<R_xlen_t>(whole.count) + 1));
    with_array(whole, [&](auto values) {
      if (small) kernweave::arrays::write_offsets(values, whole.count, INTEGER(out), workers);
      else kernweave::arrays::write_offsets(values, whole.count, REAL(out), workers);
    });
    return out;
  });
}

namespace kernweave {
namespace {

// The columns of a matrix, or a vector as one.
std::vector<arrays::Items> columns_of(SEXP x, SEXP order, Index rows, Index columns) {
  arrays::Items items;
  items.order = whole_from_r(order);
  items.missing = NA_INTEGER;
  items.not_available = NA_REAL;
  std::vector<arrays::Items> all;
  for (Index c = 0; c < columns; ++c) {
    if (TYPEOF(x) == REALSXP) items.doubles = REAL_RO(x) + c * rows;
    else items.integers = (TYPEOF(x) == LGLSXP ? LOGICAL_RO(x) : INTEGER_RO(x)) + c * rows;
    all.push_back(items);
  }
  return all;
}

arrays::Request request_from_r(const std::string& op, bool skip, SEXP init) {
  arrays::Request request{arrays::operator_named(op), skip, !Rf_isNull(init), 0.0};
  if (request.begins) request.init = Rcpp::as<double>(init);
  return request;
}

}  // namespace
}  // namespace kernweave

// Numbers of each segment, then of each result of the operator, then of each column. `codes`: the numbers of the items'
// segments, for items that lie in any order; NULL where these come one after the other, or by their `order`.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector r_reduce(SEXP x, int columns, std::string op, SEXP offsets, SEXP codes, SEXP order, bool skip,
                             SEXP init, int threads) {
  return kernweave::at_border([&] {
    const kernweave::arrays::Request request = kernweave::request_from_r(op, skip, init);
    const kernweave::arrays::Whole whole = kernweave::whole_from_r(offsets);
    const kernweave::arrays::Workers workers = kernweave::workers_from_r(threads);
    const auto items = kernweave::columns_of(x, order, whole[whole.count - 1], columns);
    const kernweave::Index per_column = (whole.count - 1) * kernweave::arrays::results_of(request.op);
    Rcpp::NumericVector out(Rcpp::no_init(static_cast<R_xlen_t>(per_column * columns)));
    if (Rf_isNull(codes)) kernweave::arrays::reduce(request, items, whole, workers, out.begin());
    else kernweave::arrays::reduce_groups(request, items, INTEGER_RO(codes), whole, workers, out.begin());
    return out;
  });
}

// Whole numbers as integers, with NA for NaN; `overflow` where one is none: NA too.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_as_integers(Rcpp::NumericVector x) {
  Rcpp::IntegerVector out(Rcpp::no_init(x.size()));
  bool overflow = false;
  for (R_xlen_t k = 0; k < x.size(); ++k) {
    const bool fits = std::abs(x[k]) <= kernweave::kMostInt;
    out[k] = fits ? static_cast<int>(x[k]) : NA_INTEGER;
    overflow = overflow || (!fits && x[k] == x[k]);
  }
  return Rcpp::List::create(Rcpp::_["values"] = out, Rcpp::_["overflow"] = overflow);
}

// Places from 1, integers where they can be; NA for NaN.
// [[Rcpp::export(rng = false)]]
SEXP r_as_places(Rcpp::NumericVector x) {
  const bool large = std::any_of(x.begin(), x.end(), [](double place) { return place > kernweave::kMostInt; });
  if (!large) return r_as_integers(x)["values"];
  Rcpp::NumericVector out = Rcpp::clone(x);
  std::replace_if(
      out.begin(), out.end(), [](double place) { return place != place; }, NA_REAL);
  return out;
}

// Running results of each column, of type integer, logical or double; `overflow` where an integer was too large.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_scan(SEXP x, int columns, std::string op, SEXP offsets, SEXP order, bool exclusive, SEXP init,
                  std::string type, int threads) {
  return kernweave::at_border([&] {
    const kernweave::arrays::Request request = kernweave::request_from_r(op, false, init);
    const kernweave::arrays::Whole whole = kernweave::whole_from_r(offsets);
    const kernweave::Index rows = whole[whole.count - 1];
    const kernweave::arrays::Workers workers = kernweave::workers_from_r(threads);
    const SEXPTYPE kind = type == "double" ? REALSXP : type == "logical" ? LGLSXP : INTSXP;
    const Rcpp::Shield<SEXP> out(Rf_allocVector(kind, static_cast<R_xlen_t>(rows * columns)));
    kernweave::arrays::Running to;
    to.missing = NA_INTEGER;
    bool overflow = false;
    kernweave::Index column = 0;
    for (const kernweave::arrays::Items& items : kernweave::columns_of(x, order, rows, columns)) {
      if (kind == REALSXP) to.doubles = REAL(out) + column * rows;
      else to.integers = (kind == LGLSXP ? LOGICAL(out) : INTEGER(out)) + column * rows;
      overflow |= kernweave::arrays::scan(request, exclusive, items, whole, workers, to);
      ++column;
    }
    return Rcpp::List::create(Rcpp::_["values"] = Rcpp::RObject(out), Rcpp::_["overflow"] = overflow);
  });
}
