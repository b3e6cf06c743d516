// Searches the cheapest path over all subsets of the factors.
#include "axes/paths.hpp"

#include <algorithm>
#include <limits>

namespace kernweave::axes {
namespace {

constexpr std::size_t kMostFactors = 8;      // 3^8 ways to part a subset; with more factors, one pass
constexpr double kSecondsOfProduct = 1e-10;  // on a path: from products of matrices of 1000
// The most memory of intermediate products: this, or the memory of the largest factor or of the result.
constexpr double kBytesBetween = 64e6;

// The cheapest way to the product of a subset of the factors: its cost, the most memory that one of its steps leaves,
// and the subset that is its left part.
struct Way {
  double cost = std::numeric_limits<double>::infinity(), bytes = 0;
  unsigned part = 0;
};

class Paths {
 public:
  Paths(const std::vector<AxisSet>& factors, AxisSet kept, const std::vector<double>& extents)
      : factors_(factors), kept_(kept), extents_(extents), ways_(std::size_t{1} << factors.size()) {
    for (unsigned subset = 1; subset <= whole(); ++subset)
      ways_[subset] = (subset & (subset - 1)) == 0 ? alone(subset) : cheapest(subset);
  }

  const Way& best() const { return ways_[whole()]; }

  double size(AxisSet axes) const {
    double n = 1;
    for (std::size_t k = 0; k < extents_.size(); ++k)
      if (axes >> k & 1) n *= extents_[k];
    return n;
  }

  std::unique_ptr<Path> path(unsigned subset) const {
    auto found = std::make_unique<Path>();
    if (const unsigned part = ways_[subset].part) {
      found->left = path(part);
      found->right = path(subset ^ part);
    } else {
      while (!(subset >> ++found->factor & 1)) continue;
    }
    return found;
  }
  unsigned whole() const { return static_cast<unsigned>(ways_.size()) - 1; }

 private:
  AxisSet axes(unsigned subset) const {
    AxisSet all = 0;
    for (std::size_t k = 0; k < factors_.size(); ++k)
      if (subset >> k & 1) all |= factors_[k];
    return all;
  }
  // A product keeps the axes that the result or another factor has.
  AxisSet left(unsigned subset) const { return axes(subset) & (kept_ | axes(whole() ^ subset)); }

  // Returns the way of one factor, summed over the axes that neither the result nor another factor has.
  Way alone(unsigned subset) const {
    const AxisSet own = axes(subset);
    return {left(subset) != own ? size(own) : 0, 0, 0};
  }
  Way cheapest(unsigned subset) const {
    Way best;
    const double own = subset < whole() ? 8 * size(left(subset)) : 0;
    for (unsigned part = (subset - 1) & subset; part > 0; part = (part - 1) & subset) {
      const unsigned rest = subset ^ part;
      if (part < rest) continue;
      const double cost = ways_[part].cost + ways_[rest].cost + size(left(part) | left(rest));
      if (cost < best.cost) best = {cost, std::max({own, ways_[part].bytes, ways_[rest].bytes}), part};
    }
    return best;
  }

  const std::vector<AxisSet>& factors_;
  const AxisSet kept_;
  const std::vector<double>& extents_;
  std::vector<Way> ways_;
};

}  // namespace

std::unique_ptr<Path> cheapest_path(const std::vector<AxisSet>& factors, AxisSet kept,
                                    const std::vector<double>& extents, double seconds) {
  if (factors.size() < 2 || factors.size() > kMostFactors) return nullptr;
  const Paths paths(factors, kept, extents);
  const Way& way = paths.best();
  double room = std::max(kBytesBetween, 8 * paths.size(kept));
  for (const AxisSet factor : factors) room = std::max(room, 8 * paths.size(factor));
  const double points = paths.size((AxisSet{1} << extents.size()) - 1);
  const bool pays = 2 * way.cost <= points * static_cast<double>(factors.size() - 1) &&
                    kSecondsOfProduct * way.cost <= seconds && way.bytes <= room;
  return pays ? paths.path(paths.whole()) : nullptr;
}

}  // namespace kernweave::axes
