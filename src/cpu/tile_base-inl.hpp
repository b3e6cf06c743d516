// The tile evaluator in what every machine of this architecture has.
#pragma once
#include "cpu/kernels.hpp"
#include "lanes/isa.hpp"

#define KW_ISA base
namespace kernweave {
inline namespace KW_ISA {
constexpr int kVectorBytes = 16;
}  // inline namespace KW_ISA
}  // namespace kernweave
#include "cpu/lanes-inl.hpp"
