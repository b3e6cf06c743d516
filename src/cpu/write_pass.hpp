// Writes steps as instructions, region by region, and the outputs of a pass; shows instructions as text.
#pragma once
#include <string>
#include <vector>
#include "cpu/pass.hpp"
#include "plan/output_groups.hpp"
#include "plan/plan.hpp"

namespace kernweave {

// --- layout.cpp -----------------------------------------------------------------------------------------------------
// Places the values of a pass: spaces, components and operands.

class Layout {
 public:
  // `needed` marks the steps of the pass; `until`: how long the values of slots stay (plan/passes.hpp).
  Layout(const Plan& plan, const Variant& variant, const std::vector<bool>& needed, const std::vector<int>& until,
         Pass* pass);

  // Returns a value as seen from the program of a region.
  Operand operand(const Ref& ref, Region seen_from);
  // Returns a parameter that is read by place.
  Operand table(const Ref& ref);
  // Returns a slot to be stored to.
  Operand slot_operand(int slot, Region seen_from);
  // Makes a place in the strip's own memory that no slot has.
  Operand spare();
  // Makes one number for each point of an axis that no slot has; along() returns it as a region sees it.
  int spare_along(Region axis);
  Operand along(Region axis, int place, Region seen_from);
  // Returns the number of the packed variable of a value, or -1.
  int packed_as(const Ref& ref, bool as_table = false) const;
  // Returns a slot, with its offset in its region's memory.
  const Slot& slot(int slot) const { return slots_[slot]; }
  // Makes room for one output kept pair by pair; returns the first of its components.
  int written(int width);

 private:
  Space space_of(Region region) const;
  Space space_of(Axis axis) const;
  void add_reading(const Ref& ref, bool as_table);
  Operand place(Space space, int component, int width) const;
  // Pairs see the values of an axis in its panel.
  Operand seen(Space space, int component, int width, Region seen_from);
  Reading reading_of(const Ref& ref) const;

  const Plan& plan_;
  const Program& program_;
  Pass* pass_;
  std::vector<Slot> slots_;
  std::array<int, kSpaces> first_slot_{};  // first component of each space's slots
  int first_component_slot_ = 0;           // of the component region's
};

// Fills in the programs of the pass. `fewest_of_screen`: the fewest components of distances that are screened. `fused`:
// by slot, the step that may make its value (write_steps.hpp).
void emit(const Plan& plan, const Variant& variant, const OutputGroup& group, const std::vector<bool>& needed,
          const TileKernel& kernel, int fewest_of_screen, const std::vector<int>& fused, Layout* layout, Pass* pass);

// Tells whether the weights of an output are not all 1.
bool is_weighed(const Variant& variant, const Output& output);

// Counts the reads of each slot, including reads by steps that outputs' folds have taken over.
std::vector<int> count_reads(const Variant& variant, const std::vector<bool>& needed, const Pass& pass);

// --- show -----------------------------------------------------------------------------------------------------------
// Shows the instructions of a pass as text, for comparisons.

// Writes each instruction of each program on a line, without addresses: equal passes have equal texts.
std::string show(const Pass& pass, const TileKernel& kernel);

}  // namespace kernweave
