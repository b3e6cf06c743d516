/* Tells valgrind from R when to count, so that loading packages runs at its full speed. */
#include <valgrind/callgrind.h>

void count_from_here(void) { CALLGRIND_START_INSTRUMENTATION; }
void count_to_here(void) { CALLGRIND_STOP_INSTRUMENTATION; }
