// What a step reads stays in its place up to the last step that reads it, and until another step takes that place.
#include "cpu/fuse_operand.hpp"

#include <algorithm>

namespace kernweave {
namespace {

struct Reads {
  bool made = false;  // by these steps
  int count = 0;      // by these steps
  int last = -1;
};

std::vector<Reads> reads_in(const Program& program, const std::vector<const Step*>& steps) {
  std::vector<Reads> found(program.slots.size());
  for (std::size_t s = 0; s < steps.size(); ++s) {
    found[steps[s]->out].made = true;
    for (const Ref& ref : steps[s]->in) {
      if (!is_slot(ref)) continue;
      ++found[ref.index].count;
      found[ref.index].last = static_cast<int>(s);
    }
  }
  return found;
}

// Does it run when the other does, component by component, and take a value from the strip or from memory?
bool takes(const Step& reader, const Step& step) {
  const bool together =
      reader.group == step.group && reader.width == step.width && (step.group >= 0 || step.width == 1);
  return together && row(reader.op).form == Form::elementwise && reader.in.size() <= 2;
}

}  // namespace

std::vector<Fusible> fusible_steps(const Program& program, const std::vector<const Step*>& steps,
                                   const std::vector<int>& reads) {
  const std::vector<Reads> found = reads_in(program, steps);
  std::vector<Fusible> late(program.slots.size());
  for (const Step* step : steps) {
    const Reads& out = found[step->out];
    if (step->in.size() != 2 || out.count != 1 || reads[step->out] != 1 || !takes(*steps[out.last], *step)) continue;
    late[step->out].may = true;
    late[step->out].until = out.last;
    for (int k = 0; k < 2; ++k) {
      const Ref& in = step->in[k];
      const auto takes_its_place = [&](const Step* other) {
        return overlap(program.slots[other->out], program.slots[in.index]);
      };
      const auto stays = [&](const Reads& value) {
        if (!value.made || value.last >= out.last || reads[in.index] > value.count) return true;
        return std::none_of(steps.begin() + value.last + 1, steps.begin() + out.last, takes_its_place);
      };
      late[step->out].lasts[k] = !is_slot(in) || stays(found[in.index]);
    }
  }
  return late;
}

}  // namespace kernweave
