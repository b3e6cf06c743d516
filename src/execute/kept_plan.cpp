// Keeps the plans asked for last, the latest first. The executor runs on one thread, so nothing is locked.
#include "execute/kept_plan.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"
#include "schedule/backend.hpp"

namespace kernweave {

namespace {

// The most plans that are kept, some kilobytes each; a loop over more formulas plans each of them again.
constexpr std::size_t kPlans = 128;
// The longest key that is kept: planning thousands of operations takes little time beside their run.
constexpr std::size_t kLongestKey = 1 << 16;
// The most executables of one plan: sizes of folds of a cross-validation, batches of unequal length.
constexpr std::size_t kExecutables = 16;

struct CachedPlan {
  std::string key;
  std::shared_ptr<KeptPlan> plan;
};

}  // namespace

std::shared_ptr<Executable> KeptPlan::executable(const Plan& step, Decision decision) {
  decision.centres.clear();
  const auto found = std::find_if(made_.begin(), made_.end(),
                                  [&](const KeptExecutable& m) { return m.step == &step && m.decision == decision; });
  if (found != made_.end()) made_.splice(made_.begin(), made_, found);
  else made_.push_front({&step, decision, backend_named(decision.backend).prepare(step, decision)});
  if (made_.size() > kExecutables) made_.pop_back();
  return made_.front().executable;
}

std::shared_ptr<KeptPlan> kept_plan(const Job& job) {
  static std::list<CachedPlan> latest;
  static std::unordered_map<std::string, std::list<CachedPlan>::iterator> known;
  const std::string key = job_key(job);
  const auto found = known.find(key);
  if (found != known.end()) {
    latest.splice(latest.begin(), latest, found->second);
    return latest.front().plan;
  }
  const auto made = std::make_shared<KeptPlan>(lower(job));
  if (key.size() > kLongestKey) return made;
  latest.push_front({key, made});
  known[key] = latest.begin();
  if (latest.size() > kPlans) {
    known.erase(latest.back().key);
    latest.pop_back();
  }
  return made;
}

// --- backends ------------------------------------------------------------------------------------------------------
const std::vector<const Backend*>& backends() {
  static const std::vector<const Backend*> all{&cpu_backend(), &cuda_backend("gpu"), &reference_backend()};
  return all;
}

const Backend& backend_named(const std::string& name) {
  for (const Backend* backend : backends_for(name))
    if (name == backend->name()) return *backend;
  fail(Fault::internal, "no back end named ", name);
}

std::vector<const Backend*> backends_for(const std::string& device) {
  const bool numbered = !device.empty() && device[0] >= '0' && device[0] <= '9';
  if (device == "all" || numbered) return {&cuda_backend(device)};
  return backends();
}

}  // namespace kernweave
