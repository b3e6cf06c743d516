// Outputs are shared out by the axis they keep.
#include "plan/output_groups.hpp"

#include <algorithm>
#include <map>

#include "plan/passes.hpp"

namespace kernweave {

std::vector<OutputGroup> output_groups(const Variant& variant) {
  OutputGroup along_i{true, {}}, along_j{false, {}};
  for (std::size_t k = 0; k < variant.outputs.size(); ++k)
    (variant.outputs[k].keep == Keep::j ? along_j : along_i).outputs.push_back(static_cast<int>(k));
  std::vector<OutputGroup> shares;
  for (const OutputGroup& group : {along_i, along_j})
    if (!group.outputs.empty()) shares.push_back(group);
  return shares;
}

std::vector<bool> needed_steps(const Variant& variant, const std::vector<int>& outputs) {
  const Program& program = variant.program;
  std::vector<bool> needed(program.steps.size(), false);
  const auto need = [&](const Ref& ref) {
    if (const Step* made = program.maker(ref)) needed[program.number(*made)] = true;
  };
  for (int number : outputs) {
    need(variant.outputs[number].value);
    need(variant.outputs[number].weight);
  }
  for (std::size_t s = program.steps.size(); s-- > 0;)
    if (needed[s])
      for (const Ref& ref : program.steps[s].in) need(ref);
  return needed;
}

int numbers_read(const Plan& plan, const Program& program, const std::vector<bool>& needed,
                 const std::vector<Ref>& by_outputs, Axis axis) {
  const Region region = axis == Axis::i ? Region::row : Region::column;
  std::map<std::pair<Ref::From, int>, int> widths;
  const auto note = [&](const Ref& ref) {
    if (region_read(ref, plan, program) == region) widths[{ref.from, ref.index}] = ref.width;
  };
  for (std::size_t s = 0; s < program.steps.size(); ++s)
    if (needed[s] && home(program, program.steps[s]) == Region::pair)
      for (const Ref& ref : program.steps[s].in) note(ref);
  for (const Ref& ref : by_outputs) note(ref);
  int numbers = 0;
  for (const auto& [ref, width] : widths) numbers += width;
  return numbers;
}

std::vector<int> count_reads(const Variant& variant, const std::vector<bool>& needed, const std::vector<int>& outputs) {
  const Program& program = variant.program;
  std::vector<int> reads(program.slots.size());
  for (std::size_t k = 0; k < reads.size(); ++k) {
    const std::vector<int>& readers = program.readers(static_cast<int>(k));
    reads[k] = static_cast<int>(
        std::count_if(readers.begin(), readers.end(), [&](int s) { return needed[static_cast<std::size_t>(s)]; }));
  }
  for (int number : outputs)
    for (const Ref& ref : {variant.outputs[number].value, variant.outputs[number].weight})
      if (is_slot(ref)) ++reads[ref.index];
  return reads;
}

namespace {

// A row number, read by comparisons with others alone.
bool is_only_compared(const Plan& plan, int number) {
  const auto counts = [&](const Ref& ref) {
    return ref.from == Ref::From::variable && plan.variables[ref.index].source == Source::counter;
  };
  const auto is_it = [&](const Ref& ref) { return ref.from == Ref::From::variable && ref.index == number; };
  if (plan.variables[number].source != Source::counter) return false;
  for (const Variant& variant : plan.variants) {
    for (const Output& o : variant.outputs)
      if (is_it(o.value) || is_it(o.weight)) return false;
    for (const Step& step : variant.program.steps) {
      const bool compares = step.in.size() == 2 && row(step.op).kind == KindRule::logical &&
                            std::all_of(step.in.begin(), step.in.end(), counts);
      if (!compares && std::any_of(step.in.begin(), step.in.end(), is_it)) return false;
    }
  }
  return true;
}

}  // namespace

bool in_float32(const Plan& plan) {
  if (plan.precision.compute == Format::float64) return false;
  return std::none_of(plan.variables.begin(), plan.variables.end(),
                      [](const Variable& v) { return v.kind == Kind::integer; });
}

bool in_float32(const Plan& plan, std::int64_t largest_row) {
  constexpr std::int64_t kExact = std::int64_t{1} << 24;
  if (plan.precision.compute == Format::float64) return false;
  for (std::size_t k = 0; k < plan.variables.size(); ++k) {
    if (plan.variables[k].kind != Kind::integer) continue;
    if (largest_row > kExact || !is_only_compared(plan, static_cast<int>(k))) return false;
  }
  return true;
}

}  // namespace kernweave
