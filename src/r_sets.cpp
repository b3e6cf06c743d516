// R's way to sets of sorted vectors.
#include "arrays/sets.hpp"

#include "r_device_arrays.hpp"
#include "r_sorted.hpp"

namespace kernweave {
namespace {

using arrays::Sorted;
using arrays::Workers;

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
Rcpp::RObject set_to_r(arrays::SetOp op, const Sorted<Item>& a, const Sorted<Item>& b, const Tail<Item>& tail, SEXP x,
                       SEXP y, const Workers& workers) {
  const auto found = arrays::set_of(op, a, b, workers);
  Rcpp::RObject out;
  Item* const items = new_items<Item>(x, y, found.count() + tail.na + tail.nan, &out);
  found.write(items, workers);
  tail.write(items + found.count());
  return out;
}

// NULL where items are missing: what becomes of these is known to the CPU.
SEXP set_on_gpu(SEXP x, SEXP y, arrays::SetOp op, bool multiset) {
  return on_device_of(x, [&](OnDevice& here) -> SEXP {
    const arrays::Whole a = here.whole(x), b = here.whole(y);
    if (ends_missing_on_gpu(here, a) || ends_missing_on_gpu(here, b)) return R_NilValue;
    arrays::cuda::Made made = here.verbs().set_of(here.gpu(), op, multiset, a, b);
    return here.vector(static_cast<SEXPTYPE>(TYPEOF(x)), std::move(made.block), made.count);
  });
}

}  // namespace
}  // namespace kernweave

// [[Rcpp::export(rng = false)]]
SEXP r_set(SEXP x, SEXP y, int op, bool multiset, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const auto workers = kernweave::workers_from_r(threads);
    const auto which = static_cast<kernweave::arrays::SetOp>(op);
    if (kernweave::both_on_gpu(x, y)) {
      const Rcpp::RObject found = kernweave::set_on_gpu(x, y, which, multiset);
      if (!found.isNULL()) return found;
    } else {
      kernweave::read_here(x);
      kernweave::read_here(y);
    }
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
