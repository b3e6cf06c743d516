// The tile evaluator in AVX2, for float32.
#include "cpu/tile_avx2-inl.hpp"

#if defined(__x86_64__)
const kernweave::TileKernel kernweave::tile_avx2_float = kernweave::avx2::tile_kernel<float>();
#endif
