// The room plan/, compiled as one: what its files include takes the compiler longer than what they say.
#include "plan/contract.cpp"
#include "plan/growth.cpp"
#include "plan/lower.cpp"
#include "plan/output_groups.cpp"
#include "plan/outputs.cpp"
#include "plan/passes.cpp"
#include "plan/plan.cpp"
