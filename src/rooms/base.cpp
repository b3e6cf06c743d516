// The room base/, compiled as one: what its files include takes the compiler longer than what they say.
#include "base/error.cpp"
#include "base/map_posix.cpp"
#include "base/map_windows.cpp"
#include "base/system.cpp"
#include "base/threads.cpp"
