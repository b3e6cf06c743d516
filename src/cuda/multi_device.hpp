// One pass, on one device or shared out among several by rows.
#pragma once
#include "cuda/pass_run.hpp"

namespace kernweave {
namespace cuda {

// Computes the outputs of the pass, and fetches them where they shall not stay. False, with nothing worth having in
// them, where tensor cores or a screen have failed.
bool run_pass(const ReadyPass& ready, const Task& task, const Range& rows, MemoryRoom room);

// The same of runs of outer axes with launches in common, of a batched pass.
void run_batches(const ReadyPass& ready, const std::vector<Task>& tasks, MemoryRoom room);

// The same of runs of which so many have results of their own, that the others are folded with: every so many one's.
void run_folded(const ReadyPass& ready, const std::vector<Task>& tasks, std::int64_t own, MemoryRoom room);

}  // namespace cuda
}  // namespace kernweave
