// Sums of products of distances. The product of two distances is the product of differences if x and y rise together,
// else its negative. A sum over rising pairs follows from four sums over the rows that come before a row in the order
// of x and have no greater y; a tree of sums by rank (Fenwick, 1994) has these sums.
#include "arrays/dcov.hpp"

#include <cmath>

#include "arrays/buffer.hpp"
#include "arrays/keys.hpp"

namespace kernweave::arrays {
namespace {

// A sum with its rounding error.
struct TwoDoubles {
  double high = 0, low = 0;

  void add(double number) {
    const double sum = high + number, part = sum - high;
    low += (high - (sum - part)) + (number - part);
    high = sum;
  }
  void add(const TwoDoubles& other) {
    add(other.high);
    low += other.low;
  }
  void add_product(double a, double b) {
    const double product = a * b;
    add(product);
    low += std::fma(a, b, -product);
  }
  void add_product(double a, const TwoDoubles& b) {
    add_product(a, b.high);
    low += a * b.low;
  }
  void add_product(const TwoDoubles& a, const TwoDoubles& b, double sign) {
    add_product(sign * a.high, b);
    low += sign * a.low * b.high;
  }
  double value() const { return high + low; }
};

TwoDoubles times(double a, const TwoDoubles& b) {
  TwoDoubles product;
  product.add_product(a, b);
  return product;
}

// A variable: its rows in the order of their values, the rank of each row, and the row sums of its distance matrix.
// `ahead`: a row sum less the mean row sum.
struct SortedLine {
  SortedLine(const double* values, Index rows, double* sums, const Workers& workers)
      : values(values), rows(rows), order(rows), rank(rows), ahead(rows) {
    const Keys keys({{KeyType::float64, values}}, rows, workers);
    radix_order(keys, OrderTask(), order.get(), nullptr);
    for (Index k = 0; k < rows; ++k) {
      rank[--order[k]] = static_cast<std::int32_t>(k + 1);
      total.add(values[k]);
    }
    TwoDoubles before;
    for (Index k = 0; k < rows; ++k) {
      const Index row = order[k];
      TwoDoubles sum = total;
      sum.add_product(values[row], static_cast<double>(2 * k - rows));
      sum.add_product(-2.0, before);
      before.add(values[row]);
      all.add(sum);
      sums[row] = sum.high;
      ahead[row] = sum.low;
    }
    const double n = static_cast<double>(rows), mean = all.high / n;
    const double rest = (std::fma(-mean, n, all.high) + all.low) / n;
    for (Index row = 0; row < rows; ++row) {
      const double low = ahead[row];
      ahead[row] = (sums[row] - mean) + (low - rest);
      sums[row] += low;
    }
  }

  const double* values;
  Index rows;
  Buffer<std::int32_t> order, rank;
  Buffer<double> ahead;
  TwoDoubles total, all;
};

// The sums over the rows of a node of the tree.
struct RankSums {
  double count = 0;
  TwoDoubles x, y, product;

  void add(const RankSums& other) {
    count += other.count;
    x.add(other.x);
    y.add(other.y);
    product.add(other.product);
  }
};

// Returns the sum over all pairs, each counted once, of (difference of x) * (difference of y).
TwoDoubles products_of_all(const TwoDoubles& products, const SortedLine& x, const SortedLine& y) {
  TwoDoubles sum = times(static_cast<double>(x.rows), products);
  sum.add_product(x.total, y.total, -1);
  return sum;
}

// Centres a sum of products of distances. All terms are multiplied by n^2, and the total is divided by n^2.
double centred(const SortedLine& x, const SortedLine& y, const TwoDoubles& sum, const TwoDoubles& ahead) {
  const double n = static_cast<double>(x.rows);
  TwoDoubles all = times(n * n, sum);
  all.add_product(x.all, y.all, -1);
  all.add_product(-2 * n, ahead);
  return all.value() / (n * n);
}

// Returns the centred sum of x and of y in another order; `raw` is the sum without centring.
template <class RowOf>
double joint_sum(const SortedLine& x, const SortedLine& y, RankSums* tree, RowOf row_of, double* raw) {
  const Index n = x.rows;
  std::fill(tree, tree + n + 1, RankSums());
  TwoDoubles rising, products, ahead;
  for (Index k = 0; k < n; ++k) {
    const Index row = x.order[k], other = row_of(row);
    RankSums own, before;
    own.count = 1;
    own.x.high = x.values[row];
    own.y.high = y.values[other];
    own.product.add_product(own.x.high, own.y.high);
    for (Index at = y.rank[other]; at > 0; at &= at - 1) before.add(tree[at]);
    rising.add_product(before.count, own.product);
    rising.add_product(-own.x.high, before.y);
    rising.add_product(-own.y.high, before.x);
    rising.add(before.product);
    for (Index at = y.rank[other]; at <= n; at += at & -at) tree[at].add(own);
    products.add(own.product);
    ahead.add_product(x.ahead[row], y.ahead[other]);
  }
  TwoDoubles sum = times(4, rising);
  sum.add_product(-2, products_of_all(products, x, y));
  *raw = sum.value();
  return centred(x, y, sum, ahead);
}

double own_sum(const SortedLine& x, double* raw) {
  TwoDoubles squares, ahead;
  for (Index row = 0; row < x.rows; ++row) {
    squares.add_product(x.values[row], x.values[row]);
    ahead.add_product(x.ahead[row], x.ahead[row]);
  }
  const TwoDoubles sum = times(2, products_of_all(squares, x, x));
  *raw = sum.value();
  return centred(x, x, sum, ahead);
}

}  // namespace

DistanceSums distance_sums(const TwoLines& lines, double* rows_x, double* rows_y, double* numbers) {
  const SortedLine x(lines.x, lines.rows, rows_x, lines.workers), y(lines.y, lines.rows, rows_y, lines.workers);
  DistanceSums sums;
  const auto tree = [&] { return Buffer<RankSums>(lines.rows + 1); };
  sums.centred[0] = joint_sum(x, y, tree().get(), [](Index row) { return row; }, &sums.raw[0]);
  sums.centred[1] = own_sum(x, &sums.raw[1]);
  sums.centred[2] = own_sum(y, &sums.raw[2]);
  each_task(lines.workers, lines.count, [&](Index k) {
    const int* const order = lines.orders + k * lines.rows;
    double raw;
    numbers[k] = joint_sum(x, y, tree().get(), [order](Index row) { return Index{order[row]} - 1; }, &raw);
  });
  return sums;
}

}  // namespace kernweave::arrays
