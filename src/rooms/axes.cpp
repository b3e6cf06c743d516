// The room axes/, compiled as one: what its files include takes the compiler longer than what they say.
#include "axes/loops.cpp"
#include "axes/paths.cpp"
