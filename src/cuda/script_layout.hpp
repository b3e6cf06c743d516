// A pass as a script for the kernels that were compiled at installation: the way where there is no run-time compiler.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "cuda/pass.hpp"
#include "kernweave/gpu/script.hpp"
#include "schedule/backend.hpp"

namespace kernweave {
namespace cuda {

// Name of the kernel that sweeps the pairs, written out or interpreted; fused kernels have names of their own.
constexpr const char* kSweep = "sweep";

// A script, all that it will point to, and the kernel that goes through its pairs. Its head is for whoever runs it.
struct Interpretation {
  const char* sweep = kSweep;
  std::vector<gpu::Instruction> once, rows, columns, pairs;
  std::vector<int> lists;
  std::vector<gpu::Outcome> outcomes;
  gpu::Script script{};

  bool fused() const { return sweep != kSweep; }                         // has it a kernel for just these pairs?
  int weight_blocks() const { return fused() ? outcomes[0].width : 1; }  // blocks that go through the same pairs
};

// A script with data and targets as bytes, sent to a device in one transfer.
class Packed {
 public:
  Packed(const Interpretation& from, const std::vector<gpu::Data>& data, const std::vector<gpu::Target>& targets);
  // Once the bytes lie at an address, a multiple of 16.
  gpu::Script script(std::uint64_t address) const;

  std::vector<char> bytes;

 private:
  template <class T>
  std::size_t add(const std::vector<T>& list);

  gpu::Script script_;
  std::size_t once_, rows_, columns_, pairs_, lists_, outcomes_, data_, targets_;  // in the order in which they lie
};

// Takes a pass made for the interpreter, and gives it the shape that its threads' memory allows. No, and which limit,
// where even one column at a time is too much.
Verdict interpret(Pass* pass, Interpretation* script);

// The names of all rows that instructions call, for those who want to see them.
std::string rows_called(const Interpretation& from);

// The kernels for one type of numbers: an image with code for several architectures; null where none was compiled.
const unsigned char* interpreter_image(bool float32);

// --- write_script.cpp ----------------------------------------------------------------------------------------------
// A pass's steps as instructions for the interpreter (kernweave/gpu/interpreter.hpp).

// Writes the instructions of a region outside of the pairs, which fill its panel. Attributes go to `lists`.
void instruct_points(const Pass& pass, Region region, const Panel& panel, std::vector<gpu::Instruction>* out,
                     std::vector<int>* lists);

// Writes the instructions of the pairs, with a term for each output, whose states are still to be placed. Columns are
// read from tiles, and strips are full. Returns how many numbers of its own a thread has for each column.
int instruct_pairs(const Pass& pass, std::vector<gpu::Instruction>* out, std::vector<int>* lists);

// --- fused kernels --------------------------------------------------------------------------------------------------
// Finds the kernel that was compiled at installation for just the pairs that a script has.

// Its name, as in kernweave/fused.def; null where there is none for these pairs, or following their instructions is
// faster.
const char* fused_kernel(const Pass& pass, const std::vector<gpu::Instruction>& pairs);

// Moves the fold's instruction to the front, where these kernels read it. What the fold may start with came before.
void fold_first(std::vector<gpu::Instruction>* pairs);

// A script as text, for whoever compares them: each instruction, a line, and what a block is made of.
std::string show(const Interpretation& script);

}  // namespace cuda
}  // namespace kernweave
