// The engine for GPUs: the plans that it can run, their estimated time, and whether a device can be used.
#include <algorithm>
#include <functional>
#include <sstream>

#include "base/error.hpp"
#include "cuda/cut.hpp"
#include "cuda/limits.hpp"
#include "cuda/pass_run.hpp"
#include "cuda/script_layout.hpp"
#include "cuda/write_source.hpp"
#include "device/driver.hpp"
#include "device/nvrtc.hpp"
#include "schedule/schedule.hpp"

namespace kernweave {
namespace cuda {
namespace {

// The most bytes that a kernel's arguments may take.
constexpr std::size_t kMostBytes = 4096;

std::size_t argument_bytes(const Plan& plan, const Variant& variant) {
  return sizeof(gpu::Head) + plan.variables.size() * sizeof(gpu::Data) + variant.outputs.size() * sizeof(gpu::Target);
}

// States with pointers into themselves cannot be moved from one device to another.
bool may_spread(const Variant& variant, const OutputGroup& group) {
  return std::none_of(group.outputs.begin(), group.outputs.end(), [&](int number) {
    const Output& o = variant.outputs[static_cast<std::size_t>(number)];
    return o.keep == Keep::none && row(o.red).state.storage(o.places) > 0;
  });
}

// Counts the numbers of a point of the sweep axis that pairs read.
int column_numbers(const Plan& plan, const Variant& variant) {
  int numbers = 0;
  for (const OutputGroup& group : output_groups(variant)) {
    std::vector<Ref> by_outputs;
    for (int number : group.outputs)
      for (const Ref& ref : {variant.outputs[number].value, variant.outputs[number].weight}) by_outputs.push_back(ref);
    numbers += numbers_read(plan, variant.program, needed_steps(variant, group.outputs), by_outputs,
                            group.along_i ? Axis::j : Axis::i);
  }
  return numbers;
}

// Computes the seconds that all pairs take on a machine.
double sweep_seconds(const Plan& plan, const Variant& variant, const Sizes& sizes, const GpuMachine& machine) {
  return sizes.pairs() * work_per_pair(variant) / machine.rate(in_float32(plan));
}

// Computes the extra seconds if pairs read points twice, both scaled and unscaled.
double rereading_seconds(const Plan& plan, const Variant& variant, const Sizes& sizes, const GpuMachine& machine) {
  const int more = column_numbers(plan, variant) - column_numbers(plan, plan.variants.back());
  if (variant.form != Variant::Algebra::scaled || more <= 0) return 0;
  return sizes.pairs() * kGpuInstructionsOfNumber * more / machine.rate(in_float32(plan));
}

// Runs a task. If memory is short, frees unused memory and runs again, at last with the driver's count of free memory.
template <class Run>
void with_room(const Task& task, Run run) {
  for (const MemoryRoom room : {MemoryRoom::expected, MemoryRoom::expected, MemoryRoom::known}) {
    try {
      return run(room);
    } catch (const Failure& failure) {
      if (failure.fault != Fault::memory || room == MemoryRoom::known) throw;
      task.collect();
    }
  }
}

// A variant's passes on some devices. Kernels and cuts, which depend on the devices, are made at the first run.
class Passes : public Executable {
 public:
  // `write` makes the pass of a group of outputs in a mode, with at most so many rows of a thread (0: the default);
  // `start` puts a pass on its devices.
  struct Make {
    std::function<WrittenPass(const OutputGroup&, PassMode, int)> write;
    std::function<ReadyPass(WrittenPass)> start;
  };

  // `own`: the runs of outer axes with results of their own.
  Passes(std::vector<WrittenPass> usual, bool restricted, std::int64_t own, Make make)
      : make_(std::move(make)), restricted_(restricted), batched_(usual[0].pass.batched), own_(own) {
    for (WrittenPass& written : usual) groups_.push_back({std::move(written)});
  }

  void run(const std::vector<Task>& tasks, ResultRows* block) override {
    if (restricted_) return run_restricted(tasks[0]);
    const auto own = std::min<std::int64_t>(own_, static_cast<std::int64_t>(tasks.size()));
    if (block) block->found.assign(groups_[0].written.pass.group.outputs.size(), {block->rows});
    for (PassGroup& g : groups_)
      for (const Range& some : pieces({0, own}, batched_ && !block ? kGpuRunsOfLaunch : 1))
        with_room(tasks[static_cast<std::size_t>(some.from)],
                  [&](MemoryRoom room) { run_some(&g, {tasks, some, own}, block, room); });
  }

  // Returns borders of rows only: states of blocks of columns would have to leave the device.
  Grain grain() override {
    if (restricted_ || groups_.size() != 1 || usual(&groups_[0]).pass.folds_all()) return {};
    const Pass& pass = usual(&groups_[0]).pass;
    return {pass.all.lanes, pass.shape.block_rows};
  }

 private:
  struct PassGroup {
    WrittenPass written;  // the usual pass
    std::unique_ptr<ReadyPass> usual{};
    std::unique_ptr<ReadyPass> plain{};                   // for rows where tensor cores or a screen have failed
    std::map<int, std::unique_ptr<ReadyPass>> by_rows{};  // for restricted pairs, by rows of a thread
    // The pair map of the last run, with its rows of a thread and its units.
    std::weak_ptr<const PairMap> map{};
    bool swapped = false;
    int rows = 0;
    UnitTable table{};
  };

  void run_some(PassGroup* g, const Runs& runs, ResultRows* block, MemoryRoom room) {
    const ReadyPass& pass = block && block->plainly ? plain(g) : usual(g);
    const Range rows = block ? block->rows : Range{0, pass.pass.all.lanes};
    const bool told = run_pass(pass, runs, rows, room);
    if (block) block->told = block->told && told;
    else if (!told) run_pass(plain(g), runs, rows, room);
  }

  void run_restricted(const Task& task) {
    const ExistingPairs& pairs = task.restriction.pairs;
    Passes* const partial = static_cast<Passes*>(task.restriction.partial.get());
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      PassGroup& g = groups_[k];
      const PairSpans& spans = pairs.along(g.written.pass.group.along_i);
      const bool known = g.map.lock() == pairs.map && g.swapped == pairs.swapped;
      if (!known) g.rows = rows_of_thread(spans, kGpuRows, kGpuThreads);
      ReadyPass& full = with_rows(k, g.rows);
      ReadyPass* const other = partial ? &partial->with_rows(k, g.rows) : nullptr;
      const int block = std::min(full.pass.shape.block_rows, other ? other->pass.shape.block_rows : 1 << 30);
      if (!known || g.table.rows != block) g.table = unit_table(spans, block, full.pass.shape.columns);
      g.map = pairs.map;
      g.swapped = pairs.swapped;
      with_room(task, [&](MemoryRoom room) { run_units(&full, other, task, g.table, room); });
    }
  }
  ReadyPass& with_rows(std::size_t k, int rows) {
    return plain(&groups_[k].by_rows[rows], groups_[k], rows);
  }
  ReadyPass& plain(std::unique_ptr<ReadyPass>* ready, const PassGroup& g, int rows) {
    const PassMode mode = g.written.pass.wide.plain_mode();
    if (!*ready) *ready = std::make_unique<ReadyPass>(make_.start(make_.write(g.written.pass.group, mode, rows)));
    return **ready;
  }
  ReadyPass& plain(PassGroup* g) { return plain(&g->plain, *g, 0); }
  ReadyPass& usual(PassGroup* g) {
    if (!g->usual) g->usual = std::make_unique<ReadyPass>(make_.start(g->written));
    return *g->usual;
  }

  const Make make_;
  const bool restricted_, batched_;
  const std::int64_t own_;
  std::vector<PassGroup> groups_;
};

// One GPU or several: the GPUs of a list, or all.
class Gpu : public Backend {
 public:
  Gpu(std::string name, std::vector<int> numbers) : name_(std::move(name)), numbers_(std::move(numbers)) {}

  const char* name() const override { return name_.c_str(); }

  Verdict can(const Plan& plan, const Variant& variant, const Sizes& sizes) const override {
    if (sizes.folded > 0 && !folds_more(plan, variant))
      return Verdict::no("over more than two axes it finds no positions, and it is one device");
    const auto keeps_both = [](const Output& o) { return o.keep == Keep::both; };
    const bool pairwise = std::any_of(variant.outputs.begin(), variant.outputs.end(), keeps_both);
    if (plan.pairs != Pairs::all && (pairwise || numbers().size() > 1))
      return Verdict::no("of restricted pairs it computes sums and the like, on one device");
    if (argument_bytes(plan, variant) > kMostBytes) return Verdict::no("it has too many variables");
    return {};
  }

  Verdict ready() const override {
    for (int number : numbers()) {
      const Verdict there = device::probe(number);
      if (!there.yes) return there;
    }
    return {};
  }

  Verdict ready_for(const Plan& plan, const Variant& variant, const Sizes& sizes) const override {
    const Verdict there = ready();
    if (!there.yes || mode_for(variant) == PassMode::best) return there;
    if (plan.pairs != Pairs::all || sizes.folded > 0)
      return Verdict::no(sentence(plan.pairs != Pairs::all ? "restricted pairs" : "more than two axes",
                                  " are compiled, and ", why_not_written(variant)));
    const std::string why = unreadable(plan, variant, sizes);
    if (why.empty()) return there;
    return Verdict::no(sentence("the kernels compiled at installation do not take this formula (", why, "), and ",
                                why_not_written(variant)));
  }

  // The results of several devices are joined in the host's memory.
  int holder() const override { return numbers().size() == 1 ? numbers()[0] : -1; }
  const Backend& alone() const override { return holds_data() ? *this : cuda_backend(std::to_string(numbers()[0])); }

  double seconds(const Plan& plan, const Variant& variant, const Sizes& sizes, Home home) const override {
    const double transfers = home == Home::host ? transfer_seconds(plan, variant, sizes) : 0;
    const double start = device::driver_is_open() ? 0 : kGpuSecondsToStart;
    const double pairs =
        sweep_seconds(plan, variant, sizes, kGpuMachine) + rereading_seconds(plan, variant, sizes, kGpuMachine);
    const double run = transfers + pairs / static_cast<double>(numbers().size()),
                 calls = batches(plan, variant, sizes) ? 1 : static_cast<double>(sizes.runs());
    return start + calls * kGpuSecondsPerCall + static_cast<double>(sizes.runs()) * run;
  }

  // Estimates working memory. Called after choose(), which has started the device.
  double working_bytes(const Plan& plan, const Variant& variant, const Sizes& sizes) const override {
    double bytes = 0;
    for (const OutputGroup& group : output_groups(variant)) {
      const PassExtents n = extents_of(group, sizes);
      Pass pass = make_pass(plan, variant, group, n.lanes, n.sweep, 0, mode_for(variant));
      if (pass.interpreted()) script_of(&pass);
      const SweepCut parts = cut(pass, n.lanes, n.sweep, {device::open(numbers()[0]).processors(), kGpuResidentBlocks},
                            sweep_seconds(plan, variant, sizes, kGpuMachine));
      const Needs needs = needs_of(pass);
      const bool merged = parts.splits * pass.shape.parts > 1;
      bytes += needs.all(n.lanes, n.sweep) +
               (merged ? std::min(kGpuWorkBytes, needs.state * static_cast<double>(parts.blocks * parts.splits)) : 0.0);
    }
    return bytes;
  }

  Loops loops(const Variant& variant) const override { return {0, 0, 0, mode_for(variant)}; }
  // Lists threads of one row and one column; more splits; no tensor cores and no screens; the interpreter, if possible.
  std::vector<Loops> other_loops(const Plan& plan, const Variant& variant, const Sizes& sizes) const override {
    if (mode_for(variant) != PassMode::best) return {};
    std::vector<Loops> others = {{1, 1, 0}, {0, 0, 4 * kGpuFewestColumns}, {0, 0, 0, PassMode::plain}};
    if (unreadable(plan, variant, sizes).empty()) others.push_back({0, 0, 0, PassMode::interpreted});
    return others;
  }

  // Returns the properties of a device that, with the sizes, decide the shape of threads and the splits.
  std::string model() const override {
    const device::Device& device = device::open(numbers()[0]);
    return sentence("compute ", device.capability(), ", ", device.processors(), " multiprocessors");
  }

  bool softens_at_once(const Plan& plan, const Decision& decision) const override {
    const Variant& variant = plan.variants[static_cast<std::size_t>(decision.variant)];
    // The interpreter takes over where tensor cores fail.
    return interpreter_image(in_float32(plan)) &&
           kernweave::cuda::softens_at_once(plan, variant, decision.strain, mode_in(plan, variant, decision));
  }

  std::vector<std::string> sources(const Plan& plan, const Decision& decision) const override {
    const Variant& variant = plan.variants[static_cast<std::size_t>(decision.variant)];
    const bool plain = mode_in(plan, variant, decision) == PassMode::plain;
    std::vector<std::string> sources;
    for (const WrittenPass& pass : all_written(plan, variant, decision, plain ? PassMode::plain : PassMode::best))
      sources.push_back(pass.code.source);
    return sources;
  }

  std::unique_ptr<Executable> prepare(const Plan& plan, const Decision& decision) const override {
    const Variant& variant = plan.variants[static_cast<std::size_t>(decision.variant)];
    std::vector<WrittenPass> usual = all_written(plan, variant, decision, mode_in(plan, variant, decision));
    for (const WrittenPass& pass : usual)
      if (!pass.pass.interpreted()) device::open(numbers()[0]).expect(pass.code.source);
    const auto write = [this, &plan, &variant, decision](const OutputGroup& group, PassMode mode, int rows) {
      return written(plan, variant, group, decision, mode, rows);
    };
    const auto start = [this, decision](WrittenPass pass) { return started(std::move(pass), decision); };
    return std::make_unique<Passes>(std::move(usual), plan.pairs != Pairs::all, decision.sizes.kept_runs(),
                                    Passes::Make{write, start});
  }

 private:
  // Tells whether runs of outer axes share their launches.
  bool batches(const Plan& plan, const Variant& variant, const Sizes& sizes) const {
    return sizes.runs() > 1 && sizes.folded == 0 && plan.pairs == Pairs::all && numbers().size() == 1 &&
           mode_for(variant) == PassMode::best &&
           sweep_seconds(plan, variant, sizes, kGpuMachine) < kGpuSecondsTogether;
  }
  // Returns the mode of a decision: restricted pairs, and runs that share launches or states, go without tensor cores
  // and screens.
  PassMode mode_in(const Plan& plan, const Variant& variant, const Decision& decision) const {
    const bool plain =
        plan.pairs != Pairs::all || decision.sizes.folded > 0 || batches(plan, variant, decision.sizes);
    return plain && decision.loops.mode == PassMode::best ? PassMode::plain : decision.loops.mode;
  }
  // Tells whether the engine can fold the runs of outer axes together.
  bool folds_more(const Plan& plan, const Variant& variant) const {
    return plan.pairs == Pairs::all && numbers().size() == 1 &&
           std::all_of(variant.outputs.begin(), variant.outputs.end(), [](const Output& o) {
             return o.keep != Keep::both && row(o.red).results != Results::value_index;
           });
  }

  WrittenPass written(const Plan& plan, const Variant& variant, const OutputGroup& group, const Decision& decision,
                      PassMode mode, int rows) const {
    const PassExtents n = extents_of(group, decision.sizes);
    Pass pass = make_pass(plan, variant, group, n.lanes, n.sweep, decision.strain, mode);
    pass.batched = mode == PassMode::plain && batches(plan, variant, decision.sizes);
    pass.folded = decision.sizes.folded > 0;
    fit_loops(decision.loops, &pass);
    if (rows > 0) fit_loops({rows}, &pass);
    Code code;
    if (pass.interpreted()) code.interpretation = script_of(&pass);
    else code.source = source_of(pass);
    return {std::move(pass), std::move(code)};
  }
  std::vector<WrittenPass> all_written(const Plan& plan, const Variant& variant, const Decision& decision,
                                       PassMode mode) const {
    std::vector<WrittenPass> all;
    for (const OutputGroup& group : output_groups(variant))
      all.push_back(written(plan, variant, group, decision, mode, 0));
    return all;
  }
  ReadyPass started(WrittenPass written, const Decision& decision) const {
    const Pass& pass = written.pass;
    std::vector<device::Device*> devices;
    for (int number : numbers())
      if (devices.empty() || may_spread(*pass.variant, pass.group)) devices.push_back(&device::open(number));
    const double slowness = pass.interpreted() ? slower(written.code.interpretation) : 1,
                 seconds = sweep_seconds(*pass.plan, *pass.variant, decision.sizes, kGpuMachine) * slowness;
    return make_ready(std::move(written), std::move(devices), decision.loops.split, seconds);
  }

  // Returns the ratio of an interpreted pass's time to that of compiled code.
  static double slower(const Interpretation& found) {
    return found.fused() ? kGpuFused * found.weight_blocks() : kGpuInterpreted;
  }

  // Tells whether a program takes long to compile: the time grows faster than the square of its length.
  static bool is_long(const Variant& variant) {
    const std::vector<Step>& steps = variant.program.steps;
    return std::count_if(steps.begin(), steps.end(),
                         [&](const Step& step) { return home(variant.program, step) == Region::pair; }) > kGpuMostSteps;
  }
  // Tells why the interpreter does not take a variant; "" if it does.
  static std::string unreadable(const Plan& plan, const Variant& variant, const Sizes& sizes) {
    if (!interpreter_image(in_float32(plan))) return "there are none";
    for (const OutputGroup& group : output_groups(variant)) {
      const PassExtents n = extents_of(group, sizes);
      Pass pass = make_pass(plan, variant, group, n.lanes, n.sweep, 0, PassMode::interpreted);
      Interpretation unused;
      if (const Verdict verdict = interpret(&pass, &unused); !verdict.yes) return verdict.why;
    }
    return "";
  }
  static PassMode mode_for(const Variant& variant) {
    return device::compiler().found && !is_long(variant) ? PassMode::best : PassMode::interpreted;
  }
  static std::string why_not_written(const Variant& variant) {
    if (!is_long(variant)) return device::compiler().why;
    return sentence("of more than ", kGpuMostSteps, " steps a pair it would take too long to compile");
  }

  // Returns the script of a pass that can be interpreted: ready_for() has asked.
  static Interpretation script_of(Pass* pass) {
    Interpretation found;
    const Verdict verdict = interpret(pass, &found);
    internal_check(verdict.yes, verdict.why);
    return found;
  }

  // Returns the numbers of the devices. For "all", opens the driver and counts its devices.
  std::vector<int> numbers() const {
    std::vector<int> numbers = numbers_;
    if (numbers.empty())
      for (int number = 0; number < std::max(1, device::count()); ++number) numbers.push_back(number);
    return numbers;
  }

  const std::string name_;
  const std::vector<int> numbers_;  // empty: all devices
};

std::vector<int> numbers_in(const std::string& text) {
  std::vector<int> numbers;
  std::istringstream in(text);
  for (std::string number; std::getline(in, number, ',');) numbers.push_back(std::stoi(number));
  return numbers;
}

}  // namespace
}  // namespace cuda

const Backend& cuda_backend(const std::string& devices) {
  // Kept plans refer to back ends by address.
  static std::map<std::string, cuda::Gpu>& known = *new std::map<std::string, cuda::Gpu>;
  const auto at = known.find(devices);
  if (at != known.end()) return at->second;
  const std::vector<int> numbers = devices == "gpu"   ? std::vector<int>{0}
                                   : devices == "all" ? std::vector<int>{}
                                                      : cuda::numbers_in(devices);
  return known.try_emplace(devices, devices, numbers).first->second;
}

}  // namespace kernweave
