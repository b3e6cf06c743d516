// How an operation with its own loop sees an argument: components at a fixed stride, wherever they lie.
#pragma once
#include "lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

template <class L>
struct Read {
  const L* at;
  long long stride;
  int width;
  KW_FN L operator[](int k) const { return at[k * stride]; }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
