// R's way to joins: keys of both tables, one behind the other, and pairs of rows as vectors of R.
#include "arrays/join.hpp"

#include "r_order.hpp"

namespace kernweave {
namespace {

template <class Row, class Vector, class Number>
Rcpp::List pairs_to_r(const arrays::Keys& keys, const arrays::JoinTask& task, Number none) {
  const arrays::Joined<Row> joined(keys, task);
  Vector x = fresh_vector<Vector>(joined.pairs()), y = fresh_vector<Vector>(joined.pairs());
  joined.write(x.begin(), y.begin(), none);
  return Rcpp::List::create(Rcpp::_["x"] = x, Rcpp::_["y"] = y);
}

}  // namespace
}  // namespace kernweave

// [[Rcpp::export(rng = false)]]
Rcpp::List r_join(Rcpp::List columns, double x_rows, bool keep_x, bool keep_y, bool missing_match, int threads) {
  return kernweave::at_border([&] {
    kernweave::arrays::JoinTask task{static_cast<kernweave::Index>(x_rows), keep_x, keep_y, missing_match,
                                     kernweave::workers_from_r(threads)};
    const auto keys = kernweave::keys_from_r(columns, false, true, task.workers);
    if (keys.rows() > kernweave::kMostInt)
      return kernweave::pairs_to_r<kernweave::Index, Rcpp::NumericVector>(keys, task, NA_REAL);
    return kernweave::pairs_to_r<std::int32_t, Rcpp::IntegerVector>(keys, task, NA_INTEGER);
  });
}
