// Finds points in the same place, by a hash of their coordinates.
#include <cstring>

#include "trees/trees.hpp"

namespace kernweave::trees {
namespace {

std::uint64_t mixed(std::uint64_t bits) {  // the finaliser of splitmix64
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

// Returns the same hash for 0 and -0, which are one place.
std::uint64_t hash_of(const Coordinates<double>& points, std::size_t p) {
  std::uint64_t hash = 0;
  for (const std::vector<double>& axis : points) {
    const double x = axis[p] + 0.0;
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    hash = mixed(hash ^ bits) + 0x9e3779b97f4a7c15u;
  }
  return hash;
}

}  // namespace

Distinct distinct(const Coordinates<double>& points) {
  const std::size_t n = points.empty() ? 0 : points[0].size();
  std::size_t room = 16;
  while (room < n + n / 2) room *= 2;
  std::vector<int> table(room, -1);
  Distinct out;
  out.first.resize(n);
  const auto alike = [&](std::size_t p, std::size_t q) {
    return std::all_of(points.begin(), points.end(), [&](const auto& axis) { return axis[p] == axis[q]; });
  };
  for (std::size_t p = 0; p < n; ++p) {
    std::size_t at = hash_of(points, p) & (room - 1);
    while (table[at] >= 0 && !alike(static_cast<std::size_t>(table[at]), p)) at = (at + 1) & (room - 1);
    if (table[at] < 0) {
      table[at] = static_cast<int>(p);
      out.rows.push_back(table[at]);
    }
    out.first[p] = table[at];
  }
  return out;
}

std::vector<double> rows_of(const std::vector<double>& numbers, const std::vector<int>& rows) {
  std::vector<double> out;
  out.reserve(rows.size());
  for (const int row : rows) out.push_back(numbers[static_cast<std::size_t>(row)]);
  return out;
}

Coordinates<double> rows_of(const Coordinates<double>& points, const std::vector<int>& rows) {
  Coordinates<double> out;
  for (const std::vector<double>& axis : points) out.push_back(rows_of(axis, rows));
  return out;
}

void name_points(const std::vector<int>& rows, std::size_t begin, std::vector<Edge>* edges) {
  for (std::size_t k = begin; k < edges->size(); ++k) {
    (*edges)[k].from = rows[static_cast<std::size_t>((*edges)[k].from)];
    (*edges)[k].to = rows[static_cast<std::size_t>((*edges)[k].to)];
  }
}

}  // namespace kernweave::trees
