// A stand-in for the windows of tests, where these are not asked for.
#include <R_ext/Rdynload.h>

void register_windows(DllInfo*) {}
