// Which process this is: what a parent has opened, its forked children must not touch. And which host: what lies there
// may not be elsewhere.
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
