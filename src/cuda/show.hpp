// A script for the interpreter as text: for whoever compares them.
#pragma once
#include <string>
#include "cuda/script_layout.hpp"

namespace kernweave {
namespace cuda {

// Each instruction, a line, and what a block is made of.
std::string show(const Interpretation& script);

}  // namespace cuda
}  // namespace kernweave
