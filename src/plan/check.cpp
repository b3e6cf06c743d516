// The specification of a plan.
#include "plan/passes.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace kernweave {
namespace {

// May a step of `reader` read what a step of `writer` wrote? Inner loops read outer ones.
bool sees(Region reader, Region writer) {
  if (writer == Region::param || reader == writer) return true;
  return reader == Region::pair && (writer == Region::row || writer == Region::column);
}

void check_refs(const Plan& plan, const Program& program) {
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    const Step* const noted = program.maker({Ref::From::slot, step.out, step.width});
    internal_check(noted == &step, "step ", s, " is not noted as the maker of its slot");
    for (const Ref& ref : step.in) {
      if (ref.from == Ref::From::variable)
        internal_check(ref.index < static_cast<int>(plan.variables.size()), "step ", s, " reads no variable");
      if (ref.from != Ref::From::slot) continue;
      const int maker = program.slots[ref.index].maker;
      internal_check(maker >= 0 && maker < static_cast<int>(s), "step ", s, " (", row(step.op).fn,
                     ") reads an empty slot");
      const Step& source = program.steps[maker];
      internal_check(sees(home(program, step), home(program, source)), "step ", s, " reads out of its region");
      const bool component = program.slots[ref.index].region == Region::component;
      internal_check(!component || source.group == step.group, "step ", s, " reads another group's component");
    }
  }
}

// Checks that the start of a fold is computed before its loop, and that the addition alone reads the fold's result.
void check_starts(const Program& program) {
  for (const Step& fold : program.steps) {
    if (!fold.start) continue;
    const int from = fold.group < 0 ? program.number(fold) : program.groups[fold.group].first;
    const Step* const made = program.maker(*fold.start);
    internal_check(!made || program.number(*made) < from, row(fold.op).fn, " starts with what is not there");
    const std::vector<int>& readers = program.readers(fold.out);
    internal_check(readers.size() == 1 && program.steps[readers[0]].op == Op::Add, row(fold.op).fn,
                   " starts with what its reader does not add");
  }
}

// An output reads, after the last step, a slot that was written and still holds what was written.
void check_outputs(const Variant& variant) {
  for (const Output& o : variant.outputs)
    for (const Ref& ref : {o.value, o.weight}) {
      if (ref.from != Ref::From::slot) continue;
      internal_check(variant.program.slots[ref.index].maker >= 0, "an output reads an empty slot");
      internal_check(variant.program.slots[ref.index].region != Region::component, "an output reads one component");
    }
}

// No two values that are alive together may overlap: each read must find the last write to its place.
void check_places(const Variant& variant) {
  const Program& program = variant.program;
  std::array<std::vector<int>, kRegions> owner;
  for (int r = 0; r < kRegions; ++r) owner[r].assign(static_cast<std::size_t>(program.memory[r]), -1);
  const auto owned = [&](int slot) {
    const Slot& place = program.slots[slot];
    const std::vector<int>& cells = owner[static_cast<int>(place.region)];
    return std::all_of(cells.begin() + place.offset, cells.begin() + place.offset + place.width,
                       [&](int cell) { return cell == slot; });
  };
  for (const Step& step : program.steps) {
    for (const Ref& ref : step.in)
      internal_check(ref.from != Ref::From::slot || owned(ref.index), "a value was overwritten before ",
                     row(step.op).fn);
    const Slot& place = program.slots[step.out];
    std::vector<int>& cells = owner[static_cast<int>(place.region)];
    std::fill(cells.begin() + place.offset, cells.begin() + place.offset + place.width, step.out);
  }
  for (const Output& o : variant.outputs)
    for (const Ref& ref : {o.value, o.weight})
      internal_check(ref.from != Ref::From::slot || owned(ref.index), "an output was overwritten");
}

}  // namespace

void check_plan(const Plan& plan) {
  internal_check(!plan.variants.empty() && plan.variants.back().form == Variant::Form::direct,
                 "a plan without its direct variant");
  internal_check(plan.variants.back().condition.empty(), "a direct variant under a condition");
  for (const Variant& variant : plan.variants) {
    check_refs(plan, variant.program);
    check_starts(variant.program);
    check_outputs(variant);
    check_places(variant);
  }
}

}  // namespace kernweave
