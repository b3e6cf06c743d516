// Computes the far part of a product on the host, level by level. One thread adds up the sums of a box, in the order of
// the plan.
//
// A formula may be multiplied by a power of a component of the difference, x - y = u + o - v, with positions u and v in
// the boxes of target and source, and the offset o of the boxes. Moments are of weights times powers of -v, M2L makes
// local expansions of (o - v)^q, and L2P multiplies these by powers of u. So only numbers of the size of the boxes
// cancel.
#include "far/levels.hpp"

#include <algorithm>
#include <cmath>

#include "kernweave/difference.hpp"

namespace kernweave {
namespace far {
namespace {

constexpr Index kBoxesAtOnce = 8;  // boxes of one task of a thread
constexpr int kColumnsAtOnce = 16;

template <int D>
class LevelProduct {
 public:
  using Box = typename Octree<D>::Box;

  LevelProduct(const Level<D>& level, const TreePair<D>& trees, std::size_t number, int power,
               const arrays::Workers& workers)
      : level_(level), trees_(trees), target_boxes_(trees.targets.boxes[number]),
        source_boxes_(trees.sources.boxes[number]), workers_(workers), spread_(Spread::of(power, D)),
        padded_(level.terms.padded()) {}

  // Adds the level's far pairs to `sums`, and the error of dropped coefficients to `bound` unless null. M2L takes
  // nearly all the time, so the workers `telling` report its progress.
  void add(const double* weights, int columns, double* sums, double* bound, const arrays::Workers& telling) {
    slots_ = columns * spread_.count();
    dropped_.assign(static_cast<std::size_t>(bound ? level_.targets.count * slots_ : 0), 0.0);
    moments_.resize(static_cast<std::size_t>(Index{level_.sources.count} * slots_ * padded_));
    locals_.assign(static_cast<std::size_t>(Index{level_.targets.count} * slots_ * padded_), 0.0);
    find_moments(weights);
    arrays::each_task(telling, static_cast<Index>(level_.far.size()),
                      [&](Index range) { apply(level_.far[static_cast<std::size_t>(range)]); });
    evaluate(sums);
    if (bound) add_dropped(columns, bound);
  }

 private:
  double* moments_at(int box, int slot) { return &moments_[at(level_.sources, box, slot, padded_)]; }
  double* local_at(int box, int slot) { return &locals_[at(level_.targets, box, slot, padded_)]; }
  double& dropped_at(int box, int slot) { return dropped_[at(level_.targets, box, slot, 1)]; }
  std::size_t at(const NumberedBoxes& boxes, int box, int slot, int numbers) const {
    return static_cast<std::size_t>((Index{boxes.number[static_cast<std::size_t>(box)]} * slots_ + slot) * numbers);
  }

  BoxPoints<D> points(const Octree<D>& tree, const Box& box) const {
    BoxPoints<D> found;
    const Centre<D> centre(trees_.cube, box.at, level_.half);
    found.centre = centre.at;
    found.rest = centre.rest;
    for (std::size_t d = 0; d < D; ++d) found.at[d] = tree.morton().components()[d].data() + box.begin;
    found.count = box.size();
    found.half = level_.half;
    return found;
  }
  template <class Work>
  void each_box(const std::vector<Box>& boxes, const NumberedBoxes& which, std::size_t room, Work work) const {
    const auto count = static_cast<Index>(boxes.size()), tasks = (count + kBoxesAtOnce - 1) / kBoxesAtOnce;
    arrays::each_task(workers_, tasks, [&](Index task) {
      std::vector<double> mine;
      for (Index b = task * kBoxesAtOnce; b < std::min(count, (task + 1) * kBoxesAtOnce); ++b) {
        if (!which.has(static_cast<std::size_t>(b))) continue;
        mine.resize(room);
        work(static_cast<int>(b), boxes[static_cast<std::size_t>(b)], mine.data());
      }
    });
  }

  static double place_in(const BoxPoints<D>& box, std::size_t axis, int point) {
    return ((box.at[axis][point] - box.centre[axis]) - box.rest[axis]) / box.half;
  }

  void find_moments(const double* weights) {
    const Terms terms = level_.terms.terms();
    const auto room = static_cast<std::size_t>(power(terms.degrees, D) * loops().lanes);
    each_box(source_boxes_, level_.sources, room, [&](int number, const Box& box, double* mine) {
      const BoxPoints<D> in_box = points(trees_.sources, box);
      std::vector<double> times(static_cast<std::size_t>(box.size()));
      for (int slot = 0; slot < slots_; ++slot) {
        const int own = slot % spread_.count(), column = slot / spread_.count();
        const auto axis = static_cast<std::size_t>(spread_.component(own));
        const double* const of_column = weights + Index{column} * trees_.sources.size() + box.begin;
        for (int p = 0; p < box.size(); ++p)
          times[static_cast<std::size_t>(p)] =
              of_column[p] * to_power(-place_in(in_box, axis, p), spread_.exponent(own));
        double* const out = moments_at(number, slot);
        moments_of<D>(loops())(in_box, times.data(), terms, mine, out);
        std::fill(out + terms.count, out + padded_, 0.0);
      }
    });
  }

  // A slot to which a product is added, times a number.
  struct SlotShare {
    int slot;
    double times;
  };
  // Returns, for moments of each power of -v, the slots to which their products are added, at this pair's offset.
  std::vector<std::vector<SlotShare>> shares_of(const Interaction& pair) const {
    std::vector<std::vector<SlotShare>> out(static_cast<std::size_t>(spread_.count()));
    const Box &target = target_boxes_[static_cast<std::size_t>(pair.target)],
              &source = source_boxes_[static_cast<std::size_t>(pair.source)];
    for (int slot = 0; slot < spread_.count(); ++slot) {
      const int exponent = spread_.exponent(slot), component = spread_.component(slot);
      const auto axis = static_cast<std::size_t>(component);
      const double offset = 2.0 * (target.at[axis] - source.at[axis]);
      for (int r = 0; r <= exponent; ++r)
        out[static_cast<std::size_t>(spread_.at(r, component))].push_back({slot, binomial_term(exponent, r, offset)});
    }
    return out;
  }

  // Multiplies the moments of pairs in batches of one class and permutation, and adds results to the local expansions
  // of their targets.
  void apply(const std::vector<Interaction>& pairs) {
    std::vector<double> in(static_cast<std::size_t>(padded_ * kBatch), 0.0), out(in.size());
    for (std::size_t first = 0, last = 0; first < pairs.size(); first = last) {
      const Interaction& head = pairs[first];
      last = first + 1;
      if (head.permutation == Interaction::kSkipped) continue;
      while (last < pairs.size() && head.is_like(pairs[last])) ++last;
      const std::vector<std::vector<SlotShare>> shares = shares_of(head);
      const Index all = static_cast<Index>(last - first) * slots_;
      for (Index from = 0; from < all; from += kBatch)
        multiply(&pairs[first], from, std::min<Index>(all, from + kBatch), shares, in.data(), out.data());
    }
  }
  void multiply(const Interaction* pairs, Index from, Index to, const std::vector<std::vector<SlotShare>>& shares,
                double* in, double* out) {
    gather(pairs, from, to, in);
    const M2LMatrix& matrix = level_.terms.matrix(pairs->offset_class);
    loops().multiply(matrix.rows(), in, out);
    double dropped[kBatch] = {};  // a bound by moments alone: polynomials at targets are 1 at most
    const double* row = in;
    for (std::size_t k = 0; !dropped_.empty() && k < matrix.dropped.size(); ++k, row += kBatch)
      for (int b = 0; b < kBatch; ++b) dropped[b] += matrix.dropped[k] * std::abs(row[b]);
    double* const permuted = in;  // reuses memory that is not read any more
    const int terms = level_.terms.count();
    for (Index at = from; at < to; ++at) {
      const auto slot = static_cast<int>(at % slots_), own = slot % spread_.count(), first = slot - own;
      permute_back(out + (at - from), level_.terms.permutation(pairs->permutation), permuted);
      for (const SlotShare& share : shares[static_cast<std::size_t>(own)]) {
        const int target = pairs[at / slots_].target;
        double* const sums = local_at(target, first + share.slot);
        for (int k = 0; k < terms; ++k) sums[k] += share.times * permuted[k];
        if (!dropped_.empty()) dropped_at(target, first + share.slot) += std::abs(share.times) * dropped[at - from];
      }
    }
  }
  // Gathers moments as columns, permuted to the class's axes; columns behind the last repeat the last.
  void gather(const Interaction* pairs, Index from, Index to, double* in) {
    const auto& permutation = level_.terms.permutation(pairs->permutation);
    const double* moments[kBatch];
    for (Index b = 0; b < kBatch; ++b) {
      const Index at = std::min(from + b, to - 1);
      moments[b] = moments_at(pairs[at / slots_].source, static_cast<int>(at % slots_));
    }
    const std::size_t terms = permutation.place.size();
    for (std::size_t k = 0; k < terms; ++k) {
      double* const row = in + permutation.place[k] * kBatch;
      const double sign = permutation.sign[k];
      for (int b = 0; b < kBatch; ++b) row[b] = sign * moments[b][k];
    }
  }
  // Permutes a column of a batch back to the axes of its boxes.
  static void permute_back(const double* column, const typename LevelTerms<D>::TermPermutation& permutation,
                           double* permuted) {
    const std::size_t terms = permutation.place.size();
    for (std::size_t k = 0; k < terms; ++k) permuted[k] = permutation.sign[k] * column[permutation.place[k] * kBatch];
  }

  void evaluate(double* sums) {
    const Terms terms = level_.terms.terms();
    const auto room = static_cast<std::size_t>(power(terms.degrees, D));
    const double scale = to_power(level_.half, spread_.power);
    each_box(target_boxes_, level_.targets, room, [&](int number, const Box& box, double* mine) {
      const BoxPoints<D> in_box = points(trees_.targets, box);
      std::vector<double> found(static_cast<std::size_t>(box.size()));
      for (int slot = 0; slot < slots_; ++slot) {
        std::fill(found.begin(), found.end(), 0.0);
        evaluate_of<D>(loops())(in_box, local_at(number, slot), terms, mine, found.data());
        const int own = slot % spread_.count(), column = slot / spread_.count(), exponent = spread_.exponent(own);
        for (int d = 0; d < spread_.components; ++d) {
          if (!spread_.is_of(own, d)) continue;
          double* const out = sums + Index{column * spread_.components + d} * trees_.targets.size() + box.begin;
          for (int p = 0; p < box.size(); ++p)
            out[p] += scale * binomial_term(spread_.power, exponent, place_in(in_box, static_cast<std::size_t>(d), p)) *
                      found[static_cast<std::size_t>(p)];
        }
      }
    });
  }

  // Adds the error of dropped coefficients, times powers of the position at the target, which is 1 at most.
  void add_dropped(int columns, double* bound) {
    const double unit = to_power(level_.half, spread_.power);
    for (std::size_t t = 0; t < target_boxes_.size(); ++t) {
      if (!level_.targets.has(t)) continue;
      const Box& box = target_boxes_[t];
      for (int c = 0; c < columns; ++c)
        for (int d = 0; d < spread_.components; ++d) {
          double off = 0;
          for (int q = 0; q <= spread_.power; ++q)
            off += unit * binomial_term(spread_.power, q, 1) *
                   dropped_at(static_cast<int>(t), c * spread_.count() + spread_.at(q, d));
          double* const out = bound + Index{c * spread_.components + d} * trees_.targets.size();
          for (int p = box.begin; p < box.end; ++p) out[p] += off;
        }
    }
  }

  const Level<D>& level_;
  const TreePair<D> trees_;
  const std::vector<Box>&target_boxes_, &source_boxes_;
  const arrays::Workers& workers_;
  const Spread spread_;
  const int padded_;
  int slots_ = 0;  // expansions of a box: one for each column of weights and power (Spread)
  std::vector<double> moments_, locals_, dropped_;
};

// Adds error bounds: the bound of a class times the sizes of its sources' weights and of the difference.
template <int D>
void add_bounds(const Levels<D>& plan, const TreePair<D>& trees, int power, int component, const double* weights,
                double* bound) {
  const Octree<D>&targets = trees.targets, &sources = trees.sources;
  std::vector<double> before(static_cast<std::size_t>(sources.size()) + 1, 0.0);
  for (std::size_t p = 1; p < before.size(); ++p) before[p] = before[p - 1] + std::abs(weights[p - 1]);
  const auto axis = static_cast<std::size_t>(component);
  for (std::size_t l = 0; l < plan.levels.size(); ++l) {
    const Level<D>& level = plan.levels[l];
    std::vector<double> of_box(targets.boxes[l].size(), 0.0);
    for (const std::vector<Interaction>& pairs : level.far)
      for (const Interaction& pair : pairs) {
        const auto& source = sources.boxes[l][static_cast<std::size_t>(pair.source)];
        const auto target = static_cast<std::size_t>(pair.target);
        const int offset = targets.boxes[l][target].at[axis] - source.at[axis];
        of_box[target] +=
            level.classes[static_cast<std::size_t>(pair.offset_class)].bound *
            to_power(reach_along(offset, level.half), power) *
            (before[static_cast<std::size_t>(source.end)] - before[static_cast<std::size_t>(source.begin)]);
      }
    for (std::size_t t = 0; t < of_box.size(); ++t)
      for (int p = targets.boxes[l][t].begin; p < targets.boxes[l][t].end; ++p) bound[p] += of_box[t];
  }
}

}  // namespace

template <int D>
void add_far(const Levels<D>& plan, const TreePair<D>& trees, int power, const double* weights, int columns,
             const arrays::Workers& workers, double* sums, double* bound) {
  const Spread spread = Spread::of(power, D);
  const auto of = [&](int c) { return weights + Index{c} * trees.sources.size(); };
  const auto place = [&](int c, int d) { return Index{c * spread.components + d} * trees.targets.size(); };
  const int at_once = std::max(1, kColumnsAtOnce / spread.count());
  // Components are computed before threads read them.
  for (const Octree<D>* tree : {&trees.targets, &trees.sources}) tree->morton().components();
  double all = 0, done = 0;
  for (const Level<D>& level : plan.levels) all += level.work * columns;
  const arrays::Workers still{workers.threads, [&](double) { workers.poll(done / all); }};
  for (std::size_t l = 0; l < plan.levels.size(); ++l) {
    if (!plan.levels[l].terms.any()) continue;
    LevelProduct<D> level(plan.levels[l], trees, l, power, still);
    for (int c = 0; c < columns; c += at_once) {
      const int now = std::min(at_once, columns - c);
      const double work = plan.levels[l].work * now;
      level.add(of(c), now, sums + place(c, 0), bound ? bound + place(c, 0) : nullptr,
                {workers.threads, [&](double share) { workers.poll((done + share * work) / all); }});
      done += work;
    }
  }
  for (int c = 0; bound && c < columns; ++c)
    for (int d = 0; d < spread.components; ++d)
      add_bounds<D>(plan, trees, power, d, of(c), bound + place(c, d));
}

template void add_far(const Levels<1>&, const TreePair<1>&, int, const double*, int, const arrays::Workers&, double*,
                      double*);
template void add_far(const Levels<2>&, const TreePair<2>&, int, const double*, int, const arrays::Workers&, double*,
                      double*);
template void add_far(const Levels<3>&, const TreePair<3>&, int, const double*, int, const arrays::Workers&, double*,
                      double*);

}  // namespace far
}  // namespace kernweave
