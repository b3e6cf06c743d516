// First fit, region by region. A value read in an inner region outlives every step of its own, since
// steps are sorted by region: nothing else of its region can take its place.
#include "plan/slots.hpp"

#include <algorithm>
#include <limits>

namespace kernweave {
namespace {

constexpr int kForever = std::numeric_limits<int>::max();

// The last step that reads each slot, kForever where an output does.
std::vector<int> last_reads(const Program& program, const std::vector<Ref>& roots) {
  std::vector<int> last(program.slots.size(), -1);
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    // A group's loop reads its outside arguments again for every component, up to its fold.
    const int until = step.group < 0 ? static_cast<int>(s) : program.groups[step.group].last;
    for (const Ref& ref : step.in) {
      if (ref.from != Ref::From::slot) continue;
      const bool inside = program.slots[ref.index].region == Region::component;
      last[ref.index] = std::max(last[ref.index], inside ? static_cast<int>(s) : until);
    }
  }
  for (const Ref& root : roots)
    if (root.from == Ref::From::slot) last[root.index] = kForever;
  return last;
}

class Shelf {
 public:
  std::int64_t place(int width, int now, int until) {
    const auto dead = [&](const TakenSlot& t) { return t.until < now; };
    taken_.erase(std::remove_if(taken_.begin(), taken_.end(), dead), taken_.end());
    std::int64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const TakenSlot& t : taken_)
        if (offset < t.offset + t.width && t.offset < offset + width) {
          offset = t.offset + t.width;
          moved = true;
        }
    }
    taken_.push_back({offset, width, until});
    size_ = std::max(size_, offset + width);
    return offset;
  }
  std::int64_t size() const { return size_; }

 private:
  struct TakenSlot {
    std::int64_t offset;
    int width;
    int until;
  };
  std::vector<TakenSlot> taken_;
  std::int64_t size_ = 0;
};

}  // namespace

SlotPlaces place_slots(const Program& program, const std::vector<Ref>& roots, const std::vector<int>& until) {
  std::vector<int> last = last_reads(program, roots);
  for (std::size_t k = 0; k < until.size(); ++k) last[k] = std::max(last[k], until[k]);
  SlotPlaces places;
  places.offset.resize(program.slots.size());
  Shelf shelves[kRegions];
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const int out = program.steps[s].out;
    const Slot& slot = program.slots[out];
    // A group's fold writes its result only after its loop, which began at the group's first step.
    places.offset[out] = shelves[static_cast<int>(slot.region)].place(slot.width, static_cast<int>(s), last[out]);
  }
  for (int r = 0; r < kRegions; ++r) places.memory[r] = shelves[r].size();
  return places;
}

Program assign_slots(Program program, const std::vector<Ref>& roots) {
  const SlotPlaces places = place_slots(program, roots);
  for (std::size_t k = 0; k < program.slots.size(); ++k) program.slots[k].offset = places.offset[k];
  program.memory = places.memory;
  return program;
}

}  // namespace kernweave
