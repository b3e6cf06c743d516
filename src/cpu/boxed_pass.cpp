// Makes and runs a pass by boxes. Trees are kept while the points, which every run reads and compares, are unchanged.
#include "cpu/boxed_pass.hpp"

#include <algorithm>
#include <chrono>

#include "cpu/limits.hpp"

namespace kernweave {
namespace {

std::vector<Ref> refs_of(const Growth& growth) {
  std::vector<Ref> refs;
  for (const Difference& d : growth.differences) refs.insert(refs.end(), {d.row, d.column});
  for (const FoldedPart& part : growth.parts) refs.push_back(part.of_point);
  return refs;
}

// The place of a part among the variables of the plan of bounds.
Ref in_bounds(const Plan& plan, std::size_t part) {
  return {Ref::From::variable, static_cast<int>(plan.variables.size() + part), 1};
}

std::vector<Ref> refs_in_bounds(const Plan& plan, Growth growth) {
  for (std::size_t p = 0; p < growth.parts.size(); ++p) growth.parts[p].of_point = in_bounds(plan, p);
  return refs_of(growth);
}

// Adds a variable of rows for each part. Values that are kept pair by pair have their lanes along i.
Plan with_parts_of_rows(Plan plan, const Growth& growth) {
  for (std::size_t p = 0; p < growth.parts.size(); ++p) {
    plan.variables.push_back({"part", Axis::i, Source::data, 1, Kind::real, Axes(), -1});
    plan.direct.push_back(true);
  }
  return plan;
}

Variant of_one_output(Variant variant, std::size_t number) {
  const Output one = variant.outputs[number];
  variant.outputs = {one};
  return variant;
}

// Makes the variant that computes the value to be bounded, pair by pair, and reads parts as variables of rows.
Variant pair_by_pair(const Plan& plan, Variant variant, const Growth& growth) {
  const auto put = [&](Ref* ref) {
    for (std::size_t p = 0; p < growth.parts.size(); ++p)
      if (same_value(*ref, growth.parts[p].of_point)) return void(*ref = in_bounds(plan, p));
  };
  for (Step& step : variant.program.steps) {
    if (home(variant.program, step) != Region::pair) continue;
    for (Ref& ref : step.in) put(&ref);
    if (step.start) put(&*step.start);
  }
  variant.program.note_uses();
  Output& o = variant.outputs[0];
  o.value = growth.value;
  o.red = Red::Sum;
  o.keep = Keep::both;
  o.places = 1;
  return variant;
}

PanelShape shape_of(const Pass& pass, bool rows) {
  const Space panel = rows ? Space::lane_panel : Space::sweep_panel;
  return {pass.stride(panel), pass.components[static_cast<int>(panel)]};
}

// Returns the number of leaf levels that are taken as one. With many components, boxes are close to each other and few
// are left out. Sums of exponentials look at many leaves anyway.
int joined_levels(int components, const Output& output) {
  const int levels = components <= kFewestOfJoinedLeaves ? 0 : components <= 2 * kFewestOfJoinedLeaves ? 1 : 2;
  return adds_exponentials(output) ? std::max(levels, 1) : levels;
}

constexpr std::size_t kKeptTrees = 2;

}  // namespace

template <class T>
BoxedPass<T>::BoxedPass(const Plan& plan, const Variant& variant, std::size_t output, const TileKernel& kernel,
                        const Decision& decision)
    : growth_(decision.growths[output]),
      always_(decision.loops.boxes == Boxes::always),
      conditional_(!same_value(growth_.value, variant.outputs[output].value)),
      alone_(of_one_output(variant, output)),
      plan_of_bounds_(with_parts_of_rows(plan, growth_)),
      bounded_(pair_by_pair(plan, alone_, growth_)),
      pass_(compile(plan, alone_, decision.sizes, kernel, sizeof(T), decision.loops, refs_of(growth_))[0]),
      of_bounds_(
          compile(plan_of_bounds_, bounded_, {1, 1, {}}, kernel, sizeof(T), {}, refs_in_bounds(plan, growth_))[0]),
      shape_(pass_, alone_, kernel),
      no_shape_(of_bounds_, bounded_, kernel),
      run_{&plan, &alone_, &pass_, &kernel, &shape_, pass_.lanes_along_i ? decision.sizes.i : decision.sizes.j,
           pass_.lanes_along_i ? decision.sizes.j : decision.sizes.i},
      bounds_{&plan_of_bounds_, &bounded_, &of_bounds_, &kernel, &no_shape_, 1, 1},
      job_{&run_, &bounds_, {}, growth_.grows, row(alone_.outputs[0].red).matters == red::Matters::least,
           joined_levels(growth_.components(), alone_.outputs[0]), adds_exponentials(alone_.outputs[0])},
      workers_(job_),
      sweep_(this, run_.lanes) {
  shape_.parts[0].number = static_cast<int>(output);
  const std::vector<int> of_rows = axes(true), of_columns = places(pass_, false), of_bounds = places(of_bounds_, true);
  const std::size_t components = of_rows.size();
  for (std::size_t d = 0; d < components; ++d) job_.axes.push_back({of_rows[d], of_bounds[d]});
  for (std::size_t p = 0; p < growth_.parts.size(); ++p)
    job_.parts.push_back({of_columns[components + p], of_bounds[components + p], growth_.parts[p].grows != job_.least});
}

// Returns the components of a panel in which a pass finds the values of the differences (of rows or of columns), then
// the parts.
template <class T>
std::vector<int> BoxedPass<T>::places(const Pass& pass, bool row) const {
  std::vector<int> places;
  for (std::size_t k = 0; k < pass.asked.size(); ++k) {
    const Operand& o = pass.asked[k];
    if (o.vector != row) continue;
    for (int c = 0; c < o.width; ++c) places.push_back(static_cast<int>(o.offset / shape_of(pass, row).wide) + c);
  }
  return places;
}

template <class T>
std::vector<int> BoxedPass<T>::axes(bool row) const {
  std::vector<int> all = places(pass_, row);
  all.resize(static_cast<std::size_t>(growth_.components()));
  return all;
}

// Computes the values that pairs read of the points of an axis, by component.
template <class T>
Coordinates<T> BoxedPass<T>::read(bool rows, int threads) {
  const PanelShape shape = shape_of(pass_, rows);
  const std::int64_t points = rows ? run_.lanes : run_.sweep, tile = rows ? pass_.tiling.rows : pass_.tiling.columns;
  Coordinates<T> values(static_cast<std::size_t>(shape.components), std::vector<T>(static_cast<std::size_t>(points)));
  std::vector<std::vector<T>> panels(static_cast<std::size_t>(threads));
  const auto no_progress = [&](double) { run_.task->poll(0.0); };
  share_out(threads, (points + tile - 1) / tile, no_progress,
            [&](int number, std::int64_t k, const Heartbeat&) {
              std::vector<T>& panel = panels[static_cast<std::size_t>(number)];
              panel.resize(static_cast<std::size_t>(shape.components * tile));
              const std::int64_t first = k * tile, count = std::min(tile, points - first);
              TileWorker<T>& reader = workers_[number].reader();
              if (rows) reader.row_panel(first, count, panel.data());
              else reader.panel(first, points, panel.data());
              for (int c = 0; c < shape.components; ++c)
                for (std::int64_t p = 0; p < count; ++p)
                  values[static_cast<std::size_t>(c)][static_cast<std::size_t>(first + p)] =
                      panel[static_cast<std::size_t>(shape.place(p, c))];
            });
  return values;
}

// Lists the rectangles of restricted pairs; all pairs are a single rectangle.
template <class T>
std::vector<Rectangle> BoxedPass<T>::rectangles(const Restriction& restriction) const {
  if (!restriction.pairs.map) return {{{0, run_.lanes}, {0, run_.sweep}}};
  const PairSpans& spans = restriction.pairs.along(pass_.lanes_along_i);
  std::vector<Rectangle> all;
  for (std::int64_t b = 0; b < spans.blocks(); ++b)
    all.push_back({spans.rows_of(b), spans.begin(b) == spans.end(b) ? Range() : spans.begin(b)->columns});
  return all;
}

// Reads the points. Makes nothing anew if points and rectangles are unchanged.
template <class T>
void BoxedPass<T>::set_out(const Restriction& restriction, int threads) {
  Coordinates<T> columns = read(false, threads), rows = read(true, threads);
  const std::vector<Rectangle> extents = rectangles(restriction);
  const auto same = [](const BoxedRectangle& part, const Rectangle& r) {
    return part.extent.rows == r.rows && part.extent.columns == r.columns;
  };
  if (same_numbers(columns, columns_) && same_numbers(rows, rows_) &&
      std::equal(parts_.begin(), parts_.end(), extents.begin(), extents.end(), same))
    return;
  columns_ = std::move(columns);
  rows_ = std::move(rows);
  parts_.clear();
  order_.clear();
  trees_made_ = 0;
  for (const Rectangle& extent : extents) add_part(extent, threads);
  deal_out();
  other_parts_ = trees_made_ > 0 ? 0 : other_parts_ + 1;
  // A trial by the clock is repeated whenever the number of runs with other parts has doubled.
  if (job_.exponents || (other_parts_ & (other_parts_ - 1)) == 0) paid_ = Paid::untried;
}

template <class T>
std::shared_ptr<const BoxTree<T>> BoxedPass<T>::tree(const Coordinates<T>& points, int threads) {
  for (const KeptTree& kept : trees_)
    if (same_numbers(kept.points, points)) return kept.tree;
  ++trees_made_;
  const auto made =
      std::make_shared<const BoxTree<T>>(points, pass_.tiling.strip_rows(), threads, run_.task->poll);
  if (!growth_.parts.empty()) trees_.push_front({points, made});
  if (trees_.size() > kKeptTrees) trees_.pop_back();
  return made;
}

// Adds a rectangle. Rows that equal the columns share the columns' tree.
template <class T>
void BoxedPass<T>::add_part(const Rectangle& extent, int threads) {
  const std::int64_t grain = pass_.tiling.strip_rows();
  if (extent.rows.size() + extent.columns.size() < kFewestOfSharedTree) threads = 1;
  const Coordinates<T> of_columns = part_of(columns_, axes(false), extent.columns),
                       of_rows = part_of(rows_, axes(true), extent.rows);
  const auto tree_of_columns = tree(of_columns, threads);
  const auto tree_of_rows = same_numbers(of_rows, of_columns) ? tree_of_columns : tree(of_rows, threads);
  const auto set_out = [&](const Coordinates<T>& values, const Range& points, bool rows, const auto& in_order) {
    const std::vector<BoxPart> parts = rows ? std::vector<BoxPart>() : job_.parts;
    return std::make_unique<BoxedPoints<T>>(values, points.from, shape_of(pass_, rows), in_order, grain, parts);
  };
  const auto first = static_cast<std::int64_t>(order_.size());
  parts_.push_back({extent, first, set_out(rows_, extent.rows, true, tree_of_rows),
                    set_out(columns_, extent.columns, false, tree_of_columns)});
  for (const Index name : parts_.back().rows->names())
    if (name > 0) order_.push_back(name - 1);
}

template <class T>
void BoxedPass<T>::deal_out() {
  std::vector<Rectangle> all;
  for (const BoxedRectangle& part : parts_)
    for (const Range& places : {part.rows->boxed(), part.rows->others()})
      all.push_back({{part.first + places.from, part.first + places.to}, part.extent.columns});
  units_ = std::make_unique<Units>(all, rows_of_block(), std::max<std::int64_t>(run_.sweep, 1));
}

template <class T>
const typename BoxedPass<T>::BoxedRectangle& BoxedPass<T>::part_with(std::int64_t row) const {
  const auto later = [](std::int64_t r, const BoxedRectangle& part) { return r < part.first; };
  return *(std::upper_bound(parts_.begin(), parts_.end(), row, later) - 1);
}

template <class T>
void BoxedPass<T>::begin_spans(const Task& task, int threads, std::int64_t) {
  run_.task = bounds_.task = &task;
  workers_.begin(threads);
}

template <class T>
void BoxedPass<T>::fold_spans(int worker, const Task&, const Range& rows, const PairSpan*, const PairSpan*,
                              const StatesFrom& states, const Heartbeat& beat) {
  const BoxedRectangle& part = part_with(rows.from);
  BoxWalk<T>& walk = workers_[worker];
  for (std::int64_t row = rows.from; row < rows.to; row += pass_.tiling.strip_rows()) {
    const StatesFrom here{states.states, states.first + row - rows.from};
    walk.strip(part.strip(row), in_strip({row, rows.to}), *part.columns, here);
    beat();
  }
}

// Tells whether most strips of a sample are faster by boxes: a single strip may have been held up.
template <class T>
bool BoxedPass<T>::most_are_faster(const Task& task) {
  const std::int64_t units = units_->size(),
                     tried = std::min<std::int64_t>(units, kRowsOfTrial / pass_.tiling.strip_rows());
  std::int64_t faster = 0;
  for (std::int64_t k = 0; k < tried; ++k) {
    const Range& rows = (*units_)[units * k / tried].rows;
    faster += job_.exponents ? passes_over(rows) : is_faster(rows);
    task.poll(0.0);
  }
  return 2 * faster > tried;
}

template <class T>
bool BoxedPass<T>::is_faster(const Range& some) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](const Clock::time_point& start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const BoxedRectangle& part = part_with(some.from);
  BoxWalk<T>& walk = workers_[0];
  const T* const rows = part.strip(some.from);
  Clock::time_point start = Clock::now();
  walk.all_columns(rows, *part.columns);
  const double most = since(start) * kWorthOfBoxes * (conditional_ ? kWorkOfFused : 1.0);
  RowStates states;
  states.init(shape_, in_strip(some));
  start = Clock::now();
  bool faster = true;
  walk.strip(rows, in_strip(some), *part.columns, {&states}, [&] {
    faster = faster && since(start) < most;
    return !faster;
  });
  return faster;
}

// Tells whether boxes pass over enough columns. Sums by boxes differ in their last bits, so the clock must not decide.
template <class T>
bool BoxedPass<T>::passes_over(const Range& some) {
  const BoxedRectangle& part = part_with(some.from);
  BoxWalk<T>& walk = workers_[0];
  const double most =
      kMostSeen * static_cast<double>(part.extent.columns.size()) * (conditional_ ? kWorkOfFused : 1.0);
  RowStates states;
  states.init(shape_, in_strip(some));
  walk.strip(part.strip(some.from), in_strip(some), *part.columns, {&states},
             [&] { return static_cast<double>(walk.seen()) > most; });
  return static_cast<double>(walk.seen()) <= most;
}

template <class T>
bool BoxedPass<T>::pays(const Task& task, int threads) {
  begin_spans(task, threads, 0);
  set_out(task.restriction, threads);
  if (!always_ && paid_ == Paid::untried) paid_ = most_are_faster(task) ? Paid::yes : Paid::no;
  return always_ || paid_ == Paid::yes;
}

template class BoxedPass<float>;
template class BoxedPass<double>;

}  // namespace kernweave
