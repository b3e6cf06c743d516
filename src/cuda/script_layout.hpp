// A pass as a script for the kernels that were compiled at installation, for use without a run-time compiler.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "cuda/pass.hpp"
#include "kernweave/gpu/script.hpp"
#include "schedule/backend.hpp"

namespace kernweave {
namespace cuda {

// The name of the kernel that sweeps the pairs, compiled or interpreted; fused kernels have other names.
constexpr const char* kSweep = "sweep";

// A script, the arrays to which it will point, and the name of its kernel. PassRun sets the script's head.
struct Interpretation {
  const char* sweep = kSweep;
  std::vector<gpu::Instruction> once, rows, columns, pairs;
  std::vector<int> lists;
  std::vector<gpu::Outcome> outcomes;
  gpu::Script script{};

  bool fused() const { return sweep != kSweep; }                         // has it a kernel for this kind of pairs?
  int weight_blocks() const { return fused() ? outcomes[0].width : 1; }  // blocks that sweep the same pairs
};

// A script with its data and targets as bytes, sent to a device in one transfer.
class Packed {
 public:
  Packed(const Interpretation& from, const std::vector<gpu::Data>& data, const std::vector<gpu::Target>& targets);
  // Returns the script for bytes at an address, which must be a multiple of 16.
  gpu::Script script(std::uint64_t address) const;

  std::vector<char> bytes;

 private:
  template <class T>
  std::size_t add(const std::vector<T>& list);

  gpu::Script script_;
  std::size_t once_, rows_, columns_, pairs_, lists_, outcomes_, data_, targets_;  // offsets, in the order of the bytes
};

// Writes the script of a pass that is made for the interpreter, and sets the pass's shape. Says no, with the limit, if
// even strips of one column do not fit the shared memory.
Verdict interpret(Pass* pass, Interpretation* script);

// Returns the names of all operations and reductions that instructions call, for tests.
std::string rows_called(const Interpretation& from);

// The kernels for one type of numbers: an image with code for several architectures; null if none was compiled.
const unsigned char* interpreter_image(bool float32);

// --- write_script.cpp ----------------------------------------------------------------------------------------------
// A pass's steps as instructions for the interpreter (kernweave/gpu/interpreter.hpp).

// Writes the instructions of a region outside of the pairs, which fill its panel. Attributes go to `lists`.
void instruct_points(const Pass& pass, Region region, const Panel& panel, std::vector<gpu::Instruction>* out,
                     std::vector<int>* lists);

// Writes the instructions of the pairs, with a term for each output, before the layout: states have no place, columns
// are read from tiles, and strips are full. Returns how many numbers of its own a thread has for each column.
int instruct_pairs(const Pass& pass, std::vector<gpu::Instruction>* out, std::vector<int>* lists);

// --- fused kernels --------------------------------------------------------------------------------------------------
// Finds the kernel that was compiled at installation for a script's kind of pairs.

// Returns the kernel's name, as in kernweave/fused.def; null if no kernel fits these pairs, or if the interpreter is
// faster.
const char* fused_kernel(const Pass& pass, const std::vector<gpu::Instruction>& pairs);

// Moves the fold's instruction to the front, where fused kernels read it. The start of the fold was computed before it.
void fold_first(std::vector<gpu::Instruction>* pairs);

// Writes a script as text, for comparisons: a line for each instruction, and the layout of a block.
std::string show(const Interpretation& script);

}  // namespace cuda
}  // namespace kernweave
