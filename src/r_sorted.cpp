// Sorted vectors: searches, merges, sets; joins of tables.
#include "r_arrays.hpp"

namespace kernweave {

// Returns the place, from 1, of the first item that is less than the item before it; 0 if there is none.
// [[Rcpp::export(rng = false)]]
double r_first_unsorted(SEXP x, int threads) {
  if (TYPEOF(x) == INTSXP && INTEGER_IS_SORTED(x) == SORTED_INCR) return 0;
  if (TYPEOF(x) == REALSXP && !Rf_inherits(x, "integer64") && REAL_IS_SORTED(x) == SORTED_INCR) return 0;
  return static_cast<double>(first_unsorted(x, false, threads));
}

// Tells whether the last item of a sorted list is missing. A list with missing items then has them last.
// [[Rcpp::export(rng = false)]]
bool r_ends_missing(SEXP x) {
  bool missing = false;
  carried_out({x}, 1, [&](Call& here) { missing = here.verbs().ends_missing(here.column(x)); });
  return missing;
}

// [[Rcpp::export(rng = false)]]
SEXP r_merge(SEXP x, SEXP y, bool rows, int threads) {
  return carried_out({x, y}, threads, [&](Call& here) {
    const Column a = here.column(x), b = here.column(y);
    const Index n = a.count + b.count;
    if (rows) here.verbs().merge_rows(a, b, here.numbers(nullptr, n, n));
    else here.verbs().merge(a, b, here.items(n));
  });
}

// Counts the items of the haystack before each needle. `sorted`: the needles are sorted: one way through both lists.
// [[Rcpp::export(rng = false)]]
SEXP r_search(SEXP needles, SEXP haystack, bool equal_too, bool sorted, int threads) {
  return carried_out({needles, haystack}, threads, [&](Call& here) {
    const arrays::Search task{here.column(needles), here.column(haystack), equal_too, sorted};
    here.verbs().search(task, here.numbers(nullptr, task.list.count, task.needles.count));
  });
}

// Counts the items of the haystack before each needle, and the needles before each item of the haystack. Tells which
// items have an equal item. For the haystack, the opposite of `equal_too` holds.
// [[Rcpp::export(rng = false)]]
SEXP r_search_both(SEXP needles, SEXP haystack, bool equal_too, int threads) {
  return carried_out({needles, haystack}, threads, [&](Call& here) {
    const arrays::Search task{here.column(needles), here.column(haystack), equal_too, true};
    const Index a = task.needles.count, b = task.list.count, most = std::max(a, b);
    const auto found = [&](const char* at, const char* matched, Index n) {
      const Numbers places = here.numbers(at, most, n);
      return arrays::Found{places, here.numbers_of(matched, LGLSXP, n).integers};
    };
    const arrays::Found own = found("at", "matched", a), other = found("haystack_at", "haystack_matched", b);
    here.verbs().search_both(task, own, other);
  });
}

// [[Rcpp::export(rng = false)]]
SEXP r_set(SEXP x, SEXP y, int op, bool multiset, int threads) {
  return carried_out({x, y}, threads, [&](Call& here) {
    here.verbs().set({static_cast<arrays::SetOp>(op), multiset, here.column(x), here.column(y), NA_REAL, R_NaN}, here);
  });
}

// Joins two tables by columns list(x, y), both of one type.
// [[Rcpp::export(rng = false)]]
SEXP r_join(List columns, bool keep_x, bool keep_y, bool missing_match, double most_mb, int threads) {
  std::vector<SEXP> keys;
  for (R_xlen_t k = 0; k < 2 * columns.size(); ++k) keys.push_back(VECTOR_ELT(columns[k / 2], k % 2));
  return carried_out(keys, threads, [&](Call& here) {
    arrays::JoinOf task{{}, {}, keep_x, keep_y, missing_match, NA_REAL, most_mb};
    for (std::size_t k = 0; k < keys.size(); ++k) (k % 2 ? task.y : task.x).push_back(here.column(keys[k]));
    here.verbs().join(task, here);
  });
}

}  // namespace kernweave
