// R's way to verbs for sorted vectors: types, what is missing, results as vectors of R.
#include "arrays/merge.hpp"
#include "arrays/search.hpp"
#include "arrays/sets.hpp"
#include "r_order.hpp"

namespace kernweave {
namespace {

using arrays::Sorted;
using arrays::Workers;

// work(items) with the numbers of a vector of R: logicals and integers, doubles, integer64.
template <class Work>
auto with_items(SEXP x, Work work) {
  if (TYPEOF(x) != REALSXP) return work(static_cast<const std::int32_t*>(DATAPTR_RO(x)));
  if (Rf_inherits(x, "integer64")) return work(static_cast<const std::int64_t*>(DATAPTR_RO(x)));
  return work(static_cast<const double*>(DATAPTR_RO(x)));
}

// work(a, b) with two of the same type, sorted.
template <class Work>
auto with_sorted(SEXP x, SEXP y, Work work) {
  return with_items(x, [&](auto a) {
    const auto b = static_cast<decltype(a)>(DATAPTR_RO(y));
    return work(Sorted(a, Rf_xlength(x)), Sorted(b, Rf_xlength(y)));
  });
}

// Room for items of a type; logicals stay logicals where both lists have them.
template <class Item>
Item* new_items(SEXP x, SEXP y, Index length, Rcpp::RObject* made) {
  if (TYPEOF(x) == REALSXP) *made = fresh_vector<Rcpp::NumericVector>(length);
  else if (TYPEOF(x) == LGLSXP && TYPEOF(y) == LGLSXP) *made = fresh_vector<Rcpp::LogicalVector>(length);
  else *made = fresh_vector<Rcpp::IntegerVector>(length);
  return static_cast<Item*>(const_cast<void*>(DATAPTR_RO(*made)));
}

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

// NA and NaN are two keys, each as often as an operation keeps it.
template <class Item>
struct Tail {
  Index na = 0, nan = 0;

  Tail(const Sorted<Item>& list, bool multiset) {
    for (Index k = list.known; k < list.length; ++k) {
      if constexpr (std::numeric_limits<Item>::is_integer) ++na;
      else R_IsNA(list.items[k]) ? ++na : ++nan;
    }
    if (!multiset) na = na > 0, nan = nan > 0;
  }
  Tail(arrays::SetOp op, const Tail& a, const Tail& b)
      : na(arrays::kept(op, a.na, b.na)), nan(arrays::kept(op, a.nan, b.nan)) {}

  Item* write(Item* to) const {
    if constexpr (std::numeric_limits<Item>::is_integer) return std::fill_n(to, na, std::numeric_limits<Item>::min());
    else return std::fill_n(std::fill_n(to, na, NA_REAL), nan, R_NaN);
  }
};

template <class Item>
Rcpp::RObject set_to_r(arrays::SetOp op, const Sorted<Item>& a, const Sorted<Item>& b, const Tail<Item>& tail,
                       SEXP x, SEXP y, const Workers& workers) {
  const auto found = arrays::set_of(op, a, b, workers);
  Rcpp::RObject out;
  Item* const items = new_items<Item>(x, y, found.count() + tail.na + tail.nan, &out);
  found.write(items, workers);
  tail.write(items + found.count());
  return out;
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

// [[Rcpp::export(rng = false)]]
SEXP r_set(SEXP x, SEXP y, int op, bool multiset, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const auto workers = kernweave::workers_from_r(threads);
    const auto which = static_cast<kernweave::arrays::SetOp>(op);
    return kernweave::with_sorted(x, y, [&](const auto& a, const auto& b) -> SEXP {
      using Item = std::decay_t<decltype(*a.items)>;
      const kernweave::Tail<Item> tail(which, {a, multiset}, {b, multiset});
      if (multiset) return kernweave::set_to_r(which, a, b, tail, x, y, workers);
      const auto once_a = kernweave::arrays::distinct(a, workers), once_b = kernweave::arrays::distinct(b, workers);
      std::vector<Item> own_a(once_a.count()), own_b(once_b.count());
      once_a.write(own_a.data(), workers);
      once_b.write(own_b.data(), workers);
      return kernweave::set_to_r(which, kernweave::Sorted<Item>(own_a.data(), once_a.count()),
                                 kernweave::Sorted<Item>(own_b.data(), once_b.count()), tail, x, y, workers);
    });
  });
}
