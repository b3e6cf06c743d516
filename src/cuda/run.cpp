// What the GPU can do, what it costs, and whether it is there.
#include <algorithm>

#include "base/error.hpp"
#include "cuda/cuda.hpp"
#include "cuda/cut.hpp"
#include "cuda/job.hpp"
#include "cuda/status.hpp"
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

  double seconds(const Plan& plan, const Variant& variant, const Sizes& sizes) const override {
    const double points = static_cast<double>(sizes.i) + static_cast<double>(sizes.j);
    double numbers = 0;
    for (const Variable& v : plan.variables) numbers += v.width;
    for (const Output& o : variant.outputs) numbers += o.width * o.places;
    const double transfers = points * numbers * sizeof(double) / kGpuBytesPerSecond;
    const double start = driver_is_open() ? 0 : kGpuSecondsToStart;
    return start + kGpuSecondsPerCall + transfers + sweep_seconds(plan, variant, sizes);
  }

  // Asked for where the device has been started: choose() is.
  double working_bytes(const Plan& plan, const Variant& variant, const Sizes& sizes) const override {
    double bytes = 0;
    for (const Share& share : shares_of(variant)) {
      const Extents n = extents_of(share, sizes);
      const Pass pass = make_pass(plan, variant, share, n.lanes, n.sweep);
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
      const Pass pass = make_pass(plan, variant, share, n.lanes, n.sweep);
      run_pass(pass, task, sweep_seconds(plan, variant, sizes), &gpu);
    }
  }

 private:
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
