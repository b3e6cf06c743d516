// Values at a grid of Chebyshev points, and a cosine transform along each side.
#include "far/pair_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace kernweave {
namespace far {
namespace {

constexpr double kPi = 3.141592653589793;
constexpr double kRounding = 1e-15;  // smaller coefficients are 0

// A square matrix, row by row.
using Square = std::vector<double>;

// a b' where b is turned, a b else.
Square product(const Square& a, const Square& b, std::size_t n, bool turned) {
  Square out(n * n, 0.0);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t c = 0; c < n; ++c) out[r * n + c] += a[r * n + k] * (turned ? b[c * n + k] : b[k * n + c]);
  return out;
}

}  // namespace

PairTable::PairTable(int degrees, int terms)
    : degrees(degrees), terms(terms), numbers(static_cast<std::size_t>(degrees * terms * terms)) {
  const int points = std::max(degrees, terms) + 1;
  const auto n = static_cast<std::size_t>(points);
  Square transform(n * n), half(n * n), now(n * n, 1.0), next(n * n);
  const auto node = [&](std::size_t k) { return std::cos(kPi * (static_cast<double>(k) + 0.5) / points); };
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t k = 0; k < n; ++k) {
      const double turn = kPi * static_cast<double>(a) * (static_cast<double>(k) + 0.5) / points;
      transform[a * n + k] = (a ? 2.0 : 1.0) / points * std::cos(turn);
      next[a * n + k] = half[a * n + k] = (node(a) - node(k)) / 2;
    }
  for (int m = 0; m < degrees; ++m) {  // now: T_m of half the difference, next: T_{m+1}
    const Square found = product(product(transform, now, n, false), transform, n, true);
    Mass sizes, squares;
    std::vector<double> shell(n + 1, 0.0), shell_squares(n + 1, 0.0);
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b) {
        const double size = std::abs(found[a * n + b]);
        if (a < static_cast<std::size_t>(terms) && b < static_cast<std::size_t>(terms))
          numbers[(static_cast<std::size_t>(m * terms) + a) * static_cast<std::size_t>(terms) + b] = found[a * n + b];
        if (size <= kRounding) continue;
        shell[std::max(a, b)] += size;
        shell_squares[std::max(a, b)] += size * size;
      }
    sizes.outside.resize(static_cast<std::size_t>(terms) + 1);
    squares.outside.resize(static_cast<std::size_t>(terms) + 1);
    for (std::size_t q = n + 1; q-- > 0;) {
      sizes.all += shell[q];
      squares.all += shell_squares[q];
      if (q > static_cast<std::size_t>(terms)) continue;
      sizes.outside[q] = sizes.all;
      squares.outside[q] = squares.all;
    }
    sizes_.push_back(std::move(sizes));
    squares_.push_back(std::move(squares));
    for (std::size_t k = 0; k < n * n; ++k) now[k] = 2 * half[k] * next[k] - now[k];
    std::swap(now, next);
  }
}

const PairTable& pair_table(int degrees, int terms) {
  static std::mutex door;
  static std::map<std::pair<int, int>, std::unique_ptr<PairTable>> made;
  const std::lock_guard<std::mutex> inside(door);
  std::unique_ptr<PairTable>& table = made[{degrees, terms}];
  if (!table) table = std::make_unique<PairTable>(degrees, terms);
  return *table;
}

}  // namespace far
}  // namespace kernweave
