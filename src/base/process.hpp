// Which process this is: what a parent has opened, its forked children must not touch.
#pragma once

#ifndef _WIN32
#include <unistd.h>
#else
#include <process.h>
#endif

namespace kernweave {

inline long this_process() {
#ifdef _WIN32
  return _getpid();
#else
  return static_cast<long>(getpid());
#endif
}

}  // namespace kernweave
