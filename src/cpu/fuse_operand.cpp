// What a step reads stays in its place up to the last step that reads it, and until another step takes that place.
#include "cpu/fuse_operand.hpp"

#include <algorithm>

namespace kernweave {
namespace {

// Steps are told by their numbers in the program.
class Finder {
 public:
  Finder(const Program& program, Region region, const std::vector<bool>& needed, const std::vector<int>& reads)
      : program_(program), reads_(reads), here_(program.steps.size()) {
    for (std::size_t s = 0; s < here_.size(); ++s) {
      const Step& step = program.steps[s];
      here_[s] = needed[s] && step.op != Op::Gather && home(program, step) == region;
    }
  }

  std::vector<Fusible> find() const {
    std::vector<Fusible> found(program_.slots.size());
    for (std::size_t s = 0; s < here_.size(); ++s) {
      const Step& step = program_.steps[s];
      if (!here_[s] || step.in.size() != 2 || readers_here(step.out) != 1 || reads_[step.out] != 1) continue;
      const int until = last_reader(step.out);
      if (!takes(program_.steps[until], step)) continue;
      found[step.out] = {true, until, {lasts(step.in[0], until), lasts(step.in[1], until)}};
    }
    return found;
  }

 private:
  int readers_here(int slot) const {
    const std::vector<int>& readers = program_.readers(slot);
    return static_cast<int>(std::count_if(readers.begin(), readers.end(), [&](int s) { return here_[s]; }));
  }
  int last_reader(int slot) const {
    int last = -1;
    for (int s : program_.readers(slot))
      if (here_[s]) last = s;
    return last;
  }

  // Does it run when the other does, component by component, and take a value from the strip or from memory?
  static bool takes(const Step& reader, const Step& step) {
    const bool together =
        reader.group == step.group && reader.width == step.width && (step.group >= 0 || step.width == 1);
    return together && row(reader.op).form == Form::elementwise && reader.in.size() <= 2;
  }

  // Is a value in memory until then, whoever else asks for it in between?
  bool lasts(const Ref& ref, int until) const {
    const Step* const made = program_.maker(ref);
    if (!made || !here_[program_.number(*made)]) return true;
    const int last = last_reader(ref.index);
    if (last >= until || reads_[ref.index] > readers_here(ref.index)) return true;
    for (int s = last + 1; s < until; ++s)
      if (here_[s] && overlap(program_.slots[program_.steps[s].out], program_.slots[ref.index])) return false;
    return true;
  }

  const Program& program_;
  const std::vector<int>& reads_;
  std::vector<bool> here_;
};

}  // namespace

std::vector<Fusible> fusible_steps(const Program& program, Region region, const std::vector<bool>& needed,
                                   const std::vector<int>& reads) {
  return Finder(program, region, needed, reads).find();
}

}  // namespace kernweave
