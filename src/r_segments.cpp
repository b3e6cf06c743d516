// R's way to plans of segments: groups by whole numbers.
#include "r_arrays.hpp"
#include "border.hpp"
#include "arrays/groups.hpp"

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

}  // namespace
}  // namespace kernweave

// Groups of integers: the key of each, smallest first and none last, the offsets, and the number of each item's group,
// NULL where the items lie in order. NULL in all where keys are too far apart to be counted.
// [[Rcpp::export(rng = false)]]
SEXP r_group_integers(SEXP by, int threads) {
  return kernweave::at_border([&] { return kernweave::group_integers(by, kernweave::workers_from_r(threads)); });
}

// [[Rcpp::export(rng = false)]]
SEXP r_order_of_groups(Rcpp::IntegerVector codes, SEXP offsets, int threads) {
  return kernweave::at_border([&] {
    return kernweave::order_of_groups(codes, kernweave::whole_from_r(offsets), kernweave::workers_from_r(threads));
  });
}
