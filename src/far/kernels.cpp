// The instruction set that tiles of pairs run on is that of boxes, too.
#include "far/kernels.hpp"

#include "cpu/isa.hpp"

namespace kernweave {
namespace far {

const Kernels& kernels() {
#if defined(__x86_64__)
  const std::string& name = instruction_set().name;
  if (name == "avx512") return kernels_avx512;
  if (name == "avx2") return kernels_avx2;
#endif
  return kernels_base;
}

}  // namespace far
}  // namespace kernweave
