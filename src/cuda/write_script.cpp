// Writes steps as instructions; regions differ in the memory of their values. Finds the fused kernel of the pairs.
#include "cuda/script_layout.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "plan/output_groups.hpp"

namespace kernweave {
namespace cuda {
namespace {

using gpu::ReadFrom;
using gpu::Instruction;
using gpu::Kind;
using gpu::Operand;
using gpu::Use;

// Returns the bits of a number as a float, which must be exact.
int literal_bits(double number) {
  const float narrow = static_cast<float>(number);
  internal_check(static_cast<double>(narrow) == number, "a fold that begins with ", number);
  int bits = 0;
  std::memcpy(&bits, &narrow, sizeof bits);
  return bits;
}

// Writes the instructions of a region's steps, in order. Derived classes define the memory of values.
class ScriptWriter {
 public:
  ScriptWriter(const Pass& pass, Region region, std::vector<Instruction>* out, std::vector<int>* lists)
      : pass_(pass), program_(pass.program()), region_(region), out_(*out), lists_(*lists) {}
  virtual ~ScriptWriter() = default;

  void steps() {
    program_.for_each_step(region_, pass_.needed, [&](const Step& step) {
      if (step.group < 0) one_step(step);
      else group(program_.groups[static_cast<std::size_t>(step.group)]);
    });
  }
  void end() { out_.emplace_back(); }

 protected:
  virtual Operand operand(const Ref& ref) = 0;
  // Returns the operand of a value that must lie in memory.
  virtual Operand in_memory(const Ref& ref) { return operand(ref); }
  virtual int place(int slot) const = 0;
  virtual void made(int slot, int width) = 0;
  virtual void forget() {}        // the strip may hold another value from now on
  virtual void stays_stored() {}  // the last value is stored, even if only the next instruction reads it

  Instruction& say(Kind kind, int code, int width) {
    Instruction i;
    i.kind = kind;
    i.code = code;
    i.width = width;
    out_.push_back(i);
    return out_.back();
  }
  void goes_to(int slot, int width) {
    out_.back().out = place(slot);
    out_.back().use = Use::stored;
    made(slot, width);
  }
  void move(const Operand& from, int to, int width) {
    Instruction& i = say(Kind::element, static_cast<int>(Op::Var), width);
    i.in[0] = from;
    i.out = to;
    i.use = Use::stored;
  }
  int step_of(const Ref& ref) const {
    const bool single = ref.width == 1 || (is_slot(ref) && program_.slots[static_cast<std::size_t>(ref.index)].region ==
                                                               Region::component);
    return single ? 0 : 1;
  }
  Operand literal(double number) const { return {literal_bits(number), ReadFrom::literal, 0}; }

  const Pass& pass_;
  const Program& program_;

 private:
  void one_step(const Step& step) {
    const OpRow& r = row(step.op);
    if (step.op == Op::Gather) return gather(step);
    if (r.form == Form::fold) return whole_fold(step);
    if (r.form == Form::loop) return loop(step);
    element(step);
  }

  void element(const Step& step) {
    Operand in[3];
    for (std::size_t k = 0; k < step.in.size(); ++k) in[k] = operand(step.in[k]);
    Instruction& i = say(Kind::element, static_cast<int>(step.op), step.region == Region::component ? 1 : step.width);
    std::copy(in, in + 3, i.in);
    goes_to(step.out, i.width);
  }

  void fold_from(const Step& step, const Operand& begin, int width) {
    Operand in[2];
    for (std::size_t k = 0; k < step.in.size(); ++k) in[k] = operand(step.in[k]);
    Instruction& i = say(Kind::fold, static_cast<int>(step.op), width);
    i.in[0] = begin;
    // The interpreter is faster if the first argument is a row.
    const bool turned = in[0].from == ReadFrom::tile && in[1].from == ReadFrom::row && row(step.op).commutes;
    i.in[1] = in[turned];
    i.in[2] = in[!turned];
    goes_to(step.out, 1);
  }
  void whole_fold(const Step& step) { fold_from(step, literal(row(step.op).start().v), fold_width(step)); }

  // Writes the component steps, then the fold of one term; the total so far lies in the place of the result.
  void group(const Group& group) {
    const Step& fold = program_.steps[static_cast<std::size_t>(group.last)];
    move(literal(row(fold.op).start().v), place(fold.out), 1);
    forget();
    say(Kind::begin, 0, group.width);
    for (int s = group.first; s < group.last; ++s) element(program_.steps[static_cast<std::size_t>(s)]);
    fold_from(fold, total(fold.out), 1);
    say(Kind::next, 0, group.width);
    stays_stored();
  }
  virtual Operand total(int slot) const = 0;

  void loop(const Step& step) {
    Operand in[2];
    const int list = static_cast<int>(lists_.size());
    for (std::size_t k = 0; k < 2; ++k) {
      lists_.push_back(k < step.in.size() ? step.in[k].width : 0);
      if (k < step.in.size()) in[k] = in_memory(step.in[k]);
    }
    lists_.insert(lists_.end(), step.attributes.begin(), step.attributes.end());
    Instruction& i = say(Kind::loop, static_cast<int>(step.op), step.width);
    std::copy(in, in + 2, i.in);
    i.list = list;
    i.out = place(step.out);
    forget();
  }

  void gather(const Step& step) {
    const int list = static_cast<int>(lists_.size());
    list_rows(step.in[1]);
    Instruction& i = say(Kind::gather, 0, step.width);
    i.in[0] = {step.in[0].index, ReadFrom::datum, 1};
    i.list = list;
    goes_to(step.out, step.width);
  }

  // Row numbers may themselves be read by row numbers. They are read in float64, even if pairs are in float32.
  void list_rows(Ref ref) {
    std::vector<int> lookups;
    while (const Step* made = program_.maker(ref)) {
      lookups.insert(lookups.begin(), made->in[0].index);
      ref = made->in[1];
    }
    const Variable& v = pass_.plan->variables[static_cast<std::size_t>(ref.index)];
    const bool along_lanes = (v.axis == Axis::i) == pass_.group.along_i;
    const ReadFrom from = v.source == Source::counter ? ReadFrom::counter
                      : pairwise(v)               ? matrix(v)
                      : v.axis == Axis::param     ? ReadFrom::parameter
                                                  : ReadFrom::datum;
    lists_.insert(lists_.end(),
                  {static_cast<int>(from), along_lanes ? 1 : 0, ref.index, static_cast<int>(lookups.size())});
    lists_.insert(lists_.end(), lookups.begin(), lookups.end());
  }

 protected:
  static bool pairwise(const Variable& v) { return v.axis == Axis::pair || v.axis == Axis::pair_swapped; }
  ReadFrom matrix(const Variable& v) const {
    return (v.axis == Axis::pair) == pass_.group.along_i ? ReadFrom::matrix : ReadFrom::matrix_turned;
  }

 private:
  const Region region_;
  std::vector<Instruction>& out_;
  std::vector<int>& lists_;
};

// Instructions for parameters, or for the points of an axis: all values lie in memory, at the places of the panel.
class PointWriter : public ScriptWriter {
 public:
  PointWriter(const Pass& pass, Region region, const Panel& panel, std::vector<Instruction>* out,
              std::vector<int>* lists)
      : ScriptWriter(pass, region, out, lists), panel_(panel) {}

  void write() {
    for (const Panel::PanelEntry& e : panel_.entries)
      if (!is_slot(e.ref)) move(source(e.ref), e.at, e.ref.width);
    steps();
    end();
  }

 private:
  Operand operand(const Ref& ref) override {
    if (const Panel::PanelEntry* e = pass_.once.find(ref)) return {e->at, ReadFrom::once, step_of(ref)};
    if (is_slot(ref)) return {place(ref.index), ReadFrom::point, step_of(ref)};
    return source(ref);
  }
  // An operation with its own loop reads the user's data from the panel.
  Operand in_memory(const Ref& ref) override {
    const Panel::PanelEntry* e = panel_.find(ref);
    return e && !is_slot(ref) && &panel_ != &pass_.once ? Operand{e->at, ReadFrom::point, step_of(ref)} : operand(ref);
  }
  Operand total(int slot) const override {
    return {place(slot), &panel_ == &pass_.once ? ReadFrom::once : ReadFrom::point, 0};
  }
  int place(int slot) const override { return panel_.find({Ref::From::slot, slot, 1})->at; }
  void made(int, int) override {}

  Operand source(const Ref& ref) const {
    if (ref.from == Ref::From::number) return {ref.index, ReadFrom::number, 0};
    const Variable& v = pass_.plan->variables[static_cast<std::size_t>(ref.index)];
    const ReadFrom from = v.source == Source::counter ? ReadFrom::counter
                      : v.axis == Axis::param     ? ReadFrom::parameter
                                                  : ReadFrom::datum;
    return {ref.index, from, step_of(ref)};
  }

  const Panel& panel_;
};

// Instructions for pairs. A value stays in the strip if only the next step reads it.
class PairWriter : public ScriptWriter {
 public:
  PairWriter(const Pass& pass, std::vector<Instruction>* out, std::vector<int>* lists)
      : ScriptWriter(pass, Region::pair, out, lists),
        out_(*out),
        reads_(count_reads(*pass.variant, pass.needed, pass.group.outputs)),
        spare_(numbers_of(Region::pair) + numbers_of(Region::component)) {}

  int write() {
    steps();
    for (std::size_t k = 0; k < pass_.group.outputs.size(); ++k) term(k);
    end();
    return spare_;
  }

 private:
  Operand operand(const Ref& ref) override {
    if (is_slot(ref) && ref.index == in_strip_) {
      if (--reads_[static_cast<std::size_t>(in_strip_)] == 0 && maker_ != kNobody) out_[maker_].use = Use::none;
      return {0, ReadFrom::strip, 0};
    }
    return placed(ref);
  }

  Operand placed(const Ref& ref) const {
    if (const Panel::PanelEntry* e = pass_.once.find(ref)) return {e->at, ReadFrom::once, step_of(ref)};
    if (const Panel::PanelEntry* e = pass_.lanes.find(ref)) return {e->at, ReadFrom::row, step_of(ref)};
    if (const Panel::PanelEntry* e = pass_.sweep.find(ref)) return {e->at, ReadFrom::tile, step_of(ref)};
    if (is_slot(ref)) return {place(ref.index), ReadFrom::own, step_of(ref)};
    return {ref.index, matrix(pass_.plan->variables[static_cast<std::size_t>(ref.index)]), 0};
  }
  // Copies data of pairs to the thread's own memory.
  Operand in_memory(const Ref& ref) override {
    const Operand found = placed(ref);
    if (found.from != ReadFrom::matrix && found.from != ReadFrom::matrix_turned) return found;
    forget();
    move(found, spare_, 1);
    return {spare_++, ReadFrom::own, 0};
  }
  Operand total(int slot) const override { return {place(slot), ReadFrom::own, 0}; }
  int numbers_of(Region region) const { return static_cast<int>(program_.memory[static_cast<std::size_t>(region)]); }
  int place(int slot) const override {
    const Slot& s = program_.slots[static_cast<std::size_t>(slot)];
    return (s.region == Region::component ? numbers_of(Region::pair) : 0) + static_cast<int>(s.offset);
  }
  void made(int slot, int width) override {
    in_strip_ = width == 1 ? slot : -1;
    maker_ = out_.size() - 1;
  }
  void forget() override { in_strip_ = -1; }
  void stays_stored() override { maker_ = kNobody; }

  void term(std::size_t number) {
    const Output& o = pass_.variant->outputs[static_cast<std::size_t>(pass_.group.outputs[number])];
    const Operand value = operand(o.value), weight = operand(o.weight);
    Instruction& i = say(Kind::term, static_cast<int>(o.red), o.width);
    i.in[0] = value;
    i.in[1] = weight;
    i.use = o.keep == Keep::both ? Use::kept : o.keep == Keep::none ? Use::counted_over_pairs : Use::folded;
    i.output = static_cast<int>(number);
  }

  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

  std::vector<Instruction>& out_;
  std::vector<int> reads_;       // the remaining reads of each slot
  int in_strip_ = -1;            // the slot that the strip holds
  std::size_t maker_ = kNobody;  // the instruction that stores the value of this slot
  int spare_;                    // the next free place
};

}  // namespace

void instruct_points(const Pass& pass, Region region, const Panel& panel, std::vector<Instruction>* out,
                     std::vector<int>* lists) {
  PointWriter(pass, region, panel, out, lists).write();
}

int instruct_pairs(const Pass& pass, std::vector<Instruction>* out, std::vector<int>* lists) {
  return PairWriter(pass, out, lists).write();
}

// --- fused kernels --------------------------------------------------------------------------------------------------
// A kernel fits a chain of its kind of pairs if the numbers lie where the kernel reads them.

namespace {

// Limits on weights: each weight takes its own sweep over the pairs, and each block stages all weights
// (bench/notes/18-gpu-3.md). A sweep over wide points is slow.
constexpr int kFewComponents = 10, kMostWeights = 16, kMostOfWide = 2;

template <class At>
At fold_of(At first, At end) {
  return std::find_if(first, end, [](const Instruction& i) { return i.kind == gpu::Kind::fold; });
}

bool can_read(const PairChain& chain, const std::vector<Instruction>& pairs) {
  const Instruction &fold = *fold_of(pairs.begin(), pairs.end()), &term = pairs[1 + chain.calls.size()];
  const ReadFrom weight = term.in[1].from;
  const bool runs = chain.width == 1 || (fold.in[1].step == 1 && fold.in[2].step == 1);
  const bool in_place = runs && fold.in[1].from == ReadFrom::row && fold.in[2].from == ReadFrom::tile;
  return in_place && term.width <= (chain.width <= kFewComponents ? kMostWeights : kMostOfWide) &&
         (weight == ReadFrom::tile || weight == ReadFrom::once || weight == ReadFrom::literal);
}

}  // namespace

const char* fused_kernel(const Pass& pass, const std::vector<Instruction>& pairs) {
  PairChain chain;
  if (pass.group.outputs.size() != 1 || !is_chain(*pass.plan, *pass.variant, pass.group, pass.needed, &chain) ||
      !can_read(chain, pairs))
    return nullptr;
#define FUSED(name, fold, reduction, ...) \
  if (is_of_kind(chain, Op::fold, Red::reduction, __VA_ARGS__::kRows, __VA_ARGS__::kLength)) return #name;
#define FUSED_GPU FUSED
#include "kernweave/fused.def"
  return nullptr;
}

void fold_first(std::vector<Instruction>* pairs) {
  const auto fold = fold_of(pairs->begin(), pairs->end());
  std::rotate(pairs->begin(), fold, fold + 1);
}

}  // namespace cuda
}  // namespace kernweave
