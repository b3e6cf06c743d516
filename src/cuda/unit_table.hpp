// Units of restricted pairs as blocks of threads see them, and how many rows their threads have.
#pragma once
#include <vector>
#include "cuda/pass_run.hpp"
#include "kernweave/gpu/arguments.hpp"
#include "pairs/units.hpp"

namespace kernweave {
namespace cuda {

// A table of units. Units of full spans come first. Each row is in at least one unit.
struct UnitTable {
  std::vector<gpu::Unit> units;
  std::vector<gpu::UnitSpan> spans;
  std::vector<gpu::UnitMerge> merges;
  std::int64_t full = 0;   // units of full spans
  std::int64_t trays = 0;  // of states that wait
  std::int64_t rows = 0;   // of a tray
};

// For blocks of so many rows, computed together; columns in steps.
UnitTable unit_table(const PairSpans& spans, std::int64_t rows, std::int64_t column_step);

// Rows of a thread, at most so many, with which blocks of so many threads compute few rows that are not there.
int rows_of_thread(const PairSpans& spans, int most, int threads);

// --- unit_run.cpp --------------------------------------------------------------------------------------------------
// A pass over restricted pairs on one device.

// `partial` runs units of partial spans, where there are some; its results and states are those of the other.
void run_units(ReadyPass* full, ReadyPass* partial, const Task& task, const UnitTable& table, MemoryRoom room);

}  // namespace cuda
}  // namespace kernweave
