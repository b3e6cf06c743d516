// In place of the windows for tests, where they are not asked for.
#include <R_ext/Rdynload.h>

void register_windows(DllInfo*) {}
