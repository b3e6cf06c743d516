// The tile evaluator in what every machine of this architecture has, for float32.
#define KW_BASE
#include "cpu/tile-inl.hpp"

const kernweave::TileKernel kernweave::tile_base_float = kernweave::base::tile_kernel<float>();
