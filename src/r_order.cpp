// R's way to orders: columns of R as keys, permutations of rows as vectors of R.
#include "r_order.hpp"

#include <limits>

#include "arrays/radix_order.hpp"

namespace kernweave {

arrays::KeyColumn key_column(SEXP x) {
  arrays::KeyColumn column;
  const bool real = TYPEOF(x) == REALSXP;
  internal_check(real || TYPEOF(x) == INTSXP || TYPEOF(x) == LGLSXP, "a key of type ", Rf_type2char(TYPEOF(x)));
  column.type = !real                          ? arrays::KeyType::int32
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

}  // namespace
}  // namespace kernweave

// The order, as numbers from 1, and with `ties` which of its rows are as the one before.
// [[Rcpp::export(rng = false)]]
SEXP r_order(Rcpp::List columns, Rcpp::LogicalVector decreasing, Rcpp::NumericVector offsets, double nearly,
             bool nan_apart, bool ties, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    kernweave::arrays::OrderTask task;
    task.offsets.assign(offsets.begin(), offsets.end());
    task.nearly = static_cast<std::int64_t>(nearly);
    task.workers = kernweave::workers_from_r(threads);
    const auto keys = kernweave::keys_from_r(columns, decreasing, nan_apart, task.workers);
    Rcpp::RawVector tied = Rcpp::no_init(ties ? keys.rows() : 0);
    std::uint8_t* const flags = ties ? tied.begin() : nullptr;
    const bool wide = keys.rows() > std::numeric_limits<int>::max();
    const Rcpp::RObject order = wide ? Rcpp::RObject(kernweave::order_to_r<Rcpp::NumericVector>(keys, task, flags))
                                     : Rcpp::RObject(kernweave::order_to_r<Rcpp::IntegerVector>(keys, task, flags));
    if (!ties) return order;
    return Rcpp::List::create(Rcpp::_["order"] = order, Rcpp::_["tied"] = tied);
  });
}
