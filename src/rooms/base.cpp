// The room base/, compiled as one: what its files include takes the compiler longer than what they say.
#include "base/cores.cpp"
#include "base/crew.cpp"
#include "base/deep_stack.cpp"
#include "base/error.cpp"
#include "base/library.cpp"
#include "base/name_hint.cpp"
#include "base/threads.cpp"
