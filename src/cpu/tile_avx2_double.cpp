// The tile evaluator in AVX2, for float64.
#if defined(__x86_64__)
#define KW_AVX2
#include "cpu/tile-inl.hpp"

const kernweave::TileKernel kernweave::tile_avx2_double = kernweave::avx2::tile_kernel<double>();
#endif
