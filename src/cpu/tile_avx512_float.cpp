// The tile evaluator in AVX-512, for float32.
#include "cpu/tile_avx512-inl.hpp"

#if defined(__x86_64__)
const kernweave::TileKernel kernweave::tile_avx512_float = kernweave::avx512::tile_kernel<float>();
#endif
