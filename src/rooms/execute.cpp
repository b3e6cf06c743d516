// The room execute/, compiled as one: what its files include takes the compiler longer than what they say.
#include "execute/data.cpp"
#include "execute/plan_run.cpp"
#include "execute/prepared.cpp"
#include "execute/rows.cpp"
#include "execute/run.cpp"
