// Compares and checks the points of a side. All threads search the numbers, up to the first one that passes a test.
#include "distance/sides.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace kernweave {
namespace distance {
namespace {

// Returns the first item that passes the test, or -1.
template <class Test>
Index first_of(Index items, const arrays::Workers& workers, Test test) {
  std::atomic<Index> first{items};
  arrays::each_piece(workers, items, [&](Index, Index begin, Index end) {
    Index at = begin;
    while (at < end && !test(at)) ++at;
    if (at == end) return;
    for (Index before = first; at < before && !first.compare_exchange_weak(before, at);) {}
  });
  return first == items ? -1 : first.load();
}

template <class Numbers>
bool are_same(const Numbers& a, const Numbers& b, const arrays::Workers& workers) {
  if (a.size() != b.size()) return false;
  const auto differ = [&](Index k) { return a[static_cast<std::size_t>(k)] != b[static_cast<std::size_t>(k)]; };
  return first_of(static_cast<Index>(a.size()), workers, differ) < 0;
}

// Names the first data that are not finite in a row; empty if all are finite, but too large together.
std::string where_from(const Side& side, std::int64_t row) {
  for (const NamedData& one : side.made_of)
    for (std::int64_t c = 0; c < one.data.columns; ++c)
      if (!std::isfinite(one.data.data[row + c * one.data.rows]))
        return sentence(": see row ", row + 1, " of `", one.name, "`");
  return "";
}

// Checks that numbers, which lie component by component, are finite.
template <class Numbers>
void check_finite(const Numbers& numbers, const Side& side, const char* what, const char* axis,
                  const arrays::Workers& workers) {
  const Index at = first_of(static_cast<Index>(numbers.size()), workers,
                            [&](Index k) { return !std::isfinite(numbers[static_cast<std::size_t>(k)]); });
  if (at < 0) return;
  const std::int64_t row = at % side.count;
  fail(Fault::input, what, "point ", row + 1, " along ", axis, " is not finite", where_from(side, row));
}

}  // namespace

void check_count(const Side& side) {
  user_check(side.count < std::numeric_limits<int>::max(), Fault::unsupported, "too many points along an axis");
}
void check_points(const Side& side, const char* axis, const arrays::Workers& workers) {
  check_finite(*side.points, side, "", axis, workers);
}
void check_factors(const Side& side, const char* axis, const arrays::Workers& workers) {
  check_finite(side.factors, side, "the factor of ", axis, workers);
}

bool have_same_points(const Side& a, const Side& b, const arrays::Workers& workers) {
  return a.points == b.points || are_same(*a.points, *b.points, workers);
}
bool have_same_factors(const Side& a, const Side& b, const arrays::Workers& workers) {
  return are_same(a.factors, b.factors, workers);
}

double largest_factor(const Side& side) {
  if (side.factors.empty()) return 1;
  double most = 0;
  for (const double factor : side.factors) most = std::max(most, std::abs(factor));
  return most;
}

}  // namespace distance
}  // namespace kernweave
