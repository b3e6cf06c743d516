// R's way to results: prepare a plan, run it on data, explain it.
#include "border.hpp"
#include "execute/prepared.hpp"
#include "execute/run.hpp"
#include "expr/parse.hpp"
#include "plan/lower.hpp"
#include "r_host.hpp"
#include "r_job.hpp"
#include "r_plan.hpp"

#include <algorithm>
#include <functional>

namespace kernweave {
namespace {

std::string show_variable_of(const Plan& plan, const Variable& v) {
  const bool twice = std::any_of(plan.variables.begin(), plan.variables.end(), [&](const Variable& other) {
    return other.operand == v.operand && other.axis != v.axis;
  });
  return show_variable(v, twice);
}

std::string show_ref(const Ref& ref, const Plan& plan, const Program& program) {
  switch (ref.from) {
    case Ref::From::number: return sentence(program.numbers[ref.index]);
    case Ref::From::variable: return show_variable_of(plan, plan.variables[ref.index]);
    case Ref::From::slot: break;
  }
  return sentence("s", ref.index);
}

Rcpp::DataFrame steps_to_r(const Plan& plan, const Program& program) {
  Rcpp::CharacterVector when, what, slot;
  Rcpp::IntegerVector width;
  for (const Step& step : program.steps) {
    std::string call = std::string(row(step.op).fn) + "(";
    for (std::size_t k = 0; k < step.in.size(); ++k) call += (k ? ", " : "") + show_ref(step.in[k], plan, program);
    for (int a : step.attributes) call += sentence(", ", a);
    when.push_back(region_name(step.region));
    slot.push_back(sentence("s", step.out));
    what.push_back(call + ")");
    width.push_back(step.width);
  }
  return Rcpp::DataFrame::create(Rcpp::_["when"] = when, Rcpp::_["slot"] = slot, Rcpp::_["step"] = what,
                                 Rcpp::_["width"] = width, Rcpp::_["stringsAsFactors"] = false);
}

// 64 bits of the plan key, enough to tell plans apart at a glance.
std::string short_key(const Plan& plan) {
  char text[20];
  std::snprintf(text, sizeof text, "%016zx", std::hash<std::string>()(plan_key(plan)));
  return text;
}

Rcpp::DataFrame trace_to_r(const Trace& trace) {
  Rcpp::CharacterVector pass, outcome;
  Rcpp::NumericVector time;
  for (const Trace::TimedPass& e : trace.entries) {
    pass.push_back(e.pass);
    time.push_back(e.microseconds);
    outcome.push_back(e.outcome);
  }
  return Rcpp::DataFrame::create(Rcpp::_["pass"] = pass, Rcpp::_["microseconds"] = time, Rcpp::_["outcome"] = outcome,
                                 Rcpp::_["stringsAsFactors"] = false);
}

// Bytes as text that R can hold: two letters each.
std::string as_letters(const std::string& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    text += static_cast<char>('a' + (byte >> 4));
    text += static_cast<char>('a' + (byte & 15));
  }
  return text;
}

SEXP schedule_to_r(Execution* execution) {
  const Schedule s = execution->schedule();
  const Sizes& sizes = execution->sizes();
  return Rcpp::List::create(Rcpp::_["device"] = s.decision.backend, Rcpp::_["why"] = s.reason,
                            Rcpp::_["decision"] = show(s.decision), Rcpp::_["M"] = static_cast<double>(sizes.i),
                            Rcpp::_["N"] = static_cast<double>(sizes.j), Rcpp::_["seconds"] = s.seconds,
                            Rcpp::_["bytes"] = execution->working_bytes());
}

}  // namespace
}  // namespace kernweave

// [[Rcpp::export(rng = false)]]
Rcpp::List r_prepare(Rcpp::List outputs, Rcpp::List extents, Rcpp::List options) {
  return kernweave::at_border([&] {
    kernweave::Formulas formulas;
    const kernweave::Job job = kernweave::job_from_r(outputs, extents, options, &formulas);
    const Rcpp::Shield<SEXP> plan(kernweave::plan_to_r(kernweave::prepared(job)));
    return Rcpp::List::create(Rcpp::_["plan"] = plan, Rcpp::_["operands"] = formulas.operands());
  });
}

// Returns a text that all reductions with the same plan share, and the reduction's own operands in order.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_structure(Rcpp::List outputs, Rcpp::List extents, Rcpp::List options) {
  return kernweave::at_border([&] {
    kernweave::Formulas formulas;
    const std::string key = kernweave::job_key(kernweave::job_from_r(outputs, extents, options, &formulas));
    return Rcpp::List::create(Rcpp::_["key"] = kernweave::as_letters(key), Rcpp::_["operands"] = formulas.operands());
  });
}

// One array, or list of value and index, for each output. `settings`: a list with device, threads, gpu_mb.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_run(SEXP plan, Rcpp::List data, Rcpp::List operands, Rcpp::NumericVector extents, Rcpp::List settings,
                 SEXP pairs) {
  return kernweave::at_border([&] {
    const auto& prepared = kernweave::plan_behind(plan);
    const kernweave::Given given{data, operands};
    kernweave::RHost host(given, kernweave::names_of(prepared->plan, given));
    kernweave::Execution(prepared, kernweave::operands_of(given), kernweave::known_from_r(extents, pairs),
                         kernweave::settings_from_r(settings), &host)
        .run();
    return host.results();
  });
}

// Announces a call to come: a GPU compiles its kernels from now on.
// [[Rcpp::export(rng = false)]]
void r_expect(SEXP plan, Rcpp::List data, Rcpp::List operands, Rcpp::NumericVector extents, Rcpp::List settings) {
  kernweave::at_border([&] {
    const kernweave::Given given{data, operands};
    kernweave::RHost host(given, {});
    kernweave::Execution(kernweave::plan_behind(plan), kernweave::operands_of(given),
                         kernweave::known_from_r(extents, R_NilValue), kernweave::settings_from_r(settings), &host)
        .expect();
  });
}

// `data` is NULL for a formula with placeholders: then there is no schedule yet. With `cuda`, what a GPU is given for
// the variant that is scheduled.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_explain(Rcpp::List outputs, Rcpp::List extents, Rcpp::List options, SEXP data, Rcpp::NumericVector sizes,
                     Rcpp::List settings, bool cuda, SEXP pairs) {
  return kernweave::at_border([&] {
    kernweave::Formulas formulas;
    kernweave::Trace trace;
    const kernweave::Job job = kernweave::job_from_r(outputs, extents, options, &formulas);
    const auto prepared = std::make_shared<kernweave::Prepared>(kernweave::lower(job, &trace));
    const kernweave::Plan* ran = &prepared->plan;
    constexpr std::int64_t kMany = 100000;  // points, where they are not known
    kernweave::Decision decision;
    decision.variant = static_cast<int>(ran->variants.size()) - 1;
    decision.sizes = {kMany, kMany, {}};
    Rcpp::RObject chosen = R_NilValue, sources = R_NilValue;
    std::unique_ptr<kernweave::Execution> execution;
    const kernweave::Given given{Rf_isNull(data) ? Rcpp::List() : Rcpp::List(data), formulas.operands()};
    kernweave::RHost host(given, {});
    if (!Rf_isNull(data)) {
      execution = std::make_unique<kernweave::Execution>(prepared, kernweave::operands_of(given),
                                                         kernweave::known_from_r(sizes, pairs),
                                                         kernweave::settings_from_r(settings), &host);
      decision = execution->decision();
      ran = &execution->ran();
      chosen = kernweave::schedule_to_r(execution.get());
    }
    if (cuda) sources = Rcpp::wrap(kernweave::backend_named("gpu").sources(*ran, decision));
    const kernweave::Program& program = ran->variants[static_cast<std::size_t>(decision.variant)].program;
    return Rcpp::List::create(
        Rcpp::_["passes"] = kernweave::trace_to_r(trace), Rcpp::_["steps"] = kernweave::steps_to_r(*ran, program),
        Rcpp::_["key"] = kernweave::short_key(prepared->plan), Rcpp::_["schedule"] = chosen, Rcpp::_["cuda"] = sources);
  });
}
