// One instruction set's tile evaluator: the machine in both precisions and the states. Included once for each.
#pragma once
#include "cpu/machine-inl.hpp"
#include "cpu/states-inl.hpp"
#include "cpu/whole-inl.hpp"

namespace kernweave {
inline namespace KW_ISA {

template <class T>
constexpr TileKernel tile_kernel() {
  using M = Machine<T>;
  return {M::kVectors, M::kColumns, Pack<T>::kLanes, M::room, M::run, Wholes<T>::find, state_kernels<T>};
}

constexpr InstructionSet instruction_set(const char* name) {
  return {name, tile_kernel<float>(), tile_kernel<double>()};
}

}  // inline namespace KW_ISA
}  // namespace kernweave
