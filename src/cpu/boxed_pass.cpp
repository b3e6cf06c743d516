// Trees stay as long as the points do: these are read in every run, and compared.
#include "cpu/boxed_pass.hpp"

#include <algorithm>

#include "schedule/cost.hpp"

namespace kernweave {
namespace {

std::vector<Ref> refs_of(const Growth& growth) {
  std::vector<Ref> refs;
  for (const Difference& d : growth.differences) refs.insert(refs.end(), {d.row, d.column});
  return refs;
}

// The same value, pair by pair.
Variant pair_by_pair(Variant variant) {
  Output& o = variant.outputs[0];
  o.red = Red::Sum;
  o.keep = Keep::both;
  o.places = 1;
  return variant;
}

PanelShape shape_of(const Pass& pass, bool rows) {
  const Space panel = rows ? Space::lane_panel : Space::sweep_panel;
  return {pass.stride(panel), pass.components[static_cast<int>(panel)]};
}

// Levels of leaves that are taken as one: of many components, boxes are close to each other, and few are left out.
int joined_levels(int components) {
  return components <= kFewestOfJoinedLeaves ? 0 : components <= 2 * kFewestOfJoinedLeaves ? 1 : 2;
}

}  // namespace

template <class T>
BoxedPass<T>::BoxedPass(const Plan& plan, const Variant& variant, const Sizes& sizes, const TileKernel& kernel,
                        const Schedule& schedule)
    : growth_(schedule.growth),
      always_(schedule.traversal.boxes == Boxes::always),
      bounded_(pair_by_pair(variant)),
      pass_(compiled(plan, variant, sizes, kernel, schedule.traversal)),
      of_bounds_(compiled(plan, bounded_, {1, 1, {}}, kernel, {})),
      shape_(pass_, variant, kernel),
      no_shape_(of_bounds_, bounded_, kernel),
      run_{&plan, &variant, &pass_, &kernel, &shape_, pass_.lanes_along_i ? sizes.i : sizes.j,
           pass_.lanes_along_i ? sizes.j : sizes.i},
      bounds_{&plan, &bounded_, &of_bounds_, &kernel, &no_shape_, 1, 1},
      job_{&run_, &bounds_, {}, growth_.grows, row(variant.outputs[0].red).matters == red::Matters::least} {
  const std::vector<int> of_pairs = places(pass_, true), of_bounds = places(of_bounds_, true);
  for (std::size_t d = 0; d < of_pairs.size(); ++d) job_.axes.push_back({of_pairs[d], of_bounds[d]});
}

template <class T>
Pass BoxedPass<T>::compiled(const Plan& plan, const Variant& variant, const Sizes& sizes, const TileKernel& kernel,
                            const Traversal& traversal) const {
  return compile(plan, variant, sizes, kernel, sizeof(T), traversal, refs_of(growth_))[0];
}

// Components of a panel in which a pass finds the differences' values: those of rows, or those of columns.
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
typename BoxedPass<T>::Worker& BoxedPass<T>::worker(int number) {
  std::unique_ptr<Worker>& worker = workers_[static_cast<std::size_t>(number)];
  if (!worker) worker = std::make_unique<Worker>(job_);
  if (!worker->begun) worker->walk.begin();
  worker->begun = true;
  return *worker;
}

// What pairs read of the points of an axis, by component.
template <class T>
Coordinates<T> BoxedPass<T>::read(bool rows, int threads) {
  const PanelShape shape = shape_of(pass_, rows);
  const std::int64_t points = rows ? run_.lanes : run_.sweep, tile = rows ? pass_.tiling.rows : pass_.tiling.columns;
  Coordinates<T> values(static_cast<std::size_t>(shape.components), std::vector<T>(static_cast<std::size_t>(points)));
  std::vector<std::vector<T>> panels(static_cast<std::size_t>(threads));
  const auto no_progress = [&](double) { run_.task->poll(0.0); };
  share_out(threads, (points + tile - 1) / tile, no_progress,
            [&](int number, std::int64_t k, const Heartbeat& beat) {
              std::vector<T>& panel = panels[static_cast<std::size_t>(number)];
              panel.resize(static_cast<std::size_t>(shape.components * tile));
              const std::int64_t first = k * tile, count = std::min(tile, points - first);
              TileWorker<T>& reader = worker(number).walk.reader();
              if (rows) reader.row_panel(first, count, panel.data());
              else reader.panel(first, points, panel.data());
              for (int c = 0; c < shape.components; ++c)
                for (std::int64_t p = 0; p < count; ++p)
                  values[static_cast<std::size_t>(c)][static_cast<std::size_t>(first + p)] =
                      panel[static_cast<std::size_t>(shape.place(p, c))];
              beat();
            });
  return values;
}

// Points that lie as those of the other axis do have the same tree.
template <class T>
void BoxedPass<T>::set_out(int threads) {
  const std::int64_t grain = pass_.tiling.strip_rows();
  const auto place = [&](bool rows, const std::unique_ptr<BoxedPoints<T>>& other, std::unique_ptr<BoxedPoints<T>>* to) {
    Coordinates<T> values = read(rows, threads);
    if (*to && same_numbers(values, (*to)->values())) return;
    paid_ = Paid::untried;
    const Coordinates<T> points = components_at(values, places(pass_, rows));
    std::shared_ptr<const BoxTree<T>> tree;
    if (other && same_numbers(points, components_at(other->values(), places(pass_, !rows))))
      tree = other->shared_tree();
    else tree = std::make_shared<BoxTree<T>>(points, grain, threads, run_.task->poll);
    *to = std::make_unique<BoxedPoints<T>>(std::move(values), shape_of(pass_, rows), std::move(tree), grain);
  };
  place(false, rows_, &columns_);
  place(true, columns_, &rows_);
  job_.columns = columns_.get();
  job_.leaf_level = std::max(columns_->tree().levels() - joined_levels(growth_.components()), 0);
}

// Returns how many columns were looked at.
template <class T>
std::int64_t BoxedPass<T>::strip(Worker* worker, std::int64_t place, std::int64_t count, bool kept) {
  worker->states.init(shape_, count);
  const std::int64_t seen = worker->walk.strip(rows_->panel(place), count, &worker->states);
  if (kept)
    worker->states.finish(0, count, place, run_.lanes, run_.task->results[shape_.parts[0].number], rows_->rows());
  return seen;
}

// Some strips from everywhere look at few columns.
template <class T>
bool BoxedPass<T>::pays(const Task& task) {
  const std::int64_t wide = pass_.tiling.strip_rows(), strips = rows_->boxed().to / wide,
                     tried = std::min<std::int64_t>(strips, kRowsOfTrial / wide);
  double seen = 0;
  for (std::int64_t k = 0; k < tried; ++k) {
    seen += static_cast<double>(strip(&worker(0), strips * k / tried * wide, wide, false));
    task.poll(0.0);
  }
  return tried > 0 && seen <= kMostSeenInBoxes * static_cast<double>(tried) * static_cast<double>(run_.sweep);
}

template <class T>
bool BoxedPass<T>::run(const Task& task, int threads) {
  run_.task = bounds_.task = &task;
  if (static_cast<int>(workers_.size()) < threads) workers_.resize(static_cast<std::size_t>(threads));
  for (const auto& worker : workers_)
    if (worker) worker->begun = false;
  set_out(threads);
  if (!always_ && paid_ == Paid::untried) paid_ = pays(task) ? Paid::yes : Paid::no;
  if (!always_ && paid_ == Paid::no) return false;
  const std::int64_t wide = pass_.tiling.strip_rows(), step = wide * kStripsOfTask;
  for (const Range& places : {rows_->boxed(), rows_->others()})
    share_out(threads, (places.size() + step - 1) / step, task.poll,
              [&](int number, std::int64_t k, const Heartbeat& beat) {
                const std::int64_t from = places.from + k * step, to = std::min(from + step, places.to);
                for (std::int64_t place = from; place < to; place += wide) {
                  strip(&worker(number), place, std::min(wide, to - place), true);
                  beat();
                }
              });
  return true;
}

template class BoxedPass<float>;
template class BoxedPass<double>;

}  // namespace kernweave
