// The interpreter's kernels for one type of numbers, `Number`, and those for pairs of a common kind.
#pragma once
#include "kernweave/gpu/fused.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {
extern "C" {

__global__ void __launch_bounds__(256) once(const __grid_constant__ Script a) { script_once<Number>(a); }
__global__ void __launch_bounds__(256) columns(const __grid_constant__ Script a) { script_columns<Number>(a); }
__global__ void __launch_bounds__(256) rows(const __grid_constant__ Script a) { script_rows<Number>(a); }
__global__ void __launch_bounds__(128, 4) sweep(const __grid_constant__ Script a) { script_sweep<Number>(a); }
__global__ void __launch_bounds__(256) merge(const __grid_constant__ Script a) { script_merge(a); }
__global__ void __launch_bounds__(128) total(const __grid_constant__ Script a) { script_total(a); }

#define FUSED(name, fold, reduction, ...) \
  __global__ void __launch_bounds__(128, 4) name(const __grid_constant__ Script a) { \
    fused_sweep<Number, Op::fold, red::reduction, __VA_ARGS__>(a); \
  }
#define FUSED_GPU FUSED
#include "kernweave/fused.def"
}
}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
