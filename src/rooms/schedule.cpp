// The room schedule/, compiled as one: what its files include takes the compiler longer than what they say.
#include "schedule/choose.cpp"
#include "schedule/facts.cpp"
#include "schedule/schedule.cpp"
