// The tile evaluator for float32, in instructions that every machine of this architecture has.
#define KW_BASE
#include "cpu/tile-inl.hpp"

const kernweave::TileKernel kernweave::tile_base_float = kernweave::base::tile_kernel<float>();
