// The tile evaluator in AVX2, for float64.
#include "cpu/tile_avx2-inl.hpp"

#if defined(__x86_64__)
const kernweave::TileKernel kernweave::tile_avx2_double = kernweave::avx2::tile_kernel<double>();
#endif
