// Writes steps. Consecutive steps with equal numbers of components run in one loop over components.
#include "cpu/write_steps.hpp"

#include <algorithm>

namespace kernweave {

void StepWriter::steps(const std::vector<bool>& needed) {
  std::vector<const Step*> steps;
  program_.for_each_step(region_, needed, [&](const Step& step) {
    if (step.op != Op::Gather) steps.push_back(&step);
  });
  for (std::size_t s = 0; s < steps.size();) {
    const Step& step = *steps[s];
    std::size_t end = s + 1;
    if (step.group >= 0) {
      group(program_.groups[step.group]);
    } else if (row(step.op).form == Form::elementwise && step.width > 1) {
      while (end < steps.size() && joins(steps, s, end)) ++end;
      loop(steps, s, end);
    } else {
      one(step);
    }
    s = end;
  }
}

void StepWriter::end() {
  settle();
  out_.emplace_back(kStripEnd);
}

// Tells whether step `next` may run in one loop over components with the steps before it. Its result must not take the
// place of a value that the loop still reads or writes: places that overlap without being equal would mix components.
bool StepWriter::joins(const std::vector<const Step*>& steps, std::size_t first, std::size_t next) const {
  const Step& step = *steps[next];
  if (step.group >= 0 || row(step.op).form != Form::elementwise || step.width != steps[first]->width) return false;
  const auto clear = [&](int slot) {
    const Slot &a = layout_.slot(slot), &b = layout_.slot(step.out);
    return !overlap(a, b) || (a.offset == b.offset && a.width == b.width);
  };
  for (std::size_t s = first; s <= next; ++s) {
    if (!clear(steps[s]->out)) return false;
    for (const Ref& ref : steps[s]->in)
      if (is_slot(ref) && !clear(ref.index)) return false;
  }
  return true;
}

// --- steps ---

void StepWriter::one(const Step& step) {
  switch (row(step.op).form) {
    case Form::elementwise: return element(step);
    case Form::fold: return fold(step);
    case Form::loop: return row(step.op).looks_up ? look_up(step) : own_loop(step);
    default: return;
  }
}

void StepWriter::element(const Step& step) {
  if (waits(step)) return;
  switch (step.in.size()) {
    case 1: unary(step); break;
    case 2: binary(step); break;
    default: ternary(step);
  }
  holds(step.out);
}

void StepWriter::unary(const Step& step) {
  Instruction i(code_of(step.op, StepShape::alone));
  if (waiting(step.in[0])) {
    const Step& late = no_longer_waiting(step.in[0]);
    const int vector = vector_of(late);
    take(late.in[vector]);
    i.code = code_of(step.op, late.op == Op::Add ? StepShape::shifted : StepShape::scaled);
    i.a = from_memory(late.in[!vector]);
  } else {
    take(step.in[0]);
  }
  out_.push_back(i);
}

// A fused operand is made by this step if the strip holds the other argument, else before this step.
void StepWriter::binary(const Step& step) {
  const Step* const second = waiting(step.in[1]);
  const int first = second && held(second->in[vector_of(*second)]);
  for (int k : {first, 1 - first})
    if (waiting(step.in[k]) && !held(step.in[!k])) make(step.in[k]);
  for (int k : {0, 1})
    if (waiting(step.in[k])) return binary_of_late(step, no_longer_waiting(step.in[k]), k == 1);
  if (held(step.in[0]) || held(step.in[1])) binary_in_strip(step);
  else binary_in_memory(step);
}

// The strip holds the other argument, which may also be a term of the late argument.
void StepWriter::binary_of_late(const Step& step, const Step& late, bool strip_first) {
  const int vector = vector_of(late);
  const bool own = late.op == Op::Add && held(late.in[vector]), scaled = late.op == Op::Mult;
  used(step.in[!strip_first]);
  Instruction i;
  if (own) used(late.in[vector]);
  else i.a = from_memory(late.in[vector]);
  (own ? i.a : i.b) = from_memory(late.in[!vector]);
  settle();
  const auto first_shape = own ? StepShape::own_shifted : scaled ? StepShape::with_scaled : StepShape::with_shifted;
  const auto second_shape = own ? StepShape::shifted_own : scaled ? StepShape::scaled_with : StepShape::shifted_with;
  i.code = code_of(step.op, strip_first || row(step.op).commutes ? first_shape : second_shape);
  out_.push_back(i);
}

// The strip serves as the argument that it holds; if the operation commutes, as the first argument.
void StepWriter::binary_in_strip(const Step& step) {
  const bool second = held(step.in[1]) && !held(step.in[0]);
  const Ref &in_strip = step.in[second], &other = step.in[!second];
  Instruction i;
  used(in_strip);
  i.a = from_memory(other);
  settle();
  const StepShape first_shape = i.a.vector ? StepShape::with_vector : StepShape::with_number;
  const StepShape second_shape = i.a.vector ? StepShape::vector_with : StepShape::number_with;
  i.code = code_of(step.op, second && !row(step.op).commutes ? second_shape : first_shape);
  out_.push_back(i);
}

void StepWriter::binary_in_memory(const Step& step) {
  Instruction i;
  i.a = from_memory(step.in[0]);
  i.b = from_memory(step.in[1]);
  free_strip();
  const bool shared = (i.a.vector ? i.a : i.b).column == 0;
  const StepShape vector_first = shared ? StepShape::row_number : StepShape::vector_number;
  const StepShape number_first = shared ? StepShape::number_row : StepShape::number_vector;
  const StepShape same = i.a.vector ? StepShape::vectors : StepShape::with_number;
  i.code = code_of(step.op, i.a.vector == i.b.vector ? same : i.a.vector ? vector_first : number_first);
  if (!i.a.vector && !i.b.vector) {
    load(i.a);
    i.a = i.b;
  }
  out_.push_back(i);
}

// Writes an operation with one argument in the strip, the others vectors in memory: a number goes into the strip; a
// second number is spread out first.
void StepWriter::ternary(const Step& step) {
  Operand in[3];
  for (int k = 0; k < 3; ++k) in[k] = from_memory(step.in[k]);
  free_strip();
  int in_strip = 0;
  for (int k = 0; k < 3; ++k)
    if (!in[k].vector) in_strip = k;
  for (int k = 0; k < 3; ++k)
    if (!in[k].vector && k != in_strip) in[k] = spread(in[k]);
  load(in[in_strip]);
  Instruction i;
  i.a = in[in_strip == 0 ? 1 : 0];
  i.b = in[in_strip == 2 ? 1 : 2];
  i.code = code_of(step.op, in_strip == 0 ? StepShape::first : in_strip == 1 ? StepShape::second : StepShape::third);
  out_.push_back(i);
}

Operand StepWriter::spread(const Operand& number) {
  const Operand place = layout_.spare();
  load(number);
  store(place);
  return place;
}

// --- loops over components ---

void StepWriter::loop(const std::vector<const Step*>& steps, std::size_t first, std::size_t end) {
  for_components(steps[first]->width, [&] {
    for (std::size_t s = first; s < end; ++s) element(*steps[s]);
  });
}

// --- folds ---

void StepWriter::start_fold(const Step& fold) {
  if (is_written_out(fold_width(fold))) return;
  free_strip();
  out_.emplace_back(code_of(fold.op, FoldShape::start));
  store(at_slot(fold.out));
}

// Adds one component to a fold, whose earlier result is in memory. If the fold commutes, the argument that the strip
// holds is the first.
void StepWriter::next_of_fold(const Step& fold) {
  Instruction i;
  const bool two = fold.in.size() == 2;
  const bool turned = two && row(fold.op).commutes && held(fold.in[1]);
  if (two) i.b = from_memory(fold.in[!turned]);
  take(fold.in[turned]);
  const bool first = component_ == 0, last = component_ == fold_width(fold) - 1;
  if (!first) i.a = at_slot(fold.out);
  const bool number = two && !i.b.vector;
  const FoldShape of_first = number ? FoldShape::first_number : FoldShape::first;
  const FoldShape of_last = number ? FoldShape::last_number : FoldShape::last;
  const FoldShape of_next = number ? FoldShape::next_number : FoldShape::next;
  i.code = code_of(fold.op, first ? of_first : last ? of_last : of_next);
  out_.push_back(i);
  if (first && !last) store(at_slot(fold.out));
  holds_nothing();
}

// Notes that the strip holds the fold's result, left by the last component.
void StepWriter::end_fold(const Step& fold) {
  if (is_written_out(fold_width(fold))) holds(fold.out);
}

// Writes the component steps of a group, then its fold.
void StepWriter::group(const Group& group) {
  const Step& fold = program_.steps[group.last];
  const Step& first = program_.steps[group.first];
  if (group.last - group.first == 1 && is_sum_of(fold, first)) return sum_of(first, fold);
  start_fold(fold);
  for_components(fold_width(fold), [&] {
    for (int s = group.first; s < group.last; ++s) element(program_.steps[s]);
    next_of_fold(fold);
  });
  end_fold(fold);
}

// Tells whether a fold is the sum over components of one step on a row's vectors and a column's numbers.
bool StepWriter::is_sum_of(const Step& fold, const Step& step) const {
  if (fold.op != Op::Sum || step.in.size() != 2 || reads_of(fold.in[0]) != 1) return false;
  const Operand a = at(step.in[0]), b = at(step.in[1]);
  const bool wide = step.in[0].width == fold_width(fold) && step.in[1].width == fold_width(fold);
  return wide && a.vector != b.vector && (a.vector ? a : b).column == 0;
}

void StepWriter::sum_of(const Step& step, const Step& fold) {
  Instruction i;
  i.a = from_memory(step.in[0]);
  i.b = from_memory(step.in[1]);
  free_strip();
  i.code = code_of(step.op, i.a.vector ? StepShape::sum_row_number : StepShape::sum_number_row);
  i.width = fold_width(fold);
  out_.push_back(i);
  holds(fold.out);
}

void StepWriter::fold(const Step& step) {
  const bool two = step.in.size() == 2;
  const Operand a = at(step.in[0]);
  const Operand b = two ? at(step.in[1]) : a;
  const Operand& vector = a.vector ? a : b;
  if (a.vector != b.vector && vector.column != 0) return fold_by_component(step);
  Instruction i;
  i.a = from_memory(step.in[0]);
  if (two) i.b = from_memory(step.in[1]);
  free_strip();
  i.width = fold_width(step);
  const bool turned = !a.vector && b.vector && row(step.op).commutes;
  if (turned) std::swap(i.a, i.b);
  const FoldShape mixed = a.vector || turned ? FoldShape::vector_number : FoldShape::number_vector;
  i.code = code_of(step.op, a.vector != b.vector ? mixed : a.vector ? FoldShape::vectors : FoldShape::numbers);
  out_.push_back(i);
  holds(step.out);
}

// Folds a vector that differs from column to column with a number: no register is shared, so the general way does.
void StepWriter::fold_by_component(const Step& step) {
  start_fold(step);
  for_components(fold_width(step), [&] { next_of_fold(step); });
  end_fold(step);
}

void StepWriter::own_loop(const Step& step) {
  Instruction i(code_of(step.op, StepShape::alone));
  i.a = from_memory(step.in[0]);
  if (step.in.size() == 2) i.b = from_memory(step.in[1]);
  free_strip();
  i.width = step.width;
  i.attributes = step.attributes.data();
  i.result = at_slot(step.out);
  pass_.scratch = std::max(pass_.scratch, step.width + i.a.width + i.b.width);
  out_.push_back(i);
}

void StepWriter::look_up(const Step& step) {
  Instruction i(code_of(step.op, StepShape::alone));
  take(step.in[0]);
  i.a = layout_.table(step.in[1]);
  i.width = i.a.width;
  i.attributes = step.attributes.data();
  out_.push_back(i);
  holds(step.out);
}

// --- steps that wait ---

int StepWriter::vector_of(const Step& step) const {
  const bool first = at(step.in[0]).vector, second = at(step.in[1]).vector;
  return first == second ? -1 : second;
}

bool StepWriter::waits(const Step& step) {
  const int vector = fused_[step.out] >= 0 ? vector_of(step) : -1;
  if (vector < 0 || waiting(step.in[vector])) return false;
  waiting_[step.out] = &step;
  return true;
}

const Step& StepWriter::no_longer_waiting(const Ref& ref) {
  const Step& step = *waiting_[ref.index];
  used(ref);
  waiting_[ref.index] = nullptr;
  return step;
}

void StepWriter::make(const Ref& ref) {
  const Step& step = *waiting_[ref.index];
  waiting_[ref.index] = nullptr;
  binary(step);
  holds(step.out);
}

namespace {

// A step waits for its only reader, if both run together and the reader takes one value from the strip or from memory.
bool takes(const Step& reader, const Step& step) {
  const bool together = reader.region == step.region && reader.group == step.group && reader.width == step.width;
  return together && (step.group >= 0 || step.width == 1) && row(reader.op).form == Form::elementwise &&
         reader.in.size() <= 2;
}

// Tells whether a value may be a number: values of pairs and of components are not.
bool may_be_number(const Program& program, const Ref& ref) {
  return !is_slot(ref) ||
         (program.slots[ref.index].region != Region::pair && program.slots[ref.index].region != Region::component);
}

}  // namespace

std::vector<int> fused_into(const Program& program, const std::vector<bool>& needed, const std::vector<int>& reads) {
  std::vector<int> fused(program.slots.size(), -1);
  for (std::size_t s = 0; s < needed.size(); ++s) {
    const Step& step = program.steps[s];
    if (!needed[s] || (step.op != Op::Add && step.op != Op::Mult) || reads[step.out] != 1) continue;
    if (!may_be_number(program, step.in[0]) && !may_be_number(program, step.in[1])) continue;
    for (int reader : program.readers(step.out))
      if (needed[reader] && takes(program.steps[reader], step)) fused[step.out] = reader;
  }
  return fused;
}

std::vector<int> read_until(const Program& program, const std::vector<int>& fused) {
  std::vector<int> until(program.slots.size(), -1);
  for (const Step& step : program.steps)
    for (const Ref& ref : step.in)
      if (is_slot(ref)) until[ref.index] = std::max(until[ref.index], fused[step.out]);
  return until;
}

}  // namespace kernweave
