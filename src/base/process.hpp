// The number of this process: forked children must not touch what a parent has opened. The name of this host: data here
// may not exist elsewhere.
#pragma once
#include <string>

#ifndef _WIN32
#include <unistd.h>
#else
#include <process.h>

#include <cstdlib>
#endif

namespace kernweave {

inline long this_process() {
#ifdef _WIN32
  return _getpid();
#else
  return static_cast<long>(getpid());
#endif
}

inline std::string this_host() {
#ifdef _WIN32
  const char* const name = std::getenv("COMPUTERNAME");
  return name ? name : "this host";
#else
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? name : "this host";
#endif
}

}  // namespace kernweave
