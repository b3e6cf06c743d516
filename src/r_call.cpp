// A call of the engine: jobs and plans from R's lists, all results or some rows of them, and explanations.
#include "r_call.hpp"

#include "base/threads.hpp"
#include "expr/parse.hpp"
#include "plan/passes.hpp"

namespace kernweave {
namespace {

using SharedPlan = std::shared_ptr<KeptPlan>;
constexpr const char* kPlanTag = "kernweave_plan";

// Results are added up in float64 (between tiles). float16 is the precision of the factors in tensor cores.
Precision precision_named(const std::string& name) {
  const auto format = named<Format>("precision", name, {"float64", "float32", "float16"});
  return {format == Format::float16 ? Format::float32 : format, format, Format::float64};
}

Finish finish_from_r(const List& from) {
  const std::string per = from["per"];
  return {named<Results>("results", from["results"], kResults), as<double>(from["sign"]),
          per.find('i') != std::string::npos, per.find('j') != std::string::npos, as<int>(from["less"])};
}

// A call on its data: the list of engine_call(), with the bytes of a decision if one was made elsewhere.
struct RCall {
  explicit RCall(const List& from) : RCall(plan_behind(from["plan"]), from, from["operands"]) {
    if (!from.containsElementNamed("decision")) return;
    const RawVector bytes = from["decision"];
    execution.take(from_bytes({bytes.begin(), bytes.end()}));
  }
  RCall(const SharedPlan& kept, const List& from, const List& operands)
      : given{from["data"], operands},
        host(given, names_of(kept->plan, given)),
        execution(kept, operands_of(given), known_from_r(from["extent"], from["pairs"]),
                  settings_from_r(from["settings"]), &host) {}

  const Given given;
  RHost host;
  Execution execution;
};

Range range_from_r(const NumericVector& rows) {
  internal_check(rows.size() == 2, "a range of ", rows.size(), " numbers");
  return {static_cast<std::int64_t>(rows[0]) - 1, static_cast<std::int64_t>(rows[1])};
}

// Returns the first and last row of an output, from 1, or the numbers of its rows if they are not consecutive.
SEXP rows_to_r(const ResultRows::OfOutput& rows) {
  if (!rows.ordered)
    return NumericVector::create(static_cast<double>(rows.range.from + 1), static_cast<double>(rows.range.to));
  return List::create(column(rows.order, [](std::int64_t row) { return static_cast<double>(row + 1); }));
}

RawVector raw(const std::vector<char>& bytes) { return RawVector(bytes.begin(), bytes.end()); }

std::string show_ref(const Ref& ref, const Plan& plan, const Program& program) {
  if (ref.from == Ref::From::number) return sentence(program.numbers[ref.index]);
  if (ref.from == Ref::From::slot) return sentence("s", ref.index);
  const Variable& v = plan.variables[ref.index];
  return show_variable(v, std::any_of(plan.variables.begin(), plan.variables.end(), [&](const Variable& other) {
    return other.operand == v.operand && other.axis != v.axis;
  }));
}

DataFrame steps_to_r(const Plan& plan, const Program& program) {
  const auto when = [](const Step& s) { return region_name(s.region); };
  const auto slot = [](const Step& s) { return sentence("s", s.out); };
  const auto step = [&](const Step& s) {
    std::string call = std::string(row(s.op).fn) + "(";
    for (std::size_t k = 0; k < s.in.size(); ++k) call += (k ? ", " : "") + show_ref(s.in[k], plan, program);
    for (int a : s.attributes) call += sentence(", ", a);
    return call + ")";
  };
  return DataFrame(table(program.steps, {"when", "slot", "step", "width"}, when, slot, step, &Step::width));
}

}  // namespace

Job job_from_r(const List& from, Formulas* formulas) {
  Job job;
  for (const List o : List(from["outputs"])) {
    Red red;
    internal_check(find_red(o["op"], &red), "no such reduction");
    job.outputs.push_back({red, formulas->read(o["value"]), formulas->read_optional(o["weight"]),
                           named<Keep>("axis to keep", o["keep"], {"i", "j", "none", "both"}), as<int>(o["K"]),
                           finish_from_r(o["finish"])});
  }
  job.extents = formulas->read_all(from["extents"]);
  job.precision = precision_named(from["precision"]);
  job.pairs = as<bool>(from["pairs"]) ? Pairs::restricted : Pairs::all;
  job.allowed = formulas->read_optional(from["allowed"]);
  job.rewrite = from["rewrite"];
  job.checks = from["checks"];
  return job;
}

const SharedPlan& plan_behind(SEXP pointer) { return object_behind<SharedPlan>(pointer, kPlanTag, "plan"); }

// [[Rcpp::export(rng = false)]]
List r_prepare(List job) {
  Formulas formulas;
  const XPtr<SharedPlan> plan(new SharedPlan(kept_plan(job_from_r(job, &formulas))), true, Rf_install(kPlanTag));
  return listed({"plan", "operands"}, plan, formulas.operands());
}

// Returns a text that all reductions with the same plan share, and the reduction's own operands in order.
// [[Rcpp::export(rng = false)]]
List r_structure(List job) {
  Formulas formulas;
  std::string key;  // two letters for each byte, since R's texts have no byte 0
  for (const unsigned char byte : job_key(job_from_r(job, &formulas)))
    key.append({static_cast<char>('a' + (byte >> 4)), static_cast<char>('a' + (byte & 15))});
  return listed({"key", "operands"}, key, formulas.operands());
}

// Returns one array, or list of value and index, for each output.
// [[Rcpp::export(rng = false)]]
List r_run(List call) {
  RCall of(call);
  of.execution.run();
  return of.host.results();
}

// Announces a call to come: a GPU compiles its kernels from now on.
// [[Rcpp::export(rng = false)]]
void r_expect(List call) { RCall(call).execution.expect(); }

// Decides a call and tells how it may be dealt out (Grain): the number of rows, and the number that borders of blocks
// are multiples of, or 0 and the reason; the same numbers for columns; the operands of which a block reads its own rows
// only, or its own columns only; seconds of one thread.
// [[Rcpp::export(rng = false)]]
List r_decide(List call) {
  RCall of(call);
  const Grain grain = of.execution.grain();
  const Schedule schedule = of.execution.schedule();
  const std::string device = schedule.decision.backend;
  // The CPU's seconds are for all threads.
  const double seconds = schedule.seconds * (device == "cpu" ? allowed_threads(0) : 1);
  return List::create(_["decision"] = raw(to_bytes(schedule.decision)), _["rows"] = static_cast<double>(grain.all),
                      _["grain"] = static_cast<double>(grain.rows), _["folded"] = grain.folded, _["why"] = grain.why,
                      _["columns"] = NumericVector::create(grain.all_columns, grain.columns),
                      _["by_rows"] = of.execution.read_by_rows(), _["by_columns"] = of.execution.read_by_columns(),
                      _["seconds"] = seconds, _["device"] = device);
}

// Computes rows from the first to the last, by number. Returns results in which other rows are empty, and the computed
// rows: a first and a last row for each output, or a list of row numbers. `plainly` in the result: these rows cannot be
// told in the usual way, and all rows must be computed with `plainly` set. If no rows are kept, or if `columns` is not
// NULL, returns the states that the rows leave, as a list of bytes.
// [[Rcpp::export(rng = false)]]
List r_run_rows(List call, NumericVector rows, bool plainly, SEXP columns = R_NilValue) {
  RCall of(call);
  const Range range = range_from_r(rows);
  const bool some = !Rf_isNull(columns);
  if (some || of.execution.grain().folded) {
    const Range across = some ? range_from_r(columns) : Range{};
    List states;
    for (const std::vector<char>& bytes : of.execution.run_states(range, across)) states.push_back(raw(bytes));
    return List::create(_["states"] = states, _["plainly"] = false);
  }
  const ResultRows block = of.execution.run_rows(range, plainly);
  if (!block.told) return List::create(_["plainly"] = true);
  List found;
  for (const auto& of_output : block.found) found.push_back(rows_to_r(of_output));
  return List::create(_["results"] = of.host.results(), _["rows"] = found, _["plainly"] = false);
}

// Returns the results from the states of all blocks, in the order of their rows.
// [[Rcpp::export(rng = false)]]
List r_merge_states(List call, List states) {
  RCall of(call);
  std::vector<Execution::PackedStates> blocks;
  for (const List of_block : states) {
    blocks.emplace_back();
    for (const RawVector bytes : of_block) blocks.back().emplace_back(bytes.begin(), bytes.end());
  }
  of.execution.finish(blocks);
  return of.host.results();
}

// Puts some rows into a matrix of `count` rows; makes the matrix if it is NULL. Only its rows that are filled are ever
// read; the memory of other rows is never touched, so it takes no memory.
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

// Explains a job. The call is NULL for a formula with placeholders: then there is no schedule yet. With `shown`, adds
// the sources that a GPU gets for the scheduled variant.
// [[Rcpp::export(rng = false)]]
List r_explain(List job, List call, bool shown) {
  Formulas formulas;
  Trace trace;
  const auto kept = std::make_shared<KeptPlan>(lower(job_from_r(job, &formulas), &trace));
  const Plan* ran = &kept->plan;
  constexpr std::int64_t kMany = 100000;  // points, if their number is unknown
  Decision decision;
  decision.variant = static_cast<int>(ran->variants.size()) - 1;
  decision.sizes = {kMany, kMany, {}};
  RObject schedule, cuda;
  std::unique_ptr<RCall> of;
  if (call.size()) {
    of = std::make_unique<RCall>(kept, call, formulas.operands());
    Execution& execution = of->execution;
    const Schedule s = execution.schedule();
    decision = s.decision;
    ran = &execution.ran();
    schedule = List::create(_["device"] = decision.backend, _["why"] = s.reason, _["decision"] = show(decision),
                            _["M"] = static_cast<double>(execution.sizes().i),
                            _["N"] = static_cast<double>(execution.sizes().j), _["seconds"] = s.seconds,
                            _["bytes"] = execution.working_bytes());
  }
  if (shown) cuda = wrap(backend_named("gpu").sources(*ran, decision));
  using Pass = Trace::TimedPass;
  const DataFrame passes(table(trace.entries, {"pass", "microseconds", "outcome"}, &Pass::pass, &Pass::microseconds,
                               &Pass::outcome));
  const DataFrame steps = steps_to_r(*ran, ran->variants[static_cast<std::size_t>(decision.variant)].program);
  char text[20];  // 64 bits of the plan key, enough to tell plans apart at a glance
  std::snprintf(text, sizeof text, "%016zx", std::hash<std::string>()(plan_key(kept->plan)));
  return listed({"passes", "steps", "key", "schedule", "cuda"}, passes, steps, std::string(text), schedule, cuda);
}

}  // namespace kernweave
