// R's way to orders: columns of R as keys, permutations of rows as vectors of R, and sorted numbers.
#include "r_order.hpp"

#include "arrays/keys.hpp"
#include "r_device_arrays.hpp"
#include "r_segments.hpp"

namespace kernweave {

arrays::KeyColumn key_column(SEXP x) {
  arrays::KeyColumn column;
  const bool real = TYPEOF(x) == REALSXP;
  internal_check(real || TYPEOF(x) == INTSXP || TYPEOF(x) == LGLSXP, "a key of type ", Rf_type2char(TYPEOF(x)));
  column.type = !real                         ? arrays::KeyType::int32
                : Rf_inherits(x, "integer64") ? arrays::KeyType::int64
                                              : arrays::KeyType::float64;
  column.data = DATAPTR_RO(x);
  return column;
}

arrays::Keys keys_from_r(const Rcpp::List& columns, const Rcpp::LogicalVector& decreasing, bool nan_apart,
                         const arrays::Workers& workers) {
  std::vector<arrays::KeyColumn> keys;
  for (R_xlen_t c = 0; c < columns.size(); ++c) {
    keys.push_back(key_column(columns[c]));
    keys.back().decreasing = decreasing[c % decreasing.size()];
    keys.back().nan_apart = nan_apart;
  }
  return arrays::Keys(std::move(keys), columns.size() ? Rf_xlength(columns[0]) : 0, workers);
}

namespace {

template <class Vector>
Vector order_to_r(const arrays::Keys& keys, const arrays::OrderTask& task, std::uint8_t* tied) {
  Vector order = fresh_vector<Vector>(keys.rows());
  arrays::radix_order(keys, task, order.begin(), tied);
  return order;
}

Rcpp::RObject order_to_r(const arrays::Keys& keys, const arrays::OrderTask& task, std::uint8_t* tied) {
  if (keys.rows() > kMostInt) return order_to_r<Rcpp::NumericVector>(keys, task, tied);
  return order_to_r<Rcpp::IntegerVector>(keys, task, tied);
}

bool all_on_gpu(const Rcpp::List& columns) {
  bool all = columns.size() > 0;
  for (R_xlen_t c = 0; c < columns.size() && all; ++c) all = plain_on_gpu(columns[c]);
  return all;
}

// Numbers of a type are sorted without their order, unless NaN or -0 are among them: NULL then.
SEXP sorted_on_gpu(SEXP x, bool decreasing) {
  return on_device_of(x, [&](OnDevice& here) -> SEXP {
    auto sorted = here.verbs().sorted_items(here.gpu(), here.whole(x), decreasing);
    if (!sorted) return R_NilValue;
    return here.vector(static_cast<SEXPTYPE>(TYPEOF(x)), std::move(*sorted), Rf_xlength(x));
  });
}

}  // namespace

Rcpp::RObject order_here(const Rcpp::List& columns, bool decreasing, const arrays::Workers& workers) {
  arrays::OrderTask task;
  task.workers = workers;
  return order_to_r(keys_from_r(columns, Rcpp::LogicalVector::create(decreasing), false, workers), task, nullptr);
}

SEXP taken_here(SEXP x, SEXP order) {
  const arrays::Whole rows = whole_from_r(order);
  const Rcpp::Shield<SEXP> out(Rf_allocVector(static_cast<SEXPTYPE>(TYPEOF(x)), static_cast<R_xlen_t>(rows.count)));
  const auto take = [&](auto from, auto to) {
    with_array(rows, [&](auto at) {
      for (Index k = 0; k < rows.count; ++k) to[k] = from[static_cast<Index>(at[k]) - 1];
    });
  };
  switch (TYPEOF(x)) {
    case RAWSXP: take(RAW_RO(x), RAW(out)); break;
    case LGLSXP: take(LOGICAL_RO(x), LOGICAL(out)); break;
    case INTSXP: take(INTEGER_RO(x), INTEGER(out)); break;
    case CPLXSXP: take(COMPLEX_RO(x), COMPLEX(out)); break;
    default: take(REAL_RO(x), REAL(out));
  }
  if (Rf_inherits(x, "integer64")) Rf_setAttrib(out, R_ClassSymbol, Rf_mkString("integer64"));
  return out;
}

}  // namespace kernweave

// The order, as numbers from 1, of items or in each segment of a plan, whose items come in its order; with `ties` also
// which of its rows are as the one before.
// [[Rcpp::export(rng = false)]]
SEXP r_order(Rcpp::List columns, Rcpp::LogicalVector decreasing, SEXP segments, double nearly, bool nan_apart,
             bool ties, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    kernweave::arrays::OrderTask task;
    task.nearly = static_cast<std::int64_t>(nearly);
    task.workers = kernweave::workers_from_r(threads);
    const bool whole = Rf_isNull(segments);
    if (!ties && kernweave::all_on_gpu(columns)) {
      if (whole) return kernweave::order_on_gpu(columns, decreasing, R_NilValue);
      const auto plan = kernweave::SegmentPlan(segments, task.workers).there(columns[0]);
      return kernweave::order_on_gpu(columns, decreasing, plan.offsets);
    }
    for (R_xlen_t c = 0; c < columns.size(); ++c) kernweave::read_here(columns[c]);
    if (!whole) {
      const auto offsets = kernweave::whole_from_r(kernweave::SegmentPlan(segments, task.workers).offsets());
      for (kernweave::Index k = 0; k < offsets.count; ++k) task.offsets.push_back(offsets[k]);
    }
    const auto keys = kernweave::keys_from_r(columns, decreasing, nan_apart, task.workers);
    Rcpp::RawVector tied = Rcpp::no_init(ties ? keys.rows() : 0);
    const Rcpp::RObject order = kernweave::order_to_r(keys, task, ties ? tied.begin() : nullptr);
    if (!ties) return order;
    return Rcpp::List::create(Rcpp::_["order"] = order, Rcpp::_["tied"] = tied);
  });
}

// Items of a vector of numbers by an order from 1.
// [[Rcpp::export(rng = false)]]
SEXP r_take(SEXP x, SEXP order) {
  return kernweave::at_border([&] {
    if (kernweave::plain_on_gpu(x)) return kernweave::taken_on_gpu(x, order);
    kernweave::read_here(x);
    return kernweave::taken_here(x, order);
  });
}

// A vector of nothing but numbers, sorted.
// [[Rcpp::export(rng = false)]]
SEXP r_sort(SEXP x, bool decreasing, double nearly, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const Rcpp::List columns = Rcpp::List::create(x);
    if (kernweave::plain_on_gpu(x)) {
      const Rcpp::RObject sorted = kernweave::sorted_on_gpu(x, decreasing);
      if (!sorted.isNULL()) return sorted;
      const Rcpp::RObject order = kernweave::order_on_gpu(columns, Rcpp::LogicalVector::create(decreasing), R_NilValue);
      return kernweave::taken_on_gpu(x, order);
    }
    const Rcpp::RObject order =
        r_order(columns, Rcpp::LogicalVector::create(decreasing), R_NilValue, nearly, false, false, threads);
    return kernweave::taken_here(x, order);
  });
}
