// A block of places at a time: entries between the data of each, and one Cholesky elimination with what else is asked
// for as rows below.
#include "solve/conditional_local.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace kernweave::solve {
namespace {

constexpr Index kPairsAtOnce = 1 << 19;  // three lists of them are 12 MB
constexpr Index kPlacesOfThread = 2;     // at once, where these have more pairs
constexpr double kExplained = 1e-14;  // of a variance: what is left is rounding
constexpr double kAlike = 1e-12;      // of a regressor's square: the others say all of it
constexpr double kBelowZero = 1e-8;   // of a variance: more is no rounding

using RowMajorBlock = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Computes R L'^-1 for the rows R below a lower triangle of L L'. A column becomes 0 if the columns before leave no
// more than `rounding` of its diagonal. Returns the least share of the diagonal that is left.
double eliminate(RowMajorBlock* s, double rounding) {
  const Index n = s->cols();
  double least = 1;
  for (Index j = 0; j < n; ++j) {
    const Index below = s->rows() - j - 1;
    const double all = (*s)(j, j), left = all - s->row(j).head(j).squaredNorm();
    if (!(left >= least * all)) least = left / all;
    if (std::isnan(least)) return least;
    auto column = s->col(j).tail(below);
    if (!(left > rounding * all)) {
      column.setZero();
      continue;
    }
    if (j) column.noalias() -= s->block(j + 1, 0, below, j) * s->row(j).head(j).transpose();
    column /= std::sqrt(left);
  }
  return least;
}

class LocalKriging {
 public:
  LocalKriging(const SeenData& data, const NewPlaces& places)
      : data_(data), places_(places), near_(places.near.rows()), regressors_(places.regressors.rows()) {}

  Index pairs() const { return (near_ + 1) * (near_ + 2) / 2; }

  // Lists the pairs of a place: the lower triangle of its data and itself, row by row.
  void list(Index place, double* rows, double* columns) const {
    std::vector<double> own;
    for (Index k = 0; k < near_; ++k) own.push_back(data_.at[static_cast<std::size_t>(datum(place, k))]);
    own.push_back(places_.at[static_cast<std::size_t>(place)]);
    for (auto end = own.begin(); end != own.end();) {
      user_check(std::find(own.begin(), end, *end) == end, Fault::index, "a datum is twice among the neighbours of ",
                 "new place ", place + 1);
      rows = std::fill_n(rows, end - own.begin() + 1, *end);
      columns = std::copy(own.begin(), ++end, columns);
    }
  }

  // Computes mean and variance from the pairs' entries.
  void solve(Index place, const double* entries, double* mean, double* variance) const {
    const Index m = near_;
    RowMajorBlock s(m + 1 + data_.numbers.cols(), m);
    for (Index a = 0; a <= m; ++a)
      for (Index b = 0; b < std::min(a + 1, m); ++b) s(a, b) = entries[a * (a + 1) / 2 + b];
    for (Index b = 0; b < m; ++b) {
      s(b, b) += data_.ridge[datum(place, b)];
      s.col(b).tail(data_.numbers.cols()) = data_.numbers.row(datum(place, b)).transpose();
    }
    const double least = eliminate(&s, kExplained);
    user_check(least > -kBelowZero, Fault::indefinite, "the matrix is not positive definite, as far as new place ",
               place + 1, " and its neighbours tell; a ridge may be missing");
    const double prior = entries[pairs() - 1], left = prior - s.row(m).squaredNorm();
    *variance = left > kExplained * prior ? left : 0;
    *mean = data_.responses ? s.row(m).dot(s.row(m + 1)) : 0;
    if (regressors_) add_trend(place, s, mean, variance);
  }

 private:
  int datum(Index place, Index k) const { return places_.near(k, place); }

  // Adds the part of the coefficients' estimate. Row p of `system` is the place's regressors minus what its data
  // expect; the row after is the response's.
  void add_trend(Index place, const RowMajorBlock& s, double* mean, double* variance) const {
    const Index p = regressors_;
    const auto of_trend = s.bottomRows(p);
    RowMajorBlock system(p + 1 + data_.responses, p);
    system.topRows(p).noalias() = of_trend * of_trend.transpose();
    system.row(p) = places_.regressors.col(place).transpose() - s.row(near_) * of_trend.transpose();
    if (data_.responses) system.row(p + 1).noalias() = s.row(near_ + 1) * of_trend.transpose();
    if (!(eliminate(&system, kAlike) > kAlike)) {
      *mean = *variance = std::numeric_limits<double>::quiet_NaN();
      return;
    }
    if (data_.responses) *mean += system.row(p).dot(system.row(p + 1));
    *variance += system.row(p).squaredNorm();
  }

  const SeenData& data_;
  const NewPlaces& places_;
  const Index near_, regressors_;
};

}  // namespace

Block conditional_local(Entries* entries, const SeenData& data, const NewPlaces& places, const Poll& poll) {
  const LocalKriging kriging(data, places);
  const auto all = static_cast<Index>(places.at.size());
  const int threads = entries->threads();
  const Index at_once = std::max(kPlacesOfThread * threads, kPairsAtOnce / kriging.pairs());
  Block out(2, all);
  Columns rows, columns, numbers;
  for (Index from = 0; from < all; from += at_once) {
    poll(0.0);
    const Index count = std::min(at_once, all - from);
    for (Columns* const made : {&rows, &columns}) made->make(nullptr, count * kriging.pairs(), 1);
    double* const to_rows = rows.here()->data();
    double* const to_columns = columns.here()->data();
    const auto each = [&](auto work) {
      each_piece(count, kriging.pairs(), threads, [&](Index first, Index last, Index) {
        for (Index k = first; k < last; ++k) work(k, k * kriging.pairs());
      });
    };
    each([&](Index k, Index pair) { kriging.list(from + k, to_rows + pair, to_columns + pair); });
    entries->pairs(rows, columns, &numbers);
    const double* const found = numbers.block().data();
    each([&](Index k, Index pair) {
      kriging.solve(from + k, found + pair, &out(0, from + k), &out(1, from + k));
    });
  }
  return out;
}

}  // namespace kernweave::solve
