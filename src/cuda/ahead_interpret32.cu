// The interpreter in float32, compiled at installation.
using Number = float;
#include "ahead_kernels.hpp"
