// Windows into the engine for tests, compiled where configure is told; in their place stands no_windows.cpp.
#include "../../tests/windows/columns.cpp"
#include "../../tests/windows/execute.cpp"
#include "../../tests/windows/far.cpp"
#include "../../tests/windows/formulas.cpp"
#include "../../tests/windows/machine.cpp"
#include "../../tests/windows/plans.cpp"
#include "../../tests/windows/register.cpp"
