// The operating system: shared libraries opened at run time, this process and its host, the cores that it may use.
#pragma once
#include <string>
#include <vector>

namespace kernweave {

// A shared library opened at run time, and its functions.
class Library {
 public:
  Library() = default;
  // The first of these names that opens. None: what the last attempt said is in `why`.
  explicit Library(const std::vector<std::string>& names);

  explicit operator bool() const { return handle_ != nullptr; }
  // A function by its name; false if there is none.
  template <class F>
  bool take(const char* name, F* function) const {
    *function = reinterpret_cast<F>(symbol(name));
    return *function != nullptr;
  }
  const std::string& name() const { return name_; }
  const std::string& why() const { return why_; }

 private:
  void* symbol(const char* name) const;

  void* handle_ = nullptr;  // never closed: what a driver has started outlives us
  std::string name_, why_;
};

// The number of this process: forked children must not touch what a parent has opened.
long this_process();
// The name of this host: data here may not exist elsewhere.
std::string this_host();

// --- cores ---------------------------------------------------------------------------------------------------------
// The number of cores that this process may use, and what sets the limit: its affinity, the quota of its container, a
// scheduler of batch jobs, or the user; "" where nothing does.
struct Cores {
  int count;
  std::string giver;
};
Cores cores_given();
Cores cores_within(double quota);  // the same where control groups leave so much

// Notes the cores that the user has set in R for all that runs in parallel, option `mc.cores`. A negative count means
// that nothing is set; 0 means no more than this process, as package future tells its workers. Reads the environment's
// MC_CORES.
void note_cores_of_user(int count);

// Cores' worth of time that the control groups of this process leave it, by the files under `root`, "" for the system's
// own; infinite where they set no bound.
double core_quota(const std::string& root);

// A positive number in an environment variable, else `otherwise`. Read at every call: users set it at any time.
int environment_limit(const char* name, int otherwise);

}  // namespace kernweave
