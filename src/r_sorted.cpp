// R's way to merging and searching sorted vectors.
#include "arrays/move.hpp"
#include "arrays/sorted.hpp"
#include "r_device_arrays.hpp"
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

Index first_unsorted(SEXP x, const Workers& workers) {
  if (known_sorted(x)) return 0;
  const Index n = Rf_xlength(x);
  const Index found = with_items(x, [&](auto items) { return arrays::sorted_up_to(items, n, workers); });
  return found == n ? 0 : found + 1;
}

SEXP merged_on_gpu(SEXP x, SEXP y, bool rows) {
  return on_device_of(x, [&](OnDevice& here) -> SEXP {
    const arrays::Whole a = here.whole(x), b = here.whole(y);
    const Index n = a.count + b.count;
    const bool doubles = !rows && a.doubles;
    device::Block out = doubles ? here.room_for<double>(n) : here.room_for<int>(n);
    if (rows) here.verbs().merge_rows(here.gpu(), a, b, here.at<int>(out));
    else here.verbs().merge_items(here.gpu(), a, b, here.at<void>(out));
    return here.vector(rows ? INTSXP : static_cast<SEXPTYPE>(TYPEOF(x)), std::move(out), n);
  });
}

SEXP searched_on_gpu(SEXP needles, SEXP haystack, bool equal_too, bool sorted) {
  return on_device_of(needles, [&](OnDevice& here) -> SEXP {
    const arrays::Whole a = here.whole(needles), b = here.whole(haystack);
    device::Block out = here.room_for<int>(a.count);
    int* const at = here.at<int>(out);
    if (sorted) here.verbs().search_sorted(here.gpu(), a, b, equal_too, NA_INTEGER, {at, nullptr}, {});
    else here.verbs().search_each(here.gpu(), a, b, equal_too, NA_INTEGER, at);
    return here.integers(std::move(out), a.count);
  });
}

Rcpp::List both_searched_on_gpu(SEXP needles, SEXP haystack, bool equal_too) {
  return on_device_of(needles, [&](OnDevice& here) {
    const arrays::Whole a = here.whole(needles), b = here.whole(haystack);
    device::Block at = here.room_for<int>(a.count), matched = here.room_for<int>(a.count),
                  hay_at = here.room_for<int>(b.count), hay_matched = here.room_for<int>(b.count);
    here.verbs().search_sorted(here.gpu(), a, b, equal_too, NA_INTEGER, {here.at<int>(at), here.at<int>(matched)},
                               {here.at<int>(hay_at), here.at<int>(hay_matched)});
    const Rcpp::RObject found = here.integers(std::move(at), a.count),
                        flags = here.vector(LGLSXP, std::move(matched), a.count),
                        hay_found = here.integers(std::move(hay_at), b.count),
                        hay_flags = here.vector(LGLSXP, std::move(hay_matched), b.count);
    return Rcpp::List::create(Rcpp::_["at"] = found, Rcpp::_["matched"] = flags, Rcpp::_["haystack_at"] = hay_found,
                              Rcpp::_["haystack_matched"] = hay_flags);
  });
}

}  // namespace

bool ends_missing_on_gpu(OnDevice& here, const arrays::Whole& list) {
  if (list.count == 0) return false;
  const auto last = [&](const auto* items) {
    std::decay_t<decltype(*items)> item;
    here.gpu().download(&item, reinterpret_cast<device::Pointer>(items + list.count - 1), sizeof item);
    return arrays::is_missing(item);
  };
  return list.integers ? last(list.integers) : last(list.doubles);
}

}  // namespace kernweave

// The place, from 1, of the first item that is less than the one before it; 0 where there is none.
// [[Rcpp::export(rng = false)]]
double r_first_unsorted(SEXP x, int threads) {
  return kernweave::at_border([&] {
    const auto found = kernweave::plain_on_gpu(x) ? kernweave::first_unsorted_on_gpu(x, false)
                                                  : kernweave::first_unsorted(x, kernweave::workers_from_r(threads));
    return static_cast<double>(found);
  });
}

// Tells whether the last item of a sorted list is missing. A list with missing items then has them last.
// [[Rcpp::export(rng = false)]]
bool r_ends_missing(SEXP x) {
  return kernweave::at_border([&]() -> bool {
    if (kernweave::plain_on_gpu(x))
      return kernweave::on_device_of(
          x, [&](kernweave::OnDevice& here) { return kernweave::ends_missing_on_gpu(here, here.whole(x)); });
    const kernweave::Index n = Rf_xlength(x);
    return n > 0 && kernweave::with_items(x, [&](auto items) { return kernweave::arrays::is_missing(items[n - 1]); });
  });
}

// [[Rcpp::export(rng = false)]]
SEXP r_merge(SEXP x, SEXP y, bool rows, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    if (kernweave::both_on_gpu(x, y)) return kernweave::merged_on_gpu(x, y, rows);
    kernweave::read_here(x);
    kernweave::read_here(y);
    const auto workers = kernweave::workers_from_r(threads);
    return kernweave::with_sorted(x, y, [&](const auto& a, const auto& b) -> SEXP {
      using Item = std::decay_t<decltype(*a.items)>;
      const kernweave::Index n = a.length + b.length;
      if (rows)
        return kernweave::with_numbers(n, n, [&](auto to, auto) { kernweave::arrays::merge_rows(a, b, to, workers); });
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
    if (kernweave::both_on_gpu(needles, haystack))
      return kernweave::searched_on_gpu(needles, haystack, equal_too, sorted);
    kernweave::read_here(needles);
    kernweave::read_here(haystack);
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

// Counts the items of the haystack before each needle, and the needles before each item of the haystack. Tells which
// items have an equal item. For the haystack, the opposite of `equal_too` holds.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_search_both(SEXP needles, SEXP haystack, bool equal_too, int threads) {
  return kernweave::at_border([&] {
    if (kernweave::both_on_gpu(needles, haystack)) return kernweave::both_searched_on_gpu(needles, haystack, equal_too);
    kernweave::read_here(needles);
    kernweave::read_here(haystack);
    const auto workers = kernweave::workers_from_r(threads);
    return kernweave::with_sorted(needles, haystack, [&](const auto& a, const auto& b) {
      if (std::max(a.length, b.length) <= kernweave::kMostInt)
        return kernweave::both_to_r<Rcpp::IntegerVector>(a, b, equal_too, workers);
      return kernweave::both_to_r<Rcpp::NumericVector>(a, b, equal_too, workers);
    });
  });
}
