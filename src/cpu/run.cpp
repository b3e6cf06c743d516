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

  // The states a task has gathered; it gets others in return. Only the task itself touches its place.
  void take(std::int64_t block, std::int64_t chunk, RowStates* states) {
    const std::size_t task = static_cast<std::size_t>(block * cut_.chunks + chunk);
    if (folds_rows_) {
      totals_[task].init(*job_.shape, 1);
      for (std::size_t p = 0; p < job_.shape->parts.size(); ++p)
        if (folds_rows(p)) totals_[task].merge_rows(*states, rows_of(block), p);
    }
    if (cut_.chunks > 1) std::swap(rows_[task], *states);
    else finish_rows(block, states);
  }

  void finish() {
    for (std::int64_t b = 0; b < cut_.blocks && cut_.chunks > 1; ++b) {
      RowStates& first = rows_[static_cast<std::size_t>(b * cut_.chunks)];
      for (std::int64_t c = 1; c < cut_.chunks; ++c) first.merge(rows_[static_cast<std::size_t>(b * cut_.chunks + c)]);
      finish_rows(b, &first);
    }
    if (!folds_rows_) return;
    all_.init(*job_.shape, 1);
    for (RowStates& total : totals_) all_.merge(total);
    for (std::size_t p = 0; p < job_.shape->parts.size(); ++p)
      if (folds_rows(p)) all_.finish(p, 1, 0, 1, result(p));
  }

 private:
  bool folds_rows(std::size_t part) const { return job_.shape->parts[part].output->keep == Keep::none; }
  const Result& result(std::size_t part) const { return job_.task->results[job_.shape->parts[part].number]; }

  void finish_rows(std::int64_t block, RowStates* states) {
    for (std::size_t p = 0; p < job_.shape->parts.size(); ++p)
      if (!folds_rows(p)) states->finish(p, rows_of(block), block * job_.pass->tiling.rows, job_.lanes, result(p));
  }

  const PassRun& job_;
  const Cut& cut_;
  bool folds_rows_ = false;
  std::vector<RowStates> rows_;
  std::vector<RowStates> totals_;
  RowStates all_;
};

// The workers of a pass, each made by the thread that first needs it, and kept from run to run.
template <class T>
class Workers {
 public:
  struct Worker {
    explicit Worker(const PassRun& job) : tiles(job) {}
    TileWorker<T> tiles;
    RowStates states;
    bool begun = false;
  };

  explicit Workers(const PassRun& job) : job_(job) {}

  void begin(int threads) {
    if (static_cast<int>(workers_.size()) < threads) workers_.resize(static_cast<std::size_t>(threads));
    for (const auto& worker : workers_)
      if (worker) worker->begun = false;
  }
  Worker& operator[](int number) {
    std::unique_ptr<Worker>& worker = workers_[static_cast<std::size_t>(number)];
    if (!worker) worker = std::make_unique<Worker>(job_);
    if (!worker->begun) worker->tiles.begin();
    worker->begun = true;
    return *worker;
  }

 private:
  const PassRun& job_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

// One pass at its sizes, and the memory that its runs work in.
template <class T>
class ReadyPass {
 public:
  ReadyPass(const Plan& plan, const Variant& variant, const Sizes& sizes, const TileKernel& kernel, const Pass& pass)
      : pass_(pass),
        shape_(pass_, variant, kernel),
        job_{&plan,
             &variant,
             &pass_,
             &kernel,
             &shape_,
             pass_.lanes_along_i ? sizes.i : sizes.j,
             pass_.lanes_along_i ? sizes.j : sizes.i},
        cut_(cut(pass_.tiling, job_.lanes, job_.sweep)),
        found_(job_, cut_),
        workers_(job_) {}

  void run(const Task& task, int threads) {
    job_.task = &task;
    workers_.begin(threads);
    job_.columns = share_columns(threads) ? columns_.data() : nullptr;
    share_out(threads, cut_.tasks(), task.poll, [&](int worker, std::int64_t number, const Heartbeat& beat) {
      const std::int64_t block = number / cut_.chunks, chunk = number % cut_.chunks;
      const std::int64_t first = chunk * cut_.chunk_columns, rows = found_.rows_of(block);
      auto& [tiles, states, begun] = workers_[worker];
      states.init(shape_, rows);
      tiles.block(block * pass_.tiling.rows, rows, first, std::min(first + cut_.chunk_columns, job_.sweep), &states,
                  beat);
      found_.take(block, chunk, &states);
    });
    found_.finish();
  }

 private:
  // What depends on columns alone is computed once for all blocks of rows, where there is more than one and the
  // memory is not too much.
  bool share_columns(int threads) {
    const std::int64_t wide = pass_.tiling.columns, tiles = (job_.sweep + wide - 1) / wide;
    const std::int64_t each = TileWorker<T>::panel_numbers(pass_);
    if (cut_.blocks < 2 || tiles * each * static_cast<std::int64_t>(sizeof(T)) > kSharedBytes) return false;
    columns_.resize(static_cast<std::size_t>(tiles * each));
    const auto no_progress = [&](double) { job_.task->poll(0.0); };
    share_out(threads, tiles, no_progress, [&](int worker, std::int64_t tile, const Heartbeat& beat) {
      workers_[worker].tiles.panel(tile * wide, job_.sweep, columns_.data() + tile * each);
      beat();
    });
    return true;
  }

  const Pass pass_;
  const RowShape shape_;
  PassRun job_;
  const Cut cut_;
  Found found_;
  Workers<T> workers_;
  std::vector<T> columns_;
};

// The passes of a variant. Only what ran last keeps the memory it works in: plans are many.
class TileExecutable : public Executable {
 public:
  ~TileExecutable() override { rest(); }
  void run(const Task& task) final {
    if (warm_ && warm_ != this) warm_->release();
    warm_ = this;
    compute(task);
  }

 protected:
  void rest() {
    if (warm_ == this) warm_ = nullptr;
  }

 private:
  virtual void compute(const Task& task) = 0;
  virtual void release() = 0;
  static TileExecutable* warm_;
};
TileExecutable* TileExecutable::warm_ = nullptr;

template <class T>
class Passes : public TileExecutable {
 public:
  Passes(const Plan& plan, const Schedule& schedule, const TileKernel& kernel)
      : plan_(plan),
        variant_(plan.variants[static_cast<std::size_t>(schedule.variant)]),
        sizes_(schedule.sizes),
        kernel_(kernel),
        passes_(compile(plan, variant_, sizes_, kernel, sizeof(T))) {}

 private:
  void compute(const Task& task) override {
    if (ready_.empty())
      for (const Pass& pass : passes_)
        ready_.push_back(std::make_unique<ReadyPass<T>>(plan_, variant_, sizes_, kernel_, pass));
    const int threads = sizes_.pairs() < 2 * kPairsOfTask ? 1 : allowed_threads(task.threads);
    for (const auto& pass : ready_) pass->run(task, threads);
  }
  void release() override { ready_.clear(); }

  const Plan& plan_;
  const Variant& variant_;
  const Sizes sizes_;
  const TileKernel& kernel_;
  const std::vector<Pass> passes_;
  std::vector<std::unique_ptr<ReadyPass<T>>> ready_;
};

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

  std::string model() const override { return instruction_set().name; }

  std::unique_ptr<Executable> prepare(const Plan& plan, const Schedule& schedule) const override {
    const InstructionSet& set = instruction_set();
    if (in_float32(plan)) return std::make_unique<Passes<float>>(plan, schedule, set.float32);
    return std::make_unique<Passes<double>>(plan, schedule, set.float64);
  }
};

}  // namespace

const Backend& cpu_backend() {
  static const Cpu cpu;
  return cpu;
}

}  // namespace kernweave
