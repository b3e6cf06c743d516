// Schedule to tiles to threads. How the pairs are cut depends on the sizes and the instruction set alone, and
// what the tasks find is merged in order, so the number of threads changes no bit.
#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "cpu/pass.hpp"
#include "cpu/cpu.hpp"
#include "cpu/isa.hpp"
#include "cpu/outputs.hpp"
#include "base/threads.hpp"
#include "cpu/worker.hpp"
#include "plan/output_groups.hpp"
#include "schedule/cost.hpp"
#include "schedule/work.hpp"

namespace kernweave {
namespace {

// Blocks of rows, times chunks of columns where there are too few blocks to deal out.
struct Cut {
  std::int64_t blocks, chunks, chunk_columns;

  std::int64_t tasks() const { return blocks * chunks; }
};

Cut cut(const Tiling& t, std::int64_t lanes, std::int64_t sweep) {
  Cut c{(lanes + t.rows - 1) / t.rows, 1, sweep};
  if (c.blocks == 0 || sweep == 0) return c;
  const double by_work =
      static_cast<double>(lanes) * static_cast<double>(sweep) / static_cast<double>(c.blocks) / kPairsOfTask;
  const std::int64_t wanted = std::min<std::int64_t>(kTasks / c.blocks, static_cast<std::int64_t>(by_work));
  if (wanted <= 1) return c;
  c.chunk_columns = ((sweep + wanted - 1) / wanted + t.columns - 1) / t.columns * t.columns;
  c.chunks = (sweep + c.chunk_columns - 1) / c.chunk_columns;
  return c;
}

// What tasks found, until all are done: the rows of a block and chunk where chunks are to be merged, one row
// where a part folds the rows too.
class Found {
 public:
  Found(const PassRun& job, const Cut& cut) : job_(job), cut_(cut) {
    for (const RowShape::Part& part : job.shape->parts) folds_rows_ = folds_rows_ || part.output->keep == Keep::none;
    if (cut.chunks > 1) rows_.resize(static_cast<std::size_t>(cut.tasks()));
    if (folds_rows_) totals_.resize(static_cast<std::size_t>(cut.tasks()));
  }

  std::int64_t rows_of(std::int64_t block) const {
    return std::min(job_.pass->tiling.rows, job_.lanes - block * job_.pass->tiling.rows);
  }

  // The states a task has gathered. Only the task itself touches its place.
  void take(std::int64_t block, std::int64_t chunk, RowStates states) {
    const std::size_t task = static_cast<std::size_t>(block * cut_.chunks + chunk);
    if (folds_rows_) {
      totals_[task] = RowStates(*job_.shape, 1);
      totals_[task].init();
      for (std::size_t p = 0; p < job_.shape->parts.size(); ++p)
        if (folds_rows(p)) totals_[task].merge_rows(states, rows_of(block), p);
    }
    if (cut_.chunks > 1) rows_[task] = std::move(states);
    else finish_rows(block, states);
  }

  void finish() {
    for (std::int64_t b = 0; b < cut_.blocks && cut_.chunks > 1; ++b) {
      RowStates& first = rows_[static_cast<std::size_t>(b * cut_.chunks)];
      for (std::int64_t c = 1; c < cut_.chunks; ++c) first.merge(rows_[static_cast<std::size_t>(b * cut_.chunks + c)]);
      finish_rows(b, first);
    }
    if (!folds_rows_) return;
    RowStates all(*job_.shape, 1);
    all.init();
    for (RowStates& total : totals_) all.merge(total);
    for (std::size_t p = 0; p < job_.shape->parts.size(); ++p)
      if (folds_rows(p)) all.finish(p, 1, 0, 1, result(p));
  }

 private:
  bool folds_rows(std::size_t part) const { return job_.shape->parts[part].output->keep == Keep::none; }
  const Result& result(std::size_t part) const { return job_.task->results[job_.shape->parts[part].number]; }

  void finish_rows(std::int64_t block, RowStates& states) {
    for (std::size_t p = 0; p < job_.shape->parts.size(); ++p)
      if (!folds_rows(p)) states.finish(p, rows_of(block), block * job_.pass->tiling.rows, job_.lanes, result(p));
  }

  const PassRun& job_;
  const Cut& cut_;
  bool folds_rows_ = false;
  std::vector<RowStates> rows_;
  std::vector<RowStates> totals_;
};

// The workers of a pass, each made by the thread that first needs it.
template <class T>
class Workers {
 public:
  Workers(const PassRun& job, int threads) : job_(job), workers_(static_cast<std::size_t>(threads)) {}

  TileWorker<T>& operator[](int worker) {
    std::unique_ptr<TileWorker<T>>& tiles = workers_[static_cast<std::size_t>(worker)];
    if (!tiles) tiles = std::make_unique<TileWorker<T>>(job_);
    return *tiles;
  }

 private:
  const PassRun& job_;
  std::vector<std::unique_ptr<TileWorker<T>>> workers_;
};

// What depends on columns alone is computed once for all blocks of rows, where there is more than one and the
// memory is not too much.
template <class T>
std::vector<T> shared_columns(const PassRun& job, int threads, std::int64_t blocks, Workers<T>* workers) {
  const std::int64_t tiles = (job.sweep + job.pass->tiling.columns - 1) / job.pass->tiling.columns;
  const std::int64_t each = TileWorker<T>::panel_numbers(*job.pass);
  if (blocks < 2 || tiles * each * static_cast<std::int64_t>(sizeof(T)) > kSharedBytes) return {};
  std::vector<T> panels(static_cast<std::size_t>(tiles * each));
  const auto no_progress = [&](double) { job.task->poll(0.0); };
  share_out(threads, tiles, no_progress, [&](int worker, std::int64_t tile, const Heartbeat& beat) {
    (*workers)[worker].panel(tile * job.pass->tiling.columns, job.sweep, panels.data() + tile * each);
    beat();
  });
  return panels;
}

template <class T>
void run_pass(PassRun job, int threads) {
  const Cut pieces = cut(job.pass->tiling, job.lanes, job.sweep);
  Found found(job, pieces);
  Workers<T> workers(job, threads);
  const std::vector<T> columns = shared_columns(job, threads, pieces.blocks, &workers);
  if (!columns.empty()) job.columns = columns.data();
  const auto work = [&](int worker, std::int64_t task, const Heartbeat& beat) {
    const std::int64_t block = task / pieces.chunks, chunk = task % pieces.chunks;
    const std::int64_t first = chunk * pieces.chunk_columns;
    RowStates states(*job.shape, found.rows_of(block));
    states.init();
    workers[worker].block(block * job.pass->tiling.rows, found.rows_of(block), first,
                          std::min(first + pieces.chunk_columns, job.sweep), &states, beat);
    found.take(block, chunk, std::move(states));
  };
  share_out(threads, pieces.tasks(), job.task->poll, work);
  found.finish();
}

template <class T>
void run_variant(const Task& task, const TileKernel& kernel, int threads) {
  const Variant& variant = task.plan->variants[task.schedule->variant];
  const Sizes& sizes = task.schedule->sizes;
  for (const Pass& pass : compile(*task.plan, variant, sizes, kernel, sizeof(T))) {
    const RowShape shape(pass, variant, kernel);
    PassRun job{&pass,
                &variant,
                &kernel,
                &shape,
                &task,
                pass.lanes_along_i ? sizes.i : sizes.j,
                pass.lanes_along_i ? sizes.j : sizes.i};
    run_pass<T>(job, threads);
  }
}

class Cpu : public Backend {
 public:
  const char* name() const override { return "cpu"; }

  Verdict can(const Plan& plan, const Variant& variant, const Sizes&) const override {
    if (variant.form == Variant::Form::expanded) return Verdict::no("differences of few components are as fast");
    if (!plan.batch.empty()) return Verdict::no("batch axes are not built yet");
    if (plan.pairs != Pairs::all) return Verdict::no("restricted pairs are not built yet");
    return {};
  }

  double seconds(const Plan& plan, const Variant& variant, const Sizes& sizes, Home home) const override {
    const double work = sizes.pairs() * work_per_pair(variant) * kCpuSecondsPerInstruction;
    const double transfers = home == Home::device ? transfer_seconds(plan, variant, sizes) : 0;
    return kCpuSecondsPerCall + transfers + work / allowed_threads(0);
  }

  double working_bytes(const Plan&, const Variant& variant, const Sizes&) const override {
    double components = 0;
    for (std::int64_t numbers : variant.program.memory) components += static_cast<double>(numbers);
    return allowed_threads(0) * components * 8.0 * kMostColumns;
  }

  void run(const Task& task) const override {
    const InstructionSet& set = instruction_set();
    const double pairs = task.schedule->sizes.pairs();
    const int threads = pairs < 2 * kPairsOfTask ? 1 : allowed_threads(task.threads);
    if (in_float32(*task.plan)) run_variant<float>(task, set.float32, threads);
    else run_variant<double>(task, set.float64, threads);
  }
};

}  // namespace

const Backend& cpu_backend() {
  static const Cpu cpu;
  return cpu;
}

}  // namespace kernweave
