// The interpreter's kernels and the fused kernels, compiled at installation: in float64, or in the type KW_NUMBER of a
// source that includes this file.
#ifndef KW_NUMBER
#define KW_NUMBER double
#endif
#include "kernweave/gpu/fused.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {
extern "C" {

__global__ void __launch_bounds__(256) once(const __grid_constant__ Script a) { script_once<KW_NUMBER>(a); }
__global__ void __launch_bounds__(256) columns(const __grid_constant__ Script a) { script_columns<KW_NUMBER>(a); }
__global__ void __launch_bounds__(256) rows(const __grid_constant__ Script a) { script_rows<KW_NUMBER>(a); }
__global__ void __launch_bounds__(128, 4) sweep(const __grid_constant__ Script a) { script_sweep<KW_NUMBER>(a); }
__global__ void __launch_bounds__(256) merge(const __grid_constant__ Script a) { script_merge(a); }
__global__ void __launch_bounds__(128) total(const __grid_constant__ Script a) { script_total(a); }

#define FUSED(name, fold, reduction, ...) \
  __global__ void __launch_bounds__(128, 4) name(const __grid_constant__ Script a) { \
    fused_sweep<KW_NUMBER, Op::fold, red::reduction, __VA_ARGS__>(a); \
  }
#define FUSED_GPU FUSED
#include "kernweave/fused.def"
}
}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
