// R's way to slices: points and directions as matrices, labellings as raw vectors.
#include "r_arrays.hpp"
#include "border.hpp"
#include "arrays/slices.hpp"

namespace kernweave {
namespace {

arrays::Labellings labellings_from_r(const Rcpp::List& bytes, const Rcpp::NumericVector& shares,
                                     const Rcpp::NumericMatrix& factor) {
  arrays::Labellings labellings{{}, {shares.begin(), shares.end()}, factor.begin()};
  for (R_xlen_t k = 0; k < bytes.size(); ++k) labellings.bytes.push_back(RAW_RO(bytes[k]));
  return labellings;
}

}  // namespace
}  // namespace kernweave

// `distances`: an array of group by group by direction; `numbers`: of the labellings, a mean over directions.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_compare_slices(Rcpp::NumericMatrix points, Rcpp::NumericMatrix directions, Rcpp::IntegerVector groups,
                            Rcpp::NumericVector sizes, Rcpp::List bytes, Rcpp::NumericVector shares,
                            Rcpp::NumericMatrix factor, int threads) {
  return kernweave::at_border([&] {
    const kernweave::arrays::Labellings labellings = kernweave::labellings_from_r(bytes, shares, factor);
    const kernweave::arrays::Slices slices{points.begin(),     points.nrow(),     points.ncol(),
                                           directions.begin(), directions.ncol(), kernweave::workers_from_r(threads)};
    const kernweave::arrays::RowGroups row_groups{groups.begin(), {sizes.begin(), sizes.end()}};
    Rcpp::NumericVector distances(Rcpp::Dimension(sizes.size(), sizes.size(), directions.ncol()));
    Rcpp::NumericVector numbers(8 * labellings.eights());
    kernweave::arrays::compare_slices(slices, row_groups, labellings, distances.begin(), numbers.begin());
    for (double& number : numbers) number /= directions.ncol();
    return Rcpp::List::create(Rcpp::_["distances"] = distances, Rcpp::_["numbers"] = numbers);
  });
}
