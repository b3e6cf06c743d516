// The plans of this session, by the key of their job, and the executables of each plan, by decision.
#pragma once
#include <list>
#include <memory>
#include <string>
#include <vector>
#include "plan/lower.hpp"
#include "schedule/backend.hpp"

namespace kernweave {

// A plan that is run again and again.
class KeptPlan {
 public:
  explicit KeptPlan(Plan plan) : plan(std::move(plan)) {}

  // Returns the executable of `step`, this plan or one of its stages: made once for all runs decided alike.
  std::shared_ptr<Executable> executable(const Plan& step, Decision decision);

  int executables() const { return static_cast<int>(made_.size()); }

  const Plan plan;

 private:
  struct KeptExecutable {
    const Plan* step;
    Decision decision;  // without centres, on which executables do not depend
    std::shared_ptr<Executable> executable;
  };
  std::list<KeptExecutable> made_;  // the latest first
};

// Returns the plan of a job, whatever its data; plans the job only if the plan is not kept.
std::shared_ptr<KeptPlan> kept_plan(const Job& job);

// --- backends ------------------------------------------------------------------------------------------------------
// The back ends of this installation: the one list of them.

const std::vector<const Backend*>& backends();

// Returns the back end of this name, or of a choice of GPUs.
const Backend& backend_named(const std::string& name);

// Lists the back ends that a device is chosen from. A choice of GPUs has a back end of its own.
std::vector<const Backend*> backends_for(const std::string& device);

}  // namespace kernweave
