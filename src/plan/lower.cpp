// Runs the planner's passes in order; makes the key of a job.
#include "plan/lower.hpp"

#include <algorithm>
#include <type_traits>
#include <unordered_map>

#include "base/error.hpp"
#include "expr/build.hpp"
#include "expr/parse.hpp"
#include "expr/rewrite.hpp"
#include "plan/passes.hpp"

namespace kernweave {
namespace {

std::string show_all(const std::vector<Expr>& formulas) {
  std::string out;
  for (Expr f : formulas) out += (out.empty() ? "" : "\n") + show(f);
  return out;
}

// Shows formulas with numbers evaluated: variants are full of roots and signs of coefficients.
std::string show_with_numbers_folded(const std::vector<Expr>& formulas) {
  return show_all(with_numbers_folded(formulas));
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "no rule fired" : out;
}

// Runs a pass and notes its time and outcome in the trace, if there is one.
template <class Pass, class Describe>
auto traced(Trace* trace, const char* name, Pass pass, Describe describe) {
  return trace ? (*trace)(name, pass, describe) : pass();
}

int output_width(const OutputFormula& o) {
  const int v = width(o.value);
  if (!o.weight) return v;
  const int w = width(o.weight);
  user_check(v == w || v == 1 || w == 1, Fault::shape, row(o.red).fn, "(): the formula `", show_short(o.value),
             "` has ", v, " components and the weight `", show_short(o.weight), "` has ", w);
  return std::max(v, w);
}

Kind output_kind(const OutputFormula& o) {
  const Kind kind = o.value->type.kind;
  switch (row(o.red).kind) {
    case KindRule::real: return std::max(kind, Kind::real);
    case KindRule::arith: return std::max(kind, Kind::integer);
    case KindRule::same: return kind;
    case KindRule::logical: break;
  }
  return Kind::logical;
}

void check_inputs(const OutputFormula& o) {
  const RedRow& r = row(o.red);
  user_check(!o.weight || r.inputs == Inputs::value_weight, Fault::unsupported, r.fn, "() takes no weight");
  user_check(o.places >= 1, Fault::shape, r.fn, "(): K must be at least 1");
  user_check(o.places == 1 || r.inputs == Inputs::value_k, Fault::unsupported, r.fn, "() takes no K");
  const Kind kind = o.value->type.kind;
  if (r.kind == KindRule::logical && kind != Kind::logical)
    fail(Fault::kind, r.fn, "(): `", show_short(o.value), "` is ", kind_name(kind),
         ", not logical; write the comparison out, e.g. `", show_short(o.value), " > 0`");
  output_width(o);
}

std::vector<Output> place_outputs(const std::vector<OutputFormula>& outputs, LinearProgram* line) {
  std::vector<Output> out;
  std::size_t next = 0;
  const auto one = [&]() -> Ref {
    line->program.numbers.push_back(1.0);
    return {Ref::From::number, static_cast<int>(line->program.numbers.size()) - 1, 1};
  };
  for (const OutputFormula& o : outputs) {
    const Ref weight = o.weight ? line->roots[next++] : one();
    out.push_back({o.red, line->roots[next++], weight, output_width(o), o.places, o.keep, output_kind(o), o.finish});
  }
  return out;
}

std::vector<Expr> rewritten(const std::vector<Expr>& formulas, Trace* trace) {
  std::vector<std::string> fired;
  const auto outcome = [&](const std::vector<Expr>& fs) { return show_all(fs) + "\n[" + joined(fired) + "]"; };
  return traced(
      trace, "rewrite", [&] { return simplify(formulas, &fired); }, outcome);
}

// Makes a sum of products a sum of values with weights, which an engine adds up in one step. The factor with fewer
// components is the value, so that many right-hand sides become weights of the same value.
OutputFormula weighed(OutputFormula o) {
  if (o.red != Red::Sum || o.weight || o.value->op != Op::Mult) return o;
  const Expr a = o.value.arg(0), b = o.value.arg(1);
  const auto runs_for_pairs = [](Expr f) { return f->type.axes.pairs() == Axes::ij() && f->op != Op::Var; };
  const bool b_first = width(b) < width(a) || (width(a) == width(b) && runs_for_pairs(b) && !runs_for_pairs(a));
  o.value = b_first ? b : a;
  o.weight = b_first ? a : b;
  return o;
}

// Splits products into values and weights, but keeps a product that is the value of another output.
void weigh(std::vector<OutputFormula>* outputs) {
  const std::vector<OutputFormula> whole = *outputs;
  for (OutputFormula& o : *outputs) o = weighed(o);
  for (std::size_t k = 0; k < whole.size(); ++k) {
    const auto has_it = [&](const OutputFormula& o) {
      return o.keep == whole[k].keep && o.value.get() == whole[k].value.get();
    };
    if (width(whole[k].value) == 1 && std::any_of(outputs->begin(), outputs->end(), has_it)) (*outputs)[k] = whole[k];
  }
}

// Gives each distance in an exponent a coefficient, -d = -1 d and a - d = a - 1 d, so that one fused kernel serves all
// coefficients.
void note_coefficients(std::vector<OutputFormula>* outputs) {
  for (OutputFormula& o : *outputs) {
    if (!row(o.red).exponents) continue;
    const auto number = [&](double value) { return o.value->pool->number(value); };
    if (o.value->op == Op::Minus && row(o.value.arg(0)->op).form == Form::fold) o.value = number(-1) * o.value.arg(0);
    else if (o.value->op == Op::Subtract && o.value.arg(1)->op == Op::SqDist)
      o.value = o.value.arg(0) - number(1) * o.value.arg(1);
  }
}

// A variant, still as formulas.
struct Draft {
  Variant::Algebra form;
  std::vector<OutputFormula> outputs;
  std::vector<ConditionGuard> guards;

  // Lists all formulas to be computed: the outputs, then the factors of conditions.
  std::vector<Expr> formulas() const {
    std::vector<Expr> out = formulas_of(outputs);
    for (const ConditionGuard& guard : guards) out.push_back(guard.factor);
    return out;
  }
};

// Returns forms that are less work if the facts allow them, the best form first.
std::vector<Draft> guarded(const std::vector<OutputFormula>& outputs, const Precision& precision, Trace* trace) {
  std::vector<Draft> forms;
  const auto add = [&](Variant::Algebra name, const char* pass, auto make) {
    Draft form{name, outputs, {}};
    if (!make(precision, &form.outputs, &form.guards)) return;
    traced(
        trace, pass, [&] { return formulas_of(form.outputs); }, show_with_numbers_folded);
    forms.push_back(form);
  };
  add(Variant::Algebra::contracted, "contract", contract);
  add(Variant::Algebra::expanded, "expand", expand);
  add(Variant::Algebra::scaled, "scale", scale_points);
  return forms;
}

// Subtracts centres from points: differences of points far from 0 lose digits in float32.
void centre(std::vector<Draft>* drafts) {
  for (Draft& form : *drafts) put_formulas(centre_differences(formulas_of(form.outputs)), &form.outputs);
}

int number_of(Expr leaf, const std::vector<Variable>& variables) {
  const Variable& v = variable(leaf);
  const auto same = [&](const Variable& w) {
    return w.operand == v.operand && w.axis == v.axis && w.centre == v.centre;
  };
  return static_cast<int>(std::find_if(variables.begin(), variables.end(), same) - variables.begin());
}

// Notes an epilogue if a sum's value is a product with a factor of the axis that is kept.
void note_epilogue(const Plan& plan, const Program& program, Output* o) {
  const Step* const made = program.maker(o->value);
  if (o->red != Red::Sum || (o->keep != Keep::i && o->keep != Keep::j) || !made) return;
  if (made->op != Op::Mult || made->region != Region::pair || made->group >= 0) return;
  const Region kept = o->keep == Keep::i ? Region::row : Region::column;
  for (int k : {0, 1}) {
    const Ref &factor = made->in[k], &rest = made->in[1 - k];
    if (o->epilogue || factor.width != 1 || rest.width != made->width) continue;
    if (region_read(factor, plan, program) == kept) o->epilogue = Epilogue{factor, rest};
  }
}

// Makes the steps, regions and slots of every form, on the same variables.
Plan place(const std::vector<Draft>& forms, const std::vector<Expr>& extents, const Precision& precision) {
  std::vector<std::vector<Expr>> formulas;
  for (const Draft& form : forms) formulas.push_back(form.formulas());
  LinearPrograms lines = linearise(formulas, extents);

  Plan plan;
  plan.precision = precision;
  plan.variables = std::move(lines.variables);
  plan.direct = std::move(lines.direct);
  plan.gathers = std::move(lines.gathers);
  for (std::size_t k = 0; k < forms.size(); ++k) {
    LinearProgram& line = lines.lines[k];
    std::vector<Output> outputs = place_outputs(forms[k].outputs, &line);
    Condition condition;
    const Ref* next = line.roots.data() + formulas_of(forms[k].outputs).size();
    for (const ConditionGuard& g : forms[k].guards)
      condition.push_back({{number_of(g.x, plan.variables), number_of(g.y, plan.variables)}, *next++, g.least, g.most});
    Program program =
        assign_slots(in_regions(start_folds(std::move(line.program), line.roots), line.roots), line.roots);
    for (Output& o : outputs) note_epilogue(plan, program, &o);
    plan.variants.push_back({forms[k].form, condition, std::move(program), outputs});
  }
  return plan;
}

// Makes a plan of simplified formulas.
Plan plan_of(std::vector<OutputFormula> wanted, const std::vector<Expr>& extents, const Job& job, Trace* trace) {
  std::vector<Draft> drafts;
  if (job.rewrite) {
    weigh(&wanted);
    note_coefficients(&wanted);
    drafts = guarded(wanted, job.precision, trace);
  }
  drafts.push_back({Variant::Algebra::direct, wanted, {}});
  if (job.rewrite && job.precision.load == Format::float32) centre(&drafts);
  if (job.checks)
    for (const Draft& draft : drafts) check_normalised(formulas_of(draft.outputs));

  Plan plan = place(drafts, extents, job.precision);
  plan.pairs = job.pairs;
  if (job.checks) check_plan(plan);
  return plan;
}

const char* name_of(SecondStep second) {
  return second == SecondStep::separable ? "separate" : second == SecondStep::pairs ? "soften" : "pull";
}

// Plans two stages; null: none. Values computed once for each point are in float64, in any format of the pairs.
std::shared_ptr<const Stages> stages_of(const std::vector<OutputFormula>& wanted, const Job& job, Trace* trace) {
  Pulled pulled;
  if (!in_steps(wanted, &pulled)) return nullptr;
  traced(
      trace, name_of(pulled.second),
      [&] {
        std::vector<Expr> both = formulas_of(pulled.sums);
        for (const OutputFormula& o : pulled.after) both.push_back(o.value);
        return both;
      },
      show_all);
  Job precise = job;
  precise.precision = Precision();
  const bool separable = pulled.second == SecondStep::separable, pairs = pulled.second == SecondStep::pairs;
  Stages stages{pulled.second, plan_of(pulled.sums, {}, separable ? precise : job, nullptr), {}};
  for (const OutputFormula& o : pulled.after) stages.after.push_back(plan_of({o}, {}, pairs ? job : precise, nullptr));
  return std::make_shared<const Stages>(std::move(stages));
}

// Normalises formulas and applies the rewrite rules.
std::vector<OutputFormula> simple(std::vector<OutputFormula> wanted, const Job& job, Trace* trace) {
  put_formulas(traced(
                   trace, "normalise", [&] { return normalised(formulas_of(wanted)); }, show_all),
               &wanted);
  if (job.rewrite) put_formulas(rewritten(formulas_of(wanted), trace), &wanted);
  return wanted;
}

}  // namespace

Plan lower(const Job& job, Trace* trace) {
  for (const OutputFormula& o : job.outputs) check_inputs(o);
  const std::vector<OutputFormula> wanted = simple(job.outputs, job, trace);
  Plan plan = plan_of(wanted, normalised(job.extents), job, trace);
  if (job.rewrite && plan.pairs == Pairs::all) plan.stages = stages_of(wanted, job, trace);
  if (job.allowed) {
    const std::vector<OutputFormula> allowed = simple(where_allowed(job.outputs, job.allowed), job, nullptr);
    plan.partial = std::make_shared<const Plan>(plan_of(allowed, normalised(job.extents), job, nullptr));
  }
  return plan;
}

// --- key of a job --------------------------------------------------------------------------------------------------
// Writes a job as bytes. Each part has a fixed length or its length before it, so that different jobs differ in bytes.

namespace {

class Key {
 public:
  template <class N>
  void add(N number) {
    static_assert(std::is_arithmetic<N>::value || std::is_enum<N>::value, "bytes of a number are the number");
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void add(const std::string& text) {
    add(text.size());
    bytes_ += text;
  }
  void add(const Variable& v) {
    add(v.name);
    add(v.axis);
    add(v.source);
    add(v.width);
    add(v.kind);
    add(v.operand);
    add(v.centre);
  }
  void add_node(Expr f) {
    places_.emplace(f.get(), static_cast<int>(places_.size()));
    add(f->op);
    if (f->op == Op::Var) return add(variable(f));
    if (f->op == Op::Number) add(f->number), add(f->type.kind);
    add(f->args.size());
    for (const Node* arg : f->args) add(places_.at(arg));
    add(f->attributes.size());
    for (int a : f->attributes) add(a);
  }
  // A null formula has the place -1.
  void add_place(Expr f) { add(f ? places_.at(f.get()) : -1); }
  void add(const OutputFormula& o) {
    add(o.red);
    add_place(o.value);
    add_place(o.weight);
    add(o.keep);
    add(o.places);
    add(o.finish.results);
    add(o.finish.sign);
    add(o.finish.per_i);
    add(o.finish.per_j);
    add(o.finish.less);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
  std::unordered_map<const Node*, int> places_;
};

}  // namespace

std::string job_key(const Job& job) {
  Key key;
  std::vector<Expr> roots = formulas_of(job.outputs);
  roots.insert(roots.end(), job.extents.begin(), job.extents.end());
  if (job.allowed) roots.push_back(job.allowed);
  const std::vector<Expr> nodes = reachable(roots);
  key.add(nodes.size());
  for (Expr f : nodes) key.add_node(f);
  key.add(job.outputs.size());
  for (const OutputFormula& o : job.outputs) key.add(o);
  for (Expr f : job.extents) key.add_place(f);
  for (const Format format : {job.precision.load, job.precision.compute, job.precision.accumulate}) key.add(format);
  key.add(job.pairs);
  key.add_place(job.allowed);
  key.add(job.rewrite);
  key.add(job.checks);
  return key.take();
}

}  // namespace kernweave
