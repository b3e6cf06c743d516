// The tile evaluator in AVX-512, for float32.
#if defined(__x86_64__)
#define KW_AVX512
#include "cpu/tile-inl.hpp"

const kernweave::TileKernel kernweave::tile_avx512_float = kernweave::avx512::tile_kernel<float>();
#endif
