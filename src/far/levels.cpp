// Builds the levels by a dual tree traversal from the whole cube down: pairs of boxes are candidates until they are
// admissible, negligible, near, or subdivided.
#include "far/levels.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "distance/profile.hpp"

namespace kernweave {
namespace far {
namespace {

// The most candidates of a level. More are allowed if they are at most the share kMostOfAll of all pairs of boxes.
constexpr double kMostCandidates = 5e7, kMostOfAll = 0.2;
// The measured work of a product of polynomials, in units of a coefficient of an M2L product: for a point that goes
// into or out of an expansion, and for the expansion itself.
constexpr double kWorkOfPoint = 0.02, kWorkOfExpansion = 0.3;
// The work of a coefficient by number of components: in three, a first-level cache has no room for all coefficients.
constexpr double kWorkOfCoefficient[] = {1, 1, 1.5};
// A tenth of the work of making an expansion in 1, 2, and 3 components: a plan is rarely used for one product only.
constexpr double kWorkOfClass[] = {5e5, 2e6, 1e7};
constexpr std::size_t kClassesAtOnce = 64;
constexpr double kMostNumbers = 1e8;  // coefficients of a level's classes, after which no more expansions are made

// Sorts pairs by class and permutation; the sort is stable.
std::vector<Interaction> by_class(const std::vector<Interaction>& pairs, std::size_t classes) {
  const auto kind = [](const Interaction& pair) {
    return static_cast<std::size_t>(pair.offset_class * (kSignedPermutations + 1) + pair.permutation -
                                    Interaction::kSkipped);
  };
  std::vector<int> next(classes * (kSignedPermutations + 1) + 1, 0);
  for (const Interaction& pair : pairs) ++next[kind(pair) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<Interaction> sorted(pairs.size());
  for (const Interaction& pair : pairs) sorted[static_cast<std::size_t>(next[kind(pair)]++)] = pair;
  return sorted;
}

template <int D>
class Planner {
 public:
  using Box = typename Octree<D>::Box;

  Planner(const distance::Profile& k, const Demands& demands, const MutableTreePair<D>& trees, const Prices& prices,
          const arrays::Workers& workers)
      : k_(k), demands_(demands), trees_(trees), prices_(prices), workers_(workers) {}

  Levels<D> run() {
    Levels<D> all;
    Split split(1);  // the root box of targets with the root box of sources
    {
      Split::RangeWriter list(&split, 0, 0);
      list.next_target();
      list.add(0);
    }
    for (std::size_t l = 0; split.any(); ++l) {
      if (l > 0) trees_.split(workers_);
      check_is_some_use(l, split);
      split = plan_level(l, split, &all);
    }
    all.near = near_rectangles<D>(near_, trees_.targets, trees_.sources);
    for (const Rectangle& r : all.near) all.near_pairs += r.pairs();
    return all;
  }

 private:
  // The sources of each target whose pair with it is split: pairs of their children are candidates of the next level.
  using Split = InteractionLists<int>;
  // The numbers of pairs of points at an offset: of all pairs of boxes, and of the largest pair of boxes.
  struct PairCounts {
    double pairs = 0, most_pairs = 0;

    void add(const PairCounts& other) {
      pairs += other.pairs;
      most_pairs = std::max(most_pairs, other.most_pairs);
    }
  };
  // The lists to which the candidates of a level are added.
  struct LevelLists {
    LevelLists(std::size_t targets, std::size_t sources)
        : far(static_cast<std::size_t>(target_ranges(targets))), to(targets), from(sources), split(targets),
          near(targets) {}
    std::vector<std::vector<Interaction>> far;    // the far pairs of each range
    std::vector<std::atomic<bool>> to, from;  // boxes that have expansions
    Split split;
    InteractionLists<Range> near;
  };

  // Plans a level, whose candidates are pairs of children of `split` pairs; returns the pairs that are split again.
  Split plan_level(std::size_t l, const Split& split, Levels<D>* all) {
    const double half = trees_.cube.width / 2 / std::ldexp(1.0, static_cast<int>(l));
    const std::map<Offset<D>, PairCounts> met = counts_at(l, split);
    std::vector<OffsetClass> classes = classes_of(met, half);
    LevelLists sorted = lists_of_level(l, split, met, classes);
    const std::vector<double> far_pairs = pairs_of_classes(sorted.far, classes.size());
    const std::vector<double> columns = columns_of_classes(sorted.far, classes.size());
    std::vector<bool> used;
    double work = 0, all_far = 0, all_pairs = 0;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      used.push_back(far_pairs[c] > 0);
      all_far += far_pairs[c];
      work += columns[c] * classes[c].kept + far_pairs[c] * kWorkOfExpansion * power(classes[c].expansion.degrees, D);
    }
    for (const std::vector<Interaction>& pairs : sorted.far) all_pairs += static_cast<double>(pairs.size());
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

  // Returns the parents of the boxes of a level; the parent of the first level's box is a box of its own.
  const std::vector<Box>& above(const Octree<D>& tree, std::size_t l) const {
    return l > 0 ? tree.boxes[l - 1] : root_;
  }

  // The class of a candidate: the number that `find` gives its canonical offset, and its signed permutation.
  struct CandidateClass {
    int number = kUnknown, permutation = 0;
    static constexpr int kUnknown = -1;
  };

  // Calls next(target), then f(target, source, class) for each candidate, for targets from `first` on. The class is
  // computed once for all children of two parents at the same offset.
  template <class Find, class Next, class F>
  void each_candidate(std::size_t l, const Split& split, std::size_t first, std::size_t last, Find find, Next next,
                      F f) const {
    constexpr std::size_t kSteps = D == 1 ? 3 : D == 2 ? 9 : 27;  // -1, 0 or 1 along each axis
    const std::vector<Box>&parents = above(trees_.sources, l), &sources = trees_.sources.boxes[l];
    std::vector<CandidateClass> kinds;  // for each source that the targets' parent is split with, and each step
    int parent_before = -1;
    for (std::size_t t = first; t < last; ++t) {
      const Box& target = trees_.targets.boxes[l][t];
      const auto& split_with = split[static_cast<std::size_t>(target.parent)];
      if (target.parent != parent_before) kinds.assign(split_with.size() * kSteps, {});
      parent_before = target.parent;
      next(t);
      CandidateClass* of_source = kinds.data();
      for (const int with : split_with) {
        const Box& parent = parents[static_cast<std::size_t>(with)];
        for (int s = parent.first_child; s < parent.first_child + parent.children; ++s) {
          const Box& source = sources[static_cast<std::size_t>(s)];
          CandidateClass& kind = of_source[step_between(target, source)];
          if (kind.number == CandidateClass::kUnknown) kind = class_of_pair(target, source, find);
          f(t, s, kind);
        }
        of_source += kSteps;
      }
    }
  }
  static std::size_t step_between(const Box& target, const Box& source) {
    int step = 0;
    for (std::size_t d = 0; d < D; ++d) step = 3 * step + (target.at[d] & 1) - (source.at[d] & 1) + 1;
    return static_cast<std::size_t>(step);
  }
  template <class Find>
  static CandidateClass class_of_pair(const Box& target, const Box& source, Find find) {
    Offset<D> offset;
    for (std::size_t d = 0; d < D; ++d) offset[d] = target.at[d] - source.at[d];
    const CanonicalOffset<D> at = canonical<D>(offset);
    return {find(at.at), at.permutation};
  }

  // Fails if hardly a pair is admissible, so that nearly all pairs of boxes would be candidates.
  void check_is_some_use(std::size_t l, const Split& split) const {
    const std::vector<Box>&targets = above(trees_.targets, l), &sources = above(trees_.sources, l);
    double all = 0;
    for (std::size_t t = 0; t < split.targets(); ++t)
      for (const int source : split[t])
        all += static_cast<double>(targets[t].children) * sources[static_cast<std::size_t>(source)].children;
    const double boxes = static_cast<double>(trees_.targets.boxes[l].size()) * trees_.sources.boxes[l].size();
    if (all <= kMostCandidates || all <= kMostOfAll * boxes) return;
    const std::string why = distance::why_no_series(k_, 0, D * trees_.cube.width * trees_.cube.width);
    fail(Fault::unsupported, "the formula has hardly a series at these distances: ", why, why.empty() ? "" : ", and ",
         "nearly all pairs would be computed");
  }

  // Counts the pairs of points of candidates by canonical offset.
  std::map<Offset<D>, PairCounts> counts_at(std::size_t l, const Split& split) const {
    const std::vector<Box>&targets = trees_.targets.boxes[l], &sources = trees_.sources.boxes[l];
    std::map<Offset<D>, PairCounts> all;
    std::mutex door;
    each_target_range(workers_, targets.size(), [&](std::size_t, std::size_t first, std::size_t last) {
      std::map<Offset<D>, int> number;
      std::vector<PairCounts> met;
      const auto find = [&](const Offset<D>& offset) {
        const auto found = number.emplace(offset, static_cast<int>(met.size()));
        if (found.second) met.emplace_back();
        return found.first->second;
      };
      const auto add = [&](std::size_t t, int source, const CandidateClass& kind) {
        const double pairs = pairs_of(targets[t], sources[static_cast<std::size_t>(source)]);
        met[static_cast<std::size_t>(kind.number)].add({pairs, pairs});
      };
      each_candidate(l, split, first, last, find, [](std::size_t) {}, add);
      const std::lock_guard<std::mutex> inside(door);
      for (const auto& [offset, at] : number) all[offset].add(met[static_cast<std::size_t>(at)]);
    });
    return all;
  }

  // --- classes and lists ---

  // Returns the classes of the offsets that occur, in their order. Makes kClassesAtOnce at a time, and stops making
  // expansions when they have too many numbers.
  std::vector<OffsetClass> classes_of(const std::map<Offset<D>, PairCounts>& met, double half) const {
    const std::vector<std::pair<Offset<D>, PairCounts>> all(met.begin(), met.end());
    std::vector<OffsetClass> classes(all.size());
    double numbers = 0;
    for (std::size_t first = 0, last = 0; first < all.size(); first = last) {
      last = std::min(all.size(), first + kClassesAtOnce);
      const bool room = numbers < kMostNumbers;
      arrays::each_task(workers_, static_cast<Index>(last - first), [&](Index task) {
        const std::size_t c = first + static_cast<std::size_t>(task);
        const auto& [offset, of_all] = all[c];
        const bool pays = room && of_all.pairs * prices_.pair > kWorkOfClass[D - 1];
        classes[c] = class_of<D>(k_, demands_, offset, half, pays ? of_all.most_pairs * prices_.pair : 0);
      });
      for (std::size_t c = first; c < last; ++c)
        numbers += static_cast<double>(classes[c].expansion.coefficients.size());
    }
    return classes;
  }

  LevelLists lists_of_level(std::size_t l, const Split& above, const std::map<Offset<D>, PairCounts>& met,
                         const std::vector<OffsetClass>& classes) const {
    const std::vector<Box>&targets = trees_.targets.boxes[l], &sources = trees_.sources.boxes[l];
    std::map<Offset<D>, int> number;
    for (const auto& entry : met) number.emplace_hint(number.end(), entry.first, static_cast<int>(number.size()));
    const auto find = [&](const Offset<D>& offset) { return number.at(offset); };
    LevelLists out(targets.size(), sources.size());
    each_target_range(workers_, targets.size(), [&](std::size_t range, std::size_t first, std::size_t last) {
      Split::RangeWriter split(&out.split, range, first);
      typename InteractionLists<Range>::RangeWriter near(&out.near, range, first);
      std::vector<Interaction> far;
      const auto next = [&](std::size_t) {
        split.next_target();
        near.next_target();
      };
      each_candidate(l, above, first, last, find, next, [&](std::size_t t, int s, const CandidateClass& kind) {
        const Box& source = sources[static_cast<std::size_t>(s)];
        const int target = static_cast<int>(t);
        switch (
            admissibility_of(classes[static_cast<std::size_t>(kind.number)], static_cast<int>(l), targets[t], source)) {
          case Admissibility::negligible: far.push_back({target, s, kind.number, Interaction::kSkipped}); break;
          case Admissibility::near: near.add({source.begin, source.end}); break;
          case Admissibility::subdivided: split.add(s); break;
          case Admissibility::admissible:
            far.push_back({target, s, kind.number, kind.permutation});
            note(&out.to, target);
            note(&out.from, s);
            break;
        }
      });
      out.far[range] = by_class(far, classes.size());
    });
    return out;
  }
  // Writes only if needed: threads that write next to each other wait (false sharing).
  static void note(std::vector<std::atomic<bool>>* which, int number) {
    std::atomic<bool>& noted = (*which)[static_cast<std::size_t>(number)];
    if (!noted.load(std::memory_order_relaxed)) noted.store(true, std::memory_order_relaxed);
  }

  // Counts the pairs that have the expansion of each class.
  static std::vector<double> pairs_of_classes(const std::vector<std::vector<Interaction>>& far, std::size_t classes) {
    std::vector<double> out(classes, 0.0);
    for (const std::vector<Interaction>& pairs : far)
      for (const Interaction& pair : pairs)
        if (pair.permutation != Interaction::kSkipped) ++out[static_cast<std::size_t>(pair.offset_class)];
    return out;
  }

  // Counts the columns of M2L products of each class: batches have one class and permutation, and are rarely full.
  static std::vector<double> columns_of_classes(const std::vector<std::vector<Interaction>>& far, std::size_t classes) {
    std::vector<double> out(classes, 0.0);
    for (const std::vector<Interaction>& pairs : far)
      for (std::size_t first = 0, last = 0; first < pairs.size(); first = last) {
        last = first + 1;
        const Interaction& head = pairs[first];
        while (last < pairs.size() && head.is_like(pairs[last])) ++last;
        if (head.permutation == Interaction::kSkipped) continue;
        out[static_cast<std::size_t>(head.offset_class)] +=
            kBatch * std::ceil(static_cast<double>(last - first) / kBatch);
      }
    return out;
  }

  Admissibility admissibility_of(const OffsetClass& of, int level, const Box& target, const Box& source) const {
    const double pairs = pairs_of(target, source);
    if (of.admissibility == Admissibility::negligible) return Admissibility::negligible;
    if (of.admissibility == Admissibility::admissible && is_worth(of, target, source, pairs))
      return Admissibility::admissible;
    const bool few = pairs * prices_.pair <= kWorkOfCoefficient[D - 1] * prices_.at_once;
    const bool may_split = Octree<D>::is_split(level, target) && Octree<D>::is_split(level, source);
    return few || !may_split ? Admissibility::near : Admissibility::subdivided;
  }
  static double pairs_of(const Box& target, const Box& source) {
    return static_cast<double>(target.size()) * source.size();
  }

  // Tells whether the expansion is less work than the pairs.
  bool is_worth(const OffsetClass& of, const Box& target, const Box& source, double pairs) const {
    const double of_points = kWorkOfExpansion + kWorkOfPoint * (target.size() + source.size());
    return pairs * prices_.pair > kWorkOfCoefficient[D - 1] * (of.kept + of_points * power(of.expansion.degrees, D));
  }

  const distance::Profile& k_;
  const Demands demands_;
  const MutableTreePair<D> trees_;
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
Levels<D> levels_of(const distance::Profile& k, const Demands& demands, const MutableTreePair<D>& trees,
                    const Prices& prices, const arrays::Workers& workers) {
  return Planner<D>(k, demands, trees, prices, workers).run();
}

template Levels<1> levels_of(const distance::Profile&, const Demands&, const MutableTreePair<1>&, const Prices&,
                             const arrays::Workers&);
template Levels<2> levels_of(const distance::Profile&, const Demands&, const MutableTreePair<2>&, const Prices&,
                             const arrays::Workers&);
template Levels<3> levels_of(const distance::Profile&, const Demands&, const MutableTreePair<3>&, const Prices&,
                             const arrays::Workers&);

}  // namespace far
}  // namespace kernweave
