// Layout of a pass. Spaces are filled in order: packed data and numbers first, then the slots of the plan's regions.
#include "cpu/write_pass.hpp"

#include "plan/passes.hpp"

namespace kernweave {
namespace {

constexpr int index_of(Space space) { return static_cast<int>(space); }

bool is_gather(const Step* step) { return step && step->op == Op::Gather; }

}  // namespace

std::int64_t Pass::stride(Space space) const {
  switch (space) {
    case Space::lane: return tiling.rows;
    case Space::sweep: return tiling.columns;
    case Space::lane_panel: return tiling.strip_rows();
    case Space::sweep_panel: return tiling.per_strip;
    case Space::once: return tiling.strip();
    case Space::table: return 1;
    case Space::pairs: return tiling.columns * tiling.strip_rows();
    case Space::slot: return tiling.strip();
  }
  return 0;
}

std::vector<const double*> Pass::tables_of(const std::vector<View>& data) const {
  std::vector<const double*> tables;
  for (const Packed& p : packed)
    if (p.space == Space::table) tables.push_back(data[p.reading.variable].data);
  return tables;
}

std::int64_t Pass::numbers_in(Space space) const {
  const std::int64_t of_components = components[index_of(space)];
  if (space == Space::lane_panel) return of_components * tiling.rows;
  if (space == Space::sweep_panel) return of_components * tiling.columns;
  return of_components * stride(space);
}

Layout::Layout(const Plan& plan, const Variant& variant, const std::vector<bool>& needed, const std::vector<int>& until,
               Pass* pass)
    : plan_(plan), program_(variant.program), pass_(pass) {
  const Program& program = variant.program;
  pass->numbers = program.numbers;
  pass->components[index_of(Space::once)] = static_cast<int>(program.numbers.size());
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    if (!needed[s] || is_gather(&program.steps[s])) continue;
    const std::vector<Ref>& in = program.steps[s].in;
    for (std::size_t k = 0; k < in.size(); ++k) add_reading(in[k], row(program.steps[s].op).looks_up && k == 1);
  }
  for (const PassOutput& o : pass->outputs) {
    const Output& output = variant.outputs[o.number];
    add_reading(output.value, false);
    add_reading(output.weight, false);
  }
  std::vector<Ref> roots;
  for (const Output& o : variant.outputs) roots.insert(roots.end(), {o.value, o.weight});
  const SlotPlaces places = place_slots(program, roots, until);
  for (std::size_t k = 0; k < program.slots.size(); ++k)
    slots_.push_back({program.slots[k].region, program.slots[k].width, places.offset[k]});
  first_slot_ = pass->components;
  for (Region region : {Region::param, Region::row, Region::column, Region::pair})
    pass->components[index_of(space_of(region))] += static_cast<int>(places.memory[static_cast<int>(region)]);
  first_component_slot_ = pass->components[index_of(Space::slot)];
  pass->components[index_of(Space::slot)] += static_cast<int>(places.memory[static_cast<int>(Region::component)]);
}

Space Layout::space_of(Region region) const {
  switch (region) {
    case Region::param: return Space::once;
    case Region::row: return pass_->lanes_along_i ? Space::lane : Space::sweep;
    case Region::column: return pass_->lanes_along_i ? Space::sweep : Space::lane;
    default: return Space::slot;
  }
}

Space Layout::space_of(Axis axis) const {
  switch (axis) {
    case Axis::i: return space_of(Region::row);
    case Axis::j: return space_of(Region::column);
    case Axis::param: return Space::once;
    default: return Space::pairs;
  }
}

// Returns the reading of a variable that is read directly or by row numbers, which may also be read by row numbers.
Reading Layout::reading_of(const Ref& ref) const {
  if (ref.from == Ref::From::variable) return {ref.index, {}, ref.width};
  const Step& step = *program_.maker(ref);
  Reading by = reading_of(step.in[1]);
  by.rows.push_back(by.variable);
  return {step.in[0].index, by.rows, step.width};
}

int Layout::packed_as(const Ref& ref, bool as_table) const {
  if (ref.from == Ref::From::number) return -1;
  if (is_slot(ref) && !is_gather(program_.maker(ref))) return -1;
  const Reading reading = reading_of(ref);
  for (std::size_t k = 0; k < pass_->packed.size(); ++k) {
    const Packed& packed = pass_->packed[k];
    if (packed.reading == reading && (packed.space == Space::table) == as_table) return static_cast<int>(k);
  }
  return static_cast<int>(pass_->packed.size());
}

void Layout::add_reading(const Ref& ref, bool as_table) {
  if (packed_as(ref, as_table) != static_cast<int>(pass_->packed.size())) return;
  const Reading reading = reading_of(ref);
  const Space space = as_table ? Space::table : space_of(axis_of(reading, plan_));
  int& components = pass_->components[index_of(space)];
  pass_->packed.push_back({reading, space, components});
  components += reading.width;
}

// To the program of one axis, values along the axis are vectors of lanes. To the pairs, values along the lanes are
// vectors, the same in all columns, and values along the sweep are one number a column.
Operand Layout::place(Space space, int component, int width) const {
  Operand o;
  o.space = space;
  o.width = width;
  o.vector = space != Space::once && space != Space::table && space != Space::sweep_panel;
  o.stride = width == 1 ? 0 : pass_->stride(space);
  o.offset = component * pass_->stride(space);
  if (o.vector && space != Space::lane_panel) o.column = pass_->tiling.strip_rows();
  return o;
}

Operand Layout::seen(Space space, int component, int width, Region seen_from) {
  const bool of_axis = space == Space::lane || space == Space::sweep;
  if (seen_from != Region::pair || !of_axis) return place(space, component, width);
  const Space panel = space == Space::lane ? Space::lane_panel : Space::sweep_panel;
  for (const Panel& p : pass_->panels)
    if (p.from == space && p.component == component && p.width == width) return place(panel, p.place, width);
  int& components = pass_->components[index_of(panel)];
  pass_->panels.push_back({space, component, width, components});
  components += width;
  return place(panel, components - width, width);
}

Operand Layout::operand(const Ref& ref, Region seen_from) {
  if (ref.from == Ref::From::number) return place(Space::once, ref.index, 1);
  const int packed = packed_as(ref);
  if (packed < 0) return slot_operand(ref.index, seen_from);
  const Packed& p = pass_->packed[packed];
  return seen(p.space, p.component, p.reading.width, seen_from);
}

Operand Layout::table(const Ref& ref) {
  const Packed& p = pass_->packed[packed_as(ref, true)];
  return place(p.space, p.component, p.reading.width);
}

Operand Layout::slot_operand(int slot, Region seen_from) {
  const Slot& s = slots_[slot];
  const Space space = space_of(s.region);
  const int first = s.region == Region::component ? first_component_slot_ : first_slot_[index_of(space)];
  return seen(space, first + static_cast<int>(s.offset), s.width, seen_from);
}

Operand Layout::spare() { return place(Space::slot, pass_->components[index_of(Space::slot)]++, 1); }

int Layout::spare_along(Region axis) { return pass_->components[index_of(space_of(axis))]++; }

Operand Layout::along(Region axis, int place, Region seen_from) { return seen(space_of(axis), place, 1, seen_from); }

int Layout::written(int width) {
  const int first = pass_->components[index_of(Space::pairs)];
  pass_->components[index_of(Space::pairs)] += width;
  return first;
}

}  // namespace kernweave
