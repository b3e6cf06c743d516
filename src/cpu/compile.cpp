// Which steps a pass needs, how large its tiles are, and in what order its parts are emitted.
#include "cpu/compile.hpp"

#include <algorithm>
#include <numeric>

#include "cpu/emit.hpp"
#include "cpu/layout.hpp"
#include "schedule/cost.hpp"

namespace kernweave {
namespace {

// The steps that the pass's outputs stand on.
std::vector<bool> needed_steps(const Variant& variant, const std::vector<PassOutput>& outputs) {
  const Program& program = variant.program;
  std::vector<int> writer(program.slots.size(), -1);
  for (std::size_t s = 0; s < program.steps.size(); ++s) writer[program.steps[s].out] = static_cast<int>(s);
  std::vector<bool> needed(program.steps.size(), false);
  const auto need = [&](const Ref& ref) {
    if (ref.from == Ref::From::slot) needed[writer[ref.index]] = true;
  };
  for (const PassOutput& o : outputs) {
    need(variant.outputs[o.number].value);
    need(variant.outputs[o.number].weight);
  }
  for (std::size_t s = program.steps.size(); s-- > 0;)
    if (needed[s])
      for (const Ref& ref : program.steps[s].in) need(ref);
  return needed;
}

int sweep_components(const Plan& plan, const Program& program, bool lanes_along_i) {
  const Axis along = lanes_along_i ? Axis::j : Axis::i;
  int components = static_cast<int>(program.memory[static_cast<int>(lanes_along_i ? Region::column : Region::row)]);
  for (const Variable& v : plan.variables)
    if (v.axis == along) components += v.width;
  return components;
}

// Of two passes over the same pairs, the states of each output lie side by side.
void place_states(const Variant& variant, const TileKernel& kernel, Pass* pass) {
  for (PassOutput& o : pass->outputs) {
    const Output& output = variant.outputs[o.number];
    if (output.keep == Keep::both) continue;
    o.lane_state = pass->lane_state_bytes;
    pass->lane_state_bytes += kernel.states[static_cast<int>(output.red)].lane_bytes * kernel.vectors * output.width;
  }
}

Tiling tiling_for(const TileKernel& kernel, int number_bytes, int components) {
  Tiling t{kernel.vectors, kernel.columns, kernel.lanes, 0, 0};
  t.rows = std::max<std::int64_t>(kTileRows, t.strip());
  const std::int64_t fitting = kTileBytes / (number_bytes * std::max(components, 1));
  t.columns = std::min<std::int64_t>(std::max<std::int64_t>(fitting, kFewestColumns), kMostColumns) / t.strip() * t.strip();
  t.columns = std::max<std::int64_t>(t.columns, t.strip());
  return t;
}

// Variables of which only differences count may be moved together; each gets the number of its company.
class Companies {
 public:
  explicit Companies(std::size_t members) : leader_(members), whole_(members, true) {
    std::iota(leader_.begin(), leader_.end(), 0);
  }
  int leader(int k) const {
    while (leader_[k] != k) k = leader_[k];
    return k;
  }
  void join(int a, int b) {
    const int la = leader(a), lb = leader(b);
    whole_[la] = whole_[la] && whole_[lb];
    leader_[lb] = la;
  }
  void expel(int k) { whole_[leader(k)] = false; }
  bool whole(int k) const { return whole_[leader(k)]; }

 private:
  std::vector<int> leader_;
  std::vector<bool> whole_;
};

void mark_centres(const Variant& variant, const std::vector<bool>& needed, const Layout& layout, Pass* pass) {
  Companies companies(pass->packed.size());
  const auto place = [&](const Ref& ref) { return layout.packed_as(ref); };
  for (std::size_t s = 0; s < variant.program.steps.size(); ++s) {
    const Step& step = variant.program.steps[s];
    if (!needed[s] || step.op == Op::Gather) continue;
    const bool difference = row(step.op).differences && place(step.in[0]) >= 0 && place(step.in[1]) >= 0 &&
                            step.in[0].width == step.in[1].width;
    if (difference) companies.join(place(step.in[0]), place(step.in[1]));
    else
      for (const Ref& ref : step.in)
        if (place(ref) >= 0) companies.expel(place(ref));
  }
  for (const PassOutput& o : pass->outputs)
    for (const Ref& ref : {variant.outputs[o.number].value, variant.outputs[o.number].weight})
      if (place(ref) >= 0) companies.expel(place(ref));
  for (std::size_t k = 0; k < pass->packed.size(); ++k)
    if (companies.whole(static_cast<int>(k))) pass->packed[k].centre = companies.leader(static_cast<int>(k));
}

Pass make_pass(const Plan& plan, const Variant& variant, const TileKernel& kernel, int number_bytes, bool lanes_along_i,
               const std::vector<PassOutput>& outputs) {
  Pass pass;
  pass.lanes_along_i = lanes_along_i;
  pass.outputs = outputs;
  pass.tiling = tiling_for(kernel, number_bytes, sweep_components(plan, variant.program, lanes_along_i));
  place_states(variant, kernel, &pass);
  const std::vector<bool> needed = needed_steps(variant, outputs);
  Layout layout(plan, variant, needed, &pass);
  mark_centres(variant, needed, layout, &pass);
  emit(variant, needed, kernel, &layout, &pass);
  return pass;
}

}  // namespace

std::vector<Pass> compile(const Plan& plan, const Variant& variant, const TileKernel& kernel, int number_bytes) {
  std::vector<PassOutput> along_i, along_j;
  for (std::size_t k = 0; k < variant.outputs.size(); ++k)
    (variant.outputs[k].keep == Keep::j ? along_j : along_i).push_back({static_cast<int>(k), 0});
  std::vector<Pass> passes;
  if (!along_i.empty()) passes.push_back(make_pass(plan, variant, kernel, number_bytes, true, along_i));
  if (!along_j.empty()) passes.push_back(make_pass(plan, variant, kernel, number_bytes, false, along_j));
  return passes;
}

}  // namespace kernweave
