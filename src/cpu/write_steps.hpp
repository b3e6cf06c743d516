// Writes the steps of one region as instructions. A value stays in the strip from the step that made it to the step
// that takes it, and goes to memory only where somebody else will ask for it. A sum or a product with a number is made
// by who asks for it, if that is one step.
#pragma once
#include "cpu/strip_register.hpp"

namespace kernweave {

class StepWriter : protected StripRegister {
 public:
  // `fused`: by slot, the step that may make its value (write_pass.hpp).
  StepWriter(const Program& program, Region region, const std::vector<int>& fused, Layout* layout, Pass* pass,
             std::vector<int>* reads, std::vector<Instruction>* out)
      : StripRegister(region, layout, reads, out),
        program_(program),
        pass_(*pass),
        fused_(fused),
        waiting_(program.slots.size()) {}

  // Gathers are packed beforehand.
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

  // The argument of a sum or product with a number that is no number; -1 of any other step.
  int vector_of(const Step& step) const;
  bool waits(const Step& step);
  const Step* waiting(const Ref& ref) const { return is_slot(ref) ? waiting_[ref.index] : nullptr; }
  const Step& no_longer_waiting(const Ref& ref);
  void make(const Ref& ref);

  const std::vector<int>& fused_;
  std::vector<const Step*> waiting_;  // by slot, at present
};

}  // namespace kernweave
