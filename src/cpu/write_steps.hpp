// Writes the steps of one region as instructions. A value stays in the strip from the step that made it to the step
// that takes it, and goes to memory only if another step reads it. A sum or a product with a number is made by the step
// that reads it, if there is one such step.
#pragma once
#include <vector>
#include "cpu/write_pass.hpp"

namespace kernweave {

// --- strip register -------------------------------------------------------------------------------------------------
// Tracks the strip's register while instructions are written: the slot whose value it holds, and the reads to come.

class StripRegister {
 protected:
  // `reads`: how often each slot will still be read.
  StripRegister(Region region, Layout* layout, std::vector<int>* reads, std::vector<Instruction>* out)
      : region_(region), layout_(*layout), reads_(*reads), out_(*out) {}

  // --- operands, at the present component where a loop is written out ---

  Operand at_component(Operand o) const {
    if (component_ < 0) return o;
    o.offset += component_ * o.stride;
    o.stride = 0;
    return o;
  }
  Operand at(const Ref& ref) const { return at_component(layout_.operand(ref, region_)); }
  Operand at_slot(int slot) const { return at_component(layout_.slot_operand(slot, region_)); }

  // --- what the strip holds ---

  bool held(const Ref& ref) const { return is_slot(ref) && held_ == ref.index; }
  void used(const Ref& ref) {
    if (is_slot(ref)) --reads_[ref.index];
  }
  int reads_of(const Ref& ref) const { return is_slot(ref) ? reads_[ref.index] : -1; }
  void store(const Operand& to) {
    out_.emplace_back(kStore);
    out_.back().a = to;
  }
  // Spills: stores the strip's value, if it will be read again and has not been stored.
  void settle() {
    if (held_ != kNothing && !stored_ && reads_[held_] > 0) store(at_slot(held_));
    stored_ = true;
  }
  // Spills, and frees the strip.
  void free_strip() {
    settle();
    held_ = kNothing;
  }
  void holds(int slot) {
    held_ = slot;
    stored_ = false;
  }
  void holds_nothing() { held_ = kNothing; }
  void load(const Operand& from) {
    Instruction i(from.vector ? kLoadVector : kLoadNumber);
    i.a = from;
    out_.push_back(i);
  }
  // Loads a value into the strip, for one use after which the strip holds something else.
  void take(const Ref& ref) {
    used(ref);
    if (held(ref)) return settle();
    free_strip();
    load(at(ref));
  }
  // Loads a value into the strip, which goes on holding it.
  void take_value(const Ref& ref) {
    const bool was_held = held(ref);
    take(ref);
    if (!was_held && is_slot(ref)) {
      held_ = ref.index;
      stored_ = true;
    }
  }
  // Returns an operand in memory. The value must have been stored.
  Operand from_memory(const Ref& ref) {
    if (held(ref)) settle();
    used(ref);
    return at(ref);
  }

  // --- loops over components ---

  // Short loops are written out: each turn costs the machine two instructions more.
  static bool is_written_out(int width) { return width <= kWrittenOut; }
  template <class Body>
  void for_components(int width, Body body) {
    free_strip();
    if (!is_written_out(width)) {
      out_.emplace_back(kLoopBegin);
      out_.back().width = width;
      body();
      free_strip();
      out_.emplace_back(kLoopEnd);
      return;
    }
    const std::vector<int> reads = reads_;
    for (component_ = 0; component_ < width; ++component_) {
      reads_ = reads;
      body();
      free_strip();
    }
    component_ = -1;
  }

  const Region region_;
  Layout& layout_;
  std::vector<int>& reads_;
  std::vector<Instruction>& out_;
  int component_ = -1;  // of a loop that is written out

 private:
  static constexpr int kNothing = -1;
  // The longest loop to be written out; longer ones are long enough to pay for their own turns.
  static constexpr int kWrittenOut = 8;

  int held_ = kNothing;
  bool stored_ = true;
};

class StepWriter : protected StripRegister {
 public:
  // `fused`: by slot, the step that may make its value (below).
  StepWriter(const Program& program, Region region, const std::vector<int>& fused, Layout* layout, Pass* pass,
             std::vector<int>* reads, std::vector<Instruction>* out)
      : StripRegister(region, layout, reads, out),
        program_(program),
        pass_(*pass),
        fused_(fused),
        waiting_(program.slots.size()) {}

  // Writes the needed steps, without gathers, which are packed beforehand.
  void steps(const std::vector<bool>& needed);
  void end();

 protected:
  const Program& program_;
  Pass& pass_;

 private:
  bool joins(const std::vector<const Step*>& steps, std::size_t first, std::size_t next) const;
  void one(const Step& step);

  void element(const Step& step);
  void unary(const Step& step);
  void binary(const Step& step);
  void binary_of_late(const Step& step, const Step& late, bool strip_first);
  void binary_in_strip(const Step& step);
  void binary_in_memory(const Step& step);
  void ternary(const Step& step);
  Operand spread(const Operand& number);

  void loop(const std::vector<const Step*>& steps, std::size_t first, std::size_t end);
  void group(const Group& group);

  void start_fold(const Step& fold);
  void next_of_fold(const Step& fold);
  void end_fold(const Step& fold);
  bool is_sum_of(const Step& fold, const Step& step) const;
  void sum_of(const Step& step, const Step& fold);
  void fold(const Step& step);
  void fold_by_component(const Step& step);

  void own_loop(const Step& step);
  void look_up(const Step& step);

  // --- steps that wait ---

  // Returns which argument is the vector in a sum or product of a vector with a number; -1 for any other step.
  int vector_of(const Step& step) const;
  bool waits(const Step& step);
  const Step* waiting(const Ref& ref) const { return is_slot(ref) ? waiting_[ref.index] : nullptr; }
  const Step& no_longer_waiting(const Ref& ref);
  void make(const Ref& ref);

  const std::vector<int>& fused_;
  std::vector<const Step*> waiting_;  // the steps that wait at present, by slot
};

// The steps of a pass that may wait for their reader: sums and products with a single reader, which can compute the
// value when it takes the value.

// Returns for each slot the step that may compute its value, or -1. `reads`: the reads of each slot.
std::vector<int> fused_into(const Program& program, const std::vector<bool>& needed, const std::vector<int>& reads);

// Returns for each slot the step up to which a waiting step needs the slot in memory.
std::vector<int> read_until(const Program& program, const std::vector<int>& fused);

}  // namespace kernweave
