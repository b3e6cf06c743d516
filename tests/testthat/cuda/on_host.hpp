// A dozen words of CUDA, for kernels that the host carries out: of a block's threads the last comes first, and each
// goes on as far as it can without the others.
#pragma once
#include <ucontext.h>

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __shared__
#define __grid_constant__
#define __launch_bounds__(...)
struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
struct float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct double2 {
  double x, y;
};
struct Three {
  unsigned x, y, z;
};
static Three threadIdx, blockIdx, blockDim, gridDim;

// The threads of a block. Each has a stack of its own from its first wait on; those that never wait share one.
class Turns {
 public:
  void run(const std::function<void()>& kernel) {
    kernel_ = &kernel;
    left_ = next_ = blockDim.x;
    used_ = 0;
    meetings_.clear();
    while (next_ > 0) {
      if (used_ == stacks_.size()) stacks_.push_back(std::make_unique<Stack>());
      begin(stacks_[used_++].get());
    }
    while (left_ > 0)
      for (std::size_t k = 0; k < used_; ++k)
        if (stacks_[k]->waits) go_on(stacks_[k].get());
  }
  // Waits for all threads of the block that have not ended.
  void wait_for_all() {
    meet(&meetings_[-1], [this] { return left_; });
  }
  // Waits for all threads of the own warp that a mask names.
  void wait_for(unsigned mask) {
    const long long warp = threadIdx.x / 32;
    const unsigned lanes = blockDim.x - warp * 32, there = lanes < 32 ? mask & ((1u << lanes) - 1) : mask;
    meet(&meetings_[warp << 32 | there], [there] { return static_cast<unsigned>(__builtin_popcount(there)); });
  }

 private:
  struct Stack {
    ucontext_t here;
    bool waits = false;
    alignas(16) char memory[1 << 17];
  };
  struct Meeting {
    unsigned here = 0;
    long long number = 0;
  };
  template <class All>
  void meet(Meeting* at, All all) {
    const long long number = at->number;
    ++at->here;
    while (at->number == number) {
      if (at->here < all()) {
        pause();
      } else {
        at->here = 0;
        ++at->number;
      }
    }
  }
  void pause() {
    Stack& own = *now_;
    const Three thread = threadIdx;
    own.waits = true;
    swapcontext(&own.here, &home_);
    threadIdx = thread;
  }
  // Threads that have not begun, until one waits.
  static void work() {
    Turns& all = *running_;
    while (all.next_ > 0) {
      threadIdx = {--all.next_, 0, 0};
      (*all.kernel_)();
      --all.left_;
    }
  }
  void begin(Stack* stack) {
    getcontext(&stack->here);
    stack->here.uc_stack.ss_sp = stack->memory;
    stack->here.uc_stack.ss_size = sizeof stack->memory;
    stack->here.uc_link = &home_;
    makecontext(&stack->here, work, 0);
    go_on(stack);
  }
  void go_on(Stack* stack) {
    running_ = this;
    now_ = stack;
    stack->waits = false;
    swapcontext(&home_, &stack->here);
  }

  static inline Turns* running_ = nullptr;
  const std::function<void()>* kernel_ = nullptr;
  unsigned next_ = 0, left_ = 0;  // threads that have not begun, and not ended
  std::vector<std::unique_ptr<Stack>> stacks_;
  std::size_t used_ = 0;
  std::map<long long, Meeting> meetings_;
  Stack* now_ = nullptr;
  ucontext_t home_;
};
static Turns turns;
static inline void __syncthreads() { turns.wait_for_all(); }
static inline void __syncwarp(unsigned mask = ~0u) { turns.wait_for(mask); }

// Returns what the lanes of a warp that a mask names have, each lane its own.
template <class T>
static inline std::array<T, 32> in_warp(const T& own, unsigned mask = ~0u) {
  static T all[1024];
  all[threadIdx.x] = own;
  turns.wait_for(mask);
  std::array<T, 32> found;
  std::memcpy(found.data(), all + threadIdx.x / 32 * 32, sizeof found);
  turns.wait_for(mask);
  return found;
}
template <class T>
static inline T __ldg(const T* from) {
  return *from;
}
template <class T>
static inline T __shfl_sync(unsigned mask, T own, int lane) {
  return in_warp(own, mask)[lane & 31];
}
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T own, int flipped) {
  return in_warp(own, mask)[(threadIdx.x & 31) ^ static_cast<unsigned>(flipped)];
}
template <class T, class Says>
static inline unsigned lanes_where(unsigned mask, const T& own, Says says) {
  const std::array<T, 32> warp = in_warp(own, mask);
  unsigned bits = 0;
  for (unsigned lane = 0; lane < 32; ++lane) bits |= static_cast<unsigned>(says(warp[lane])) << lane;
  return bits & mask;
}
static inline unsigned __ballot_sync(unsigned mask, bool own) {
  return lanes_where(mask, own, [](bool lane) { return lane; });
}
static inline bool __any_sync(unsigned mask, bool own) { return __ballot_sync(mask, own) != 0; }
template <class T>
static inline unsigned __match_any_sync(unsigned mask, T own) {
  return lanes_where(mask, own, [own](T lane) { return lane == own; });
}
template <class T>
static inline T atomicAdd(T* at, T by) {
  const T before = *at;
  *at += by;
  return before;
}

// One block after the other.
static inline void launch(Three blocks, unsigned threads, const std::function<void()>& kernel) {
  gridDim = blocks;
  blockDim = {threads, 1, 1};
  for (unsigned z = 0; z < blocks.z; ++z)
    for (unsigned y = 0; y < blocks.y; ++y)
      for (unsigned x = 0; x < blocks.x; ++x) {
        blockIdx = {x, y, z};
        turns.run(kernel);
      }
}

static inline float __int_as_float(int bits) {
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}
static inline int __float_as_int(float number) {
  int bits;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}
static inline int __ffs(int bits) { return __builtin_ffs(bits); }
static inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
