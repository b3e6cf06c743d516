// A dozen words of CUDA, for kernels that threads of the host carry out.
#pragma once
#include <condition_variable>
#include <cstring>
#include <mutex>

#define __device__
#define __forceinline__ inline
#define __noinline__
#define __shared__
struct uint4 {
  unsigned x, y, z, w;
};
struct Three {
  unsigned x, y, z;
};
static thread_local Three threadIdx, blockIdx;
static Three blockDim, gridDim;
// Each thread waits for all.
class Barrier {
 public:
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    const long long round = round_;
    if (++waiting_ == blockDim.x) {
      waiting_ = 0;
      ++round_;
      all_.notify_all();
    } else {
      all_.wait(lock, [&] { return round_ != round; });
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  unsigned waiting_ = 0;
  long long round_ = 0;
};
static Barrier all_threads;
static inline void __syncthreads() { all_threads.wait(); }
static inline float __int_as_float(int bits) {
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}
static inline int __ffs(int bits) { return __builtin_ffs(bits); }
static inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
