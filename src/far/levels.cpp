// From the whole cube down: pairs of boxes are candidates until their class and their sizes say what becomes of them.
#include "far/levels.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "distance/bounds.hpp"
#include "far/level_offsets.hpp"

namespace kernweave {
namespace far {
namespace {

// So many candidates are too many, where they are more than that share of all pairs of boxes.
constexpr double kMostCandidates = 5e7, kMostOfAll = 0.2;
// Work is counted in coefficients of series. Each product of polynomials takes so much of it for a point whose number
// goes in or out of a series, and for the series by itself; measured.
constexpr double kWorkOfPoint = 0.02, kWorkOfSeries = 0.3;
// What a coefficient takes by the number of components: in three there are more than a first-level cache has room for.
constexpr double kWorkOfCoefficient[] = {1, 1, 1.5};
// A tenth of what finding a series of 1, 2, and 3 components takes: a plan is rarely for one product.
constexpr double kWorkOfClass[] = {5e5, 2e6, 1e7};
constexpr std::size_t kClassesAtOnce = 64;
constexpr double kMostNumbers = 1e8;  // coefficients of a level's classes; once there are more, no more series

// Pairs in the order of kinds, those of a kind as they were.
std::vector<FarPair> by_kind(const std::vector<FarPair>& pairs, std::size_t classes) {
  const auto kind = [](const FarPair& pair) {
    return static_cast<std::size_t>(pair.box_class * (kTurns + 1) + pair.turn - FarPair::kSkipped);
  };
  std::vector<int> next(classes * (kTurns + 1) + 1, 0);
  for (const FarPair& pair : pairs) ++next[kind(pair) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<FarPair> sorted(pairs.size());
  for (const FarPair& pair : pairs) sorted[static_cast<std::size_t>(next[kind(pair)]++)] = pair;
  return sorted;
}

template <int D>
class Planner {
 public:
  using Box = typename Tree<D>::Box;

  Planner(const distance::Profile& k, const Demands& demands, const Grown<D>& trees, const Prices& prices,
          const arrays::Workers& workers)
      : k_(k), demands_(demands), trees_(trees), prices_(prices), workers_(workers) {}

  Levels<D> run() {
    Levels<D> all;
    BoxLists<Split> split(1);  // all points to all, as the only child of what is above them
    LevelOffsets<D> offsets({Offset<D>{}});
    each_stretch(workers_, 1, [&](std::size_t stretch, std::size_t first, std::size_t) {
      typename BoxLists<Split>::Writer list(&split, stretch, first);
      list.next_target();
      list.add({0, 0});
    });
    for (std::size_t l = 0; split.any(); ++l) {
      if (l > 0) trees_.split(workers_);
      check_is_some_use(l, split);
      split = plan_level(l, split, &offsets, &all);
    }
    all.near = near_rectangles<D>(near_, trees_.targets, trees_.sources);
    for (const NearRectangle& r : all.near)
      all.near_pairs += static_cast<double>(r.row_end - r.row) * (r.column_end - r.column);
    return all;
  }

 private:
  // A pair of boxes that is split: its children are candidates of the next level. It has the number of its offset.
  struct Split {
    int source, offset;
  };
  // How many pairs of points there are at an offset: of all its pairs of boxes, and of the largest one.
  struct Met {
    double pairs = 0, most_pairs = -1;

    bool any() const { return most_pairs >= 0; }
    void add(const Met& other) {
      pairs += other.pairs;
      most_pairs = std::max(most_pairs, other.most_pairs);
    }
  };
  // What has become of the candidates of a level.
  struct Sorted {
    Sorted(std::size_t targets, std::size_t sources, int offsets)
        : far(static_cast<std::size_t>(stretches_of(targets))), to(targets), from(sources),
          is_split(static_cast<std::size_t>(offsets)), split(targets), near(targets) {}
    std::vector<std::vector<FarPair>> far;    // of each stretch
    std::vector<std::atomic<bool>> to, from;  // boxes that have series
    std::vector<std::atomic<bool>> is_split;  // offsets of pairs that are split
    BoxLists<Split> split;
    BoxLists<Columns> near;
  };

  // The candidates are the children of pairs that are `split`; returns those that are split again.
  BoxLists<Split> plan_level(std::size_t l, const BoxLists<Split>& split, LevelOffsets<D>* offsets, Levels<D>* all) {
    const double half = trees_.cube.width / 2 / std::ldexp(1.0, static_cast<int>(l));
    const std::vector<Met> met = met_at(l, split, *offsets);
    std::vector<int> class_of_offset;
    std::vector<BoxClass> classes = classes_of(offsets->all_folded(), met, half, &class_of_offset);
    Sorted sorted = sorted_by_class(l, split, *offsets, class_of_offset, classes);
    *offsets = offsets->below(sorted.is_split);
    const std::vector<double> far_pairs = pairs_of_classes(sorted.far, classes.size());
    std::vector<bool> used;
    double work = 0, all_far = 0, all_pairs = 0;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      used.push_back(far_pairs[c] > 0);
      all_far += far_pairs[c];
      work += far_pairs[c] * (classes[c].kept + kWorkOfSeries * power(classes[c].series.degrees, D));
    }
    for (const std::vector<FarPair>& pairs : sorted.far) all_pairs += static_cast<double>(pairs.size());
    LevelTerms<D> terms(&classes, used, workers_);
    const double of_point = kWorkOfPoint * power(terms.terms().degrees, D);
    work += of_point * (points_in(trees_.targets.boxes[l], sorted.to) +
                        points_in(trees_.sources.boxes[l], sorted.from));
    all->levels.push_back({half, std::move(classes), std::move(sorted.far), std::move(terms),
                           NumberedBoxes(sorted.to), NumberedBoxes(sorted.from), kWorkOfCoefficient[D - 1] * work,
                           all_far, all_pairs - all_far});
    near_.push_back(std::move(sorted.near));
    return std::move(sorted.split);
  }

  static double points_in(const std::vector<Box>& boxes, const std::vector<std::atomic<bool>>& which) {
    double all = 0;
    for (std::size_t b = 0; b < boxes.size(); ++b) all += which[b] ? boxes[b].size() : 0;
    return all;
  }

  // --- candidates ---

  // The boxes above those of a level; above the first there is one, whose only child it is.
  const std::vector<Box>& above(const Tree<D>& tree, std::size_t l) const { return l > 0 ? tree.boxes[l - 1] : root_; }

  // f(source, number of the offset) for each candidate of a target box.
  template <class F>
  void each_candidate(std::size_t l, const BoxLists<Split>& split, const LevelOffsets<D>& offsets, const Box& target,
                      F f) const {
    const std::vector<Box>&parents = above(trees_.sources, l), &sources = trees_.sources.boxes[l];
    const int corner = LevelOffsets<D>::corner(target.at);
    for (const Split& pair : split[static_cast<std::size_t>(target.parent)]) {
      const Box& parent = parents[static_cast<std::size_t>(pair.source)];
      for (int s = parent.first_child; s < parent.first_child + parent.children; ++s) {
        const int of_source = LevelOffsets<D>::corner(sources[static_cast<std::size_t>(s)].at);
        f(s, offsets.of_children(pair.offset, corner, of_source));
      }
    }
  }

  // A formula that is nowhere far would come to the pairs of all boxes: that is refused.
  void check_is_some_use(std::size_t l, const BoxLists<Split>& split) const {
    const std::vector<Box>&targets = above(trees_.targets, l), &sources = above(trees_.sources, l);
    double all = 0;
    for (std::size_t t = 0; t < split.targets(); ++t)
      for (const Split& pair : split[t])
        all += static_cast<double>(targets[t].children) * sources[static_cast<std::size_t>(pair.source)].children;
    const double boxes = static_cast<double>(trees_.targets.boxes[l].size()) * trees_.sources.boxes[l].size();
    if (all <= kMostCandidates || all <= kMostOfAll * boxes) return;
    const std::string why = distance::why_no_series(k_, 0, D * trees_.cube.width * trees_.cube.width);
    fail(Fault::unsupported, "the formula has hardly a series at these distances: ", why, why.empty() ? "" : ", and ",
         "nearly all pairs would be computed");
  }

  // What candidates are met at each folded offset.
  std::vector<Met> met_at(std::size_t l, const BoxLists<Split>& split, const LevelOffsets<D>& offsets) const {
    const std::vector<Box>&targets = trees_.targets.boxes[l], &sources = trees_.sources.boxes[l];
    std::vector<Met> met(offsets.all_folded().size());
    std::mutex door;
    each_stretch(workers_, targets.size(), [&](std::size_t, std::size_t first, std::size_t last) {
      std::vector<Met> mine(met.size());
      for (std::size_t t = first; t < last; ++t)
        each_candidate(l, split, offsets, targets[t], [&](int source, int offset) {
          const double pairs = pairs_of(targets[t], sources[static_cast<std::size_t>(source)]);
          mine[static_cast<std::size_t>(offsets.kind(offset).folded)].add({pairs, pairs});
        });
      const std::lock_guard<std::mutex> inside(door);
      for (std::size_t k = 0; k < met.size(); ++k) met[k].add(mine[k]);
    });
    return met;
  }

  // --- classes, and what becomes of candidates ---

  // The classes of offsets that are met, and which of them each is. Some are made at once, so that their memory is
  // known before there are more.
  std::vector<BoxClass> classes_of(const std::vector<Offset<D>>& offsets, const std::vector<Met>& met, double half,
                                   std::vector<int>* class_of_offset) const {
    std::vector<std::size_t> all;
    class_of_offset->assign(offsets.size(), -1);
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      if (!met[k].any()) continue;
      (*class_of_offset)[k] = static_cast<int>(all.size());
      all.push_back(k);
    }
    std::vector<BoxClass> classes(all.size());
    double numbers = 0;
    for (std::size_t first = 0, last = 0; first < all.size(); first = last) {
      last = std::min(all.size(), first + kClassesAtOnce);
      const bool room = numbers < kMostNumbers;
      arrays::each_task(workers_, static_cast<Index>(last - first), [&](Index task) {
        const std::size_t c = first + static_cast<std::size_t>(task), k = all[c];
        const bool pays = room && met[k].pairs * prices_.pair > kWorkOfClass[D - 1];
        classes[c] = class_of<D>(k_, demands_, offsets[k], half, pays ? met[k].most_pairs * prices_.pair : 0);
      });
      for (std::size_t c = first; c < last; ++c)
        numbers += static_cast<double>(classes[c].series.coefficients.size());
    }
    return classes;
  }

  Sorted sorted_by_class(std::size_t l, const BoxLists<Split>& above, const LevelOffsets<D>& offsets,
                         const std::vector<int>& class_of_offset, const std::vector<BoxClass>& classes) const {
    const std::vector<Box>&targets = trees_.targets.boxes[l], &sources = trees_.sources.boxes[l];
    Sorted out(targets.size(), sources.size(), offsets.count());
    each_stretch(workers_, targets.size(), [&](std::size_t stretch, std::size_t first, std::size_t last) {
      typename BoxLists<Split>::Writer split(&out.split, stretch, first);
      typename BoxLists<Columns>::Writer near(&out.near, stretch, first);
      std::vector<FarPair> far;
      for (std::size_t t = first; t < last; ++t) {
        split.next_target();
        near.next_target();
        each_candidate(l, above, offsets, targets[t], [&](int number, int offset) {
          const auto& kind = offsets.kind(offset);
          const int its_class = class_of_offset[static_cast<std::size_t>(kind.folded)];
          const Box& source = sources[static_cast<std::size_t>(number)];
          switch (fate_of(classes[static_cast<std::size_t>(its_class)], static_cast<int>(l), targets[t], source)) {
            case Fate::skipped: far.push_back({static_cast<int>(t), number, its_class, FarPair::kSkipped}); break;
            case Fate::near: near.add({source.begin, source.end}); break;
            case Fate::split:
              split.add({number, offset});
              note(&out.is_split, offset);
              break;
            case Fate::far:
              far.push_back({static_cast<int>(t), number, its_class, kind.turn});
              note(&out.to, static_cast<int>(t));
              note(&out.from, number);
              break;
          }
        });
      }
      out.far[stretch] = by_kind(far, classes.size());
    });
    return out;
  }
  // What is noted already is only read: threads that write next to each other wait.
  static void note(std::vector<std::atomic<bool>>* which, int number) {
    std::atomic<bool>& noted = (*which)[static_cast<std::size_t>(number)];
    if (!noted.load(std::memory_order_relaxed)) noted.store(true, std::memory_order_relaxed);
  }

  // How many pairs have the series of each class.
  static std::vector<double> pairs_of_classes(const std::vector<std::vector<FarPair>>& far, std::size_t classes) {
    std::vector<double> out(classes, 0.0);
    for (const std::vector<FarPair>& pairs : far)
      for (const FarPair& pair : pairs)
        if (pair.turn != FarPair::kSkipped) ++out[static_cast<std::size_t>(pair.box_class)];
    return out;
  }

  Fate fate_of(const BoxClass& of, int level, const Box& target, const Box& source) const {
    const double pairs = pairs_of(target, source);
    if (of.fate == Fate::skipped) return Fate::skipped;
    if (of.fate == Fate::far && is_worth(of, target, source, pairs)) return Fate::far;
    const bool few = pairs * prices_.pair <= kWorkOfCoefficient[D - 1] * prices_.at_once;
    const bool may_split = Tree<D>::is_split(level, target) && Tree<D>::is_split(level, source);
    return few || !may_split ? Fate::near : Fate::split;
  }
  static double pairs_of(const Box& target, const Box& source) {
    return static_cast<double>(target.size()) * source.size();
  }

  // Is the series less work than the pairs?
  bool is_worth(const BoxClass& of, const Box& target, const Box& source, double pairs) const {
    const double of_points = kWorkOfSeries + kWorkOfPoint * (target.size() + source.size());
    return pairs * prices_.pair > kWorkOfCoefficient[D - 1] * (of.kept + of_points * power(of.series.degrees, D));
  }

  const distance::Profile& k_;
  const Demands demands_;
  const Grown<D> trees_;
  const Prices prices_;
  const arrays::Workers& workers_;
  const std::vector<Box> root_ = {Box{0, 0, 0, 1, 0, {}}};
  NearColumns near_;
};

}  // namespace

NumberedBoxes::NumberedBoxes(const std::vector<std::atomic<bool>>& which) {
  for (const bool has_series : which) number.push_back(has_series ? count++ : -1);
}

template <int D>
Levels<D> levels_of(const distance::Profile& k, const Demands& demands, const Grown<D>& trees, const Prices& prices,
                    const arrays::Workers& workers) {
  return Planner<D>(k, demands, trees, prices, workers).run();
}

template Levels<1> levels_of(const distance::Profile&, const Demands&, const Grown<1>&, const Prices&,
                             const arrays::Workers&);
template Levels<2> levels_of(const distance::Profile&, const Demands&, const Grown<2>&, const Prices&,
                             const arrays::Workers&);
template Levels<3> levels_of(const distance::Profile&, const Demands&, const Grown<3>&, const Prices&,
                             const arrays::Workers&);

}  // namespace far
}  // namespace kernweave
