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

}  // namespace cuda
}  // namespace kernweave
