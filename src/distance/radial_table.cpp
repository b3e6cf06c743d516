// Makes tables of radial functions. A row is made from a Taylor series about the middle of its segment; Chebyshev
// polynomials lower the degree of the series.
#include "distance/radial_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#include "expr/table.hpp"
#include "kernweave/ops.hpp"

namespace kernweave {
namespace distance {
namespace {

constexpr int kSegments = radial::kSegments, kTerms = radial::kTerms, kFew = radial::kTermsOf<float>;
// The powers of a Taylor series: a segment is at most 1/64 of the way to 0, and 64^-14 is 5e-26.
constexpr int kSeries = 14;
constexpr int kNodes = 12;   // Chebyshev points of a segment, for functions that are given by values only
using Series = std::array<double, kSeries>;

// The coefficients of Chebyshev polynomials by powers.
struct ChebyshevPowers {
  double at[kSeries][kSeries] = {};
  ChebyshevPowers() {
    at[0][0] = 1;
    at[1][1] = 1;
    for (int n = 2; n < kSeries; ++n)
      for (int k = 0; k <= n; ++k) at[n][k] = (k > 0 ? 2 * at[n - 1][k - 1] : 0) - at[n - 2][k];
  }
};
const ChebyshevPowers& chebyshev() {
  static const ChebyshevPowers powers;
  return powers;
}

// Returns the series of s f'(s), from the series of f in x = (s - s0) / s0.
Series theta(const Series& a) {
  Series b{};
  for (int n = 0; n < kSeries; ++n) b[n] = n * a[n] + (n + 1 < kSeries ? (n + 1) * a[n + 1] : 0);
  return b;
}
// Returns s^k f^(k)(s) = theta (theta - 1) ... (theta - k + 1) f.
Series falling_theta(Series a, int k) {
  for (int j = 0; j < k; ++j) {
    const Series b = theta(a);
    for (int n = 0; n < kSeries; ++n) a[n] = b[n] - j * a[n];
  }
  return a;
}

// Writes the tables of all orders, one after the other.
class TableWriter {
 public:
  TableWriter(int orders, const TableBounds& bounds)
      : numbers_(static_cast<std::size_t>(radial::kHead * (orders + 1)), 0.0) {
    numbers_[0] = bounds.known;
    numbers_[1] = bounds.trigamma;
    numbers_[2] = bounds.inverse_nu;
  }

  // Begins the next order: its value at 0, before the division by s^pole, and the octave of its first row.
  void begin(double at_zero, int first_octave, int pole) {
    double* const head = this->head();
    head[radial::kFirstRow] = static_cast<double>(numbers_.size());
    head[radial::kFirstOctave] = first_octave;
    head[radial::kPole] = pole;
    constant(at_zero);
  }
  // Adds the row of a segment whose middle is m times a power of 2, from a series in x = (s - s0) / s0.
  void row(const Series& series, double m) {
    const double half = 0.5 / (kSegments * m);
    Series a = series;
    double power = 1;
    for (int n = 0; n < kSeries; ++n, power *= half) a[n] *= power;
    lower(&a, kSeries, kTerms);
    append(a, kTerms, &numbers_);
    lower(&a, kTerms, kFew);
    append(a, kFew, &for_float_);
  }
  // Ends an order with its value beyond the last octave.
  void end(double beyond) {
    constant(beyond);
    double* const head = this->head();
    head[radial::kRows] = (static_cast<double>(numbers_.size()) - head[radial::kFirstRow]) / kTerms;
    ++order_;
    numbers_.resize((numbers_.size() + 3) / 4 * 4, 0.0);
    numbers_.insert(numbers_.end(), for_float_.begin(), for_float_.end());
    for_float_.clear();
  }

  // Rounds up to one of few sizes: sizes are keys of plans and compiled kernels, so these serve many tables.
  std::vector<double> finish() {
    std::size_t size = 1 << 12;
    while (size < numbers_.size()) size += size & (size - 1) ? size / 3 : size / 2;
    numbers_.resize(size, 0.0);
    return std::move(numbers_);
  }

 private:
  double* head() { return numbers_.data() + radial::kHead * (1 + order_); }
  void constant(double value) {
    append({value}, kTerms, &numbers_);
    append({value}, kFew, &for_float_);
  }
  // Lowers the number of terms by Chebyshev polynomials.
  static void lower(Series* a, int from, int to) {
    for (int n = from - 1; n >= to; --n) {
      const double b = (*a)[n] / chebyshev().at[n][n];
      for (int k = n & 1; k <= n; k += 2) (*a)[k] -= b * chebyshev().at[n][k];
    }
  }
  static void append(const Series& a, int terms, std::vector<double>* rows) {
    double power = 1;
    for (int n = 0; n < terms; ++n, power *= 2 * kSegments) rows->push_back(a[n] * power);
  }

  std::vector<double> numbers_, for_float_;
  int order_ = 0;
};

double psi(double x) {
  double r = 0;
  for (; x < 20; x += 1) r -= 1 / x;
  const double y = 1 / (x * x);
  return r + std::log(x) - 1 / (2 * x) -
         y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * 691.0 / 32760)))));
}

// Computes phi(s) = c u^nu K_nu(u), u = sqrt(s), phi(0) = 1, by the trapezoidal rule for the integral over t > 0 of
// exp(-u cosh t) cosh(nu t). The rule converges exponentially and has positive terms only.
class Matern {
 public:
  explicit Matern(double nu) : nu_(nu), norm_(std::exp2(1 - nu) / std::tgamma(nu)), dnorm_(-std::log(2.0) - psi(nu)) {
    for (std::size_t level = 0; level < nodes_.size(); ++level) {
      const double step = kSteps[level];
      for (int k = 0;; ++k) {
        const double t = k * step, c = 2 * std::sinh(t / 2) * std::sinh(t / 2), w = k > 0 ? step : step / 2;
        if (c * kLeast[level] > kCut || nu_ * t > 600) break;
        nodes_[level].push_back({c, w * std::cosh(nu * t), w * std::cosh((nu - 1) * t), w * t * std::sinh(nu * t),
                                 w * t * std::sinh((nu - 1) * t)});
      }
    }
  }

  struct Values {
    double phi, slope;        // phi and s phi'
    double of_nu, slope_of_nu;  // their derivatives by nu, at the same s
  };
  Values at(double s) const {
    const double u = std::sqrt(s);
    std::size_t level = nodes_.size() - 1;
    while (level > 0 && u < kLeast[level]) --level;
    double k = 0, l = 0, dk = 0, dl = 0;
    for (const QuadratureNode& n : nodes_[level]) {
      const double x = u * n.c;
      if (x > kCut) break;
      const double e = std::exp(-x);
      k += e * n.a;
      l += e * n.b;
      dk += e * n.da;
      dl += e * n.db;
    }
    const double z = norm_ * std::exp(nu_ * std::log(u) - u), log_u = dnorm_ + std::log(u);
    return {z * k, -z * u * l / 2, z * (dk + log_u * k), -z * u / 2 * (dl + log_u * l)};
  }

  // Return Taylor series of phi and of its derivative by nu, from s phi'' + (1 - nu) phi' = phi / 4.
  Series series(double s, const Values& v) const {
    Series q{};
    q[0] = v.phi;
    q[1] = v.slope;
    for (int n = 0; n + 2 < kSeries; ++n)
      q[n + 2] = (s / 4 * q[n] - (n + 1) * (n + 1 - nu_) * q[n + 1]) / ((n + 1) * (n + 2));
    return q;
  }
  Series series_of_nu(double s, const Values& v, const Series& q) const {
    Series a{};
    a[0] = v.of_nu;
    a[1] = v.slope_of_nu;
    for (int n = 0; n + 2 < kSeries; ++n)
      a[n + 2] = (s / 4 * a[n] - (n + 1) * (n + 1 - nu_) * a[n + 1] + (n + 1) * q[n + 1]) / ((n + 1) * (n + 2));
    return a;
  }

  // Return c and d log(c) / d nu, with phi(s) = 1 - c s^nu + s / (4 (1 - nu)) + ... for nu < 1 and small s.
  double power() const { return std::tgamma(1 - nu_) / (std::tgamma(1 + nu_) * std::exp2(2 * nu_)); }
  double log_power_slope() const { return -psi(1 - nu_) - psi(1 + nu_) - 2 * std::log(2.0); }

  int end_octave() const {
    int end = 2;
    while (end < 13 && at(std::ldexp(1.0, end)).phi > 1e-18) ++end;
    return end;
  }

 private:
  static constexpr double kCut = 60;  // exp(-60) is negligible beside 1
  static constexpr std::array<double, 4> kSteps = {0.2, 0.2, 0.1, 0.05}, kLeast = {1e-170, 3e-9, 4, 32};
  struct QuadratureNode {
    double c, a, b, da, db;
  };
  double nu_, norm_, dnorm_;
  std::array<std::vector<QuadratureNode>, 4> nodes_;
};

// Returns the octave below which 1 - phi is less than 1e-15 for nu < 1.
int octave_of_power(const Matern& f, double nu) {
  return static_cast<int>(std::floor(std::log2(1e-15 / f.power()) / nu));
}

constexpr int kLeastOctave = -1020;
constexpr int kSmallOctave = -56;  // below it, for nu < 1, phi has only its two powers in double precision
constexpr int kSlopeOctave = -64;  // below it, at 2e-10 of the scale, slopes that are infinite at 0 are taken to be 0
constexpr double kMostPower = 0.9;  // above it the two powers cancel

template <class Row>
void each_segment(int first, int end, Row row) {
  for (int octave = first; octave < end; ++octave)
    for (int k = 0; k < kSegments; ++k) row(std::ldexp(1.0, octave), 1 + (k + 0.5) / kSegments);
}

// Returns the series of b s^a about s0: its value at s0 times binomial coefficients.
Series power_series(double value, double a) {
  Series q{};
  for (int n = 0; n < kSeries; value *= (a - n) / (n + 1), ++n) q[n] = value;
  return q;
}

// Writes `times` s^k phi^(k)(s), with pole k, of a Matern function: with any nu if k = 0, with nu <= 1 if k > 0.
void write_matern(TableWriter* table, double nu, int k, double times) {
  const Matern f(nu);
  int first = -50;
  if (nu < 1) first = std::max(kLeastOctave, std::min(first, octave_of_power(f, nu)));
  if (k > 0) first = kSlopeOctave;
  const int small = nu < kMostPower ? kSmallOctave : first;
  table->begin(k > 0 ? 0 : times, first, k);
  each_segment(first, f.end_octave(), [&](double unit, double m) {
    const double s = unit * m;
    Series q{};
    if (s < std::ldexp(1.0, small)) {
      const Series one = power_series(-f.power() * std::pow(s, nu), nu), other = power_series(s / (4 * (1 - nu)), 1);
      for (int n = 0; n < kSeries; ++n) q[n] = (n == 0) + one[n] + other[n];
    } else {
      q = f.series(s, f.at(s));
    }
    q = falling_theta(q, k);
    for (double& number : q) number *= times;
    table->row(q, m);
  });
  table->end(0);
}

// Writes derivative k of a Matern function by s: a number times the function of smoothness nu - k while nu > k, as
// phi_nu' = -phi_(nu - 1) / (4 (nu - 1)); beyond, it is infinite at 0, but its product with a power of s is finite.
void write_matern_order(TableWriter* table, double nu, int k) {
  double times = 1;
  for (; k > 0 && nu > 1; --k, nu -= 1) times /= -4 * (nu - 1);
  write_matern(table, nu, k, times);
}

// Writes the derivative by nu of phi(2 nu r) at fixed r (k = 0), or s times its derivative by s (k = 1).
void write_slope(TableWriter* table, double nu, int k) {
  const Matern f(nu);
  int first = k > 0 ? -30 : -50;
  const int with_log = static_cast<int>(octave_of_power(f, nu) * 1.1) - 4;  // s^nu log(s) falls later than s^nu
  if (nu < 1 && k == 0) first = std::max(kLeastOctave, std::min(first, with_log));
  table->begin(0, first, k);
  each_segment(first, f.end_octave(), [&](double unit, double m) {
    const double s = unit * m;
    Series a{};
    if (nu < 1 && s < std::ldexp(1.0, kSmallOctave)) {
      // The derivative of -c s^nu by nu, plus its s phi' / nu, is -c s^nu (log(c)' + log(s) + 1).
      const double value = -f.power() * std::pow(s, nu), l = f.log_power_slope() + std::log(s) + 1;
      const Series plain = power_series(value, nu);
      Series with_log{};  // the series of value (1 + x)^nu log(1 + x), as the product of both series
      for (int n = 0; n < kSeries; ++n)
        for (int j = 1; j <= n; ++j) with_log[n] += plain[n - j] * (j % 2 ? 1.0 : -1.0) / j;
      for (int n = 0; n < kSeries; ++n) a[n] = l * plain[n] + with_log[n];
    } else {
      const Matern::Values v = f.at(s);
      const Series q = f.series(s, v), slope = theta(q);
      a = f.series_of_nu(s, v, q);
      for (int n = 0; n < kSeries; ++n) a[n] += slope[n] / nu;
    }
    table->row(falling_theta(a, k), m);
  });
  table->end(0);
}

double trigamma_of(double nu) {
  double sum = 0;
  for (; nu < 20; nu += 1) sum += 1 / (nu * nu);
  const double y = 1 / (nu * nu);
  return sum + 1 / nu + y / 2 + y / nu * (1.0 / 6 - y * (1.0 / 30 - y / 42));
}

void check_nu(double nu) {
  user_check(nu >= 0.1 && nu <= 5, Fault::value, "the smoothness `nu` of a Matern kernel must be from 0.1 to 5, not ",
             nu);
}

double node(int k) { return std::cos(3.14159265358979323846 * (k + 0.5) / kNodes); }

// Returns coefficients of Chebyshev polynomials on a segment, from the values at its nodes.
std::array<double, kNodes> interpolated(const double* values) {
  std::array<double, kNodes> c{};
  for (int n = 0; n < kNodes; ++n) {
    for (int k = 0; k < kNodes; ++k) c[n] += values[k] * std::cos(3.14159265358979323846 * n * (k + 0.5) / kNodes);
    c[n] *= (n > 0 ? 2.0 : 1.0) / kNodes;
  }
  return c;
}

}  // namespace

std::vector<double> matern_table(double nu, int most) {
  check_nu(nu);
  TableWriter table(most + 1, {TableBounds::mixture});
  for (int k = 0; k <= most; ++k) write_matern_order(&table, nu, k);
  return table.finish();
}

std::vector<double> matern_slope_table(double nu) {
  check_nu(nu);
  TableWriter table(4, {TableBounds::by_matern, trigamma_of(nu), 1 / nu});
  for (int k = 0; k < 2; ++k) write_slope(&table, nu, k);
  for (int k = 0; k < 2; ++k) write_matern_order(&table, nu, k);
  return table.finish();
}

std::vector<double> table_nodes(int first, int end) {
  std::vector<double> out;
  each_segment(first, end, [&](double unit, double m) {
    for (int k = 0; k < kNodes; ++k) out.push_back(unit * (m + 0.5 / kSegments * node(k)));
  });
  return out;
}

ValuesTable values_table(const std::vector<double>& values, double at_zero, int first, int most, bool is_mixture) {
  const int end = first + static_cast<int>(values.size()) / (kSegments * kNodes);
  TableWriter table(most + 1, {double(is_mixture ? TableBounds::mixture : TableBounds::none)});
  ValuesTable out{{}, 0, 0};
  for (int order = 0; order <= most; ++order) {
    table.begin(order > 0 ? 0 : at_zero, first, order);
    const double* of_segment = values.data();
    each_segment(first, end, [&](double unit, double m) {
      const std::array<double, kNodes> c = interpolated(of_segment);
      of_segment += kNodes;
      const double half = 0.5 / (kSegments * m);
      Series a{};
      double lost = 0;
      for (int n = 0; n < kNodes; ++n) {
        if (n >= kTerms) lost += std::abs(c[n]);
        double by = 1;
        for (int k = 0; k <= n; ++k, by /= half) a[k] += c[n] * chebyshev().at[n][k] * by;
      }
      if (lost > out.error) out = {{}, lost, unit * m};
      table.row(falling_theta(a, order), m);
    });
    table.end(order > 0 || values.empty() ? 0 : values.back());
  }
  out.numbers = table.finish();
  return out;
}

double look_up(const std::vector<double>& table, int order, double s) {
  const Lane x(s);
  Lane out;
  const int attributes[] = {order};
  const Read<Lane> numbers{reinterpret_cast<const Lane*>(table.data()), 1, static_cast<int>(table.size())};
  op::RadialTable::loop(Read<Lane>{&x, 0, 1}, numbers, &out, 1, attributes);
  return out.v;
}

}  // namespace distance
}  // namespace kernweave
