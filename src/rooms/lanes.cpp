// The room lanes/, compiled as one: what its files include takes the compiler longer than what they say.
#include "lanes/isa.cpp"
