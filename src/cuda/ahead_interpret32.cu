// The interpreter's kernels in float32.
#define KW_NUMBER float
#include "ahead_interpret64.cu"
