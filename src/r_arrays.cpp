// R's way to the verbs for arrays: what is checked there, offsets, reductions, scans.
#include "r_arrays.hpp"
#include "border.hpp"
#include <cmath>
#include "arrays/pieces.hpp"
#include "arrays/reduce.hpp"
#include "r_device_arrays.hpp"
#include "r_segments.hpp"

namespace kernweave {

arrays::Workers workers_from_r(int threads) {
  return {allowed_threads(threads), [](double) { poll_interrupt(); }};
}

namespace {

// The place of the first number that is not whole, or out of range; 0 for none.
Index first_not_whole(SEXP x, double least, double most) {
  const R_xlen_t n = Rf_xlength(x);
  R_xlen_t at = n;
  if (TYPEOF(x) == INTSXP) {
    const int* const values = INTEGER_RO(x);
    at = std::find_if(values, values + n, [&](int v) { return v == NA_INTEGER || v < least || v > most; }) - values;
  } else {
    const double* const values = REAL_RO(x);
    constexpr double kLargest = 0x1p53;
    const auto wrong = [&](double v) { return !(v >= least && v <= most && v <= kLargest && v == std::trunc(v)); };
    at = std::find_if(values, values + n, wrong) - values;
  }
  return at == n ? 0 : at + 1;
}

Rcpp::List offsets_on_gpu(SEXP counts) {
  return on_device_of(counts, [&](OnDevice& here) {
    const arrays::Whole whole = here.whole(counts);
    const device::Block long_ones = here.room_for<Index>(whole.count + 1);
    auto* const longs = here.at<Index>(long_ones);
    const Index total = here.verbs().offsets_of(here.gpu(), whole, longs);
    user_check(total <= kMostInt, Fault::unsupported, "`counts` add up to ", total,
               ", which is more than the verbs on a GPU count");
    device::Block out = here.room_for<int>(whole.count + 1);
    here.verbs().narrow(here.gpu(), longs, whole.count + 1, here.at<int>(out));
    const Rcpp::RObject offsets = here.integers(std::move(out), whole.count + 1);
    return Rcpp::List::create(Rcpp::_["offsets"] = offsets, Rcpp::_["total"] = static_cast<double>(total));
  });
}

}  // namespace

double number_at(SEXP x, Index k) {
  double number = 0;
  Rcpp::unwindProtect([&] {
    if (TYPEOF(x) == REALSXP) number = REAL_ELT(x, k);
    else number = INTEGER_ELT(x, k) == NA_INTEGER ? NA_REAL : INTEGER_ELT(x, k);
    return R_NilValue;
  });
  return number;
}

}  // namespace kernweave

// The place of the first number that is not whole, or out of range, and whether that is whole; 0 for none.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_first_not_whole(SEXP x, double least, double most) {
  return kernweave::at_border([&] {
    const kernweave::Index at = kernweave::on_gpu(x) ? kernweave::first_not_whole_on_gpu(x, least, most)
                                                     : kernweave::first_not_whole(x, least, most);
    const double number = at > 0 ? kernweave::number_at(x, at - 1) : 0;
    return Rcpp::List::create(Rcpp::_["at"] = static_cast<double>(at), Rcpp::_["whole"] = number == std::trunc(number));
  });
}

// How many items come before each object, of objects with so many items, and how many there are in all. Integers while
// they can be.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_offsets(SEXP counts, int threads) {
  return kernweave::at_border([&] {
    if (kernweave::plain_on_gpu(counts)) return kernweave::offsets_on_gpu(counts);
    kernweave::read_here(counts);
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
    return Rcpp::List::create(Rcpp::_["offsets"] = static_cast<SEXP>(out),
                              Rcpp::_["total"] = static_cast<double>(total));
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

SEXP reduced_on_gpu(SEXP x, int columns, const arrays::Request& request, const SegmentPlan::There& plan, bool stays) {
  return on_device_of(x, [&](OnDevice& here) -> SEXP {
    const arrays::Whole whole = here.whole(plan.offsets);
    const Index rows = Rf_xlength(x) / std::max(columns, 1);
    const Index n = (whole.count - 1) * arrays::results_of(request.op) * columns;
    device::Block out = here.room_for<double>(n);
    const auto reduce = request.skip ? here.verbs().reduce_known : here.verbs().reduce_all;
    reduce(here.gpu(), request, here.items(x, plan.order), rows, columns, whole, here.at<double>(out));
    if (stays) return here.vector(REALSXP, std::move(out), n);
    Rcpp::NumericVector found(Rcpp::no_init(static_cast<R_xlen_t>(n)));
    here.gpu().download(found.begin(), out.at(), static_cast<std::size_t>(n) * sizeof(double));
    return found;
  });
}

// Running results, or NULL where an integer was too large: what comes after it is known to the CPU.
SEXP scanned_on_gpu(SEXP x, int columns, const arrays::Request& request, const SegmentPlan::There& plan, bool exclusive,
                    SEXPTYPE kind) {
  return on_device_of(x, [&](OnDevice& here) -> SEXP {
    const Index n = Rf_xlength(x), rows = n / std::max(columns, 1);
    device::Block out = kind == REALSXP ? here.room_for<double>(n) : here.room_for<int>(n);
    arrays::Running to;
    to.missing = NA_INTEGER;
    if (kind == REALSXP) to.doubles = here.at<double>(out);
    else to.integers = here.at<int>(out);
    const bool overflow = here.verbs().scan_all(here.gpu(), request, exclusive, here.items(x, plan.order), rows,
                                                columns, here.whole(plan.offsets), to);
    return overflow ? R_NilValue : here.vector(kind, std::move(out), n);
  });
}

Rcpp::List integers_on_gpu(SEXP x) {
  return on_device_of(x, [&](OnDevice& here) {
    const Index n = Rf_xlength(x);
    device::Block out = here.room_for<int>(n);
    const bool overflow = here.verbs().to_integers(here.gpu(), here.whole(x).doubles, n, NA_INTEGER, here.at<int>(out));
    const Rcpp::RObject values = here.integers(std::move(out), n);
    return Rcpp::List::create(Rcpp::_["values"] = values, Rcpp::_["overflow"] = overflow);
  });
}

}  // namespace
}  // namespace kernweave

// Numbers of each segment, then of each result of the operator, then of each column. Items are taken as they come where
// groups are few enough for a table of them, else in their order. On a device the result `stays` there, or comes to R.
// [[Rcpp::export(rng = false)]]
SEXP r_reduce(SEXP x, int columns, std::string op, SEXP segments, bool skip, SEXP init, bool stays, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const kernweave::arrays::Request request = kernweave::request_from_r(op, skip, init);
    const kernweave::arrays::Workers workers = kernweave::workers_from_r(threads);
    kernweave::SegmentPlan plan(segments, workers);
    if (kernweave::on_gpu(x)) return kernweave::reduced_on_gpu(x, columns, request, plan.there(x), stays);
    kernweave::read_here(x);
    const bool few = 4 * plan.segments() <= plan.items();
    const SEXP codes = few ? plan.codes() : R_NilValue, order = few ? R_NilValue : plan.order();
    const kernweave::arrays::Whole whole = kernweave::whole_from_r(plan.offsets());
    const auto items = kernweave::columns_of(x, order, plan.items(), columns);
    const kernweave::Index per_column = plan.segments() * kernweave::arrays::results_of(request.op);
    Rcpp::NumericVector out(Rcpp::no_init(static_cast<R_xlen_t>(per_column * columns)));
    if (Rf_isNull(codes)) kernweave::arrays::reduce(request, items, whole, workers, out.begin());
    else kernweave::arrays::reduce_groups(request, items, INTEGER_RO(codes), whole, workers, out.begin());
    return out;
  });
}

// Whole numbers as integers, with NA for NaN; `overflow` where one is none: NA too.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_as_integers(SEXP x) {
  return kernweave::at_border([&] {
    if (kernweave::on_gpu(x)) return kernweave::integers_on_gpu(x);
    const R_xlen_t n = Rf_xlength(x);
    const double* const from = REAL_RO(x);
    Rcpp::IntegerVector out(Rcpp::no_init(n));
    bool overflow = false;
    for (R_xlen_t k = 0; k < n; ++k) {
      const bool fits = std::abs(from[k]) <= kernweave::kMostInt;
      out[k] = fits ? static_cast<int>(from[k]) : NA_INTEGER;
      overflow = overflow || (!fits && from[k] == from[k]);
    }
    return Rcpp::List::create(Rcpp::_["values"] = out, Rcpp::_["overflow"] = overflow);
  });
}

// Places from 1, integers where they can be; NA for NaN.
// [[Rcpp::export(rng = false)]]
SEXP r_as_places(SEXP x) {
  const Rcpp::List whole = r_as_integers(x);
  if (!Rcpp::as<bool>(whole["overflow"])) return whole["values"];
  Rcpp::NumericVector out = Rcpp::clone(Rcpp::NumericVector(x));
  std::replace_if(
      out.begin(), out.end(), [](double place) { return place != place; }, NA_REAL);
  return out;
}

// Running results of each column, of type integer, logical or double; `overflow` where an integer was too large.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_scan(SEXP x, int columns, std::string op, SEXP segments, bool exclusive, SEXP init, std::string type,
                  int threads) {
  return kernweave::at_border([&] {
    const kernweave::arrays::Request request = kernweave::request_from_r(op, false, init);
    const kernweave::arrays::Workers workers = kernweave::workers_from_r(threads);
    const SEXPTYPE kind = type == "double" ? REALSXP : type == "logical" ? LGLSXP : INTSXP;
    kernweave::SegmentPlan plan(segments, workers);
    if (kernweave::on_gpu(x)) {
      const Rcpp::RObject found = kernweave::scanned_on_gpu(x, columns, request, plan.there(x), exclusive, kind);
      if (!found.isNULL()) return Rcpp::List::create(Rcpp::_["values"] = found, Rcpp::_["overflow"] = false);
    }
    kernweave::read_here(x);
    const kernweave::arrays::Whole whole = kernweave::whole_from_r(plan.offsets());
    const kernweave::Index rows = plan.items();
    const Rcpp::Shield<SEXP> out(Rf_allocVector(kind, static_cast<R_xlen_t>(rows * columns)));
    kernweave::arrays::Running to;
    to.missing = NA_INTEGER;
    bool overflow = false;
    kernweave::Index column = 0;
    for (const kernweave::arrays::Items& items : kernweave::columns_of(x, plan.order(), rows, columns)) {
      if (kind == REALSXP) to.doubles = REAL(out) + column * rows;
      else to.integers = (kind == LGLSXP ? LOGICAL(out) : INTEGER(out)) + column * rows;
      overflow |= kernweave::arrays::scan(request, exclusive, items, whole, workers, to);
      ++column;
    }
    return Rcpp::List::create(Rcpp::_["values"] = Rcpp::RObject(out), Rcpp::_["overflow"] = overflow);
  });
}
