// The interpreter in float64, compiled at installation.
using Number = double;
#include "ahead_kernels.hpp"
