// R's way to merging and searching sorted vectors.
#include "arrays/merge.hpp"
#include "arrays/search.hpp"
#include "r_sorted.hpp"

namespace kernweave {
namespace {

using arrays::Sorted;
using arrays::Workers;

// work(numbers, none) with room for numbers up to `most`.
template <class Work>
SEXP with_numbers(Index most, Index length, Work work) {
  if (most <= kMostInt) {
    Rcpp::IntegerVector made = fresh_vector<Rcpp::IntegerVector>(length);
    work(made.begin(), NA_INTEGER);
    return made;
  }
  Rcpp::NumericVector made = fresh_vector<Rcpp::NumericVector>(length);
  work(made.begin(), NA_REAL);
  return made;
}

bool known_sorted(SEXP x) {
  if (TYPEOF(x) == INTSXP) return INTEGER_IS_SORTED(x) == SORTED_INCR;
  return TYPEOF(x) == REALSXP && !Rf_inherits(x, "integer64") && REAL_IS_SORTED(x) == SORTED_INCR;
}

template <class Vector, class Item>
Rcpp::List both_to_r(const Sorted<Item>& needles, const Sorted<Item>& hay, bool equal_too, const Workers& workers) {
  using Number = std::decay_t<decltype(*Vector().begin())>;
  Vector at = fresh_vector<Vector>(needles.length), hay_at = fresh_vector<Vector>(hay.length);
  Rcpp::LogicalVector matched(needles.length), hay_matched(hay.length);
  const arrays::Found<Number> of_needles{at.begin(), matched.begin()}, of_hay{hay_at.begin(), hay_matched.begin()};
  if (equal_too) arrays::pass_through(hay, needles, of_hay, of_needles, workers);
  else arrays::pass_through(needles, hay, of_needles, of_hay, workers);
  std::fill(at.begin() + needles.known, at.end(), Vector::get_na());
  return Rcpp::List::create(Rcpp::_["at"] = at, Rcpp::_["matched"] = matched, Rcpp::_["haystack_at"] = hay_at,
                            Rcpp::_["haystack_matched"] = hay_matched);
}

}  // namespace
}  // namespace kernweave

// The place, from 1, of the first item that is less than the one before it; 0 where there is none.
// [[Rcpp::export(rng = false)]]
double r_first_unsorted(SEXP x, int threads) {
  return kernweave::at_border([&] {
    if (kernweave::known_sorted(x)) return 0.0;
    const kernweave::Index n = Rf_xlength(x);
    const auto workers = kernweave::workers_from_r(threads);
    const auto found =
        kernweave::with_items(x, [&](auto items) { return kernweave::arrays::sorted_up_to(items, n, workers); });
    return found == n ? 0.0 : static_cast<double>(found) + 1;
  });
}

// [[Rcpp::export(rng = false)]]
SEXP r_merge(SEXP x, SEXP y, bool rows, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const auto workers = kernweave::workers_from_r(threads);
    return kernweave::with_sorted(x, y, [&](const auto& a, const auto& b) -> SEXP {
      using Item = std::decay_t<decltype(*a.items)>;
      const kernweave::Index n = a.length + b.length;
      if (rows)
        return kernweave::with_numbers(
            n, n, [&](auto to, auto) { kernweave::arrays::merge_rows(a, b, to, workers); });
      Rcpp::RObject out;
      kernweave::arrays::merge_items(a, b, kernweave::new_items<Item>(x, y, n, &out), workers);
      return out;
    });
  });
}

// How many items of the haystack come before each needle. `sorted`: the needles are, and one way through both is taken.
// [[Rcpp::export(rng = false)]]
SEXP r_search(SEXP needles, SEXP haystack, bool equal_too, bool sorted, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const auto workers = kernweave::workers_from_r(threads);
    return kernweave::with_sorted(needles, haystack, [&](const auto& a, const auto& b) -> SEXP {
      return kernweave::with_numbers(b.length, a.length, [&](auto at, auto none) {
        if (!sorted) return kernweave::arrays::search_each(a.items, a.length, b, equal_too, none, at, workers);
        kernweave::arrays::Found<std::decay_t<decltype(*at)>> of_needles{at, nullptr}, nothing;
        if (equal_too) kernweave::arrays::pass_through(b, a, nothing, of_needles, workers);
        else kernweave::arrays::pass_through(a, b, of_needles, nothing, workers);
        std::fill(at + a.known, at + a.length, none);
      });
    });
  });
}

// The same for both lists, with the other side of the needles for the haystack, and which items have an equal one.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_search_both(SEXP needles, SEXP haystack, bool equal_too, int threads) {
  return kernweave::at_border([&] {
    const auto workers = kernweave::workers_from_r(threads);
    return kernweave::with_sorted(needles, haystack, [&](const auto& a, const auto& b) {
      if (std::max(a.length, b.length) <= kernweave::kMostInt)
        return kernweave::both_to_r<Rcpp::IntegerVector>(a, b, equal_too, workers);
      return kernweave::both_to_r<Rcpp::NumericVector>(a, b, equal_too, workers);
    });
  });
}
