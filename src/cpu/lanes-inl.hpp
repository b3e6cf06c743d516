// One instruction set's tile evaluator: the machine and the states. A source for each precision includes it, since a
// compiler takes gigabytes for one.
#pragma once
#include "cpu/machine-inl.hpp"
#include "cpu/product-inl.hpp"
#include "cpu/states-inl.hpp"
#include "cpu/steps-inl.hpp"
#include "cpu/fused-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

template <class T>
constexpr TileKernel tile_kernel() {
  using M = Machine<T>;
  using S = Steps<T>;
  return {M::kVectors,
          M::kColumns,
          Pack<T>::kLanes,
          M::room,
          S::run,
          FusedLoops<T>::all,
          Products<T, M::kVectors, M::kColumns>::add,
          state_kernels<T>};
}

}  // inline namespace KW_ISA
}  // namespace kernweave
