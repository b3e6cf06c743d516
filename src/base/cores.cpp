// Affinity by the system's call, quotas by Linux's files of control groups (both of their versions), grants by the
// variables that schedulers and users set.
#include "base/cores.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <thread>
#if defined(__linux__)
#include <sched.h>
#endif

namespace kernweave {
namespace {

constexpr double kNoBound = std::numeric_limits<double>::infinity();

int cores_of_affinity(int otherwise) {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return otherwise;
}

double quotient(double quota, double period) { return quota > 0 && period > 0 ? quota / period : kNoBound; }

// Reads the quota of one control group. Version 2 has quota and period in one file, "max" where there is no bound;
// version 1 has a file for each, and -1 where there is no bound.
double quota_of_group(const std::string& folder) {
  double quota = 0, period = 0;
  std::ifstream both(folder + "/cpu.max");
  if (both) return both >> quota >> period ? quotient(quota, period) : kNoBound;
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  return quotient(quota, period);
}

// Returns the least quota of a group and its ancestors. A container may see no ancestor, but has its own at the top.
double quota_of_groups(const std::string& mount, const std::string& group) {
  double least = kNoBound;
  for (std::size_t end = group.size(); end != std::string::npos; end = end > 0 ? group.rfind('/', end - 1) : end - 1)
    least = std::min(least, quota_of_group(mount + group.substr(0, end)));
  return least;
}

bool lists(const std::string& controllers, const std::string& name) {
  return ("," + controllers + ",").find("," + name + ",") != std::string::npos;
}

std::atomic<int> cores_of_user{-1};

// The least of what was given; of equal gifts, the first.
class Gifts {
 public:
  void add(const std::string& giver, double count) {
    if (count >= (least_.giver.empty() ? kNoBound : least_.count)) return;
    least_ = {static_cast<int>(std::min<double>(least_.count, std::max(1.0, std::round(count)))), giver};
  }
  Cores least() const { return least_; }

 private:
  Cores least_{cores_of_machine(), ""};
};

}  // namespace

int environment_limit(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  const int limit = text ? std::atoi(text) : 0;
  return limit > 0 ? limit : otherwise;
}

int cores_of_machine() {
  static const int found = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return found;
}

// Lines of the list are NUMBER:CONTROLLERS:GROUP, without controllers for version 2.
double core_quota(const std::string& root) {
  std::ifstream list(root + "/proc/self/cgroup");
  double least = kNoBound;
  std::string number, controllers, group;
  while (std::getline(list, number, ':') && std::getline(list, controllers, ':') && std::getline(list, group)) {
    const std::string mounts = root + "/sys/fs/cgroup";
    if (controllers.empty()) least = std::min(least, quota_of_groups(mounts, group));
    else if (lists(controllers, "cpu")) least = std::min(least, quota_of_groups(mounts + "/cpu", group));
  }
  return least;
}

void note_cores_of_user(int count) { cores_of_user = count; }

// An affinity to all cores is nobody's word; a quota is, and so is a grant, of however many.
Cores cores_within(double quota) {
  Gifts gifts;
  const int bound = cores_of_affinity(cores_of_machine());
  if (bound < cores_of_machine()) gifts.add("the affinity of the process", bound);
  gifts.add("the control group", quota);
  for (const char* name : {"SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "PBS_NUM_PPN", "NCPUS", "LSB_DJOB_NUMPROC",
                           "NSLOTS", "PJM_VNODE_CORE"})
    if (const int granted = environment_limit(name, 0)) gifts.add(name, granted);
  if (cores_of_user >= 0) gifts.add("option mc.cores", cores_of_user);
  else if (const int set = environment_limit("MC_CORES", 0)) gifts.add("MC_CORES", set);
  return gifts.least();
}

Cores cores_given() {
  static const double quota = core_quota("");
  return cores_within(quota);
}

}  // namespace kernweave
