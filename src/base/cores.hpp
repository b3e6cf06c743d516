// How many cores there are, and how many of them this process may use.
#pragma once
#include <string>

namespace kernweave {

// Of this machine, as far as the system tells.
int cores_of_machine();

// Those that this process may use: the machine's, within its affinity, the quota of its container and what a batch
// scheduler granted.
int cores();

// Cores' worth of time that the control groups of this process leave it, by the files under `root`, "" for the system's
// own; infinite where they set no bound.
double core_quota(const std::string& root);

// A positive number in an environment variable, else `otherwise`. Read at every call: users set it at any time.
int environment_limit(const char* name, int otherwise);

}  // namespace kernweave
