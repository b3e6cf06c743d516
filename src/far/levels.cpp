// From the whole cube down: pairs of boxes are candidates until their class and their sizes say what becomes of them.
#include "far/levels.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "distance/bounds.hpp"

namespace kernweave {
namespace far {
namespace {

// So many candidates are too many, where they are more than that share of all pairs of boxes.
constexpr double kMostCandidates = 5e7, kMostOfAll = 0.2;
constexpr int kStretches = 256;  // of the target boxes of a level, each the work of one thread
// Work is counted in coefficients of series. Each product of polynomials takes so much of it for a point whose number
// goes in or out of a series, and for the series by itself; measured.
constexpr double kWorkOfPoint = 0.02, kWorkOfSeries = 0.3;
// What a coefficient takes by the number of components: in three there are more than a first-level cache has room for.
constexpr double kWorkOfCoefficient[] = {1, 1, 1.5};
// A tenth of what finding a series of 1, 2, and 3 components takes: a plan is rarely for one product.
constexpr double kWorkOfClass[] = {5e5, 2e6, 1e7};
constexpr std::size_t kClassesAtOnce = 32;
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
  // A source box; its kind is the number of its offset among those that a stretch has met, times kTurns, plus its turn.
  struct Candidate {
    int source, kind = 0;
  };
  using Candidates = std::vector<std::vector<Candidate>>;  // of each target box

  Planner(const distance::Profile& k, const Demands& demands, const Trees<D>& trees, const Prices& prices,
          const arrays::Workers& workers)
      : k_(k), demands_(demands), trees_(trees), prices_(prices), workers_(workers) {}

  Levels<D> run() {
    Levels<D> all;
    Candidates candidates = {{{0}}};
    near_.resize(trees_.targets.boxes.size());
    for (std::size_t l = 0; l < trees_.targets.boxes.size(); ++l) {
      near_[l].resize(trees_.targets.boxes[l].size());
      if (l >= trees_.sources.boxes.size() || candidates.empty()) continue;
      candidates = plan_level(l, std::move(candidates), &all);
    }
    all.near = near_rectangles<D>(near_, trees_.targets, trees_.sources);
    for (const NearRectangle& r : all.near)
      all.near_pairs += static_cast<double>(r.row_end - r.row) * (r.column_end - r.column);
    return all;
  }

 private:
  // How many pairs of points there are at an offset: of all its pairs of boxes, and of the largest one.
  struct Met {
    double pairs = 0, most_pairs = 0;

    void add(const Met& other) {
      pairs += other.pairs;
      most_pairs = std::max(most_pairs, other.most_pairs);
    }
  };
  struct Offsets {
    std::map<Offset<D>, Met> all;
    std::vector<std::vector<int>> numbers;  // for each stretch, those of the offsets it has met, as it met them
  };
  // What has become of the candidates of a level.
  struct Sorted {
    std::vector<std::vector<FarPair>> far;  // of each stretch
    std::vector<bool> to, from;             // boxes that have series
    std::vector<double> far_pairs;          // of each class
    double skipped_pairs = 0;
    Candidates next;  // those whose children are
  };

  Candidates plan_level(std::size_t l, Candidates candidates, Levels<D>* all) {
    const double half = trees_.cube.width / 2 / std::ldexp(1.0, static_cast<int>(l));
    const Offsets offsets = offsets_of(l, &candidates);
    std::vector<BoxClass> classes = classes_of(offsets.all, half);
    Sorted sorted = sorted_by_class(l, candidates, offsets, classes);
    std::vector<bool> used;
    double work = 0, far_pairs = 0;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      used.push_back(sorted.far_pairs[c] > 0);
      far_pairs += sorted.far_pairs[c];
      work += sorted.far_pairs[c] * (classes[c].kept + kWorkOfSeries * power(classes[c].series.degrees, D));
    }
    LevelTerms<D> terms(&classes, used, workers_);
    const double of_point = kWorkOfPoint * power(terms.terms().degrees, D);
    work += of_point * (points_in(trees_.targets.boxes[l], sorted.to) +
                        points_in(trees_.sources.boxes[l], sorted.from));
    all->levels.push_back({half, std::move(classes), std::move(sorted.far), std::move(terms),
                           NumberedBoxes(sorted.to), NumberedBoxes(sorted.from), kWorkOfCoefficient[D - 1] * work,
                           far_pairs, sorted.skipped_pairs});
    return children_of(l, sorted.next);
  }

  // f(stretch, target) for the target boxes of each stretch.
  template <class F>
  void each_target(std::size_t count, F f) const {
    const auto all = static_cast<Index>(count);
    arrays::each_task(workers_, stretches_of(count), [&](Index stretch) {
      const auto end = static_cast<std::size_t>(partition::even_split(all, stretches_of(count), stretch + 1));
      for (auto t = static_cast<std::size_t>(partition::even_split(all, stretches_of(count), stretch)); t < end; ++t)
        f(static_cast<std::size_t>(stretch), t);
    });
  }
  static Index stretches_of(std::size_t targets) { return std::min<Index>(static_cast<Index>(targets), kStretches); }

  static double points_in(const std::vector<Box>& boxes, const std::vector<bool>& which) {
    double all = 0;
    for (std::size_t b = 0; b < boxes.size(); ++b) all += which[b] ? boxes[b].size() : 0;
    return all;
  }

  // The offsets of candidates, which get their kinds.
  Offsets offsets_of(std::size_t l, Candidates* candidates) const {
    struct Own {
      std::unordered_map<std::int64_t, int> number;
      std::vector<std::pair<Offset<D>, Met>> met;
    };
    std::vector<Own> of_stretch(static_cast<std::size_t>(stretches_of(candidates->size())));
    each_target(candidates->size(), [&](std::size_t stretch, std::size_t t) {
      Own& own = of_stretch[stretch];
      const Box& target = trees_.targets.boxes[l][t];
      for (Candidate& c : (*candidates)[t]) {
        const Box& source = trees_.sources.boxes[l][static_cast<std::size_t>(c.source)];
        Offset<D> offset;
        for (std::size_t d = 0; d < D; ++d) offset[d] = target.at[d] - source.at[d];
        const Folded<D> at = folded<D>(offset);
        const auto found = own.number.try_emplace(number_of<D>(at.at), static_cast<int>(own.met.size()));
        if (found.second) own.met.push_back({at.at, {}});
        const int number = found.first->second;
        c.kind = number * kTurns + at.turn;
        const double pairs = pairs_of(target, source);
        own.met[static_cast<std::size_t>(number)].second.add({pairs, pairs});
      }
    });
    Offsets out;
    for (const Own& own : of_stretch)
      for (const auto& entry : own.met) out.all[entry.first].add(entry.second);
    std::map<Offset<D>, int> number;
    for (const auto& entry : out.all) number.emplace(entry.first, static_cast<int>(number.size()));
    for (const Own& own : of_stretch) {
      out.numbers.emplace_back();
      for (const auto& entry : own.met) out.numbers.back().push_back(number.at(entry.first));
    }
    return out;
  }

  // The classes of offsets. Some are made at once, so that their memory is known before there are more.
  std::vector<BoxClass> classes_of(const std::map<Offset<D>, Met>& met, double half) const {
    std::vector<std::pair<Offset<D>, Met>> all(met.begin(), met.end());
    std::vector<BoxClass> classes(all.size());
    double numbers = 0;
    for (std::size_t first = 0, last = 0; first < all.size(); first = last) {
      last = std::min(all.size(), first + kClassesAtOnce);
      const bool room = numbers < kMostNumbers;
      arrays::each_task(workers_, static_cast<Index>(last - first), [&](Index c) {
        const auto& entry = all[first + static_cast<std::size_t>(c)];
        const bool pays = room && entry.second.pairs * prices_.pair > kWorkOfClass[D - 1];
        classes[first + static_cast<std::size_t>(c)] =
            class_of<D>(k_, demands_, entry.first, half, pays ? entry.second.most_pairs * prices_.pair : 0);
      });
      for (std::size_t c = first; c < last; ++c)
        numbers += static_cast<double>(classes[c].series.coefficients.size());
    }
    return classes;
  }

  Sorted sorted_by_class(std::size_t l, const Candidates& candidates, const Offsets& offsets,
                         const std::vector<BoxClass>& classes) {
    const std::size_t stretches = offsets.numbers.size();
    Sorted out;
    out.far.resize(stretches);
    out.to.resize(candidates.size());
    out.from.resize(trees_.sources.boxes[l].size());
    out.far_pairs.resize(classes.size());
    out.next.resize(candidates.size());
    each_target(candidates.size(), [&](std::size_t stretch, std::size_t t) {
      const Box& target = trees_.targets.boxes[l][t];
      for (const Candidate& c : candidates[t]) {
        const int number = offsets.numbers[stretch][static_cast<std::size_t>(c.kind / kTurns)];
        const Box& source = trees_.sources.boxes[l][static_cast<std::size_t>(c.source)];
        const FarPair pair{static_cast<int>(t), c.source, number, c.kind % kTurns};
        switch (fate_of(classes[static_cast<std::size_t>(number)], target, source)) {
          case Fate::skipped: out.far[stretch].push_back({pair.target, pair.source, number, FarPair::kSkipped}); break;
          case Fate::far: out.far[stretch].push_back(pair); break;
          case Fate::near: near_[l][t].push_back({source.begin, source.end}); break;
          case Fate::split: out.next[t].push_back(c); break;
        }
      }
    });
    arrays::each_task(workers_, static_cast<Index>(stretches), [&](Index stretch) {
      std::vector<FarPair>& mine = out.far[static_cast<std::size_t>(stretch)];
      mine = by_kind(mine, classes.size());
    });
    for (const std::vector<FarPair>& pairs : out.far)
      for (const FarPair& pair : pairs) {
        if (pair.turn == FarPair::kSkipped) {
          ++out.skipped_pairs;
          continue;
        }
        ++out.far_pairs[static_cast<std::size_t>(pair.box_class)];
        out.to[static_cast<std::size_t>(pair.target)] = out.from[static_cast<std::size_t>(pair.source)] = true;
      }
    return out;
  }

  Fate fate_of(const BoxClass& of, const Box& target, const Box& source) const {
    const double pairs = pairs_of(target, source);
    if (of.fate == Fate::skipped) return Fate::skipped;
    if (of.fate == Fate::far && is_worth(of, target, source, pairs)) return Fate::far;
    const bool few = pairs * prices_.pair <= kWorkOfCoefficient[D - 1] * prices_.at_once;
    return few || target.children == 0 || source.children == 0 ? Fate::near : Fate::split;
  }
  static double pairs_of(const Box& target, const Box& source) {
    return static_cast<double>(target.size()) * source.size();
  }

  // Is the series less work than the pairs?
  bool is_worth(const BoxClass& of, const Box& target, const Box& source, double pairs) const {
    const double of_points = kWorkOfSeries + kWorkOfPoint * (target.size() + source.size());
    return pairs * prices_.pair > kWorkOfCoefficient[D - 1] * (of.kept + of_points * power(of.series.degrees, D));
  }

  // A formula that is nowhere far would come to the pairs of all boxes: that is refused.
  void check_is_some_use(std::size_t l, const Candidates& next) const {
    double all = 0;
    for (std::size_t t = 0; t < next.size(); ++t)
      for (const Candidate& c : next[t])
        all += static_cast<double>(trees_.targets.boxes[l][t].children) *
               trees_.sources.boxes[l][static_cast<std::size_t>(c.source)].children;
    const double boxes = static_cast<double>(trees_.targets.boxes[l + 1].size()) * trees_.sources.boxes[l + 1].size();
    if (all <= kMostCandidates || all <= kMostOfAll * boxes) return;
    const std::string why = distance::why_no_series(k_, 0, D * trees_.cube.width * trees_.cube.width);
    fail(Fault::unsupported, "the formula has hardly a series at these distances: ", why, why.empty() ? "" : ", and ",
         "nearly all pairs would be computed");
  }

  void add_children(std::size_t l, const std::vector<Candidate>& of, std::vector<Candidate>* children) const {
    for (const Candidate& c : of) {
      const Box& source = trees_.sources.boxes[l][static_cast<std::size_t>(c.source)];
      for (int child = 0; child < source.children; ++child) children->push_back({source.first_child + child});
    }
  }

  Candidates children_of(std::size_t l, const Candidates& next) const {
    if (l + 1 >= trees_.targets.boxes.size() || l + 1 >= trees_.sources.boxes.size()) return {};
    check_is_some_use(l, next);
    Candidates children(trees_.targets.boxes[l + 1].size());
    each_target(next.size(), [&](std::size_t, std::size_t t) {
      const Box& target = trees_.targets.boxes[l][t];
      for (int child = 0; child < target.children; ++child)
        add_children(l, next[t], &children[static_cast<std::size_t>(target.first_child + child)]);
    });
    const bool any = std::any_of(children.begin(), children.end(), [](const auto& c) { return !c.empty(); });
    return any ? children : Candidates();
  }

  const distance::Profile& k_;
  const Demands demands_;
  const Trees<D> trees_;
  const Prices prices_;
  const arrays::Workers& workers_;
  NearColumns near_;
};

}  // namespace

NumberedBoxes::NumberedBoxes(const std::vector<bool>& which) {
  for (const bool has_series : which) number.push_back(has_series ? count++ : -1);
}

template <int D>
Levels<D> levels_of(const distance::Profile& k, const Demands& demands, const Trees<D>& trees, const Prices& prices,
                    const arrays::Workers& workers) {
  return Planner<D>(k, demands, trees, prices, workers).run();
}

template Levels<1> levels_of(const distance::Profile&, const Demands&, const Trees<1>&, const Prices&,
                             const arrays::Workers&);
template Levels<2> levels_of(const distance::Profile&, const Demands&, const Trees<2>&, const Prices&,
                             const arrays::Workers&);
template Levels<3> levels_of(const distance::Profile&, const Demands&, const Trees<3>&, const Prices&,
                             const arrays::Workers&);

}  // namespace far
}  // namespace kernweave
