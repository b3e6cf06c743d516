// The calls of the operating system: opens libraries, names the process and its host, counts the cores that the process
// may use. Affinity comes from the system's call, quotas from the files of Linux's control groups (both of their
// versions), grants from the variables that schedulers and users set.
#include "base/system.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <thread>
#ifdef _WIN32
#include <process.h>
#include <windows.h>
#else
#include <unistd.h>
#ifndef __EMSCRIPTEN__
#include <dlfcn.h>
#endif
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace kernweave {
namespace {

#ifdef _WIN32
void* open(const std::string& name, std::string* why) {
  void* handle = reinterpret_cast<void*>(LoadLibraryA(name.c_str()));
  if (!handle) *why = name + " cannot be opened (error " + std::to_string(GetLastError()) + ")";
  return handle;
}
void* find(void* handle, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle), name));
}
#elif defined(__EMSCRIPTEN__)
void* open(const std::string&, std::string* why) {
  *why = "WebAssembly opens no libraries";
  return nullptr;
}
void* find(void*, const char*) { return nullptr; }
#else
void* open(const std::string& name, std::string* why) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* said = handle ? nullptr : dlerror();
  if (!handle) *why = said ? said : name + " cannot be opened";
  return handle;
}
void* find(void* handle, const char* name) { return dlsym(handle, name); }
#endif

}  // namespace

Library::Library(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::string why;
    handle_ = open(name, &why);
    if (handle_) {
      name_ = name;
      return;
    }
    // The first error says most: later names are guesses.
    if (why_.empty()) why_ = why;
  }
}

void* Library::symbol(const char* name) const { return handle_ ? find(handle_, name) : nullptr; }

long this_process() {
#ifdef _WIN32
  return _getpid();
#else
  return static_cast<long>(getpid());
#endif
}

std::string this_host() {
#ifdef _WIN32
  const char* const name = std::getenv("COMPUTERNAME");
  return name ? name : "this host";
#else
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? name : "this host";
#endif
}

// --- cores ---------------------------------------------------------------------------------------------------------

namespace {

constexpr double kNoBound = std::numeric_limits<double>::infinity();

// Counts the cores of this machine that the system reports.
int cores_of_machine() {
  static const int found = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return found;
}

int cores_of_affinity(int otherwise) {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return otherwise;
}

double quotient(double quota, double period) { return quota > 0 && period > 0 ? quota / period : kNoBound; }

// Reads the quota of one control group. Version 2 has quota and period in one file, with "max" for no bound; version 1
// has one file for each, with -1 for no bound.
double quota_of_group(const std::string& folder) {
  double quota = 0, period = 0;
  std::ifstream both(folder + "/cpu.max");
  if (both) return both >> quota >> period ? quotient(quota, period) : kNoBound;
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  return quotient(quota, period);
}

// Returns the least quota of a group and its ancestors. A container without ancestors has its own quota at the top.
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

// Keeps the least number of cores that was granted, and the first giver of that number.
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

// The lines of the list are NUMBER:CONTROLLERS:GROUP; CONTROLLERS is empty for version 2.
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

// An affinity to all cores is no limit that anybody has set. A quota or a grant always is, whatever its number.
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
