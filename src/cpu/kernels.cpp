// The kernels of each instruction set.
#include "cpu/kernels.hpp"

#include "lanes/isa.hpp"

namespace kernweave {

const TileKernel& tile_kernel(bool float32) {
#if defined(__x86_64__) && !defined(_WIN32)  // the sets of lanes/isa.cpp
  const std::string& set = instruction_set();
  if (set == "avx512") return float32 ? tile_avx512_float : tile_avx512_double;
  if (set == "avx2") return float32 ? tile_avx2_float : tile_avx2_double;
#endif
  return float32 ? tile_base_float : tile_base_double;
}

}  // namespace kernweave
