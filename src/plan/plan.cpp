// Writes the names of a plan's parts, its key and its text; checks a plan.
#include "plan/plan.hpp"

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <sstream>

#include "base/error.hpp"
#include "plan/passes.hpp"

namespace kernweave {
namespace {

const char* keep_name(Keep keep) {
  switch (keep) {
    case Keep::i: return "i";
    case Keep::j: return "j";
    case Keep::none: return "none";
    case Keep::both: return "i, j";
  }
  return "";
}

void write(std::ostream& out, const Ref& ref) {
  const char letters[] = {'s', 'v', 'n'};
  out << letters[static_cast<int>(ref.from)] << ref.index << ':' << ref.width << ' ';
}

void write(std::ostream& out, const Variant& variant) {
  out << form_name(variant.form) << '\n';
  out << variant.program.numbers.size() << " numbers";
  for (const Requirement& r : variant.condition)
    out << ' ' << r.variables[0] << ' ' << r.variables[1] << ' ' << r.least << ' ' << r.most;
  for (const Step& step : variant.program.steps) {
    out << '\n' << row(step.op).name << ' ';
    for (int a : step.attributes) out << a << ' ';
    for (const Ref& ref : step.in) write(out, ref);
    out << "-> " << step.out << ':' << step.width << ' ' << region_name(step.region);
  }
  for (const Output& o : variant.outputs) {
    out << '\n' << row(o.red).name << ' ' << keep_name(o.keep) << ' ' << o.places << ' ';
    write(out, o.value);
    write(out, o.weight);
  }
}

}  // namespace

void Program::note_uses() {
  for (Slot& slot : slots) {
    slot.maker = -1;
    slot.readers.clear();
  }
  for (std::size_t s = 0; s < steps.size(); ++s) {
    slots[steps[s].out].maker = static_cast<int>(s);
    for (const Ref& ref : steps[s].in)
      if (is_slot(ref)) slots[ref.index].readers.push_back(static_cast<int>(s));
  }
}

int fold_width(const Step& fold) {
  int widest = 1;
  for (const Ref& ref : fold.in) widest = std::max(widest, ref.width);
  return widest;
}

Region home(const Program& program, const Step& step) {
  return step.group < 0 ? step.region : program.steps[program.groups[step.group].last].region;
}

const char* region_name(Region region) {
  switch (region) {
    case Region::param: return "once";
    case Region::row: return "each i";
    case Region::column: return "each j";
    case Region::pair: return "each pair";
    case Region::component: return "each component";
  }
  return "";
}

const char* form_name(Variant::Algebra form) {
  switch (form) {
    case Variant::Algebra::contracted: return "contracted";
    case Variant::Algebra::expanded: return "expanded";
    case Variant::Algebra::scaled: return "scaled";
    case Variant::Algebra::direct: return "direct";
  }
  return "";
}

std::string plan_key(const Plan& plan) {
  std::ostringstream out;
  for (const Format format : {plan.precision.load, plan.precision.compute, plan.precision.accumulate})
    out << static_cast<int>(format);
  out << ' ' << static_cast<int>(plan.pairs);
  for (const Variable& v : plan.variables)
    out << ' ' << static_cast<int>(v.axis) << static_cast<int>(v.source) << ':' << v.width << kind_name(v.kind)
        << (v.centre >= 0 ? "c" : "");
  for (const Variant& variant : plan.variants) write(out << '\n', variant);
  if (plan.partial) out << '\n' << plan_key(*plan.partial);
  return out.str();
}

// --- show ----------------------------------------------------------------------------------------------------------
// Writes a line for every part of a plan that later stages read.

namespace {

// Writes a number with all its digits.
std::string digits(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

std::string ref(const Ref& r) {
  const char letters[] = {'s', 'v', 'n'};
  return letters[static_cast<int>(r.from)] + std::to_string(r.index) + ':' + std::to_string(r.width);
}

void show_variables(const Plan& plan, std::ostream* out) {
  for (std::size_t k = 0; k < plan.variables.size(); ++k) {
    const Variable& v = plan.variables[k];
    *out << 'v' << k << " axis " << static_cast<int>(v.axis) << " source " << static_cast<int>(v.source) << " width "
         << v.width << ' ' << kind_name(v.kind)
         << (v.centre == Variable::kAsItIs ? "" : " centred") << (plan.direct[k] ? "" : " gathered") << '\n';
  }
  for (const GatherBound& g : plan.gathers) *out << "rows of v" << g.variable << " by v" << g.rows << '\n';
}

void show_step(const Program& program, const Step& step, std::ostream* out) {
  const Slot& slot = program.slots[static_cast<std::size_t>(step.out)];
  *out << region_name(step.region) << " s" << step.out << ':' << step.width << '@' << slot.offset << " = "
       << row(step.op).name;
  for (const Ref& r : step.in) *out << ' ' << ref(r);
  for (int a : step.attributes) *out << " #" << a;
  if (step.group >= 0) *out << " in group " << step.group;
  if (step.start) *out << " starts with " << ref(*step.start);
  *out << '\n';
}

void show_output(const Output& o, std::ostream* out) {
  *out << row(o.red).name << " of " << ref(o.value) << " weight " << ref(o.weight) << " width " << o.width << " places "
       << o.places << " keeps " << keep_name(o.keep) << ' ' << kind_name(o.kind) << " results "
       << static_cast<int>(o.finish.results) << " sign " << digits(o.finish.sign) << " per " << o.finish.per_i
       << o.finish.per_j << " less " << o.finish.less;
  if (o.epilogue) *out << " as " << ref(o.epilogue->factor) << " times " << ref(o.epilogue->rest);
  *out << '\n';
}

void show_variant(const Variant& variant, std::ostream* out) {
  const Program& program = variant.program;
  *out << form_name(variant.form) << '\n';
  for (const Requirement& r : variant.condition)
    *out << "if v" << r.variables[0] << " and v" << r.variables[1] << " times " << ref(r.factor) << " are from "
         << digits(r.least) << " to " << digits(r.most) << '\n';
  for (std::size_t k = 0; k < program.numbers.size(); ++k)
    *out << 'n' << k << " = " << digits(program.numbers[k]) << '\n';
  for (const Step& step : program.steps) show_step(program, step, out);
  for (const Group& g : program.groups) *out << "group " << g.first << " to " << g.last << " width " << g.width << '\n';
  *out << "memory";
  for (std::int64_t numbers : program.memory) *out << ' ' << numbers;
  *out << '\n';
  for (const Output& o : variant.outputs) show_output(o, out);
}

}  // namespace

std::string show(const Plan& plan) {
  std::ostringstream out;
  show_variables(plan, &out);
  for (const Variant& variant : plan.variants) show_variant(variant, &out);
  if (!plan.stages) return out.str();
  out << (plan.stages->separable() ? "separable" : "sums") << ", in two steps\n" << show(plan.stages->sums);
  for (const Plan& after : plan.stages->after) out << "then\n" << show(after);
  return out.str();
}

// --- check ---------------------------------------------------------------------------------------------------------
// Checks a plan against its specification.

namespace {

// Tells whether a step of `reader` may read a value of `writer`: inner loops read values of outer loops.
bool sees(Region reader, Region writer) {
  if (writer == Region::param || reader == writer) return true;
  return reader == Region::pair && (writer == Region::row || writer == Region::column);
}

void check_refs(const Plan& plan, const Program& program) {
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    const Step* const noted = program.maker({Ref::From::slot, step.out, step.width});
    internal_check(noted == &step, "step ", s, " is not noted as the maker of its slot");
    for (const Ref& ref : step.in) {
      if (ref.from == Ref::From::variable)
        internal_check(ref.index < static_cast<int>(plan.variables.size()), "step ", s, " reads no variable");
      if (ref.from != Ref::From::slot) continue;
      const int maker = program.slots[ref.index].maker;
      internal_check(maker >= 0 && maker < static_cast<int>(s), "step ", s, " (", row(step.op).fn,
                     ") reads an empty slot");
      const Step& source = program.steps[maker];
      internal_check(sees(home(program, step), home(program, source)), "step ", s, " reads out of its region");
      const bool component = program.slots[ref.index].region == Region::component;
      internal_check(!component || source.group == step.group, "step ", s, " reads another group's component");
    }
  }
}

// Checks that the start of a fold is computed before its loop, and that the addition alone reads the fold's result.
void check_starts(const Program& program) {
  for (const Step& fold : program.steps) {
    if (!fold.start) continue;
    const int from = fold.group < 0 ? program.number(fold) : program.groups[fold.group].first;
    const Step* const made = program.maker(*fold.start);
    internal_check(!made || program.number(*made) < from, row(fold.op).fn, " starts with what is not there");
    const std::vector<int>& readers = program.readers(fold.out);
    internal_check(readers.size() == 1 && program.steps[readers[0]].op == Op::Add, row(fold.op).fn,
                   " starts with what its reader does not add");
  }
}

// Checks that outputs read slots that were written, and whole values.
void check_outputs(const Variant& variant) {
  for (const Output& o : variant.outputs)
    for (const Ref& ref : {o.value, o.weight}) {
      if (ref.from != Ref::From::slot) continue;
      internal_check(variant.program.slots[ref.index].maker >= 0, "an output reads an empty slot");
      internal_check(variant.program.slots[ref.index].region != Region::component, "an output reads one component");
    }
}

// Checks that no two values that are alive together overlap: each read must find the last write to its place.
void check_places(const Variant& variant) {
  const Program& program = variant.program;
  std::array<std::vector<int>, kRegions> owner;
  for (int r = 0; r < kRegions; ++r) owner[r].assign(static_cast<std::size_t>(program.memory[r]), -1);
  const auto owned = [&](int slot) {
    const Slot& place = program.slots[slot];
    const std::vector<int>& cells = owner[static_cast<int>(place.region)];
    return std::all_of(cells.begin() + place.offset, cells.begin() + place.offset + place.width,
                       [&](int cell) { return cell == slot; });
  };
  for (const Step& step : program.steps) {
    for (const Ref& ref : step.in)
      internal_check(ref.from != Ref::From::slot || owned(ref.index), "a value was overwritten before ",
                     row(step.op).fn);
    const Slot& place = program.slots[step.out];
    std::vector<int>& cells = owner[static_cast<int>(place.region)];
    std::fill(cells.begin() + place.offset, cells.begin() + place.offset + place.width, step.out);
  }
  for (const Output& o : variant.outputs)
    for (const Ref& ref : {o.value, o.weight})
      internal_check(ref.from != Ref::From::slot || owned(ref.index), "an output was overwritten");
}

}  // namespace

void check_plan(const Plan& plan) {
  internal_check(!plan.variants.empty() && plan.variants.back().form == Variant::Algebra::direct,
                 "a plan without its direct variant");
  internal_check(plan.variants.back().condition.empty(), "a direct variant under a condition");
  for (const Variant& variant : plan.variants) {
    check_refs(plan, variant.program);
    check_starts(variant.program);
    check_outputs(variant);
    check_places(variant);
  }
}

}  // namespace kernweave
