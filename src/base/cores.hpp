// How many cores there are, and how many of them this process may use.
#pragma once
#include <string>

namespace kernweave {

// Counts the cores of this machine, as far as the system tells.
int cores_of_machine();

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
