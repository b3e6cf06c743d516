// What the GPU can do, what it costs, and whether it is there.
#include <algorithm>
#include <deque>

#include "base/error.hpp"
#include "cuda/cuda.hpp"
#include "cuda/cut.hpp"
#include "cuda/interpret.hpp"
#include "cuda/job.hpp"
#include "cuda/nvrtc.hpp"
#include "cuda/status.hpp"
#include "cuda/write.hpp"
#include "schedule/cost.hpp"
#include "schedule/work.hpp"

namespace kernweave {
namespace cuda {
namespace {

// Arguments of a kernel may have 4096 bytes.
constexpr std::size_t kMostArguments = 120;

struct Extents {
  std::int64_t lanes, sweep;
};
Extents extents_of(const Share& share, const Sizes& sizes) {
  return share.along_i ? Extents{sizes.i, sizes.j} : Extents{sizes.j, sizes.i};
}

// The sources of a plan's passes, for every shape that was asked for.
class Sources : public Memo {
 public:
  static Sources& of(const Task& task) {
    if (!*task.memo) *task.memo = std::make_unique<Sources>();
    return static_cast<Sources&>(**task.memo);
  }

  const std::string& find(const Pass& pass) {
    for (const Written& w : written_)
      if (w.variant == pass.variant && w.outputs == pass.share.outputs && w.shape == pass.shape) return w.source;
    written_.push_back({pass.variant, pass.share.outputs, pass.shape, source_of(pass)});
    return written_.back().source;
  }

 private:
  struct Written {
    const Variant* variant;
    std::vector<int> outputs;
    Shape shape;
    std::string source;
  };
  std::deque<Written> written_;  // what it hands out stays where it is
};

class Gpu : public Backend {
 public:
  const char* name() const override { return "gpu"; }

  Verdict can(const Plan& plan, const Variant& variant, const Sizes&) const override {
    if (!plan.batch.empty()) return Verdict::no("batch axes are not built yet");
    if (plan.pairs != Pairs::all) return Verdict::no("restricted pairs are not built yet");
    if (plan.variables.size() + variant.outputs.size() > kMostArguments) return Verdict::no("it has too many variables");
    return {};
  }

  Verdict ready() const override { return probe(); }

  Verdict ready_for(const Plan& plan, const Variant& variant, const Sizes& sizes) const override {
    const Verdict there = probe();
    if (!there.yes || way_here() == Way::best) return there;
    for (const Share& share : shares_of(variant)) {
      const Extents n = extents_of(share, sizes);
      Pass pass = make_pass(plan, variant, share, n.lanes, n.sweep, 0, Way::interpreted);
      Interpretation unused;
      const Verdict verdict = interpret(&pass, &unused);
      if (!verdict.yes) return Verdict::no(sentence("the kernels compiled at installation do not take this formula (", verdict.why, "), and ", compiler().why));
    }
    return {};
  }

  bool holds_data() const override { return true; }

  double seconds(const Plan& plan, const Variant& variant, const Sizes& sizes, Home home) const override {
    const double transfers = home == Home::host ? transfer_seconds(plan, variant, sizes) : 0;
    const double start = driver_is_open() ? 0 : kGpuSecondsToStart;
    return start + kGpuSecondsPerCall + transfers + sweep_seconds(plan, variant, sizes);
  }

  // Asked for where the device has been started: choose() is.
  double working_bytes(const Plan& plan, const Variant& variant, const Sizes& sizes) const override {
    double bytes = 0;
    for (const Share& share : shares_of(variant)) {
      const Extents n = extents_of(share, sizes);
      Pass pass = make_pass(plan, variant, share, n.lanes, n.sweep, 0, way_here());
      if (pass.interpreted()) script_of(&pass);
      bytes += cuda::working_bytes(pass, cut(pass, n.lanes, n.sweep, device(0).processors(), sweep_seconds(plan, variant, sizes)), n.lanes, n.sweep);
    }
    return bytes;
  }

  void run(const Task& task) const override {
    Device& gpu = device(0);
    const Plan& plan = *task.plan;
    const Variant& variant = plan.variants[static_cast<std::size_t>(task.schedule->variant)];
    const Sizes& sizes = task.schedule->sizes;
    for (const Share& share : shares_of(variant)) {
      const Extents n = extents_of(share, sizes);
      const auto done = [&](Way way) {
        Pass pass = make_pass(plan, variant, share, n.lanes, n.sweep, task.schedule->strain, way);
        const bool follows = pass.interpreted();
        const Code code = follows ? Code{"", script_of(&pass)} : Code{Sources::of(task).find(pass), {}};
        return run_pass(pass, code, task, sweep_seconds(plan, variant, sizes) * (follows ? kGpuInterpreted : 1), &gpu);
      };
      if (!done(way_here())) done(Way::plain);
    }
  }

 private:
  static Way way_here() { return compiler().found ? Way::best : Way::interpreted; }

  // Of a pass that can be interpreted: ready_for() has asked.
  static Interpretation script_of(Pass* pass) {
    Interpretation found;
    const Verdict verdict = interpret(pass, &found);
    internal_check(verdict.yes, verdict.why);
    return found;
  }

  // Until a device has been opened, as on an H100.
  static double sweep_seconds(const Plan& plan, const Variant& variant, const Sizes& sizes) {
    const double rate = 132 * 1.9e9 * kGpuInstructionsPerClock * (in_float32(plan) ? 1.0 : 0.25);
    return sizes.pairs() * work_per_pair(variant) / rate;
  }
};

}  // namespace
}  // namespace cuda

const Backend& cuda_backend() {
  static const cuda::Gpu gpu;
  return gpu;
}

}  // namespace kernweave
