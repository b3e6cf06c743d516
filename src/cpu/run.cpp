// Runs a plan on the CPU, from decision to tiles to threads. The division of the pairs depends on the sizes and the
// instruction set alone, and results of tasks are merged in order, so the number of threads changes no bit.
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>

#include "base/error.hpp"
#include "cpu/boxed_pass.hpp"
#include "cpu/kernels.hpp"
#include "cpu/limits.hpp"
#include "cpu/pass.hpp"
#include "cpu/ready_pass.hpp"
#include "cpu/sweep.hpp"
#include "lanes/isa.hpp"
#include "pairs/units.hpp"
#include "plan/output_groups.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {

namespace {

// The base of all executables. Only the executable that ran last keeps its working memory: plans are many.
class TileExecutable : public Executable {
 public:
  ~TileExecutable() override {
    if (warm_ == this) warm_ = nullptr;
  }
  // Returns the folder of the spans of pass k. The folder's memory is kept for as long as the caller asks.
  virtual SpanFolder* folder(std::size_t k) = 0;
  virtual void release() = 0;

 protected:
  void warm_up() {
    if (warm_ && warm_ != this) warm_->release();
    warm_ = this;
  }

 private:
  static TileExecutable* warm_;
};
TileExecutable* TileExecutable::warm_ = nullptr;

// A folder of some of the outputs, and the units over which it folds.
struct FoldedUnits {
  SpanFolder* folder;
  Sweep* sweep;
  const Units* units;
  SpanFolder* partial;
};

// The passes of a variant.
template <class T>
class Passes : public TileExecutable {
 public:
  Passes(const Plan& plan, const Decision& decision, const TileKernel& kernel)
      : plan_(plan),
        decision_(decision),
        variant_(plan.variants[static_cast<std::size_t>(decision_.variant)]),
        kernel_(kernel),
        passes_(compile(plan, variant_, decision_.sizes, kernel, sizeof(T), decision_.loops)) {}

  // Tells whether boxes pay: not if a trial of one output shows that all pairs are as fast.
  bool boxes_pay(const Task& task) override {
    if (decision_.loops.boxes == Boxes::none) return false;
    for (const auto& pass : boxed())
      if (!pass->pays(task, threads({task}))) return false;
    return true;
  }
  SpanFolder* folder(std::size_t k) override { return made()[k].get(); }
  void release() override {
    ready_.clear();
    boxed_.clear();
    if (const auto partial = partial_.lock()) partial->release();
  }

  // Returns the sizes by which rows can be divided. With boxes, rows are stretches of the trees' order.
  Grain grain() override {
    Grain g;
    g.everywhere = true;
    const auto any = [&](Keep keep) {
      const std::vector<Output>& all = variant_.outputs;
      return std::any_of(all.begin(), all.end(), [&](const Output& o) { return o.keep == keep; });
    };
    g.folded = any(Keep::none);
    if (g.folded && any(Keep::both)) {
      g.why = "values of all pairs beside results without rows";
      return g;
    }
    const bool boxes = decision_.loops.boxes != Boxes::none;
    for (const Pass& pass : passes_) {
      const std::int64_t of_boxes = pass.tiling.strip_rows() * kStripsOfTask;
      g.rows = std::max(g.rows, boxes ? of_boxes : pass.tiling.rows);
    }
    for (const Pass& pass : passes_) g.all = std::max(g.all, first_row(pass, g.rows) + lanes(pass));
    if (passes_.size() == 1 && plan_.pairs == Pairs::all && !boxes) {
      g.columns = ready()[0]->columns_of_split();
      g.all_columns = passes_[0].lanes_along_i ? decision_.sizes.j : decision_.sizes.i;
    }
    return g;
  }
  // Small rectangles, and rectangles with rows in common, make one list of units; each other rectangle has work for all
  // threads.
  void run(const std::vector<Task>& tasks, ResultRows* block) override {
    if (block) block->found.assign(variant_.outputs.size(), {});
    const Sizes& sizes = decision_.sizes;
    const bool apart = tasks.size() > 1 && sizes.pairs() > kMostPairsOfList && sizes.folded == 0;
    for (const FoldedUnits& f : folded_units(tasks[0])) {
      const Range some = block ? units_of(f, block->rows) : Range{0, f.units->size()};
      if (block) note_rows(f, some, block);
      const auto run = [&](const std::vector<Task>& list) {
        f.sweep->run(list, own_runs(list), threads(list), *f.units, some, f.partial);
      };
      if (!apart) run(tasks);
      for (std::size_t k = 0; k < tasks.size() && apart; ++k) run({tasks[k]});
    }
  }
  std::vector<char> states(const std::vector<Task>& tasks, const Range& rows, const Range& columns) override {
    if (columns.size() > 0) {
      const Units some = ready()[0]->units(rows, columns);
      return packed(ready_[0]->sweep().keep(tasks, 1, threads(tasks), some, {0, some.size()}, nullptr));
    }
    std::vector<SweepStates> found;  // of each pass and, within it, each run with results of its own
    for (const FoldedUnits& f : folded_units(tasks[0]))
      for (SweepStates& states :
           f.sweep->keep(tasks, own_runs(tasks), threads(tasks), *f.units, units_of(f, rows), f.partial))
        found.push_back(std::move(states));
    return packed(found);
  }
  void finish(const std::vector<Task>& tasks, const std::vector<const std::vector<char>*>& in_order) override {
    const std::vector<FoldedUnits> all = folded_units(tasks[0]);
    std::vector<const RowShape*> shapes;
    for (const FoldedUnits& f : all) shapes.push_back(&f.folder->shape());
    std::vector<std::vector<SweepStates>> blocks;
    for (const std::vector<char>* bytes : in_order) blocks.push_back(unpacked(*bytes, shapes));
    std::size_t at = 0;
    for (const FoldedUnits& f : all)
      for (std::int64_t run = 0; run < own_runs(tasks); ++run, ++at) {
        SweepStates whole;
        for (std::vector<SweepStates>& block : blocks) {
          user_check(at < block.size(), Fault::input, "states of blocks of another call");
          whole.take(&block[at]);
        }
        f.sweep->finish(tasks[static_cast<std::size_t>(run)], &whole);
      }
  }

 private:
  std::vector<std::unique_ptr<ReadyPass<T>>>& ready() {
    warm_up();
    return made();
  }
  std::vector<std::unique_ptr<ReadyPass<T>>>& made() {
    if (ready_.empty())
      for (const Pass& pass : passes_)
        ready_.push_back(std::make_unique<ReadyPass<T>>(plan_, variant_, decision_, kernel_, pass));
    return ready_;
  }
  std::vector<std::unique_ptr<BoxedPass<T>>>& boxed() {
    warm_up();
    for (std::size_t k = boxed_.size(); k < variant_.outputs.size(); ++k)
      boxed_.push_back(std::make_unique<BoxedPass<T>>(plan_, variant_, k, kernel_, decision_));
    return boxed_;
  }
  // Returns the units of a pass, which are kept while the map is the same.
  const Units& units(const Restriction& restriction, std::size_t k, const Pass& pass) {
    const ExistingPairs& pairs = restriction.pairs;
    if (dealt_.lock() != pairs.map || swapped_ != pairs.swapped) units_.clear();
    dealt_ = pairs.map;
    swapped_ = pairs.swapped;
    const Tiling& t = pass.tiling;
    const UnitShape shape{t.rows, t.strip_rows(), t.columns, t.per_strip};
    const Dealing dealing{kTasks, kUnitsOfTask, true, pass.in_any_order};
    if (units_.size() <= k) units_.emplace_back(pairs.along(pass.lanes_along_i), shape, dealing);
    return units_[k];
  }
  std::vector<FoldedUnits> folded_units(const Task& task) {
    std::vector<FoldedUnits> all;
    for (std::size_t k = 0; k < boxed_.size() && task.by_boxes; ++k)
      all.push_back({boxed_[k].get(), &boxed_[k]->sweep(), &boxed_[k]->whole(), nullptr});
    if (task.by_boxes) return all;
    const bool restricted = plan_.pairs == Pairs::restricted;
    const auto partial = std::static_pointer_cast<TileExecutable>(task.restriction.partial);
    partial_ = partial;
    for (std::size_t k = 0; k < ready().size(); ++k) {
      ReadyPass<T>& pass = *ready_[k];
      const Units& some = restricted ? units(task.restriction, k, pass.pass()) : pass.whole();
      all.push_back({&pass, &pass.sweep(), &some, partial ? partial->folder(k) : nullptr});
    }
    return all;
  }

  // Counts a pass's lanes. Rows of passes along i come first, then rows of passes along j.
  std::int64_t lanes(const Pass& pass) const { return pass.lanes_along_i ? decision_.sizes.i : decision_.sizes.j; }
  std::int64_t first_row(const Pass& pass, std::int64_t grain) const {
    const bool alone = std::none_of(passes_.begin(), passes_.end(), [](const Pass& p) { return p.lanes_along_i; });
    return pass.lanes_along_i || alone ? 0 : (decision_.sizes.i + grain - 1) / grain * grain;
  }
  // Returns the units of a pass's share of these rows; the last rows go up to the end of its units.
  Range units_of(const FoldedUnits& f, const Range& rows) {
    const Pass& pass = f.folder->pass();
    const std::int64_t before = first_row(pass, grain().rows);
    const Range own{std::max<std::int64_t>(rows.from - before, 0), rows.to - before};
    if (own.to >= lanes(pass)) return f.units->of_rows({own.from < lanes(pass) ? own.from : kEnd, kEnd});
    return f.units->of_rows({own.from, std::max(own.from, own.to)});
  }
  void note_rows(const FoldedUnits& f, const Range& some, ResultRows* block) const {
    ResultRows::OfOutput rows{f.units->rows_of(some)};
    if (const std::int64_t* const order = f.folder->order()) {
      rows.ordered = true;
      for (std::int64_t u = some.from; u < some.to; ++u)
        if (const Unit& unit = (*f.units)[u]; unit.begins)
          rows.order.insert(rows.order.end(), order + unit.of.from, order + unit.of.to);
    }
    if (f.folder->order()) block->found[static_cast<std::size_t>(f.folder->shape().parts[0].number)] = rows;
    else
      for (const PassOutput& o : f.folder->pass().outputs) block->found[static_cast<std::size_t>(o.number)] = rows;
  }
  std::int64_t own_runs(const std::vector<Task>& tasks) const {
    return tasks.size() == 1 ? 1 : decision_.sizes.kept_runs();
  }
  int threads(const std::vector<Task>& tasks) const {
    const double pairs = decision_.sizes.pairs() * static_cast<double>(tasks.size());
    return pairs < 2 * kPairsOfTask ? 1 : allowed_threads(tasks[0].threads);
  }
  static constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

  const Plan& plan_;
  const Decision decision_;
  const Variant& variant_;
  const TileKernel& kernel_;
  const std::vector<Pass> passes_;
  std::vector<std::unique_ptr<ReadyPass<T>>> ready_;
  std::vector<std::unique_ptr<BoxedPass<T>>> boxed_;  // of each output
  std::weak_ptr<TileExecutable> partial_;  // runs partial spans, and releases its memory with this executable
  std::weak_ptr<const PairMap> dealt_;
  bool swapped_ = false;
  std::deque<Units> units_;
};

class Cpu : public Backend {
 public:
  const char* name() const override { return "cpu"; }

  Verdict can(const Plan&, const Variant&, const Sizes&) const override { return {}; }

  double seconds(const Plan& plan, const Variant& variant, const Sizes& sizes, Home home) const override {
    double instructions = work_per_pair(variant);
    // Differences of few components are as fast as the expanded form.
    if (variant.form == Variant::Algebra::expanded)
      instructions = std::max(instructions, work_per_pair(plan.variants.back()) + 1);
    const double work = sizes.pairs() * instructions * kCpuSecondsPerInstruction;
    const double transfers = home == Home::device ? transfer_seconds(plan, variant, sizes) : 0;
    return kCpuSecondsPerCall + static_cast<double>(sizes.runs()) * (transfers + work / allowed_threads(0));
  }

  // Guesses the share of pairs from the points in and near a strip's own box, as a cube of as many points has them; a
  // trial decides. With enough pairs for a trial, the guess never says that all pairs are better.
  double seconds_by_boxes(const Plan& plan, const Variant& variant, const Sizes& sizes,
                          const Growths& growths) const override {
    const double all = seconds(plan, variant, sizes, Home::host);
    const double points = static_cast<double>((sizes.i + sizes.j) * sizes.runs());
    double trees = 0, share = 0, most_of_tree = kMostOfTree;
    for (std::size_t k = 0; k < growths.size(); ++k) {
      const Output& output = variant.outputs[k];
      const double of_point = kSecondsPerPointOfLevel + kSecondsPerComponentOfLevel * growths[k].components();
      trees += of_point * points * std::log2(static_cast<double>(sizes.i + sizes.j)) / allowed_threads(0);
      const double d = std::max(1, growths[k].components()), places = output.places;
      const double along = static_cast<double>(output.keep == Keep::j ? sizes.i : sizes.j);
      const bool has_parts = !growths[k].parts.empty();
      if (has_parts) most_of_tree = kMostOfKeptTree;
      // The width of exponentials and the distance of parts are unknown.
      share += has_parts || adds_exponentials(output)
                   ? 1.0
                   : std::pow(std::pow(places, 1 / d) + 2 * std::pow(16.0, 1 / d), d) / along;
    }
    return trees + all * (trees > most_of_tree * all ? 1.0 : std::min(share, 0.9));
  }

  double working_bytes(const Plan&, const Variant& variant, const Sizes&) const override {
    double components = 0;
    for (std::int64_t numbers : variant.program.memory) components += static_cast<double>(numbers);
    return allowed_threads(0) * components * 8.0 * kMostColumns;
  }

  // Returns loops with the smallest tiles, with wide tiles, and with splits of one tile.
  std::vector<Loops> other_loops(const Plan&, const Variant&, const Sizes&) const override {
    return {{1, 1, 0}, {kMostTileRows, kMostColumns, 0}, {0, 0, 1}};
  }

  std::string model() const override { return instruction_set(); }

  std::unique_ptr<Executable> prepare(const Plan& plan, const Decision& decision) const override {
    const bool narrow = in_float32(plan, std::max(decision.sizes.i, decision.sizes.j));
    if (narrow) return std::make_unique<Passes<float>>(plan, decision, tile_kernel(true));
    return std::make_unique<Passes<double>>(plan, decision, tile_kernel(false));
  }
};

}  // namespace

const Backend& cpu_backend() {
  static const Cpu cpu;
  return cpu;
}

// Chooses the kernels of the instruction set in use.
const TileKernel& tile_kernel(bool float32) {
#if defined(__x86_64__) && !defined(_WIN32)  // the sets of lanes/isa.cpp
  const std::string& set = instruction_set();
  if (set == "avx512") return float32 ? tile_avx512_float : tile_avx512_double;
  if (set == "avx2") return float32 ? tile_avx2_float : tile_avx2_double;
#endif
  return float32 ? tile_base_float : tile_base_double;
}

}  // namespace kernweave
