// The tile evaluator in what every machine of this architecture has, for float64.
#define KW_BASE
#include "cpu/tile-inl.hpp"

const kernweave::TileKernel kernweave::tile_base_double = kernweave::base::tile_kernel<double>();
