// The reference engine: runs the steps of each pair in order, by the functions in the table's rows, in two loops over
// the pairs. Every output has a state for each row that it keeps and each of its components.
#include "reference/reference.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "base/error.hpp"
#include "schedule/backend.hpp"

namespace kernweave {
namespace {

// Doubles as lanes: a lane is one double and nothing else.
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

// Reads a value from `component` on. If the value has one component, every component reads that one.
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

// Runs the component steps and the fold; if first < 0, only the fold.
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

// --- loops ---------------------------------------------------------------------------------------------------------

namespace {

// Seconds per step and component: bench/run.R, case "gaussian", took 107 to 133 ns for a pair's 8 steps and components
// on a 2-core x86_64 machine. Good to a factor of two, which is all that explain() promises.
constexpr double kSecondsPerStep = 1.5e-8;
// Steps between two checks of the user's interrupt key: about 1 ms of work, so that a check, some microseconds, costs
// under 1 % and Ctrl-C is answered at once.
constexpr long long kStepsBetweenPolls = 100000;

// The states of one output. If the output keeps i or both axes, rows are folded one at a time and share one state.
class OutputFold {
 public:
  OutputFold(const Output& output, const Sizes& sizes, Result result)
      : output_(output),
        state_(row(output.red).state),
        result_(result),
        sizes_(sizes),
        states_(output.keep == Keep::j ? sizes.j : 1),
        bytes_(state_.bytes(output.places)),
        memory_(static_cast<std::size_t>(states_ * output.width * bytes_) / sizeof(Index)),
        values_(output.places),
        indices_(output.places) {
    for (std::int64_t s = 0; s < states_; ++s) init(s);
  }

  void begin_row() {
    if (output_.keep == Keep::i) init(0);
  }

  // `output`: the place of the value in the evaluator.
  void step(const Evaluator& at, const Output& output, std::int64_t i, std::int64_t j) {
    const bool single = output_.keep == Keep::both;
    if (single) init(0);
    const Read<Lane> value = at.read(output.value), weight = at.read(output.weight);
    for (int c = 0; c < output_.width; ++c)
      state_.step(state(output_.keep == Keep::j ? j : 0, c), value[c], weight[c], index(i, j), true);
    if (single) finish(0, i + j * sizes_.i);
  }

  void end_row(std::int64_t i) {
    if (output_.keep == Keep::i) finish(0, i);
  }

  void end() {
    if (output_.keep != Keep::j && output_.keep != Keep::none) return;
    for (std::int64_t s = 0; s < states_; ++s) finish(s, s);
  }

 private:
  // Returns the row number along the folded axis; if both axes are folded, the place in the matrix of pairs, as R
  // counts it.
  Index index(std::int64_t i, std::int64_t j) const {
    if (output_.keep == Keep::i) return j + 1;
    if (output_.keep == Keep::j) return i + 1;
    return i + j * sizes_.i + 1;
  }

  void* state(std::int64_t s, int component) {
    return reinterpret_cast<char*>(memory_.data()) + (s * output_.width + component) * bytes_;
  }

  void init(std::int64_t s) {
    for (int c = 0; c < output_.width; ++c) {
      char* at = static_cast<char*>(state(s, c));
      state_.init(at, at + state_.size, output_.places);
    }
  }

  // Results are stored as rows x places x components.
  void finish(std::int64_t s, std::int64_t at) {
    const std::int64_t rows = kept_rows(output_.keep, sizes_);
    for (int c = 0; c < output_.width; ++c) {
      state_.finish(state(s, c), values_.data(), indices_.data());
      for (int p = 0; p < output_.places; ++p) {
        const std::int64_t to = at + rows * (p + static_cast<std::int64_t>(output_.places) * c);
        result_.put(to, values_[p].v, indices_[p]);
      }
    }
  }

  const Output& output_;
  const StateRow& state_;
  Result result_;
  const Sizes& sizes_;
  std::int64_t states_;
  std::int64_t bytes_;  // bytes of a state with its storage
  std::vector<Index> memory_;
  std::vector<Lane> values_;
  std::vector<Index> indices_;
};

// Counts the steps and folds of a pair, times their components.
double steps_per_pair(const Variant& variant) {
  double work = 0;
  for (const Step& step : variant.program.steps) {
    const bool inner = step.region == Region::pair || step.region == Region::component || step.region == Region::column;
    if (inner) work += step.group < 0 ? step.width : variant.program.groups[step.group].width;
  }
  for (const Output& o : variant.outputs) work += o.width * o.places;
  return work;
}

class TwoLoops : public Executable {
 public:
  TwoLoops(const Plan& plan, const Decision& decision)
      : plan_(plan), variant_(plan.variants[static_cast<std::size_t>(decision.variant)]), sizes_(decision.sizes) {}

  void run(const std::vector<Task>& tasks, ResultRows*) override {
    for (const Task& task : tasks) run(task);
  }

 private:
  void run(const Task& task) const {
    const Restriction& restriction = task.restriction;
    PairSpans all(sizes_.i, sizes_.j);
    const PairSpan every{{0, sizes_.j}};
    all.add_block(sizes_.i, {every});
    const PairSpans& spans = restriction.pairs.map ? restriction.pairs.along(true) : all;
    PairWalk walk(*this, task);
    std::unique_ptr<PairWalk> partial;
    if (restriction.partial)
      partial = std::make_unique<PairWalk>(static_cast<const TwoLoops&>(*restriction.partial), *restriction.task);
    std::vector<OutputFold> folds;
    folds.reserve(variant_.outputs.size());
    for (std::size_t k = 0; k < variant_.outputs.size(); ++k)
      folds.emplace_back(variant_.outputs[k], sizes_, task.results[k]);
    Clock clock(variant_, task, sizes_);
    for (std::int64_t b = 0; b < spans.blocks(); ++b)
      for (std::int64_t i = spans.rows_of(b).from; i < spans.rows_of(b).to; ++i) {
        for (OutputFold& fold : folds) fold.begin_row();
        for (const PairSpan* span = spans.begin(b); span != spans.end(b); ++span)
          (span->partial ? *partial : walk).take(i, span->columns, &folds, &clock);
        for (OutputFold& fold : folds) fold.end_row(i);
      }
    for (OutputFold& fold : folds) fold.end();
  }

  // Polls the user's interrupt now and then.
  class Clock {
   public:
    Clock(const Variant& variant, const Task& task, const Sizes& sizes)
        : task_(task),
          sizes_(sizes),
          polls_(1 + static_cast<std::int64_t>(kStepsBetweenPolls / (1 + steps_per_pair(variant)))),
          until_(polls_) {}
    void tick(std::int64_t i) {
      if (--until_ > 0) return;
      task_.poll(static_cast<double>(i) / static_cast<double>(sizes_.i));
      until_ = polls_;
    }

   private:
    const Task& task_;
    const Sizes& sizes_;
    const std::int64_t polls_;
    std::int64_t until_;
  };

  // Runs the formula for one pair after the other.
  class PairWalk {
   public:
    PairWalk(const TwoLoops& of, const Task& task)
        : variant_(of.variant_), evaluator_(of.plan_, of.variant_.program, task.data) {
      evaluator_.run(Region::param);
    }
    void take(std::int64_t i, const Range& columns, std::vector<OutputFold>* folds, Clock* clock) {
      evaluator_.at_row(i);
      evaluator_.run(Region::row);
      for (std::int64_t j = columns.from; j < columns.to; ++j) {
        evaluator_.at_column(j);
        evaluator_.run(Region::column);
        evaluator_.run(Region::pair);
        for (std::size_t k = 0; k < folds->size(); ++k) (*folds)[k].step(evaluator_, variant_.outputs[k], i, j);
        clock->tick(i);
      }
    }

   private:
    const Variant& variant_;
    Evaluator evaluator_;
  };

  const Plan& plan_;
  const Variant& variant_;
  const Sizes sizes_;
};

class Reference : public Backend {
 public:
  const char* name() const override { return "reference"; }
  bool by_name_only() const override { return true; }

  Verdict can(const Plan& plan, const Variant& variant, const Sizes& sizes) const override {
    if (sizes.folded > 0) return Verdict::no("it folds no more than two axes");
    const auto moved = [](const Variable& v) { return v.centre != Variable::kAsItIs; };
    const bool as_it_is = std::none_of(plan.variables.begin(), plan.variables.end(), moved);
    if (variant.form != Variant::Algebra::direct || !as_it_is) return Verdict::no("it runs formulas as they stand");
    return {};
  }

  double seconds(const Plan&, const Variant& variant, const Sizes& sizes, Home) const override {
    return static_cast<double>(sizes.runs()) * sizes.pairs() * steps_per_pair(variant) * kSecondsPerStep;
  }

  double working_bytes(const Plan&, const Variant& variant, const Sizes& sizes) const override {
    double bytes = 0;
    for (std::int64_t numbers : variant.program.memory) bytes += 8.0 * static_cast<double>(numbers);
    for (const Output& o : variant.outputs)
      bytes += (o.keep == Keep::j ? static_cast<double>(sizes.j) : 1.0) * o.width *
               static_cast<double>(row(o.red).state.bytes(o.places));
    return bytes;
  }

  std::unique_ptr<Executable> prepare(const Plan& plan, const Decision& decision) const override {
    return std::make_unique<TwoLoops>(plan, decision);
  }
};

}  // namespace

const Backend& reference_backend() {
  static const Reference reference;
  return reference;
}

}  // namespace kernweave
