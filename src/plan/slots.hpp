// Lifetimes to places: values that are never alive together share memory.
#pragma once
#include <vector>
#include "plan/plan.hpp"

namespace kernweave {

// The offset of each slot in its region's memory, and the size of each region's memory in numbers.
struct SlotPlaces {
  std::vector<std::int64_t> offset;
  std::array<std::int64_t, kRegions> memory{};
};

// `until`: a step, by slot, up to which its value is to stay besides, for an engine that reads it later than the steps
// say; -1 or less: no longer.
SlotPlaces place_slots(const Program& program, const std::vector<Ref>& roots, const std::vector<int>& until = {});

// Sets every slot's offset and each region's memory. `roots` live to the end.
Program assign_slots(Program program, const std::vector<Ref>& roots);

}  // namespace kernweave
