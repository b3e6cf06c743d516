// Windows into the engine for tests, compiled where configure is told; in their place stands windows/none.cpp.
#include "windows/columns.cpp"
#include "windows/execute.cpp"
#include "windows/far.cpp"
#include "windows/formulas.cpp"
#include "windows/machine.cpp"
#include "windows/plans.cpp"
#include "windows/register.cpp"
