// R's way to plans of segments: groups by equal keys, the order of items.
#include "r_segments.hpp"
#include "border.hpp"
#include "arrays/groups.hpp"
#include "r_device_arrays.hpp"

namespace kernweave {
namespace {

// Counting takes memory for every key that there could be.
bool can_count(const arrays::KeyRange& range, Index n) {
  return static_cast<double>(range.most) - range.least < 2.0 * static_cast<double>(n) + 65536;
}

SEXP offsets_to_r(const std::vector<Index>& counts, Index n) {
  const bool small = n <= kMostInt;
  const Rcpp::Shield<SEXP> out(Rf_allocVector(small ? INTSXP : REALSXP, static_cast<R_xlen_t>(counts.size()) + 1));
  Index before = 0;
  for (std::size_t k = 0; k <= counts.size(); ++k) {
    if (small) INTEGER(out)[k] = static_cast<int>(before);
    else REAL(out)[k] = static_cast<double>(before);
    if (k < counts.size()) before += counts[k];
  }
  return out;
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
SEXP codes_to_r(SEXP by, const int* keys, const arrays::KeyRange& range, const Groups& groups,
                const arrays::Workers& workers) {
  const bool are_codes = !range.missing && range.least == 1 && range.most == static_cast<Index>(groups.keys.size());
  if (are_codes && TYPEOF(by) == INTSXP) return by;
  const Rcpp::Shield<SEXP> codes(Rf_allocVector(INTSXP, Rf_xlength(by)));
  arrays::write_codes(keys, Rf_xlength(by), range, NA_INTEGER, groups.code_of, workers, INTEGER(codes));
  return codes;
}

SEXP group_integers(SEXP by, const arrays::Workers& workers) {
  const Index n = Rf_xlength(by);
  const int* const keys = TYPEOF(by) == LGLSXP ? LOGICAL_RO(by) : INTEGER_RO(by);
  const arrays::KeyRange range = arrays::range_of(keys, n, NA_INTEGER, workers);
  if (!can_count(range, n)) return R_NilValue;
  const Groups groups = groups_of(arrays::count_keys(keys, n, range, NA_INTEGER, workers), range);
  const Rcpp::Shield<SEXP> offsets(offsets_to_r(groups.counts, n));
  const Rcpp::Shield<SEXP> codes(range.ascending ? R_NilValue : codes_to_r(by, keys, range, groups, workers));
  return Rcpp::List::create(Rcpp::_["keys"] = groups.keys, Rcpp::_["offsets"] = Rcpp::RObject(offsets),
                            Rcpp::_["codes"] = Rcpp::RObject(codes));
}

SEXP order_of_groups(const Rcpp::IntegerVector& codes, const arrays::Whole& offsets, const arrays::Workers& workers) {
  const bool small = codes.size() <= kMostInt;
  const Rcpp::Shield<SEXP> out(Rf_allocVector(small ? INTSXP : REALSXP, codes.size()));
  if (small) arrays::write_order(codes.begin(), codes.size(), offsets, workers, INTEGER(out));
  else arrays::write_order(codes.begin(), codes.size(), offsets, workers, REAL(out));
  return out;
}

// Any keys on a device, by sorting.
Rcpp::List groups_on_gpu(SEXP by) {
  const Rcpp::List found = on_device_of(by, [&](OnDevice& here) {
    const Index n = Rf_xlength(by);
    arrays::cuda::Grouped groups = here.verbs().groups_of(here.gpu(), here.whole(by));
    const Rcpp::RObject heads = here.integers(std::move(groups.heads)),
                        offsets = here.integers(std::move(groups.offsets)),
                        codes = here.integers(std::move(groups.codes), n),
                        order = here.integers(std::move(groups.order), n);
    return Rcpp::List::create(Rcpp::_["heads"] = heads, Rcpp::_["offsets"] = offsets, Rcpp::_["codes"] = codes,
                              Rcpp::_["order"] = order);
  });
  const Rcpp::RObject keys = taken_on_gpu(by, found["heads"]);
  return Rcpp::List::create(Rcpp::_["keys"] = keys, Rcpp::_["offsets"] = found["offsets"],
                            Rcpp::_["codes"] = found["codes"], Rcpp::_["order"] = found["order"]);
}

}  // namespace

Index SegmentPlan::items() const { return whole_from_r(offsets())[segments()]; }

SEXP SegmentPlan::order() {
  if (Rf_isNull(codes())) return R_NilValue;
  if (!kept_.exists("order") || Rf_isNull(kept_["order"]))
    kept_["order"] = Rcpp::RObject(order_of_groups(codes(), whole_from_r(offsets()), workers_));
  return kept_["order"];
}

SegmentPlan::There SegmentPlan::there(SEXP like) {
  const auto sent = [&](SEXP x) { return Rf_isNull(x) || on_gpu(x) ? x : sent_to(x, like); };
  if (!kept_.exists("there")) {
    const Rcpp::RObject offsets_there = sent(offsets()), order_there = sent(order());
    kept_["there"] = Rcpp::List::create(Rcpp::_["offsets"] = offsets_there, Rcpp::_["order"] = order_there);
  }
  const Rcpp::List found = kept_["there"];
  return {found["offsets"], found["order"]};
}

}  // namespace kernweave

// Groups of equal keys: the key of each, smallest first and none last, offsets, and the number of each item's group,
// NULL where the items lie in order; of what lies on a device also the order. NULL in all for what the CPU cannot
// count: keys that are no integers, or too far apart.
// [[Rcpp::export(rng = false)]]
SEXP r_group(SEXP by, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    if (kernweave::plain_on_gpu(by)) return kernweave::groups_on_gpu(by);
    kernweave::read_here(by);
    if (TYPEOF(by) != INTSXP && TYPEOF(by) != LGLSXP) return R_NilValue;
    return kernweave::group_integers(by, kernweave::workers_from_r(threads));
  });
}

// The numbers of a plan's items, segment after segment, where an array lies that they are to be used with; NULL where
// items lie so.
// [[Rcpp::export(rng = false)]]
SEXP r_segment_order(SEXP plan, SEXP like, int threads) {
  return kernweave::at_border([&] {
    const kernweave::arrays::Workers workers = kernweave::workers_from_r(threads);
    kernweave::SegmentPlan segments(plan, workers);
    return kernweave::plain_on_gpu(like) ? segments.there(like).order : segments.order();
  });
}
