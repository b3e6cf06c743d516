// Calls of the operating system: libraries opened at run time, this process, its host, the cores that it may use.
#pragma once
#include <string>
#include <vector>

namespace kernweave {

// A shared library that is opened at run time, and its functions.
class Library {
 public:
  Library() = default;
  // Opens the first of these names that can be opened. If none can, why() has the error of the first attempt.
  explicit Library(const std::vector<std::string>& names);

  explicit operator bool() const { return handle_ != nullptr; }
  // Looks up a function by its name; returns false if there is none.
  template <class F>
  bool take(const char* name, F* function) const {
    *function = reinterpret_cast<F>(symbol(name));
    return *function != nullptr;
  }
  const std::string& name() const { return name_; }
  const std::string& why() const { return why_; }

 private:
  void* symbol(const char* name) const;

  void* handle_ = nullptr;  // never closed: the threads of a driver outlive this object
  std::string name_, why_;
};

// Returns the number of this process: forked children must not touch the handles of their parent.
long this_process();
// Returns the name of this host: data here may not exist on other hosts.
std::string this_host();

// --- cores ---------------------------------------------------------------------------------------------------------
// The number of cores that this process may use, and the origin of the limit: its affinity, the quota of its container,
// a batch scheduler, or the user; "" if nothing limits it.
struct Cores {
  int count;
  std::string giver;
};
Cores cores_given();
Cores cores_within(double quota);  // the cores if control groups allow `quota` cores

// Notes the cores that the user has set in R for all parallel work, option `mc.cores`. A negative count means that the
// option is not set, and then the variable MC_CORES is read; 0 means this process alone, as package future tells its
// workers.
void note_cores_of_user(int count);

// Returns the CPU time, in cores, that the control groups of this process allow, by the files under `root` ("" for the
// system's own files); infinite if there is no bound.
double core_quota(const std::string& root);

// Returns a positive number in an environment variable, else `otherwise`. Read at every call: users may change it.
int environment_limit(const char* name, int otherwise);

}  // namespace kernweave
