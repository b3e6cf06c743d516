// A call of the engine: jobs and plans from R's lists, all of its results or some rows of them, and what explains it.
#include "r_call.hpp"

#include <algorithm>
#include <functional>

#include "base/threads.hpp"
#include "expr/parse.hpp"
#include "plan/passes.hpp"

namespace kernweave {
namespace {

using SharedPlan = std::shared_ptr<KeptPlan>;
constexpr const char* kPlanTag = "kernweave_plan";

// float32 results are added up in float64 (between tiles); tf32 is a mode of the products alone.
Precision precision_named(const std::string& name) {
  const Format format = named<Format>(
      "precision", name, {{"float64", Format::float64}, {"float32", Format::float32}, {"tf32", Format::tf32}});
  const Format load = format == Format::tf32 ? Format::float32 : format;
  return {load, format, Format::float64};
}

// All results as they are, where nothing else is said.
Finish finish_from_r(const List& output, Results all) {
  Finish finish;
  finish.results = all;
  if (!output.containsElementNamed("finish") || Rf_isNull(output["finish"])) return finish;
  const List from = output["finish"];
  const std::string per = from["per"];
  const auto results =
      named<Results>("results", from["results"],
                     {{"value", Results::value}, {"index", Results::index}, {"value_index", Results::value_index}});
  return {results, as<double>(from["sign"]), per.find('i') != std::string::npos, per.find('j') != std::string::npos,
          as<int>(from["less"])};
}

}  // namespace

Job job_from_r(const List& outputs, const List& extents, const List& options, Formulas* formulas) {
  Job job;
  for (R_xlen_t k = 0; k < outputs.size(); ++k) {
    const List o = outputs[k];
    Red red;
    internal_check(find_red(o["op"], &red), "no such reduction");
    const Keep keep = named<Keep>("axis to keep", o["keep"],
                                  {{"i", Keep::i}, {"j", Keep::j}, {"none", Keep::none}, {"both", Keep::both}});
    job.outputs.push_back({red, formulas->read(o["value"]), formulas->read_optional(o["weight"]), keep, as<int>(o["K"]),
                           finish_from_r(o, row(red).results)});
  }
  job.extents = formulas->read_all(extents);
  job.precision = precision_named(options["precision"]);
  job.pairs = as<bool>(options["pairs"]) ? Pairs::restricted : Pairs::all;
  if (options.containsElementNamed("allowed")) job.allowed = formulas->read_optional(options["allowed"]);
  job.rewrite = options["rewrite"];
  job.checks = options["checks"];
  return job;
}

SEXP plan_to_r(SharedPlan plan) {
  return XPtr<SharedPlan>(new SharedPlan(std::move(plan)), true, Rf_install(kPlanTag));
}

const SharedPlan& plan_behind(SEXP pointer) { return object_behind<SharedPlan>(pointer, kPlanTag, "plan"); }

// --- results --------------------------------------------------------------------------------------------------------

namespace {

// A call on its data, as decided elsewhere, or not yet.
struct RCall {
  RCall(SEXP plan, const List& data, const List& operands, const NumericVector& extents, const List& settings,
        SEXP pairs, SEXP decision = R_NilValue)
      : kept(plan_behind(plan)),
        given{data, operands},
        host(given, names_of(kept->plan, given)),
        execution(kept, operands_of(given), known_from_r(extents, pairs), settings_from_r(settings), &host) {
    if (Rf_isNull(decision)) return;
    const RawVector bytes(decision);
    execution.take(from_bytes({bytes.begin(), bytes.end()}));
  }

  const SharedPlan& kept;
  const Given given;
  RHost host;
  Execution execution;
};

Range range_from_r(const NumericVector& rows) {
  internal_check(rows.size() == 2, "a range of ", rows.size(), " numbers");
  return {static_cast<std::int64_t>(rows[0]) - 1, static_cast<std::int64_t>(rows[1])};
}

// First and last row of an output, from 1, or the numbers of its rows where they do not follow each other.
SEXP rows_to_r(const ResultRows::OfOutput& rows) {
  if (!rows.ordered)
    return NumericVector::create(static_cast<double>(rows.range.from + 1), static_cast<double>(rows.range.to));
  return List::create(column(rows.order, [](std::int64_t row) { return static_cast<double>(row + 1); }));
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

RawVector raw(const std::vector<char>& bytes) { return RawVector(bytes.begin(), bytes.end()); }

}  // namespace

// [[Rcpp::export(rng = false)]]
List r_prepare(List outputs, List extents, List options) {
  Formulas formulas;
  const RObject plan = plan_to_r(kept_plan(job_from_r(outputs, extents, options, &formulas)));
  return List::create(_["plan"] = plan, _["operands"] = formulas.operands());
}

// Returns a text that all reductions with the same plan share, and the reduction's own operands in order.
// [[Rcpp::export(rng = false)]]
List r_structure(List outputs, List extents, List options) {
  Formulas formulas;
  const std::string key = job_key(job_from_r(outputs, extents, options, &formulas));
  return List::create(_["key"] = as_letters(key), _["operands"] = formulas.operands());
}

// One array, or list of value and index, for each output. `settings`: a list with device, threads, gpu_mb.
// [[Rcpp::export(rng = false)]]
List r_run(SEXP plan, List data, List operands, NumericVector extents, List settings, SEXP pairs) {
  RCall call(plan, data, operands, extents, settings, pairs);
  call.execution.run();
  return call.host.results();
}

// Announces a call to come: a GPU compiles its kernels from now on.
// [[Rcpp::export(rng = false)]]
void r_expect(SEXP plan, List data, List operands, NumericVector extents, List settings) {
  RCall(plan, data, operands, extents, settings, R_NilValue).execution.expect();
}

// Decides a call and tells how it may be dealt out. Returns the bytes of the decision; the number of rows (points of
// the kept axis, of i if both are folded; points of both axes if outputs are kept along i and others along j); the
// number that borders of blocks are multiples of, or 0 and the reason; whether blocks leave states; the number of
// columns, and the number that their borders are multiples of, or 0; the operands of which a block reads its own rows
// only, or columns; seconds of one thread.
// [[Rcpp::export(rng = false)]]
List r_decide(SEXP plan, List data, List operands, NumericVector extents, List settings, SEXP pairs) {
  RCall call(plan, data, operands, extents, settings, pairs);
  const Grain grain = call.execution.grain();
  const Schedule schedule = call.execution.schedule();
  // The CPU's are those of all threads.
  const int threads = schedule.decision.backend == "cpu" ? allowed_threads(0) : 1;
  return List::create(_["decision"] = raw(to_bytes(schedule.decision)), _["rows"] = static_cast<double>(grain.all),
                      _["grain"] = static_cast<double>(grain.rows), _["folded"] = grain.folded, _["why"] = grain.why,
                      _["columns"] = NumericVector::create(grain.all_columns, grain.columns),
                      _["by_rows"] = call.execution.read_by_rows(), _["by_columns"] = call.execution.read_by_columns(),
                      _["seconds"] = schedule.seconds * threads, _["device"] = schedule.decision.backend);
}

// Rows from the first to the last, by number. Results of these rows alone, and which they are: a first and a last one
// for each output, or a list of their numbers. `plainly`: these rows cannot be told in the usual way, and all are to be
// computed with `plainly` set. Where no rows are kept, the states that they leave, a list of bytes; and so of rows in
// some columns, unless `columns` is NULL.
// [[Rcpp::export(rng = false)]]
List r_run_rows(SEXP plan, List data, List operands, NumericVector extents, List settings, SEXP pairs, SEXP decision,
                NumericVector rows, bool plainly, SEXP columns = R_NilValue) {
  RCall call(plan, data, operands, extents, settings, pairs, decision);
  const Range range = range_from_r(rows);
  const bool some = !Rf_isNull(columns);
  if (some || call.execution.grain().folded) {
    const Range across = some ? range_from_r(columns) : Range{};
    List states;
    for (const std::vector<char>& bytes : call.execution.run_states(range, across)) states.push_back(raw(bytes));
    return List::create(_["states"] = states, _["plainly"] = false);
  }
  const ResultRows block = call.execution.run_rows(range, plainly);
  if (!block.told) return List::create(_["plainly"] = true);
  List found;
  for (const auto& of_output : block.found) found.push_back(rows_to_r(of_output));
  return List::create(_["results"] = call.host.results(block), _["rows"] = found, _["plainly"] = false);
}

// Results from the states of all blocks, in order of their rows.
// [[Rcpp::export(rng = false)]]
List r_merge_states(SEXP plan, List data, List operands, NumericVector extents, List settings, SEXP pairs,
                    SEXP decision, List states) {
  RCall call(plan, data, operands, extents, settings, pairs, decision);
  std::vector<Execution::PackedStates> blocks;
  for (R_xlen_t b = 0; b < states.size(); ++b) {
    const List of_block = states[b];
    blocks.emplace_back();
    for (R_xlen_t k = 0; k < of_block.size(); ++k) {
      const RawVector bytes = of_block[k];
      blocks.back().emplace_back(bytes.begin(), bytes.end());
    }
  }
  call.execution.finish(blocks);
  return call.host.results();
}

// Some rows put into a matrix of so many, or, where that is NULL, into a new one. Nothing but its rows is ever read of
// it, and the memory of others is never touched, so it takes none.
// [[Rcpp::export(rng = false)]]
SEXP r_rows_of_whole(SEXP whole, double count, double from, SEXP rows) {
  const R_xlen_t some = Rf_isMatrix(rows) ? Rf_nrows(rows) : Rf_xlength(rows), all = static_cast<R_xlen_t>(count);
  const R_xlen_t columns = some == 0 ? 0 : Rf_xlength(rows) / some, first = static_cast<R_xlen_t>(from) - 1;
  Shield<SEXP> place(Rf_isNull(whole) ? Rf_allocVector(REALSXP, all * columns) : whole);
  internal_check(Rf_xlength(place) == all * columns && first + some <= all, "rows of another matrix");
  for (R_xlen_t c = 0; c < columns; ++c) std::copy_n(REAL_RO(rows) + c * some, some, REAL(place) + c * all + first);
  if (Rf_isMatrix(rows) && Rf_isNull(whole)) make_matrix(place, all, columns);
  return place;
}

// --- what explains a call -------------------------------------------------------------------------------------------

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

DataFrame steps_to_r(const Plan& plan, const Program& program) {
  const auto show_call = [&](const Step& step) {
    std::string call = std::string(row(step.op).fn) + "(";
    for (std::size_t k = 0; k < step.in.size(); ++k) call += (k ? ", " : "") + show_ref(step.in[k], plan, program);
    for (int a : step.attributes) call += sentence(", ", a);
    return call + ")";
  };
  const auto& steps = program.steps;
  return DataFrame::create(_["when"] = column(steps, [](const Step& step) { return region_name(step.region); }),
                           _["slot"] = column(steps, [](const Step& step) { return sentence("s", step.out); }),
                           _["step"] = column(steps, show_call), _["width"] = column(steps, &Step::width));
}

// 64 bits of the plan key, enough to tell plans apart at a glance.
std::string short_key(const Plan& plan) {
  char text[20];
  std::snprintf(text, sizeof text, "%016zx", std::hash<std::string>()(plan_key(plan)));
  return text;
}

DataFrame trace_to_r(const Trace& trace) {
  using Pass = Trace::TimedPass;
  return DataFrame::create(_["pass"] = column(trace.entries, &Pass::pass),
                           _["microseconds"] = column(trace.entries, &Pass::microseconds),
                           _["outcome"] = column(trace.entries, &Pass::outcome));
}

SEXP schedule_to_r(Execution* execution) {
  const Schedule s = execution->schedule();
  const Sizes& sizes = execution->sizes();
  return List::create(_["device"] = s.decision.backend, _["why"] = s.reason, _["decision"] = show(s.decision),
                      _["M"] = static_cast<double>(sizes.i), _["N"] = static_cast<double>(sizes.j),
                      _["seconds"] = s.seconds, _["bytes"] = execution->working_bytes());
}

}  // namespace

// `data` is NULL for a formula with placeholders: then there is no schedule yet. With `cuda`, what a GPU is given for
// the variant that is scheduled.
// [[Rcpp::export(rng = false)]]
List r_explain(List outputs, List extents, List options, SEXP data, NumericVector sizes, List settings, bool cuda,
               SEXP pairs) {
  Formulas formulas;
  Trace trace;
  const Job job = job_from_r(outputs, extents, options, &formulas);
  const auto kept = std::make_shared<KeptPlan>(lower(job, &trace));
  const Plan* ran = &kept->plan;
  constexpr std::int64_t kMany = 100000;  // points, where they are not known
  Decision decision;
  decision.variant = static_cast<int>(ran->variants.size()) - 1;
  decision.sizes = {kMany, kMany, {}};
  RObject chosen = R_NilValue, sources = R_NilValue;
  std::unique_ptr<Execution> execution;
  const Given given{Rf_isNull(data) ? List() : List(data), formulas.operands()};
  RHost host(given, {});
  if (!Rf_isNull(data)) {
    execution = std::make_unique<Execution>(kept, operands_of(given), known_from_r(sizes, pairs),
                                            settings_from_r(settings), &host);
    decision = execution->decision();
    ran = &execution->ran();
    chosen = schedule_to_r(execution.get());
  }
  if (cuda) sources = wrap(backend_named("gpu").sources(*ran, decision));
  const Program& program = ran->variants[static_cast<std::size_t>(decision.variant)].program;
  return List::create(_["passes"] = trace_to_r(trace), _["steps"] = steps_to_r(*ran, program),
                      _["key"] = short_key(kept->plan), _["schedule"] = chosen, _["cuda"] = sources);
}

}  // namespace kernweave
