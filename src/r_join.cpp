// R's way to joins: keys of both tables, one behind the other, and pairs of rows as vectors of R.
#include "arrays/join.hpp"

#include <cmath>

#include "base/error.hpp"
#include "r_device_arrays.hpp"
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

Rcpp::List pairs_on_gpu(SEXP x, SEXP y, bool keep_x, bool keep_y, bool missing_match) {
  return on_device_of(x, [&](OnDevice& here) {
    const arrays::cuda::JoinOf task{here.whole(x), here.whole(y), keep_x, keep_y, missing_match, NA_REAL};
    arrays::cuda::Pairs pairs = here.verbs().join(here.gpu(), task, NA_INTEGER);
    const Rcpp::RObject of_x = here.integers(std::move(pairs.x), pairs.count),
                        of_y = here.integers(std::move(pairs.y), pairs.count);
    return Rcpp::List::create(Rcpp::_["x"] = of_x, Rcpp::_["y"] = of_y);
  });
}

// Keys of x and then those of y, in one vector, of the class of integer64 if they are.
SEXP one_behind_other(SEXP x, SEXP y) {
  const SEXPTYPE type = std::max(static_cast<SEXPTYPE>(TYPEOF(x)), static_cast<SEXPTYPE>(TYPEOF(y)));
  const R_xlen_t n = Rf_xlength(x);
  const Rcpp::Shield<SEXP> both(Rf_allocVector(type, n + Rf_xlength(y)));
  const auto copy = [](auto from, R_xlen_t count, auto to) { std::copy(from, from + count, to); };
  if (type == REALSXP) {
    copy(REAL_RO(x), n, REAL(both));
    copy(REAL_RO(y), Rf_xlength(y), REAL(both) + n);
  } else {
    const auto integers = [](SEXP v) { return static_cast<const int*>(DATAPTR_RO(v)); };
    copy(integers(x), n, static_cast<int*>(numbers_of(both)));
    copy(integers(y), Rf_xlength(y), static_cast<int*>(numbers_of(both)) + n);
  }
  if (Rf_inherits(x, "integer64")) Rf_setAttrib(both, R_ClassSymbol, Rf_mkString("integer64"));
  return both;
}

}  // namespace
}  // namespace kernweave

// Joins two tables by `columns`. Each column has the keys of both tables: list(x, y) of one type, or a vector with the
// keys of x and then the keys of y.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_join(Rcpp::List columns, double x_rows, bool keep_x, bool keep_y, bool missing_match, double most_mb,
                  int threads) {
  return kernweave::at_border([&] {
    const auto are_two = [](SEXP column) { return TYPEOF(column) == VECSXP; };
    const auto key = [&](R_xlen_t c, int side) { return VECTOR_ELT(columns[c], side); };
    if (columns.size() == 1 && are_two(columns[0]) && kernweave::both_on_gpu(key(0, 0), key(0, 1)))
      return kernweave::pairs_on_gpu(key(0, 0), key(0, 1), keep_x, keep_y, missing_match);
    Rcpp::List whole(columns.size());
    for (R_xlen_t c = 0; c < columns.size(); ++c) {
      if (are_two(columns[c])) {
        for (int side = 0; side < 2; ++side) kernweave::read_here(key(c, side));
        whole[c] = kernweave::one_behind_other(key(c, 0), key(c, 1));
      } else {
        whole[c] = columns[c];
      }
    }
    kernweave::arrays::JoinTask task{static_cast<kernweave::Index>(x_rows), keep_x, keep_y, missing_match,
                                     kernweave::workers_from_r(threads)};
    const auto keys = kernweave::keys_from_r(whole, false, true, task.workers);
    if (keys.rows() > kernweave::kMostInt)
      return kernweave::pairs_to_r<kernweave::Index, Rcpp::NumericVector>(keys, task, most_mb, NA_REAL);
    return kernweave::pairs_to_r<std::int32_t, Rcpp::IntegerVector>(keys, task, most_mb, NA_INTEGER);
  });
}
