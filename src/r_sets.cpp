// R's way to sets of sorted vectors.
#include "arrays/sets.hpp"

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
