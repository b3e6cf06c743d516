// The tile evaluator for float64, in instructions that every machine of this architecture has.
#define KW_BASE
#include "cpu/tile-inl.hpp"

const kernweave::TileKernel kernweave::tile_base_double = kernweave::base::tile_kernel<double>();
