// Verbs for arrays by which tests look at the device's way without one, compiled with the windows.
#include "../../tests/windows/verbs.cpp"
