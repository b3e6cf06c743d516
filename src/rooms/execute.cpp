// The room execute/, compiled as one: what its files include takes the compiler longer than what they say.
#include "execute/data.cpp"
#include "execute/kept_plan.cpp"
#include "execute/plan_run.cpp"
#include "execute/rows.cpp"
#include "execute/run.cpp"
