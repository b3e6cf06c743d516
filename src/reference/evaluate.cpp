// The steps, one after the other, each through the functions its row gave to the table.
#include "reference/evaluate.hpp"

#include "base/sparse.hpp"

namespace kernweave {
namespace {

// Doubles seen as lanes: a lane is one double and nothing else.
const Lane* lanes(const double* numbers) {
  static_assert(sizeof(Lane) == sizeof(double), "a scalar lane is one number");
  return reinterpret_cast<const Lane*>(numbers);
}

}  // namespace

Evaluator::Evaluator(const Plan& plan, const Program& program, const std::vector<View>& data)
    : plan_(plan), program_(program), data_(data), counter_{Lane(1.0), Lane(1.0)}, entries_(data.size(), Lane(0.0)) {
  for (int r = 0; r < kRegions; ++r) memory_[r].resize(static_cast<std::size_t>(program.memory[r]));
  for (double number : program.numbers) numbers_.push_back(Lane(number));
}

void Evaluator::run(Region region) {
  counter_ = {Lane(static_cast<double>(i_ + 1)), Lane(static_cast<double>(j_ + 1))};
  program_.for_each_step(region, [&](const Step& step) {
    if (step.group < 0) run_step(step);
    else run_group(program_.groups[step.group]);
  });
}

Lane* Evaluator::place(int slot) {
  const Slot& s = program_.slots[slot];
  return memory_[static_cast<int>(s.region)].data() + s.offset;
}

// A value from `component` on. Where it has but one component, every component reads that one.
Read<Lane> Evaluator::read(const Ref& ref, int component) const {
  const int shift = ref.width == 1 ? 0 : component;
  switch (ref.from) {
    case Ref::From::number: return {&numbers_[ref.index], 0, 1};
    case Ref::From::variable: return read_variable(ref, shift);
    case Ref::From::slot: break;
  }
  const Slot& slot = program_.slots[ref.index];
  const Lane* base = memory_[static_cast<int>(slot.region)].data() + slot.offset;
  if (slot.region == Region::component) return {base, 0, 1};
  return {base + shift, ref.width == 1 ? 0 : 1, ref.width};
}

Read<Lane> Evaluator::read_variable(const Ref& ref, int component) const {
  const Variable& v = plan_.variables[ref.index];
  const View& view = data_[ref.index];
  if (v.source == Source::counter && !view.data) return {&counter_[v.axis == Axis::i ? 0 : 1], 0, 1};
  if (view.sparse()) {
    const bool forth = v.axis == Axis::pair;
    Lane* const found = &entries_[static_cast<std::size_t>(ref.index)];
    *found = Lane(entry(view, forth ? i_ : j_, forth ? j_ : i_));
    return {found, 0, 1};
  }
  const std::int64_t stride = ref.width == 1 ? 0 : view.rows;
  std::int64_t at = 0;
  switch (v.axis) {
    case Axis::i: at = i_; break;
    case Axis::j: at = j_; break;
    case Axis::param: break;
    case Axis::pair: at = view.first() + i_ + j_ * view.step(); break;
    case Axis::pair_swapped: at = view.first() + j_ + i_ * view.step(); break;
  }
  return {lanes(view.data) + at + component * view.rows, stride, ref.width};
}

void Evaluator::run_step(const Step& step) {
  if (step.op == Op::Gather) return gather(step);
  const OpRow& r = row(step.op);
  if (r.form == Form::fold) return run_fold(step);
  if (r.form == Form::elementwise) {
    for (int d = 0; d < step.width; ++d) run_elementwise(step, d);
    return;
  }
  Read<Lane> in[3];
  for (std::size_t k = 0; k < step.in.size(); ++k) in[k] = read(step.in[k]);
  r.loop(in, place(step.out), step.width, step.attributes.data());
}

void Evaluator::run_elementwise(const Step& step, int component) {
  Lane in[3];
  for (std::size_t k = 0; k < step.in.size(); ++k) in[k] = *read(step.in[k], component).at;
  const bool single = program_.slots[step.out].region == Region::component;
  place(step.out)[single ? 0 : component] = row(step.op).value(in);
}

void Evaluator::run_fold(const Step& step) {
  run_group({-1, static_cast<int>(&step - program_.steps.data()), fold_width(step)});
}

// Runs the component steps and the fold; if first < 0, the fold alone.
void Evaluator::run_group(const Group& group) {
  const Step& fold = program_.steps[group.last];
  const OpRow& r = row(fold.op);
  Lane acc = r.start();
  for (int d = 0; d < group.width; ++d) {
    for (int s = group.first; s >= 0 && s < group.last; ++s) run_elementwise(program_.steps[s], d);
    Lane in[2];
    for (std::size_t k = 0; k < fold.in.size(); ++k) in[k] = *read(fold.in[k], d).at;
    acc = r.next(acc, in);
  }
  *place(fold.out) = acc;
}

void Evaluator::gather(const Step& step) {
  const View& view = data_[step.in[0].index];
  const double row_number = read(step.in[1])[0].v;
  const std::int64_t at = static_cast<std::int64_t>(row_number) - 1;
  Lane* out = place(step.out);
  for (int d = 0; d < step.width; ++d) out[d] = Lane(view.data[at + d * view.rows]);
}

}  // namespace kernweave
