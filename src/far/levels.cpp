// From the whole cube down: pairs of boxes are candidates until their class and their sizes say what becomes of them.
#include "far/levels.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "far/bounds.hpp"

namespace kernweave {
namespace far {
namespace {

// Candidates that are too many where they are most of all pairs of boxes.
constexpr double kMostCandidates = 5e7, kMostOfAll = 0.2;
constexpr int kStretches = 256;         // of the target boxes of a level, each the work of one thread
// Terms that moving a point's number in or out of a series comes to, and that a series takes by itself; measured.
constexpr double kTermsOfPoint = 0.02, kTermsOfSeries = 0.3;
// What a term takes beside one of fewer components: of three there are more than the first-level cache has room for.
constexpr double kTerm[] = {1, 1, 1.5};
// A tenth of what finding a series of 1, 2, and 3 components takes: a plan is rarely for one product.
constexpr double kTermsOfClass[] = {5e5, 2e6, 1e7};
constexpr std::size_t kClassesAtOnce = 16;
constexpr double kMostNumbers = 1e8;  // coefficients of a level's classes; from then on, no more are looked for

template <int D>
class Planner {
 public:
  using Box = typename Tree<D>::Box;
  using Candidates = std::vector<std::vector<int>>;  // of each target box, source boxes

  Planner(const Profile& k, const Demands& demands, const Cube<D>& cube, const Tree<D>& targets,
          const Tree<D>& sources, const Prices& prices, const arrays::Workers& workers)
      : k_(k), demands_(demands), cube_(cube), targets_(targets), sources_(sources), prices_(prices),
        workers_(workers) {}

  Levels<D> run() {
    Levels<D> all;
    Candidates candidates = {{0}};
    near_.resize(targets_.boxes.size());
    for (std::size_t l = 0; l < targets_.boxes.size(); ++l) {
      near_[l].resize(targets_.boxes[l].size());
      if (l >= sources_.boxes.size() || candidates.empty()) continue;
      candidates = plan_level(l, candidates, &all);
    }
    collect_near(&all);
    return all;
  }

 private:
  Candidates plan_level(std::size_t l, const Candidates& candidates, Levels<D>* all) {
    const std::vector<Box>&targets = targets_.boxes[l], &sources = sources_.boxes[l];
    const double half = cube_.width / 2 / std::ldexp(1.0, static_cast<int>(l));
    const auto offset = [&](std::size_t t, int s) {
      Offset<D> o;
      for (std::size_t d = 0; d < D; ++d) o[d] = targets[t].at[d] - sources[static_cast<std::size_t>(s)].at[d];
      return folded<D>(o);
    };
    const std::map<Offset<D>, Met> met = classes_met(candidates, offset, [&](std::size_t t, int s) {
      return static_cast<double>(targets[t].size()) * sources[static_cast<std::size_t>(s)].size();
    });
    std::vector<BoxClass> classes = classes_of(met, half);
    const auto count = static_cast<Index>(targets.size()), stretches = std::min<Index>(count, kStretches);
    std::vector<std::vector<FarPair>> far(static_cast<std::size_t>(stretches));
    Candidates next(targets.size());
    const double at_once = kTerm[D - 1] * prices_.at_once;
    arrays::each_task(workers_, stretches, [&](Index stretch) {
      std::vector<FarPair>& mine = far[static_cast<std::size_t>(stretch)];
      const auto end = static_cast<std::size_t>(partition::even_split(count, stretches, stretch + 1));
      for (auto t = static_cast<std::size_t>(partition::even_split(count, stretches, stretch)); t < end; ++t)
        for (const int s : candidates[t]) {
          const Folded<D> at = offset(t, s);
          const int number = met.find(at.at)->second.number;
          const BoxClass& of = classes[static_cast<std::size_t>(number)];
          const Box &target = targets[t], &source = sources[static_cast<std::size_t>(s)];
          const FarPair pair{static_cast<int>(t), s, number, at.turn};
          const double pairs = static_cast<double>(target.size()) * source.size();
          if (of.kind == BoxClass::Kind::skip)
            mine.push_back({pair.target, pair.source, pair.box_class, FarPair::kSkipped});
          else if (of.kind == BoxClass::Kind::far && is_worth(of, target, source, pairs)) mine.push_back(pair);
          else if (pairs * prices_.pair <= at_once || target.children == 0 || source.children == 0)
            near_[l][t].push_back({source.begin, source.end});
          else next[t].push_back(s);
        }
      std::stable_sort(mine.begin(), mine.end(), [](const FarPair& a, const FarPair& b) {
        return a.box_class != b.box_class ? a.box_class < b.box_class : a.turn < b.turn;
      });
    });
    std::vector<bool> used(classes.size(), false), to(targets.size(), false), from(sources.size(), false);
    double work = 0;
    for (const std::vector<FarPair>& pairs : far)
      for (const FarPair& pair : pairs) {
        const bool skipped = pair.turn == FarPair::kSkipped;
        (skipped ? all->skipped_pairs : all->far_pairs) += 1;
        if (skipped) continue;
        const BoxClass& of = classes[static_cast<std::size_t>(pair.box_class)];
        used[static_cast<std::size_t>(pair.box_class)] = true;
        to[static_cast<std::size_t>(pair.target)] = from[static_cast<std::size_t>(pair.source)] = true;
        work += of.kept + kTermsOfSeries * power(of.degrees, D);
      }
    LevelTerms<D> terms(&classes, used, workers_);
    const double of_point = kTermsOfPoint * power(terms.terms().degrees, D);
    work = kTerm[D - 1] * (work + of_point * (points_in(targets, to) + points_in(sources, from)));
    all->levels.push_back({half, std::move(classes), std::move(far), std::move(terms), NumberedBoxes(to),
                           NumberedBoxes(from), work});
    return children_of(l, next);
  }

  static double points_in(const std::vector<Box>& boxes, const std::vector<bool>& which) {
    double all = 0;
    for (std::size_t b = 0; b < boxes.size(); ++b) all += which[b] ? boxes[b].size() : 0;
    return all;
  }

  // What boxes of a class come to.
  struct Met {
    double pairs = 0, most_pairs = 0;  // of points: of all boxes, of the largest two
    int number = 0;

    void add(const Met& other) {
      pairs += other.pairs;
      most_pairs = std::max(most_pairs, other.most_pairs);
    }
  };
  template <class At, class PairsOf>
  std::map<Offset<D>, Met> classes_met(const Candidates& candidates, At at, PairsOf pairs_of) {
    std::mutex door;
    std::map<Offset<D>, Met> met;
    const auto count_of = static_cast<Index>(candidates.size()), stretches = std::min<Index>(count_of, kStretches);
    arrays::each_task(workers_, stretches, [&](Index stretch) {
      std::map<Offset<D>, Met> mine;
      const auto end = static_cast<std::size_t>(partition::even_split(count_of, stretches, stretch + 1));
      for (auto t = static_cast<std::size_t>(partition::even_split(count_of, stretches, stretch)); t < end; ++t)
        for (const int s : candidates[t]) {
          const double pairs = pairs_of(t, s);
          mine[at(t, s).at].add({pairs, pairs});
        }
      const std::lock_guard<std::mutex> inside(door);
      for (const auto& entry : mine) met[entry.first].add(entry.second);
    });
    int count = 0;
    for (auto& entry : met) entry.second.number = count++;
    return met;
  }

  // Some at once, so that what they take is known before there are more.
  std::vector<BoxClass> classes_of(const std::map<Offset<D>, Met>& met, double half) {
    std::vector<std::pair<Offset<D>, Met>> all(met.begin(), met.end());
    std::vector<BoxClass> classes(all.size());
    double numbers = 0;
    for (std::size_t first = 0, last = 0; first < all.size(); first = last) {
      last = std::min(all.size(), first + kClassesAtOnce);
      const bool room = numbers < kMostNumbers;
      arrays::each_task(workers_, static_cast<Index>(last - first), [&](Index c) {
        const auto& entry = all[first + static_cast<std::size_t>(c)];
        const bool pays = room && entry.second.pairs * prices_.pair > kTermsOfClass[D - 1];
        classes[first + static_cast<std::size_t>(c)] =
            analysed<D>(k_, demands_, entry.first, half, pays ? entry.second.most_pairs * prices_.pair : 0);
      });
      for (std::size_t c = first; c < last; ++c) numbers += static_cast<double>(classes[c].coefficients.size());
    }
    return classes;
  }

  // Is the series less work than the pairs?
  bool is_worth(const BoxClass& of, const Box& target, const Box& source, double pairs) const {
    const double of_points = kTermsOfSeries + kTermsOfPoint * (target.size() + source.size());
    return pairs * prices_.pair > kTerm[D - 1] * (of.kept + of_points * power(of.degrees, D));
  }

  // What is nowhere far would come to pairs of all boxes.
  void check_is_some_use(std::size_t l, const Candidates& next) const {
    double all = 0;
    for (std::size_t t = 0; t < next.size(); ++t)
      for (const int s : next[t])
        all += static_cast<double>(targets_.boxes[l][t].children) *
               sources_.boxes[l][static_cast<std::size_t>(s)].children;
    const double boxes = static_cast<double>(targets_.boxes[l + 1].size()) * sources_.boxes[l + 1].size();
    if (all <= kMostCandidates || all <= kMostOfAll * boxes) return;
    const std::string why = why_no_series(k_, 0, D * cube_.width * cube_.width);
    fail(Fault::unsupported, "the formula has hardly a series at these distances: ", why, why.empty() ? "" : ", and ",
         "nearly all pairs would be computed");
  }

  Candidates children_of(std::size_t l, const Candidates& next) const {
    if (l + 1 >= targets_.boxes.size() || l + 1 >= sources_.boxes.size()) return {};
    check_is_some_use(l, next);
    Candidates children(targets_.boxes[l + 1].size());
    bool any = false;
    for (std::size_t t = 0; t < next.size(); ++t) {
      const Box& target = targets_.boxes[l][t];
      for (int child = 0; child < target.children; ++child) {
        std::vector<int>& mine = children[static_cast<std::size_t>(target.first_child + child)];
        for (const int s : next[t]) {
          const Box& source = sources_.boxes[l][static_cast<std::size_t>(s)];
          for (int c = 0; c < source.children; ++c) mine.push_back(source.first_child + c);
        }
        any = any || !mine.empty();
      }
    }
    return any ? children : Candidates();
  }

  // --- near pairs ---

  struct Columns {
    int begin, end;
  };

  // Columns of boxes above hold for those below, so rows are those of the lowest boxes that have columns of their own.
  // Points in no box are near to all.
  void collect_near(Levels<D>* all) const {
    std::vector<std::vector<bool>> below(near_.size());  // does it, or what it is made of, have columns?
    for (std::size_t l = near_.size(); l-- > 0;) {
      below[l].resize(near_[l].size());
      for (std::size_t t = 0; t < near_[l].size(); ++t) {
        const Box& box = targets_.boxes[l][t];
        bool any = !near_[l][t].empty();
        for (int c = box.first_child; c < box.first_child + box.children && !any; ++c)
          any = below[l + 1][static_cast<std::size_t>(c)];
        below[l][t] = any;
      }
    }
    struct Visit {
      std::size_t level, box;
      std::vector<Columns> columns;
    };
    const int columns = sources_.size(), boxed = sources_.boxed();
    std::vector<Visit> pending = {{0, 0, {}}};
    if (boxed < columns) pending[0].columns.push_back({boxed, columns});
    while (!pending.empty()) {
      Visit visit = std::move(pending.back());
      pending.pop_back();
      const Box& box = targets_.boxes[visit.level][visit.box];
      const std::vector<Columns>& own = near_[visit.level][visit.box];
      visit.columns.insert(visit.columns.end(), own.begin(), own.end());
      const auto has = [&](int child) { return below[visit.level + 1][static_cast<std::size_t>(child)]; };
      bool deeper = false;
      for (int c = 0; c < box.children; ++c) deeper = deeper || has(box.first_child + c);
      if (!deeper) {
        add_rows(box, std::move(visit.columns), all);
        continue;
      }
      for (int c = box.children - 1; c >= 0; --c)
        pending.push_back({visit.level + 1, static_cast<std::size_t>(box.first_child + c), visit.columns});
    }
    if (targets_.boxed() < targets_.size() && columns > 0)
      add_rows({targets_.boxed(), targets_.size(), 0, 0, {}}, {{0, columns}}, all);
  }

  static void add_rows(const Box& box, std::vector<Columns> columns, Levels<D>* all) {
    std::sort(columns.begin(), columns.end(), [](const Columns& a, const Columns& b) { return a.begin < b.begin; });
    const std::size_t first = all->near.size();
    for (const Columns& c : columns) {
      all->near_pairs += static_cast<double>(box.size()) * (c.end - c.begin);
      if (all->near.size() > first && all->near.back().column_end == c.begin) all->near.back().column_end = c.end;
      else all->near.push_back({box.begin, box.end, c.begin, c.end});
    }
  }

  const Profile& k_;
  const Demands demands_;
  const Cube<D>& cube_;
  const Tree<D>&targets_, &sources_;
  const Prices prices_;
  const arrays::Workers& workers_;
  std::vector<std::vector<std::vector<Columns>>> near_;  // of each level's boxes
};

}  // namespace

NumberedBoxes::NumberedBoxes(const std::vector<bool>& which) {
  for (const bool has_series : which) number.push_back(has_series ? count++ : -1);
}

template <int D>
Levels<D> levels_of(const Profile& k, const Demands& demands, const Cube<D>& cube, const Tree<D>& targets,
                    const Tree<D>& sources, const Prices& prices, const arrays::Workers& workers) {
  return Planner<D>(k, demands, cube, targets, sources, prices, workers).run();
}

template Levels<1> levels_of(const Profile&, const Demands&, const Cube<1>&, const Tree<1>&, const Tree<1>&,
                             const Prices&, const arrays::Workers&);
template Levels<2> levels_of(const Profile&, const Demands&, const Cube<2>&, const Tree<2>&, const Tree<2>&,
                             const Prices&, const arrays::Workers&);
template Levels<3> levels_of(const Profile&, const Demands&, const Cube<3>&, const Tree<3>&, const Tree<3>&,
                             const Prices&, const arrays::Workers&);

}  // namespace far
}  // namespace kernweave
