// The interpreter's kernels for one type of numbers, `Number`; and a small one by which a device shows that it computes.
#pragma once
#include "kernweave/gpu/interpret.hpp"

using kernweave::gpu::Script;

extern "C" {

__global__ void __launch_bounds__(256) once(const __grid_constant__ Script a) { kernweave::gpu::script_once<Number>(a); }
__global__ void __launch_bounds__(256) columns(const __grid_constant__ Script a) { kernweave::gpu::script_columns<Number>(a); }
__global__ void __launch_bounds__(256) rows(const __grid_constant__ Script a) { kernweave::gpu::script_rows<Number>(a); }
__global__ void __launch_bounds__(128, 4) sweep(const __grid_constant__ Script a) { kernweave::gpu::script_sweep<Number>(a); }
__global__ void __launch_bounds__(256) merge(const __grid_constant__ Script a) { kernweave::gpu::script_merge(a); }
__global__ void __launch_bounds__(128) total(const __grid_constant__ Script a) { kernweave::gpu::script_total(a); }

__global__ void probe(double* out) { out[threadIdx.x] = 3.0 * threadIdx.x + 1.0; }

}
