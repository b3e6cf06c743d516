// Level by level; sums of one box are those of one thread, in an order that the plan has fixed.
#include "far/product.hpp"

#include <algorithm>
#include <cmath>

namespace kernweave {
namespace far {
namespace {

constexpr Index kBoxesAtOnce = 8;  // that a thread takes

template <int D>
class LevelProduct {
 public:
  using Box = typename Tree<D>::Box;

  LevelProduct(const Level<D>& level, const Cube<D>& cube, const Tree<D>& targets, const Tree<D>& sources,
               std::size_t number, const arrays::Workers& workers)
      : level_(level), cube_(cube), targets_(targets), sources_(sources), target_boxes_(targets.boxes[number]),
        source_boxes_(sources.boxes[number]), workers_(workers), padded_(level.terms.padded()) {
    target_place_.assign(target_boxes_.size(), -1);
    source_place_.assign(source_boxes_.size(), -1);
    for (const std::vector<FarPair>& pairs : level.far)
      for (const FarPair& pair : pairs) {
        if (pair.turn == FarPair::kSkipped) continue;
        target_place_[static_cast<std::size_t>(pair.target)] = 0;
        source_place_[static_cast<std::size_t>(pair.source)] = 0;
      }
    targets_with_ = numbered(&target_place_);
    sources_with_ = numbered(&source_place_);
  }

  void add(const double* weights, double* sums) {
    moments_.resize(static_cast<std::size_t>(sources_with_ * padded_));
    series_.assign(static_cast<std::size_t>(targets_with_ * padded_), 0.0);
    find_moments(weights);
    arrays::each_task(workers_, static_cast<Index>(level_.far.size()),
                      [&](Index stretch) { apply(level_.far[static_cast<std::size_t>(stretch)]); });
    evaluate(sums);
  }

 private:
  static Index numbered(std::vector<int>* places) {
    int count = 0;
    for (int& place : *places)
      if (place == 0) place = count++;
    return count;
  }
  double* moments_at(int box) { return &moments_[at(source_place_, box)]; }
  double* series_at(int box) { return &series_[at(target_place_, box)]; }
  std::size_t at(const std::vector<int>& places, int box) const {
    return static_cast<std::size_t>(places[static_cast<std::size_t>(box)]) * static_cast<std::size_t>(padded_);
  }

  BoxPoints<D> points(const Tree<D>& tree, const Box& box) const {
    BoxPoints<D> found;
    for (std::size_t d = 0; d < D; ++d) {
      found.at[d] = tree.components[d].data() + box.begin;
      const double least = cube_.least[d], halves = 2.0 * box.at[d] + 1, along = level_.half * halves,
                   centre = least + along, of_along = centre - least;
      found.centre[d] = centre;
      found.rest[d] = std::fma(level_.half, halves, -along) + ((least - (centre - of_along)) + (along - of_along));
    }
    found.count = box.size();
    found.half = level_.half;
    return found;
  }
  template <class Work>
  void each_box(const std::vector<Box>& boxes, const std::vector<int>& places, std::size_t room, Work work) const {
    const auto count = static_cast<Index>(boxes.size()), tasks = (count + kBoxesAtOnce - 1) / kBoxesAtOnce;
    arrays::each_task(workers_, tasks, [&](Index task) {
      std::vector<double> mine;
      for (Index b = task * kBoxesAtOnce; b < std::min(count, (task + 1) * kBoxesAtOnce); ++b) {
        if (places[static_cast<std::size_t>(b)] < 0) continue;
        mine.resize(room);
        work(static_cast<int>(b), boxes[static_cast<std::size_t>(b)], mine.data());
      }
    });
  }

  void find_moments(const double* weights) {
    const Terms terms = level_.terms.terms();
    const auto room = static_cast<std::size_t>(power(terms.degrees, D) * kernels().lanes);
    each_box(source_boxes_, source_place_, room, [&](int number, const Box& box, double* mine) {
      double* const out = moments_at(number);
      moments_of<D>(kernels())(points(sources_, box), weights + box.begin, terms, mine, out);
      std::fill(out + terms.count, out + padded_, 0.0);
    });
  }

  // Batches of pairs of one class and turn: gathered side by side, multiplied, and added up where they belong.
  void apply(const std::vector<FarPair>& pairs) {
    const int terms = level_.terms.count();
    std::vector<double> in(static_cast<std::size_t>(padded_ * kBatch), 0.0), out(in.size());
    for (std::size_t first = 0, last = 0; first < pairs.size(); first = last) {
      const FarPair& head = pairs[first];
      last = first + 1;
      if (head.turn == FarPair::kSkipped) continue;
      while (last < pairs.size() && last - first < kBatch && pairs[last].box_class == head.box_class &&
             pairs[last].turn == head.turn)
        ++last;
      const auto& turn = level_.terms.turn(head.turn);
      const double* from[kBatch];
      for (std::size_t b = 0; b < kBatch; ++b) from[b] = moments_at(pairs[std::min(first + b, last - 1)].source);
      for (int k = 0; k < terms; ++k) {
        double* const row = &in[static_cast<std::size_t>(turn.place[static_cast<std::size_t>(k)] * kBatch)];
        const double sign = turn.sign[static_cast<std::size_t>(k)];
        for (int b = 0; b < kBatch; ++b) row[b] = sign * from[b][k];
      }
      kernels().multiply(level_.terms.matrix(head.box_class).rows(), in.data(), out.data());
      double* to[kBatch];
      const auto count = static_cast<int>(last - first);
      for (int b = 0; b < count; ++b) to[b] = series_at(pairs[first + static_cast<std::size_t>(b)].target);
      for (int k = 0; k < terms; ++k) {
        const double* const row = &out[static_cast<std::size_t>(turn.place[static_cast<std::size_t>(k)] * kBatch)];
        const double sign = turn.sign[static_cast<std::size_t>(k)];
        for (int b = 0; b < count; ++b) to[b][k] += sign * row[b];
      }
    }
  }

  void evaluate(double* sums) {
    const Terms terms = level_.terms.terms();
    const auto room = static_cast<std::size_t>(power(terms.degrees, D));
    each_box(target_boxes_, target_place_, room, [&](int number, const Box& box, double* mine) {
      evaluate_of<D>(kernels())(points(targets_, box), series_at(number), terms, mine, sums + box.begin);
    });
  }

  const Level<D>& level_;
  const Cube<D>& cube_;
  const Tree<D>&targets_, &sources_;
  const std::vector<Box>&target_boxes_, &source_boxes_;
  const arrays::Workers& workers_;
  const int padded_;
  std::vector<int> target_place_, source_place_;  // of each box among those that take part; -1 for others
  Index targets_with_ = 0, sources_with_ = 0;
  std::vector<double> moments_, series_;
};

// What a class may be off by, times the sizes of the weights that it is applied to.
template <int D>
void add_bounds(const Levels<D>& plan, const Tree<D>& targets, const Tree<D>& sources, const double* weights,
                double* bound) {
  std::vector<double> before(static_cast<std::size_t>(sources.size()) + 1, 0.0);
  for (std::size_t p = 1; p < before.size(); ++p) before[p] = before[p - 1] + std::abs(weights[p - 1]);
  for (std::size_t l = 0; l < plan.levels.size(); ++l) {
    std::vector<double> of_box(targets.boxes[l].size(), 0.0);
    for (const std::vector<FarPair>& pairs : plan.levels[l].far)
      for (const FarPair& pair : pairs) {
        const auto& source = sources.boxes[l][static_cast<std::size_t>(pair.source)];
        of_box[static_cast<std::size_t>(pair.target)] +=
            plan.levels[l].classes[static_cast<std::size_t>(pair.box_class)].bound *
            (before[static_cast<std::size_t>(source.end)] - before[static_cast<std::size_t>(source.begin)]);
      }
    for (std::size_t t = 0; t < of_box.size(); ++t)
      for (int p = targets.boxes[l][t].begin; p < targets.boxes[l][t].end; ++p) bound[p] += of_box[t];
  }
}

}  // namespace

template <int D>
void add_far(const Levels<D>& plan, const Cube<D>& cube, const Tree<D>& targets, const Tree<D>& sources,
             const double* weights, int columns, const arrays::Workers& workers, double* sums, double* bound) {
  for (std::size_t l = 0; l < plan.levels.size(); ++l) {
    if (!plan.levels[l].terms.any()) continue;
    LevelProduct<D> level(plan.levels[l], cube, targets, sources, l, workers);
    for (int c = 0; c < columns; ++c)
      level.add(weights + std::int64_t{c} * sources.size(), sums + std::int64_t{c} * targets.size());
  }
  for (int c = 0; bound && c < columns; ++c)
    add_bounds<D>(plan, targets, sources, weights + std::int64_t{c} * sources.size(),
                  bound + std::int64_t{c} * targets.size());
}

template void add_far(const Levels<1>&, const Cube<1>&, const Tree<1>&, const Tree<1>&, const double*, int,
                      const arrays::Workers&, double*, double*);
template void add_far(const Levels<2>&, const Cube<2>&, const Tree<2>&, const Tree<2>&, const double*, int,
                      const arrays::Workers&, double*, double*);
template void add_far(const Levels<3>&, const Cube<3>&, const Tree<3>&, const Tree<3>&, const double*, int,
                      const arrays::Workers&, double*, double*);

}  // namespace far
}  // namespace kernweave
