// Orders: columns of R as keys, permutations of rows as vectors of R, sorted numbers; plans of segments: groups by
// keys.
#include "arrays/groups.hpp"
#include "arrays/keys.hpp"
#include "r_arrays.hpp"

namespace kernweave {

arrays::Keys keys_from_r(const List& columns, const LogicalVector& decreasing, bool nan_apart, const Workers& workers) {
  using arrays::KeyType;
  std::vector<arrays::KeyColumn> keys;
  for (R_xlen_t c = 0; c < columns.size(); ++c) {
    const SEXP x = columns[c];
    const bool real = TYPEOF(x) == REALSXP, long_integers = real && Rf_inherits(x, "integer64");
    internal_check(real || TYPEOF(x) == INTSXP || TYPEOF(x) == LGLSXP, "a key of type ", Rf_type2char(TYPEOF(x)));
    keys.emplace_back();
    keys.back().type = long_integers ? KeyType::int64 : real ? KeyType::float64 : KeyType::int32;
    keys.back().data = DATAPTR_RO(x);
    keys.back().decreasing = decreasing[c % decreasing.size()];
    keys.back().nan_apart = nan_apart;
  }
  return arrays::Keys(std::move(keys), columns.size() ? Rf_xlength(columns[0]) : 0, workers);
}

namespace {

RObject order_to_r(const arrays::Keys& keys, const arrays::OrderTask& task, std::uint8_t* tied) {
  return with_numbers(keys.rows(), keys.rows(), [&](auto to, auto) { arrays::radix_order(keys, task, to, tied); });
}

bool all_on_gpu(const List& columns) {
  return columns.size() > 0 && std::all_of(columns.begin(), columns.end(), plain_on_gpu);
}

}  // namespace

RObject order_here(const List& columns, bool decreasing, const Workers& workers) {
  arrays::OrderTask task;
  task.workers = workers;
  return order_to_r(keys_from_r(columns, LogicalVector::create(decreasing), false, workers), task, nullptr);
}

SEXP taken_here(SEXP x, SEXP order) {
  const Whole rows = whole_from_r(order);
  const Shield<SEXP> out(Rf_allocVector(static_cast<SEXPTYPE>(TYPEOF(x)), static_cast<R_xlen_t>(rows.count)));
  const auto take = [&](auto from, auto to) {
    with_array(rows, [&](auto at) {
      for (Index k = 0; k < rows.count; ++k) to[k] = from[static_cast<Index>(at[k]) - 1];
    });
  };
  switch (TYPEOF(x)) {
    case RAWSXP: take(RAW_RO(x), RAW(out)); break;
    case LGLSXP: take(LOGICAL_RO(x), LOGICAL(out)); break;
    case INTSXP: take(INTEGER_RO(x), INTEGER(out)); break;
    case CPLXSXP: take(COMPLEX_RO(x), COMPLEX(out)); break;
    default: take(REAL_RO(x), REAL(out));
  }
  if (Rf_inherits(x, "integer64")) Rf_setAttrib(out, R_ClassSymbol, Rf_mkString("integer64"));
  return out;
}

// The order, as numbers from 1, of items or in each segment of a plan, whose items come in its order; with `ties` also
// which of its rows are as the one before.
// [[Rcpp::export(rng = false)]]
SEXP r_order(List columns, LogicalVector decreasing, SEXP segments, double nearly, bool nan_apart, bool ties,
             int threads) {
  arrays::OrderTask task;
  task.nearly = static_cast<std::int64_t>(nearly);
  task.workers = workers_from_r(threads);
  const bool whole = Rf_isNull(segments);
  if (!ties && all_on_gpu(columns)) {
    if (whole) return order_on_gpu(columns, decreasing, R_NilValue);
    const auto plan = SegmentPlan(segments, task.workers).there(columns[0]);
    return order_on_gpu(columns, decreasing, plan.offsets);
  }
  for (R_xlen_t c = 0; c < columns.size(); ++c) read_here(columns[c]);
  if (!whole) {
    const auto offsets = whole_from_r(SegmentPlan(segments, task.workers).offsets());
    for (Index k = 0; k < offsets.count; ++k) task.offsets.push_back(offsets[k]);
  }
  const auto keys = keys_from_r(columns, decreasing, nan_apart, task.workers);
  RawVector tied = no_init(ties ? keys.rows() : 0);
  const RObject order = order_to_r(keys, task, ties ? tied.begin() : nullptr);
  if (!ties) return order;
  return List::create(_["order"] = order, _["tied"] = tied);
}

// Items of a vector of numbers by an order from 1.
// [[Rcpp::export(rng = false)]]
SEXP r_take(SEXP x, SEXP order) {
  if (plain_on_gpu(x)) return taken_on_gpu(x, order);
  read_here(x);
  return taken_here(x, order);
}

// A vector of nothing but numbers, sorted: on a device without their order, unless NaN or -0 are among them.
// [[Rcpp::export(rng = false)]]
SEXP r_sort(SEXP x, bool decreasing, double nearly, int threads) {
  const bool there = plain_on_gpu(x);
  const RObject sorted = !there ? R_NilValue : on_device_of(x, [&](OnDevice& here) -> SEXP {
    auto items = here.verbs().sorted_items(here.gpu(), here.whole(x), decreasing);
    if (!items) return R_NilValue;
    return here.vector(static_cast<SEXPTYPE>(TYPEOF(x)), std::move(*items), Rf_xlength(x));
  });
  if (!sorted.isNULL()) return sorted;
  const RObject order =
      r_order(List::create(x), LogicalVector::create(decreasing), R_NilValue, nearly, false, false, threads);
  return there ? taken_on_gpu(x, order) : taken_here(x, order);
}

// --- plans of segments ----------------------------------------------------------------------------------------------

namespace {

SEXP offsets_to_r(const std::vector<Index>& counts, Index n) {
  return with_numbers(n, static_cast<Index>(counts.size()) + 1, [&](auto to, auto) {
    Index before = 0;
    *to = 0;
    for (const Index count : counts) *++to = static_cast<std::decay_t<decltype(*to)>>(before += count);
  });
}

struct Groups {
  std::vector<int> keys;      // of each group
  std::vector<Index> counts;  // its items
  std::vector<int> code_of;   // of each key that there could be
};

Groups groups_of(const std::vector<Index>& counts, const arrays::KeyRange& range) {
  Groups groups;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] > 0) {
      groups.counts.push_back(counts[k]);
      groups.keys.push_back(k + 1 == counts.size() ? NA_INTEGER
                                                   : static_cast<int>(range.least + static_cast<Index>(k)));
    }
    groups.code_of.push_back(static_cast<int>(groups.counts.size()));
  }
  return groups;
}

// Codes that the keys are already are not written once more.
SEXP codes_to_r(SEXP by, const int* keys, const arrays::KeyRange& range, const Groups& groups, const Workers& workers) {
  const bool are_codes = !range.missing && range.least == 1 && range.most == static_cast<Index>(groups.keys.size());
  if (are_codes && TYPEOF(by) == INTSXP) return by;
  const Shield<SEXP> codes(Rf_allocVector(INTSXP, Rf_xlength(by)));
  arrays::write_codes(keys, Rf_xlength(by), range, NA_INTEGER, groups.code_of, workers, INTEGER(codes));
  return codes;
}

// Any keys on a device, by sorting.
List groups_on_gpu(SEXP by) {
  List found = on_device_of(by, [&](OnDevice& here) {
    const Index n = Rf_xlength(by);
    arrays::cuda::Grouped groups = here.verbs().groups_of(here.gpu(), here.whole(by));
    return List::create(
        _["keys"] = here.integers(std::move(groups.heads)), _["offsets"] = here.integers(std::move(groups.offsets)),
        _["codes"] = here.integers(std::move(groups.codes), n), _["order"] = here.integers(std::move(groups.order), n));
  });
  found["keys"] = taken_on_gpu(by, found["keys"]);  // from the first item of each group
  return found;
}

}  // namespace

SEXP SegmentPlan::order() {
  if (Rf_isNull(codes())) return R_NilValue;
  if (kept_.exists("order") && !Rf_isNull(kept_["order"])) return kept_["order"];
  const IntegerVector of(codes());
  kept_["order"] = RObject(with_numbers(of.size(), of.size(), [&](auto to, auto) {
    arrays::write_order(of.begin(), of.size(), whole_from_r(offsets()), workers_, to);
  }));
  return kept_["order"];
}

SegmentPlan::There SegmentPlan::there(SEXP like) {
  const auto sent = [&](SEXP x) { return Rf_isNull(x) || on_gpu(x) ? x : sent_to(x, like); };
  if (!kept_.exists("there")) kept_["there"] = List::create(_["offsets"] = sent(offsets()), _["order"] = sent(order()));
  const List found = kept_["there"];
  return {found["offsets"], found["order"]};
}

// Groups of equal keys: the key of each, smallest first and none last, offsets, and the number of each item's group,
// NULL where the items lie in order; of what lies on a device also the order. NULL in all for what the CPU cannot
// count: keys that are no integers, or too far apart.
// [[Rcpp::export(rng = false)]]
SEXP r_group(SEXP by, int threads) {
  if (plain_on_gpu(by)) return groups_on_gpu(by);
  read_here(by);
  if (TYPEOF(by) != INTSXP && TYPEOF(by) != LGLSXP) return R_NilValue;
  const Workers workers = workers_from_r(threads);
  const Index n = Rf_xlength(by);
  const int* const keys = TYPEOF(by) == LGLSXP ? LOGICAL_RO(by) : INTEGER_RO(by);
  const arrays::KeyRange range = arrays::range_of(keys, n, NA_INTEGER, workers);
  // Counting takes memory for every key that there could be.
  if (static_cast<double>(range.most) - range.least >= 2.0 * static_cast<double>(n) + 65536) return R_NilValue;
  const Groups groups = groups_of(arrays::count_keys(keys, n, range, NA_INTEGER, workers), range);
  return List::create(_["keys"] = groups.keys, _["offsets"] = offsets_to_r(groups.counts, n),
                      _["codes"] = range.ascending ? R_NilValue : codes_to_r(by, keys, range, groups, workers));
}

// The numbers of a plan's items, segment after segment, where an array lies that they are to be used with; NULL where
// items lie so.
// [[Rcpp::export(rng = false)]]
SEXP r_segment_order(SEXP plan, SEXP like, int threads) {
  const Workers workers = workers_from_r(threads);
  SegmentPlan segments(plan, workers);
  return plain_on_gpu(like) ? segments.there(like).order : segments.order();
}

}  // namespace kernweave
