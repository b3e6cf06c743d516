// The words of the device that kernels are written with where they use tensor cores, for the host.
#pragma once
#include "../lane.hpp"

namespace kernweave {
inline namespace KW_ISA {
namespace gpu {

static inline float number_of(unsigned half) {
  const auto bits = static_cast<unsigned short>(half);
  _Float16 number;
  std::memcpy(&number, &bits, sizeof number);
  return static_cast<float>(number);
}
static inline unsigned half_of(float x) {
  const auto number = static_cast<_Float16>(x);
  unsigned short bits;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}
static inline unsigned halves_of(float x, float y) { return half_of(x) | half_of(y) << 16; }
static inline void numbers_of(unsigned halves, float* x, float* y) {
  *x = number_of(halves & 0xffffu);
  *y = number_of(halves >> 16);
}

static inline void multiply_add(float (&sum)[4], const uint4& a, unsigned b0, unsigned b1) {
  struct Both {
    unsigned a[4], b[2];
  };
  const std::array<Both, 32> warp = in_warp(Both{{a.x, a.y, a.z, a.w}, {b0, b1}});
  const unsigned lane = threadIdx.x & 31, row = lane >> 2, column = (lane & 3) * 2;
  for (unsigned s = 0; s < 4; ++s)
    for (unsigned k = 0; k < 16; ++k) {
      const unsigned t = k % 8 / 2, late = k / 8, shift = k % 2 * 16;
      const unsigned of_a = warp[row * 4 + t].a[late * 2 + s / 2], of_b = warp[(column + s % 2) * 4 + t].b[late];
      sum[s] += number_of(of_a >> shift & 0xffffu) * number_of(of_b >> shift & 0xffffu);
    }
}

static inline void copy_ahead(uint4* to, const uint4* from) { *to = *from; }
static inline void end_group() {}
template <int kGroupsLeft>
void wait_for_groups() {}

}  // namespace gpu
}  // inline namespace KW_ISA
}  // namespace kernweave
