// The tile evaluator in AVX-512, for float64.
#include "cpu/tile_avx512-inl.hpp"

#if defined(__x86_64__)
const kernweave::TileKernel kernweave::tile_avx512_double = kernweave::avx512::tile_kernel<double>();
#endif
