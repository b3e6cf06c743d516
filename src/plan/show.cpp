// A line for every part of a plan that anything downstream reads.
#include "plan/passes.hpp"

#include <cstdio>
#include <ostream>
#include <sstream>

namespace kernweave {
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
  out << (plan.stages->separable ? "separable" : "sums") << ", in two steps\n" << show(plan.stages->sums);
  for (const Plan& after : plan.stages->after) out << "then\n" << show(after);
  return out.str();
}

}  // namespace kernweave
