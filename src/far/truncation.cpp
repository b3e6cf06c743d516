// Leaves out negligible pairs. Each box of rows traverses the tree of columns: a box whose squared distances are all
// negligible is left out, a box without negligible distances is kept whole, other boxes are opened.
#include "far/approximation.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.hpp"
#include "distance/profile.hpp"
#include "distance/radial_form.hpp"
#include "pairs/box_tree.hpp"

namespace kernweave {
namespace far {
namespace {

using BoxNumber = std::int64_t;

// The least number of points of the smallest boxes, which have less than 2 kGrain. Boxes are larger if more than
// kMostRectangles rectangles would remain.
constexpr std::int64_t kGrain = 16;
constexpr std::int64_t kMostRectangles = 4000000;
// The relative margin for rounding in distances of points and of boxes.
constexpr double kEndOfRounding = 0x1p-20;

Coordinates<double> coordinates_of(const distance::Side& side, int width) {
  Coordinates<double> out;
  for (int d = 0; d < width; ++d) {
    const auto first = side.points->begin() + d * side.count;
    out.emplace_back(first, first + side.count);
  }
  return out;
}

class TruncationWalk {
 public:
  TruncationWalk(const BoxTree<double>& rows, const BoxTree<double>& columns, std::size_t width)
      : rows_(rows), columns_(columns), width_(width) {}

  distance::DistanceRange reach(BoxNumber row, BoxNumber column) const {
    distance::DistanceRange all;
    const auto r = static_cast<std::size_t>(row), c = static_cast<std::size_t>(column);
    for (std::size_t d = 0; d < width_; ++d)
      all.add(rows_.least(d)[r], rows_.most(d)[r], columns_.least(d)[c], columns_.most(d)[c]);
    return {all.least * (1 - kEndOfRounding), all.most * (1 + kEndOfRounding)};
  }

  // Returns the columns that a box of rows keeps, as merged ranges. `negligible` is null if no box has columns.
  std::vector<Range> kept(BoxNumber row, const distance::NegligibleRanges* negligible) const {
    struct BoxVisit {
      int level;
      BoxNumber box;
    };
    std::vector<Range> out;
    if (columns_.boxed() > 0) {
      std::vector<BoxVisit> pending = {{0, 1}};
      while (!pending.empty()) {
        const BoxVisit visit = pending.back();
        pending.pop_back();
        const distance::DistanceRange here = reach(row, visit.box);
        if (negligible->covers(here.least, here.most)) continue;
        if (visit.level == columns_.levels() || !negligible->meets(here.least, here.most)) {
          add(columns_.points_of(visit.level, visit.box), &out);
          continue;
        }
        pending.push_back({visit.level + 1, 2 * visit.box + 1});
        pending.push_back({visit.level + 1, 2 * visit.box});
      }
    }
    add({columns_.boxed(), static_cast<std::int64_t>(columns_.order().size())}, &out);
    return out;
  }

 private:
  static void add(const Range& range, std::vector<Range>* out) {
    if (range.size() == 0) return;
    if (!out->empty() && out->back().to == range.from) out->back().to = range.to;
    else out->push_back(range);
  }

  const BoxTree<double>&rows_, &columns_;
  const std::size_t width_;
};

void keep(const Range& rows, const std::vector<Range>& columns, Truncation* out) {
  for (const Range& c : columns) {
    out->kept.push_back({rows, c});
    out->kept_pairs += out->kept.back().pairs();
  }
}

// Returns the threshold for values of the formula of the distance, without factors.
double enough_of(const Allowance& allowance, double largest, double factors) {
  if (allowance.relative) return allowance.tolerance * largest;
  return factors > 0 ? allowance.tolerance / factors : std::numeric_limits<double>::max();
}

std::vector<int> as_int(const std::vector<std::int64_t>& order) { return {order.begin(), order.end()}; }

// The trees of boxes of both sides.
struct BoxTrees {
  BoxTree<double> rows;
  std::optional<BoxTree<double>> other;
  const BoxTree<double>& columns() const { return other ? *other : rows; }
};

BoxTrees trees_of(const distance::RadialForm& form, std::int64_t grain, const arrays::Workers& workers) {
  const auto tree_of = [&](const distance::Side& side) {
    return BoxTree<double>(coordinates_of(side, form.width), grain, workers.threads, workers.poll);
  };
  BoxTrees trees{tree_of(form.rows), std::nullopt};
  if (!have_same_points(form.rows, form.columns, workers)) trees.other.emplace(tree_of(form.columns));
  return trees;
}

// Finds the columns that are kept of each leaf box of rows; false if there are too many rectangles.
bool kept_of_leaves(const TruncationWalk& walk, std::int64_t leaves, const distance::NegligibleRanges* negligible,
                    const arrays::Workers& workers, std::vector<std::vector<Range>>* kept) {
  kept->assign(static_cast<std::size_t>(leaves), {});
  std::atomic<std::int64_t> rectangles{0};
  arrays::each_task(workers, leaves, [&](Index leaf) {
    if (rectangles > kMostRectangles) return;
    std::vector<Range>& mine = (*kept)[static_cast<std::size_t>(leaf)];
    mine = walk.kept(leaves + leaf, negligible);
    rectangles += static_cast<std::int64_t>(mine.size());
  });
  return rectangles <= kMostRectangles;
}

// Writes the kept pairs as rectangles: of each leaf box of rows, then of rows in no box.
void keep_all(const BoxTrees& trees, const std::vector<std::vector<Range>>& kept, Truncation* out) {
  const BoxTree<double>& rows = trees.rows;
  out->rows = as_int(rows.order());
  out->columns = as_int(trees.columns().order());
  const auto leaves = static_cast<std::int64_t>(kept.size());
  for (std::int64_t leaf = 0; leaf < leaves; ++leaf)
    keep(rows.points_of(rows.levels(), leaves + leaf), kept[static_cast<std::size_t>(leaf)], out);
  const Range wild{rows.boxed(), static_cast<std::int64_t>(out->rows.size())};
  const auto all = static_cast<std::int64_t>(out->columns.size());
  if (wild.size() > 0 && all > 0) keep(wild, {{0, all}}, out);
}

}  // namespace

Truncation truncated(const distance::RadialForm& form, const Allowance& allowance, const arrays::Workers& workers) {
  for (const distance::Side* side : {&form.rows, &form.columns}) check_count(*side);
  check_factors(form.rows, "i", workers);
  check_factors(form.columns, "j", workers);
  Truncation out;
  const double factors = largest_factor(form.rows) * largest_factor(form.columns);
  std::optional<distance::NegligibleRanges> negligible;
  for (std::int64_t grain = kGrain;; grain *= 2) {
    const BoxTrees trees = trees_of(form, grain, workers);
    const TruncationWalk walk(trees.rows, trees.columns(), static_cast<std::size_t>(form.width));
    const bool boxes = trees.rows.boxed() > 0 && trees.columns().boxed() > 0;
    if (boxes && !negligible) {
      const distance::DistanceRange reach = walk.reach(1, 1);
      const double largest = distance::largest_found(form.profile, reach.least, reach.most);
      const double enough = enough_of(allowance, largest, factors);
      negligible.emplace(form.profile, reach.most, enough);
      out.scale = largest * factors;
      out.largest_left_out = enough * factors;
    }
    const std::int64_t leaves = trees.rows.boxed() > 0 ? std::int64_t{1} << trees.rows.levels() : 0;
    std::vector<std::vector<Range>> kept;
    if (!kept_of_leaves(walk, leaves, negligible ? &*negligible : nullptr, workers, &kept)) continue;
    keep_all(trees, kept, &out);
    return out;
  }
}

}  // namespace far
}  // namespace kernweave
