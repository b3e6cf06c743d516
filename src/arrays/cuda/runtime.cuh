// The steps of verbs on a device: start kernels on the engine's stream, take memory from its pool, look at errors.
#pragma once
#include <cuda_runtime.h>
#include "arrays/items.hpp"
#include "base/error.hpp"
#include "device/copy.hpp"
#include "device/device.hpp"

namespace kernweave::arrays::cuda {

using device::address;
using device::Block;
using device::Device;

// Numbers of which there are as many as turn out.
struct Made {
  Block block;
  Index count = 0;
};

inline cudaStream_t stream_of(const Device& gpu) { return reinterpret_cast<cudaStream_t>(gpu.stream()); }

// Fails with Fault::memory for lack of memory, else with what was being done.
inline void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  if (status == cudaErrorMemoryAllocation) fail(Fault::memory, "the GPU has not enough memory for ", doing);
  internal_check(false, "the GPU failed at ", doing, ": ", cudaGetErrorName(status), " (", cudaGetErrorString(status),
                 ")");
}

inline unsigned blocks_for(Index items, Index each) { return static_cast<unsigned>((items + each - 1) / each); }

template <class... Parameters, class... Arguments>
void launch(const Device& gpu, void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
            const Arguments&... arguments) {
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) return;
  kernel<<<blocks, threads, 0, stream_of(gpu)>>>(arguments...);
  check(cudaGetLastError(), "starting a kernel");
}

template <class T>
T* pointer(const Block& block) {
  return address<T>(block.at());
}

template <class T>
Block room_for(Device& gpu, Index count, const char* what = "the workspace of this call") {
  return gpu.allocate(static_cast<std::size_t>(count) * sizeof(T), what);
}

inline void clear(const Device& gpu, const Block& block, std::size_t bytes) {
  check(cudaMemsetAsync(pointer<void>(block), 0, bytes, stream_of(gpu)), "clearing memory");
}

inline void copy(const Device& gpu, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_of(gpu)), "copying on the GPU");
}

template <class T>
T fetched(Device& gpu, const T* at) {
  T value;
  gpu.download(&value, reinterpret_cast<device::Pointer>(at), sizeof value);
  return value;
}

// An algorithm of the library: it says how much memory it needs when it is called without.
template <class Call>
void with_scratch(Device& gpu, const char* doing, Call call) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes), doing);
  const Block scratch = gpu.allocate(bytes, "the workspace of this call");
  check(call(pointer<void>(scratch), bytes), doing);
}

// Calls work(k) for k from 0 to count - 1, a thread each.
template <class Work>
__global__ void __launch_bounds__(256) each_number(Index count, Work work) {
  const Index k = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k < count) work(k);
}
template <class Work>
void for_each_number(const Device& gpu, Index count, const Work& work) {
  launch(gpu, each_number<Work>, dim3(blocks_for(count, 256)), 256, count, work);
}

}  // namespace kernweave::arrays::cuda
