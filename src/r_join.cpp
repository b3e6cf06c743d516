// R's way to joins: keys of both tables, one behind the other, and pairs of rows as vectors of R.
#include "arrays/join.hpp"

#include <cmath>

#include "base/error.hpp"
#include "r_order.hpp"

namespace kernweave {
namespace {

template <class Row, class Vector, class Number>
Rcpp::List pairs_to_r(const arrays::Keys& keys, const arrays::JoinTask& task, double most_mb, Number none) {
  const arrays::Joined<Row> joined(keys, task);
  const double needed_mb = std::ceil(static_cast<double>(joined.pairs()) * 2 * sizeof(Number) / 1048576);
  user_check(needed_mb <= most_mb, Fault::memory, "there are ", joined.pairs(), " pairs of rows, which would take ",
             needed_mb, " MB; the limit is ", most_mb, " MB. options(kernweave.max_dense_mb = ) raises it");
  Vector x = fresh_vector<Vector>(joined.pairs()), y = fresh_vector<Vector>(joined.pairs());
  joined.write(x.begin(), y.begin(), none);
  return Rcpp::List::create(Rcpp::_["x"] = x, Rcpp::_["y"] = y);
}

}  // namespace
}  // namespace kernweave

// [[Rcpp::export(rng = false)]]
Rcpp::List r_join(Rcpp::List columns, double x_rows, bool keep_x, bool keep_y, bool missing_match, double most_mb,
                  int threads) {
  return kernweave::at_border([&] {
    kernweave::arrays::JoinTask task{static_cast<kernweave::Index>(x_rows), keep_x, keep_y, missing_match,
                                     kernweave::workers_from_r(threads)};
    const auto keys = kernweave::keys_from_r(columns, false, true, task.workers);
    if (keys.rows() > kernweave::kMostInt)
      return kernweave::pairs_to_r<kernweave::Index, Rcpp::NumericVector>(keys, task, most_mb, NA_REAL);
    return kernweave::pairs_to_r<std::int32_t, Rcpp::IntegerVector>(keys, task, most_mb, NA_INTEGER);
  });
}
