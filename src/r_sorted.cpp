// Sorted vectors: searches, merges, sets; joins of tables.
#include <cmath>

#include "arrays/join.hpp"
#include "arrays/sorted.hpp"
#include "arrays/sets.hpp"
#include "r_arrays.hpp"

namespace kernweave {
namespace {

using arrays::Sorted;

// Room for items of a type; logicals stay logicals where both lists have them.
template <class Item>
Item* new_items(SEXP x, SEXP y, Index length, RObject* made) {
  if (TYPEOF(x) == REALSXP) *made = fresh_vector<NumericVector>(length);
  else if (TYPEOF(x) == LGLSXP && TYPEOF(y) == LGLSXP) *made = fresh_vector<LogicalVector>(length);
  else *made = fresh_vector<IntegerVector>(length);
  return static_cast<Item*>(const_cast<void*>(DATAPTR_RO(*made)));
}

template <class Vector, class Item>
List both_to_r(const Sorted<Item>& needles, const Sorted<Item>& hay, bool equal_too, const Workers& workers) {
  using Number = std::decay_t<decltype(*Vector().begin())>;
  Vector at = fresh_vector<Vector>(needles.length), hay_at = fresh_vector<Vector>(hay.length);
  LogicalVector matched(needles.length), hay_matched(hay.length);
  const arrays::Found<Number> of_needles{at.begin(), matched.begin()}, of_hay{hay_at.begin(), hay_matched.begin()};
  if (equal_too) arrays::pass_through(hay, needles, of_hay, of_needles, workers);
  else arrays::pass_through(needles, hay, of_needles, of_hay, workers);
  std::fill(at.begin() + needles.known, at.end(), Vector::get_na());
  return List::create(_["at"] = at, _["matched"] = matched, _["haystack_at"] = hay_at,
                      _["haystack_matched"] = hay_matched);
}

List both_on_gpu_to_r(SEXP needles, SEXP haystack, bool equal_too) {
  return on_device_of(needles, [&](OnDevice& here) {
    const Whole a = here.whole(needles), b = here.whole(haystack);
    device::Block at = here.room_for<int>(a.count), matched = here.room_for<int>(a.count),
                  hay_at = here.room_for<int>(b.count), hay_matched = here.room_for<int>(b.count);
    here.verbs().search_sorted(here.gpu(), a, b, equal_too, NA_INTEGER, {here.at<int>(at), here.at<int>(matched)},
                               {here.at<int>(hay_at), here.at<int>(hay_matched)});
    return List::create(_["at"] = here.integers(std::move(at), a.count),
                        _["matched"] = here.vector(LGLSXP, std::move(matched), a.count),
                        _["haystack_at"] = here.integers(std::move(hay_at), b.count),
                        _["haystack_matched"] = here.vector(LGLSXP, std::move(hay_matched), b.count));
  });
}

Index first_unsorted(SEXP x, const Workers& workers) {
  if (TYPEOF(x) == INTSXP && INTEGER_IS_SORTED(x) == SORTED_INCR) return 0;
  if (TYPEOF(x) == REALSXP && !Rf_inherits(x, "integer64") && REAL_IS_SORTED(x) == SORTED_INCR) return 0;
  const Index n = Rf_xlength(x);
  const Index found = with_items(x, [&](auto items) { return arrays::sorted_up_to(items, n, workers); });
  return found == n ? 0 : found + 1;
}

// Tells whether the last item of a sorted list on a device is missing.
bool ends_missing_on_gpu(OnDevice& here, const Whole& list) {
  if (list.count == 0) return false;
  const auto last = [&](const auto* items) {
    std::decay_t<decltype(*items)> item;
    here.gpu().download(&item, reinterpret_cast<device::Pointer>(items + list.count - 1), sizeof item);
    return arrays::is_missing(item);
  };
  return list.integers ? last(list.integers) : last(list.doubles);
}

void read_both_here(SEXP x, SEXP y) {
  read_here(x);
  read_here(y);
}

}  // namespace

// The place, from 1, of the first item that is less than the one before it; 0 where there is none.
// [[Rcpp::export(rng = false)]]
double r_first_unsorted(SEXP x, int threads) {
  const auto found = plain_on_gpu(x) ? first_unsorted_on_gpu(x, false) : first_unsorted(x, workers_from_r(threads));
  return static_cast<double>(found);
}

// Tells whether the last item of a sorted list is missing. A list with missing items then has them last.
// [[Rcpp::export(rng = false)]]
bool r_ends_missing(SEXP x) {
  if (plain_on_gpu(x)) return on_device_of(x, [&](OnDevice& here) { return ends_missing_on_gpu(here, here.whole(x)); });
  const Index n = Rf_xlength(x);
  return n > 0 && with_items(x, [&](auto items) { return arrays::is_missing(items[n - 1]); });
}

// [[Rcpp::export(rng = false)]]
SEXP r_merge(SEXP x, SEXP y, bool rows, int threads) {
  if (both_on_gpu(x, y))
    return on_device_of(x, [&](OnDevice& here) -> SEXP {
      const Whole a = here.whole(x), b = here.whole(y);
      const Index n = a.count + b.count;
      const auto items = [&](auto* out) { here.verbs().merge_items(here.gpu(), a, b, out); };
      if (rows) return here.filled<int>(n, [&](int* out) { here.verbs().merge_rows(here.gpu(), a, b, out); });
      return a.doubles ? here.filled<double>(n, items) : here.filled<int>(n, items);
    });
  read_both_here(x, y);
  const Workers workers = workers_from_r(threads);
  return with_sorted(x, y, [&](const auto& a, const auto& b) -> SEXP {
    const Index n = a.length + b.length;
    if (rows) return with_numbers(n, n, [&](auto to, auto) { arrays::merge_rows(a, b, to, workers); });
    RObject out;
    arrays::merge_items(a, b, new_items<std::decay_t<decltype(*a.items)>>(x, y, n, &out), workers);
    return out;
  });
}

// Counts the items of the haystack before each needle. `sorted`: the needles are, and one way through both is taken.
// [[Rcpp::export(rng = false)]]
SEXP r_search(SEXP needles, SEXP haystack, bool equal_too, bool sorted, int threads) {
  if (both_on_gpu(needles, haystack))
    return on_device_of(needles, [&](OnDevice& here) {
      const Whole a = here.whole(needles), b = here.whole(haystack);
      return here.filled<int>(a.count, [&](int* at) {
        if (sorted) here.verbs().search_sorted(here.gpu(), a, b, equal_too, NA_INTEGER, {at, nullptr}, {});
        else here.verbs().search_each(here.gpu(), a, b, equal_too, NA_INTEGER, at);
      });
    });
  read_both_here(needles, haystack);
  const Workers workers = workers_from_r(threads);
  return with_sorted(needles, haystack, [&](const auto& a, const auto& b) -> SEXP {
    return with_numbers(b.length, a.length, [&](auto at, auto none) {
      if (!sorted) return arrays::search_each(a.items, a.length, b, equal_too, none, at, workers);
      arrays::Found<std::decay_t<decltype(*at)>> of_needles{at, nullptr}, nothing;
      if (equal_too) arrays::pass_through(b, a, nothing, of_needles, workers);
      else arrays::pass_through(a, b, of_needles, nothing, workers);
      std::fill(at + a.known, at + a.length, none);
    });
  });
}

// Counts the items of the haystack before each needle, and the needles before each item of the haystack. Tells which
// items have an equal item. For the haystack, the opposite of `equal_too` holds.
// [[Rcpp::export(rng = false)]]
List r_search_both(SEXP needles, SEXP haystack, bool equal_too, int threads) {
  if (both_on_gpu(needles, haystack)) return both_on_gpu_to_r(needles, haystack, equal_too);
  read_both_here(needles, haystack);
  const Workers workers = workers_from_r(threads);
  return with_sorted(needles, haystack, [&](const auto& a, const auto& b) {
    if (std::max(a.length, b.length) <= kMostInt) return both_to_r<IntegerVector>(a, b, equal_too, workers);
    return both_to_r<NumericVector>(a, b, equal_too, workers);
  });
}

// --- sets -----------------------------------------------------------------------------------------------------------
namespace {

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
RObject set_to_r(arrays::SetOp op, const Sorted<Item>& a, const Sorted<Item>& b, const Tail<Item>& tail, SEXP x, SEXP y,
                 const Workers& workers) {
  const auto found = arrays::set_of(op, a, b, workers);
  RObject out;
  Item* const items = new_items<Item>(x, y, found.count() + tail.na + tail.nan, &out);
  found.write(items, workers);
  tail.write(items + found.count());
  return out;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP r_set(SEXP x, SEXP y, int op, bool multiset, int threads) {
  const Workers workers = workers_from_r(threads);
  const auto which = static_cast<arrays::SetOp>(op);
  if (both_on_gpu(x, y)) {
    // The CPU alone knows what becomes of missing items.
    const RObject found = on_device_of(x, [&](OnDevice& here) -> SEXP {
      const Whole a = here.whole(x), b = here.whole(y);
      if (ends_missing_on_gpu(here, a) || ends_missing_on_gpu(here, b)) return R_NilValue;
      arrays::cuda::Made made = here.verbs().set_of(here.gpu(), which, multiset, a, b);
      return here.vector(static_cast<SEXPTYPE>(TYPEOF(x)), std::move(made.block), made.count);
    });
    if (!found.isNULL()) return found;
  } else {
    read_both_here(x, y);
  }
  return with_sorted(x, y, [&](const auto& a, const auto& b) -> SEXP {
    using Item = std::decay_t<decltype(*a.items)>;
    const Tail<Item> tail(which, {a, multiset}, {b, multiset});
    if (multiset) return set_to_r(which, a, b, tail, x, y, workers);
    const auto once_a = arrays::distinct(a, workers), once_b = arrays::distinct(b, workers);
    std::vector<Item> own_a(once_a.count()), own_b(once_b.count());
    once_a.write(own_a.data(), workers);
    once_b.write(own_b.data(), workers);
    return set_to_r(which, Sorted<Item>(own_a.data(), once_a.count()), Sorted<Item>(own_b.data(), once_b.count()), tail,
                    x, y, workers);
  });
}

// --- joins: keys of both tables, one behind the other, and pairs of rows --------------------------------------------

namespace {

template <class Row, class Vector, class Number>
List pairs_to_r(const arrays::Keys& keys, const arrays::JoinTask& task, double most_mb, Number none) {
  const arrays::Joined<Row> joined(keys, task);
  const double needed_mb = std::ceil(static_cast<double>(joined.pairs()) * 2 * sizeof(Number) / 1048576);
  user_check(needed_mb <= most_mb, Fault::memory, "there are ", joined.pairs(), " pairs of rows, which would take ",
             needed_mb, " MB; the limit is ", most_mb, " MB. options(kernweave.max_dense_mb = ) raises it");
  Vector x = fresh_vector<Vector>(joined.pairs()), y = fresh_vector<Vector>(joined.pairs());
  joined.write(x.begin(), y.begin(), none);
  return List::create(_["x"] = x, _["y"] = y);
}

// Keys of x and then those of y, in one vector, of the class of integer64 if they are.
SEXP one_behind_other(SEXP x, SEXP y) {
  const SEXPTYPE type = std::max(static_cast<SEXPTYPE>(TYPEOF(x)), static_cast<SEXPTYPE>(TYPEOF(y)));
  const R_xlen_t n = Rf_xlength(x);
  const Shield<SEXP> both(Rf_allocVector(type, n + Rf_xlength(y)));
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

// Joins two tables by `columns`. Each column has the keys of both tables: list(x, y) of one type, or a vector with the
// keys of x and then the keys of y.
// [[Rcpp::export(rng = false)]]
List r_join(List columns, double x_rows, bool keep_x, bool keep_y, bool missing_match, double most_mb, int threads) {
  const auto are_two = [](SEXP column) { return TYPEOF(column) == VECSXP; };
  const auto key = [&](R_xlen_t c, int side) { return VECTOR_ELT(columns[c], side); };
  if (columns.size() == 1 && are_two(columns[0]) && both_on_gpu(key(0, 0), key(0, 1)))
    return on_device_of(key(0, 0), [&](OnDevice& here) {
      const Whole x = here.whole(key(0, 0)), y = here.whole(key(0, 1));
      auto pairs = here.verbs().join(here.gpu(), {x, y, keep_x, keep_y, missing_match, NA_REAL}, NA_INTEGER);
      return List::create(_["x"] = here.integers(std::move(pairs.x), pairs.count),
                          _["y"] = here.integers(std::move(pairs.y), pairs.count));
    });
  List whole(columns.size());
  for (R_xlen_t c = 0; c < columns.size(); ++c) {
    if (are_two(columns[c])) {
      for (int side = 0; side < 2; ++side) read_here(key(c, side));
      whole[c] = one_behind_other(key(c, 0), key(c, 1));
    } else {
      whole[c] = columns[c];
    }
  }
  arrays::JoinTask task{static_cast<Index>(x_rows), keep_x, keep_y, missing_match, workers_from_r(threads)};
  const auto keys = keys_from_r(whole, false, true, task.workers);
  if (keys.rows() > kMostInt) return pairs_to_r<Index, NumericVector>(keys, task, most_mb, NA_REAL);
  return pairs_to_r<std::int32_t, IntegerVector>(keys, task, most_mb, NA_INTEGER);
}

}  // namespace kernweave
