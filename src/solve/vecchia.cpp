// Products with a sparse factor, pairs of points, and local kriging. Each thread computes whole results, as sums over a
// row or a column of the factor, so that threads need no locks.
#include "solve/vecchia.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace kernweave::solve {
namespace {

// The number of rows whose sums with a column are held in registers.
constexpr Index kRowsAtOnce = 8;

// Sums `count` entries of values times columns of x, for `Rows` rows from `x` on.
template <Index Rows>
void add_columns(const double* x, Index stride, const double* values, const int* at, Index count, double* y) {
  double sums[Rows];
  for (Index r = 0; r < Rows; ++r) sums[r] = y[r];
  for (Index e = 0; e < count; ++e) {
    if (at[e] < 0) continue;
    const double value = values[e];
    const double* const from = x + stride * at[e];
    for (Index r = 0; r < Rows; ++r) sums[r] += value * from[r];
  }
  for (Index r = 0; r < Rows; ++r) y[r] = sums[r];
}

void add_columns(const Block& x, const double* values, const int* at, Index count, double* y) {
  Index from = 0;
  for (; from + kRowsAtOnce <= x.rows(); from += kRowsAtOnce)
    add_columns<kRowsAtOnce>(x.data() + from, x.rows(), values, at, count, y + from);
  for (; from + 2 <= x.rows(); from += 2) add_columns<2>(x.data() + from, x.rows(), values, at, count, y + from);
  if (from < x.rows()) add_columns<1>(x.data() + from, x.rows(), values, at, count, y + from);
}

}  // namespace

void SparseFactor::index_rows() {
  const auto n = static_cast<std::size_t>(points());
  starts_.assign(n + 1, 0);
  for (Index i = 0; i < points(); ++i)
    for (Index s = 0; s < most(); ++s)
      if (at_(s, i) >= 0) ++starts_[static_cast<std::size_t>(at_(s, i)) + 1];
  for (std::size_t i = 0; i < n; ++i) starts_[i + 1] += starts_[i];
  columns_.resize(begin(points()));
  row_values_.resize(begin(points()));
  // Each thread looks through all columns for entries of its own rows; all threads have about equally many entries.
  std::vector<long long> next(starts_.begin(), starts_.end() - 1);
  const auto border = [&](std::int64_t part) {
    if (part == threads_) return static_cast<std::ptrdiff_t>(n);
    const long long before = starts_.back() / threads_ * part;
    return std::lower_bound(starts_.begin(), starts_.end(), before) - starts_.begin();
  };
  share_out(
      threads_, threads_, [](double) {},
      [&](int, std::int64_t part, const Heartbeat&) {
        const auto first = border(part), last = border(part + 1);
        for (Index i = 0; i < points(); ++i)
          for (Index s = 0; s < most(); ++s) {
            const int row = at_(s, i);
            if (row < 0 || row < first || row >= last) continue;
            const auto e = static_cast<std::size_t>(next[static_cast<std::size_t>(row)]++);
            columns_[e] = static_cast<int>(i);
            row_values_[e] = values_(s, i);
          }
      });
}

void SparseFactor::describe_places(device::Device* device, gpu::ColumnTask* task) const {
  task->slots = static_cast<int>(most());
  task->places = at_gpu_.on(device, at_.data(), static_cast<std::size_t>(at_.size()));
}

void SparseFactor::describe(device::Device* device, gpu::ColumnTask* task) const {
  describe_places(device, task);
  task->values = values_gpu_.on(device, values_.data(), static_cast<std::size_t>(values_.size()));
}

void SparseFactor::from_left(const Columns& given, bool transposed, Columns* out) const {
  out->make(given.device(), given.rows(), points());
  if (device::Device* const device = given.device()) {
    gpu::ColumnTask task{};
    describe(device, &task);
    task.count = given.size();
    task.rows = given.rows();
    task.x = given.at();
    task.out = out->at();
    if (transposed) {
      task.starts = starts_gpu_.on(device, starts_.data(), starts_.size());
      task.places = columns_gpu_.on(device, columns_.data(), columns_.size());
      task.row_values = row_values_gpu_.on(device, row_values_.data(), row_values_.size());
    }
    return launch(device, transposed ? "factor_by_rows" : "factor_by_columns", task);
  }
  const Block& x = given.block();
  Block* const y = out->here();
  each_piece(points(), x.rows() * (most() + 1), threads_, [&](Index first, Index last, Index) {
    for (Index i = first; i < last; ++i) {
      double* const to = y->col(i).data();
      y->col(i) = values_(most(), i) * x.col(i);
      if (!transposed) add_columns(x, values_.col(i).data(), at_.col(i).data(), most(), to);
      else add_columns(x, row_values_.data() + begin(i), columns_.data() + begin(i),
                       static_cast<Index>(begin(i + 1) - begin(i)), to);
    }
  });
}

Vector SparseFactor::squares_of_rows() const {
  Vector sums = values_.row(most()).array().square();
  each_piece(points(), most() + 1, threads_, [&](Index first, Index last, Index) {
    for (Index i = first; i < last; ++i)
      for (std::size_t e = begin(i); e < begin(i + 1); ++e) sums[i] += row_values_[e] * row_values_[e];
  });
  return sums;
}

void SparseFactor::solve_from_left(Block* x) const {
  for (const Index i : sequence_) {
    for (Index s = 0; s < most(); ++s)
      if (at_(s, i) >= 0) x->col(i) -= values_(s, i) * x->col(at_(s, i));
    x->col(i) /= values_(most(), i);
  }
}

// --- pairs ----------------------------------------------------------------------------------------------------------
// Pairs are listed by threads on the host, or by a kernel on a device, which finds each pair by its number.

VecchiaPairs::VecchiaPairs(RowIndices order, const SparseFactor& factor, int threads)
    : order_(std::move(order)), rows_(rows_at(order_)), factor_(factor), threads_(threads) {}

Index VecchiaPairs::neighbours_of(Index point) const {
  Index n = factor_.most();
  while (n > 0 && factor_.neighbour(n - 1, point) < 0) --n;
  return n;
}

std::vector<Index> VecchiaPairs::conditioning_set(Index point) const {
  std::vector<Index> all(static_cast<std::size_t>(neighbours_of(point)) + 1);
  for (std::size_t s = 0; s + 1 < all.size(); ++s) all[s] = factor_.neighbour(static_cast<Index>(s), point);
  all.back() = point;
  return all;
}

PairStarts VecchiaPairs::starts(Index from, Index count) const {
  std::vector<long long> at(static_cast<std::size_t>(count) + 1, 0);
  for (Index k = 0; k < count; ++k) {
    const long long n = neighbours_of(from + k) + 1;
    at[static_cast<std::size_t>(k) + 1] = at[static_cast<std::size_t>(k)] + n * (n + 1) / 2;
  }
  return {from, std::move(at)};
}

void VecchiaPairs::describe(const PairStarts& starts, device::Device* home, gpu::ColumnTask* task) const {
  factor_.describe_places(home, task);
  task->together = static_cast<int>(starts.from);
  task->starts = starts.copy.on(home, starts.at.data(), starts.at.size());
}

void VecchiaPairs::list_gpu(const PairStarts& starts, const Columns& rows, const Columns& columns,
                                gpu::ColumnTask task) const {
  device::Device* const home = rows.device();
  describe(starts, home, &task);
  task.count = starts.points() * most();
  task.x_at = rows_.on(home);
  task.out = rows.at();
  task.second = columns.at();
  launch(home, "listed_pairs", task);
}

void VecchiaPairs::list_cpu(const PairStarts& starts, double* rows, double* columns) const {
  each_point(starts.points(), [&](Index k) {
    const std::vector<Index> all = conditioning_set(starts.from + k);
    auto to = static_cast<std::size_t>(starts.at[static_cast<std::size_t>(k)]);
    for (std::size_t a = 0; a < all.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b, ++to) {
        rows[to] = order_[static_cast<std::size_t>(all[a])];
        columns[to] = order_[static_cast<std::size_t>(all[b])];
      }
  });
}

void VecchiaPairs::list(const PairStarts& starts, device::Device* home, Columns* rows, Columns* columns) const {
  rows->make(home, starts.pairs(), 1);
  columns->make(home, starts.pairs(), 1);
  if (home) list_gpu(starts, *rows, *columns, {});
  else list_cpu(starts, rows->here()->data(), columns->here()->data());
}

void VecchiaPairs::list_weighed(const PairStarts& starts, device::Device* home, Columns* rows, Columns* columns,
                                  Columns* weights) const {
  if (!home) {
    list(starts, home, rows, columns);
    weights->make(home, starts.pairs(), 1);
    double* const to = weights->here()->data();
    return each_point(starts.points(), [&](Index k) {
      const auto u = factor_.columns().col(starts.from + k);
      const Index n = neighbours_of(starts.from + k);
      const auto number = [&](Index m) { return u[m == n ? factor_.most() : m]; };
      double* weight = to + starts.at[static_cast<std::size_t>(k)];
      for (Index a = 0; a <= n; ++a)
        for (Index b = 0; b <= a; ++b) *weight++ = (a == b ? 1 : 2) * number(a) * number(b);
    });
  }
  for (Columns* const made : {rows, columns, weights}) made->make(home, starts.pairs(), 1);
  gpu::ColumnTask task{};
  factor_.describe(home, &task);
  task.third = weights->at();
  list_gpu(starts, *rows, *columns, task);
}

// --- local kriging --------------------------------------------------------------------------------------------------
// Handles a block of places at a time: computes the entries between the data of each place, then does one Cholesky
// elimination, with the place, the responses and the regressors as the rows below.

namespace {

constexpr Index kPairsAtOnce = 1 << 19;  // three lists of so many pairs take 12 MB
constexpr Index kPlacesOfThread = 2;     // places of a thread at once, if so many have more than kPairsAtOnce pairs
constexpr double kExplained = 1e-14;  // share of a variance: a smaller rest is rounding
constexpr double kAlike = 1e-12;      // share of a regressor's square: a smaller rest means that it depends on others
constexpr double kBelowZero = 1e-8;   // share of a variance: a more negative rest is no rounding error

using RowMajorBlock = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Computes R L'^-1, where R are the rows below the lower triangle of L L'. A column becomes 0 if the columns before
// leave at most `rounding` of its diagonal. Returns the least share of the diagonal that is left.
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

  // Adds the part of the estimated coefficients. Row p of `system` has the place's regressors minus their prediction
  // from the place's data; the row after it has the response.
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
    each([&](Index k, Index pair) { kriging.solve(from + k, found + pair, &out(0, from + k), &out(1, from + k)); });
  }
  return out;
}

}  // namespace kernweave::solve
