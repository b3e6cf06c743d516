// The executor: products without R, and the blocks of a whole.
#include "window.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "execute/host.hpp"
#include "execute/run.hpp"
#include "pairs/units.hpp"
#include "r_call.hpp"

namespace kernweave::windows {
namespace {

// Counts what is asked of it: a solver's products may ask for nothing but a look at the clock.
class CountingHost : public MemoryHost {
 public:
  void collect() override { ++asked; }
  void say(const std::string&) override { ++asked; }
  int asked = 0;
};

// The largest eigenvalue of a symmetric matrix of pairs by so many products with it, which call R never.
double largest_eigenvalue(std::shared_ptr<KeptPlan> product, std::vector<OperandData> operands, const Known& known,
                          int vector, int products, const Settings& settings, CountingHost* host) {
  std::vector<double> v(static_cast<std::size_t>(operands[static_cast<std::size_t>(vector)].view.rows), 1.0);
  Execution execution(std::move(product), std::move(operands), known, settings, host);
  double norm = 0;
  for (int k = 0; k < products; ++k) {
    execution.replace(vector, v.data());
    execution.run();
    const std::vector<double>& next = host->values[0];
    norm = std::sqrt(std::inner_product(next.begin(), next.end(), next.begin(), 0.0));
    std::transform(next.begin(), next.end(), v.begin(), [&](double x) { return x / norm; });
  }
  return norm;
}

// Computes the largest eigenvalue by power iteration on a planned sum over j; operand `vector` is the vector.
Rcpp::List power(SEXP plan, Rcpp::List data, Rcpp::NumericVector extents, int vector, int products,
                 Rcpp::List settings) {
  CountingHost host;
  const double largest =
      largest_eigenvalue(plan_behind(plan), operands_of({data, {}}), known_from_r(extents, R_NilValue), vector,
                         products, settings_from_r(settings), &host);
  return Rcpp::List::create(Rcpp::_["value"] = largest, Rcpp::_["vector"] = host.values[0],
                            Rcpp::_["asked"] = host.asked, Rcpp::_["made"] = plan_behind(plan)->executables());
}

// Counts the schedules that a plan is ready for.
int executables(SEXP plan) { return plan_behind(plan)->executables(); }

// The executable of a plan on data, as a test deals its blocks out.
struct Dealt {
  Dealt(SEXP plan, const Rcpp::List& data, const Rcpp::NumericVector& extents, const Rcpp::List& options,
        SEXP pairs = R_NilValue)
      : settings(settings_from_r(options)),
        execution(plan_behind(plan), operands_of({data, {}}), known_from_r(extents, pairs), settings, &host) {}

  // Returns the ranges between borders.
  static std::vector<Range> ranges(const Rcpp::NumericVector& borders) {
    std::vector<Range> found;
    for (R_xlen_t k = 1; k < borders.size(); ++k)
      found.push_back({static_cast<std::int64_t>(borders[k - 1]), static_cast<std::int64_t>(borders[k])});
    return found;
  }

  // Returns the numbers of the first output.
  static std::vector<double> first(const std::vector<std::vector<double>>& all) {
    return all.empty() ? std::vector<double>() : all[0];
  }

  MemoryHost host;
  const Settings settings;
  Execution execution;
};

// Rows in all, and rows and columns of which borders of blocks are multiples; 0 where there are no such blocks: for
// tests.
Rcpp::NumericVector grain(SEXP plan, Rcpp::List data, Rcpp::NumericVector extents, Rcpp::List settings) {
  Dealt dealt(plan, data, extents, settings);
  const Grain grain = dealt.execution.grain();
  return Rcpp::NumericVector::create(static_cast<double>(grain.all), static_cast<double>(grain.rows),
                                     static_cast<double>(grain.columns));
}

// The first output of a plan, from the states of blocks of rows and columns between borders.
Rcpp::List run_blocks(SEXP plan, Rcpp::List data, Rcpp::NumericVector extents, Rcpp::List settings,
                      Rcpp::NumericVector rows, Rcpp::NumericVector columns) {
  Dealt dealt(plan, data, extents, settings);
  std::vector<Execution::PackedStates> states;
  for (const Range& r : dealt.ranges(rows))
    for (const Range& c : dealt.ranges(columns)) states.push_back(dealt.execution.run_states(r, c));
  dealt.execution.finish(states);
  return Rcpp::List::create(Rcpp::_["value"] = dealt.first(dealt.host.values),
                            Rcpp::_["index"] = dealt.first(dealt.host.numbers));
}

Rcpp::RawVector decision_to_r(const Decision& decision) {
  const std::vector<char> bytes = to_bytes(decision);
  return Rcpp::RawVector(bytes.begin(), bytes.end());
}
Decision decision_from_r(const Rcpp::RawVector& bytes) { return from_bytes({bytes.begin(), bytes.end()}); }

// The decisions that could be taken for a call, as bytes, the one that is taken first.
Rcpp::List candidates(SEXP plan, Rcpp::List data, Rcpp::NumericVector extents, Rcpp::List settings, SEXP pairs) {
  Dealt dealt(plan, data, extents, settings, pairs);
  Rcpp::List all;
  for (const Schedule& schedule : dealt.execution.candidates()) all.push_back(decision_to_r(schedule.decision));
  return all;
}

// The first output, as an execution finds it that is told this decision, or none, and what it says of its decision
// then.
Rcpp::List run_decided(SEXP plan, Rcpp::List data, Rcpp::NumericVector extents, Rcpp::List settings, SEXP pairs,
                       SEXP decision) {
  Dealt dealt(plan, data, extents, settings, pairs);
  if (!Rf_isNull(decision)) dealt.execution.take(decision_from_r(decision));
  dealt.execution.run();
  return Rcpp::List::create(Rcpp::_["value"] = dealt.first(dealt.host.values),
                            Rcpp::_["index"] = dealt.first(dealt.host.numbers),
                            Rcpp::_["decision"] = decision_to_r(dealt.execution.decision()));
}

// Two decisions, given as bytes: the first as text and as bytes again, and whether they are equal.
Rcpp::List decision(Rcpp::RawVector bytes, Rcpp::RawVector other) {
  const Decision one = decision_from_r(bytes);
  return Rcpp::List::create(Rcpp::_["text"] = show(one), Rcpp::_["bytes"] = decision_to_r(one),
                            Rcpp::_["equal"] = one == decision_from_r(other));
}

// Lists the units in which the CPU deals restricted pairs out, with tiles of so many rows and columns, `grouped` where
// they may come in any order: a rectangle for each span of a unit, with the task that has it, and the rows that the
// unit is of.
Rcpp::NumericMatrix units(SEXP pairs, bool along_i, int rows, int columns, bool grouped) {
  const ExistingPairs existing = pairs_from_r(pairs);
  constexpr std::int64_t kRowStep = 8, kColumnStep = 4, kMostTasks = 64, kOfTask = 8;
  const Units units(existing.along(along_i), {rows, kRowStep, columns, kColumnStep},
                    {kMostTasks, kOfTask, true, grouped});
  std::vector<double> found;
  for (std::int64_t task = 0; task < units.tasks(); ++task) {
    const Range mine = units.of_task(task);
    for (std::int64_t u = mine.from; u < mine.to; ++u)
      for (const PairSpan* span = units.begin(units[u]); span != units.end(units[u]); ++span)
        for (const std::int64_t number :
             {task + 1, units[u].rows.from + 1, units[u].rows.to, span->columns.from + 1, span->columns.to,
              std::int64_t{span->partial}, units[u].of.from + 1, units[u].of.to})
          found.push_back(static_cast<double>(number));
  }
  constexpr int kNumbers = 8;
  return Rcpp::NumericMatrix(kNumbers, static_cast<int>(found.size()) / kNumbers, found.begin());
}

const WindowTable of_execute({window<power>("power"), window<executables>("executables"), window<grain>("grain"),
                          window<run_blocks>("run_blocks"), window<candidates>("candidates"),
                          window<run_decided>("run_decided"), window<decision>("decision"), window<units>("units")});

}  // namespace
}  // namespace kernweave::windows
