// How an operation with its own loop sees its arguments and its result: components at a fixed stride, wherever they
// lie. Its loop() is a template over the result's type: a pointer, or a Write.
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

template <class L>
struct Write {
  L* at;
  long long stride;
  KW_FN L& operator[](int k) const { return at[k * stride]; }
};

}  // inline namespace KW_ISA
}  // namespace kernweave
