// One pass, on one device or shared out among several by rows.
#pragma once
#include "cuda/pass_run.hpp"

namespace kernweave {
namespace cuda {

// Computes the outputs of the pass, and fetches them where they shall not stay. False, with nothing worth having in
// them, where tensor cores or a screen have failed.
bool run_pass(const ReadyPass& ready, const Task& task, const Range& rows, MemoryRoom room);

// Computes runs of outer axes of a batched pass, with launches in common.
void run_batches(const ReadyPass& ready, const std::vector<Task>& tasks, MemoryRoom room);

// Computes runs of which the first `own` have results: run k is folded into the results of run k % own.
void run_folded(const ReadyPass& ready, const std::vector<Task>& tasks, std::int64_t own, MemoryRoom room);

}  // namespace cuda
}  // namespace kernweave
