// A pass over restricted pairs on one device.
#pragma once
#include "cuda/pass_run.hpp"
#include "cuda/unit_table.hpp"

namespace kernweave {
namespace cuda {

// `partial` runs units of partial spans, where there are some; its results and states are those of the other.
void run_units(ReadyPass* full, ReadyPass* partial, const Task& task, const UnitTable& table, MemoryRoom room);

}  // namespace cuda
}  // namespace kernweave
