// The tile evaluator in what every machine of this architecture has, for float32.
#include "cpu/tile-inl.hpp"

const kernweave::TileKernel kernweave::tile_base_float = kernweave::base::tile_kernel<float>();
