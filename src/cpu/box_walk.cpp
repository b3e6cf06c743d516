// Walks through boxes, and through their points in order. The bound of a box is the value of the formula at the points
// of both boxes that are nearest to each other: a formula of differences alone is given the gap between the boxes and
// 0, and a part that depends on the columns is given its best number in the box.
#include "cpu/boxed_pass.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "cpu/limits.hpp"

namespace kernweave {
namespace {

// The levels of boxes that are bounded at a time.
constexpr int kLevelsAtOnce = 4;

// The margin by which boxes are taken to be nearer, or farther, than they are. No rounding puts a pair beyond the bound
// of its box, even in functions whose last bits go up and down. It costs a thousandth of the points.
template <class T>
constexpr T kMargin = sizeof(T) == 4 ? static_cast<T>(0x1p-10) : static_cast<T>(0x1p-20);

// The margin of parts, whose sums with differences are rounded, but do not go up and down.
template <class T>
constexpr T kMarginOfPart = sizeof(T) == 4 ? static_cast<T>(0x1p-18) : static_cast<T>(0x1p-44);

// The upper bound on the share of all skipped terms in a sum of exponentials: half of the last bit.
template <class T>
constexpr double kShareLeftOut = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;

// The number of columns after which sums go to the row states.
constexpr std::int64_t kMostUnflushed = kMostColumns;

}  // namespace

template <class T>
BoxWalk<T>::BoxWalk(const BoxJob<T>& job) : job_(job), pairs_(*job.pairs), bounds_(*job.bounds) {
  const Pass& pass = *job.bounds->pass;
  const auto numbers = [&](Space space) {
    return static_cast<std::size_t>(pass.components[static_cast<int>(space)] * pass.stride(space));
  };
  gaps_.resize(numbers(Space::lane_panel));
  zeros_.resize(numbers(Space::sweep_panel));
  const std::int64_t places = job.pairs->shape->parts[0].output->places;
  if (pairs_.looks() && places <= kMostLookedPlaces) looked_at_ = kLookedInBoxes * places;
  least_.resize(job.axes.size());
  most_.resize(job.axes.size());
  sums_.resize(static_cast<std::size_t>(job.pairs->pass->tiling.strip_rows()));
  no_numbers_.resize(sums_.size());
}

template <class T>
void BoxWalk<T>::begin() {
  pairs_.begin();
  bounds_.begin();
}

template <class T>
void BoxWalk<T>::strip(const T* rows, std::int64_t count, const BoxedPoints<T>& columns, const StatesFrom& states,
                       const GiveUp& give_up) {
  columns_ = &columns;
  leaf_level_ = std::max(columns.tree().levels() - job_.joined, 0);
  rows_ = rows;
  count_ = count;
  states_ = states;
  any_seen_ = false;
  seen_ = flushed_ = 0;
  pairs_.begin_strip(columns_->names().data());
  limit_ = std::numeric_limits<double>::quiet_NaN();
  if (!surround(rows, count)) fold(columns_->boxed());
  else if (columns_->boxed().size() > 0) stack_.push_back({-HUGE_VAL, 1, 0});
  while (!stack_.empty() && !(give_up && give_up())) {
    const OpenBox box = stack_.back();
    stack_.pop_back();
    if (!matters(box.rank)) continue;
    if (box.level < leaf_level_) {
      open(box);
      continue;
    }
    if (!any_seen_ && looked_at_ > 0) look_around(box);
    fold(columns_->tree().points_of(box.level, box.number));
  }
  stack_.clear();
  fold(columns_->others());
  if (seen_ > flushed_) flush();
  pairs_.end_strip(count, false, states);
}

template <class T>
void BoxWalk<T>::all_columns(const T* rows, const BoxedPoints<T>& columns) {
  pairs_.begin_strip(nullptr);
  if (pairs_.looks())
    pairs_.look_at_strip(rows, columns.panel(0), std::min<std::int64_t>(kMostColumns, columns.boxed().size()));
  pairs_.fold_strip(rows, columns.panel(0), columns.boxed().size(), 0);
}

// Computes the rows' own box. Returns false if a row cannot be in a box.
template <class T>
bool BoxWalk<T>::surround(const T* rows, std::int64_t count) {
  const std::int64_t wide = job_.pairs->pass->tiling.strip_rows();
  for (std::size_t d = 0; d < job_.axes.size(); ++d) {
    const T* const x = rows + job_.axes[d].of_pairs * wide;
    least_[d] = *std::min_element(x, x + count);
    most_[d] = *std::max_element(x, x + count);
    for (std::int64_t r = 0; r < count; ++r)
      if (!fits_in_box(x[r])) return false;
  }
  return true;
}

// Bounds some boxes of the same level, side by side.
template <class T>
void BoxWalk<T>::bound(std::int64_t first, std::int64_t count) {
  const BoxTree<T>& tree = columns_->tree();
  const std::int64_t wide = job_.bounds->pass->tiling.strip_rows();
  for (std::size_t d = 0; d < job_.axes.size(); ++d) {
    const T *least = tree.least(d) + first, *most = tree.most(d) + first;
    T* const gap = gaps_.data() + job_.axes[d].of_bounds * wide;
    for (std::int64_t b = 0; b < count; ++b) {
      const T above = least[b] - most_[d], below = least_[d] - most[b];
      const T near = std::max(std::max(above, below), T(0)), far = std::max(most[b] - least_[d], most_[d] - least[b]);
      gap[b] = job_.grows == job_.least ? near * (1 - kMargin<T>) : far * (1 + kMargin<T>);
    }
  }
  for (std::size_t p = 0; p < job_.parts.size(); ++p)
    std::copy_n(columns_->best(p) + first, count, gaps_.data() + job_.parts[p].of_bounds * wide);
  bounds_.fold_strip(gaps_.data(), zeros_.data(), 1, 0);
}

template <class T>
bool BoxWalk<T>::parts_known(std::int64_t box) const {
  for (std::size_t p = 0; p < job_.parts.size(); ++p)
    if (const T best = columns_->best(p)[box]; best != best) return false;
  return true;
}

// Pushes the boxes some levels down that matter on the stack, the best one on top.
template <class T>
void BoxWalk<T>::open(const OpenBox& box) {
  const std::int64_t wide = job_.bounds->pass->tiling.strip_rows();
  int levels = (leaf_level_ - box.level - 1) % kLevelsAtOnce + 1;
  while ((std::int64_t{1} << levels) > wide) --levels;
  const std::int64_t first = box.number << levels, count = std::int64_t{1} << levels;
  bound(first, count);
  const T* const value = bounds_.values();
  const auto from = static_cast<std::ptrdiff_t>(stack_.size());
  for (std::int64_t b = 0; b < count; ++b) {
    const bool known = value[b] == value[b] && parts_known(first + b);
    const double rank = !known ? -HUGE_VAL : job_.least ? value[b] : -value[b];
    if (matters(rank)) stack_.push_back({rank, first + b, box.level + levels});
  }
  const auto worse = [](const OpenBox& a, const OpenBox& b) { return a.rank > b.rank; };
  std::sort(stack_.begin() + from, stack_.end(), worse);
}

template <class T>
void BoxWalk<T>::fold(const Range& columns) {
  const std::int64_t most = job_.exponents ? kMostUnflushed : columns.size();
  for (Range some{columns.from, columns.from}; some.from < columns.to; some.from = some.to) {
    some.to = std::min(some.from + most, columns.to);
    pairs_.fold_strip(rows_, columns_->panel(some.from), some.size(), some.from);
    any_seen_ = true;
    seen_ += some.size();
    // Only the row states know the sums of the rows. Sums change less as they grow, so flushes become rarer.
    if (!job_.exponents || seen_ - flushed_ >= std::min(3 * flushed_, kMostUnflushed)) flush();
  }
}

template <class T>
void BoxWalk<T>::flush() {
  pairs_.end_strip(count_, true, states_);
  flushed_ = seen_;
  note_limit();
}

template <class T>
void BoxWalk<T>::note_limit() {
  const double limit = job_.exponents ? limit_of_sums() : pairs_.limit();
  limit_ = job_.least ? limit : -limit;
}

// Returns the exponent at which n terms are less than the share of the least sum so far that may be left out. Returns
// NaN if the least sum is not finite, except for sums without a term.
template <class T>
double BoxWalk<T>::limit_of_sums() {
  job_.pairs->shape->parts[0].kernel->finish(states_.at(0, 0, 0), count_, 1, sums_.data(), no_numbers_.data());
  double least = HUGE_VAL;
  for (std::int64_t r = 0; r < count_; ++r) least = sums_[r] < least || sums_[r] != sums_[r] ? sums_[r] : least;
  const auto terms = static_cast<double>(columns_->tree().order().size());
  return least < HUGE_VAL ? least - std::log(terms / kShareLeftOut<T>) : std::numeric_limits<double>::quiet_NaN();
}

// Looks at the points around the first leaf: a list gets its first limit before any term has entered the list.
template <class T>
void BoxWalk<T>::look_around(OpenBox box) {
  const BoxTree<T>& tree = columns_->tree();
  for (; box.level > 0 && tree.points_of(box.level, box.number).size() < looked_at_; --box.level) box.number /= 2;
  const Range columns = tree.points_of(box.level, box.number);
  if (columns.size() < looked_at_) return;
  pairs_.look_at_strip(rows_, columns_->panel(columns.from), columns.size());
  note_limit();
}

template class BoxWalk<float>;
template class BoxWalk<double>;

// --- boxed points ---------------------------------------------------------------------------------------------------
// Components are gathered one after the other, so that each is read from a memory that is not too large.

template <class T>
BoxedPoints<T>::BoxedPoints(const Coordinates<T>& values, std::int64_t first, const PanelShape& shape,
                            std::shared_ptr<const BoxTree<T>> tree, std::int64_t grain,
                            const std::vector<BoxPart>& parts)
    : shape_(shape), tree_(std::move(tree)) {
  const std::vector<std::int64_t>& order = tree_->order();
  const auto padded = [&](std::int64_t points) { return (points + grain - 1) / grain * grain; };
  const auto points = static_cast<std::int64_t>(order.size());
  first_other_ = padded(tree_->boxed());
  const std::int64_t places = first_other_ + padded(points - tree_->boxed());
  const auto last_boxed = order.begin() + tree_->boxed();
  std::vector<std::int64_t> rows(order.begin(), last_boxed);
  // If a place has no point, the last point is repeated.
  rows.resize(static_cast<std::size_t>(first_other_), rows.empty() ? 0 : rows.back());
  rows.insert(rows.end(), last_boxed, order.end());
  rows.resize(static_cast<std::size_t>(places), rows.empty() ? 0 : rows.back());
  for (const BoxPart& part : parts)
    bound_part(values[static_cast<std::size_t>(part.of_pairs)], rows, first, part.largest);
  names_.push_back(0);
  for (std::int64_t& row : rows) names_.push_back((row += first) + 1);
  panel_.resize(static_cast<std::size_t>(places * shape_.components));
  for (int c = 0; c < shape_.components && points > 0; ++c) {
    const std::vector<T>& from = values[static_cast<std::size_t>(c)];
    for (std::int64_t p = 0; p < places; ++p) {
      const std::int64_t row = rows[static_cast<std::size_t>(p)];
      panel_[static_cast<std::size_t>(shape_.place(p, c))] = from[static_cast<std::size_t>(row)];
    }
  }
}

// A number that is NaN or larger than kMostOfPart makes a box unknown; an infinity that is the worst number does not.
template <class T>
void BoxedPoints<T>::bound_part(const std::vector<T>& numbers, const std::vector<std::int64_t>& rows,
                                std::int64_t first, bool largest) {
  const T unknown = std::numeric_limits<T>::quiet_NaN(), infinite = std::numeric_limits<T>::infinity(),
          worst = largest ? -infinite : infinite;
  const auto better = [&](T a, T b) { return a != a || b != b ? unknown : (a < b) == largest ? b : a; };
  std::vector<T> best(static_cast<std::size_t>(tree_->shape().boxes()), worst);
  const std::size_t leaves = best.size() / 2;
  for (std::size_t box = best.size() - 1; box >= 1; --box) {
    if (box < leaves) {
      best[box] = better(best[2 * box], best[2 * box + 1]);
      continue;
    }
    const Range range = tree_->points_of(tree_->levels(), static_cast<std::int64_t>(box));
    for (std::int64_t p = range.from; p < range.to; ++p) {
      const T x = numbers[static_cast<std::size_t>(first + rows[static_cast<std::size_t>(p)])];
      best[box] = better(best[box], x == worst || std::fabs(x) <= kMostOfPart ? x : unknown);
    }
  }
  for (T& x : best)
    if (std::isfinite(x)) x += std::fabs(x) * (largest ? kMarginOfPart<T> : -kMarginOfPart<T>);
  best_.push_back(std::move(best));
}

template <class T>
bool same_numbers(const Coordinates<T>& a, const Coordinates<T>& b) {
  const auto same = [](const std::vector<T>& x, const std::vector<T>& y) {
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
  };
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same);
}

template <class T>
Coordinates<T> part_of(const Coordinates<T>& values, const std::vector<int>& components, const Range& points) {
  Coordinates<T> part;
  for (const int c : components) {
    const std::vector<T>& all = values[static_cast<std::size_t>(c)];
    part.emplace_back(all.begin() + points.from, all.begin() + points.to);
  }
  return part;
}

template class BoxedPoints<float>;
template class BoxedPoints<double>;
template bool same_numbers(const Coordinates<float>&, const Coordinates<float>&);
template bool same_numbers(const Coordinates<double>&, const Coordinates<double>&);
template Coordinates<float> part_of(const Coordinates<float>&, const std::vector<int>&, const Range&);
template Coordinates<double> part_of(const Coordinates<double>&, const std::vector<int>&, const Range&);

}  // namespace kernweave
