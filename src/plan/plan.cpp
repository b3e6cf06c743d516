// Names of the plan's parts, and its key.
#include "plan/plan.hpp"

#include <algorithm>
#include <sstream>

namespace kernweave {
namespace {

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

const char* keep_name(Keep keep) {
  switch (keep) {
    case Keep::i: return "i";
    case Keep::j: return "j";
    case Keep::none: return "none";
    case Keep::both: return "i, j";
  }
  return "";
}

const char* form_name(Variant::Form form) {
  switch (form) {
    case Variant::Form::contracted: return "contracted";
    case Variant::Form::expanded: return "expanded";
    case Variant::Form::scaled: return "scaled";
    case Variant::Form::direct: return "direct";
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

}  // namespace kernweave
