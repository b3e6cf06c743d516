// Windows into the executor for the tests: products without R, and the blocks of a whole.
#include "border.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "execute/memory_host.hpp"
#include "execute/run.hpp"
#include "r_data.hpp"
#include "r_pairs.hpp"
#include "pairs/units.hpp"
#include "r_plan.hpp"

namespace kernweave {
namespace {

// Counts what is asked of it: a solver's products may ask for nothing but a look at the clock.
class CountingHost : public MemoryHost {
 public:
  void collect() override { ++asked; }
  void say(const std::string&) override { ++asked; }
  int asked = 0;
};

// The largest eigenvalue of a symmetric matrix of pairs by so many products with it, which call R never.
double largest_eigenvalue(std::shared_ptr<Prepared> product, std::vector<OperandData> operands, const Known& known,
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

}  // namespace
}  // namespace kernweave

// By power iteration on a prepared sum over j whose operand number `vector` is the vector: for tests.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_power(SEXP plan, Rcpp::List data, Rcpp::NumericVector extents, int vector, int products,
                   Rcpp::List settings) {
  return kernweave::at_border([&] {
    kernweave::CountingHost host;
    const double largest = kernweave::largest_eigenvalue(
        kernweave::plan_behind(plan), kernweave::operands_of({data, {}}), kernweave::known_from_r(extents, R_NilValue),
        vector, products, kernweave::settings_from_r(settings), &host);
    return Rcpp::List::create(Rcpp::_["value"] = largest, Rcpp::_["vector"] = host.values[0],
                              Rcpp::_["asked"] = host.asked,
                              Rcpp::_["made"] = kernweave::plan_behind(plan)->executables());
  });
}

// How many schedules a plan is ready for: for tests.
// [[Rcpp::export(rng = false)]]
int r_executables(SEXP plan) {
  return kernweave::at_border([&] { return kernweave::plan_behind(plan)->executables(); });
}

namespace kernweave {
namespace {

// The executable of a plan on data, as a test deals its blocks out.
struct Dealt {
  Dealt(SEXP plan, const Rcpp::List& data, const Rcpp::NumericVector& extents, const Rcpp::List& options)
      : settings(settings_from_r(options)),
        execution(plan_behind(plan), operands_of({data, {}}), known_from_r(extents, R_NilValue), settings, &host) {}

  // From one border to the next.
  static std::vector<Range> ranges(const Rcpp::NumericVector& borders) {
    std::vector<Range> found;
    for (R_xlen_t k = 1; k < borders.size(); ++k)
      found.push_back({static_cast<std::int64_t>(borders[k - 1]), static_cast<std::int64_t>(borders[k])});
    return found;
  }

  MemoryHost host;
  const Settings settings;
  Execution execution;
};

}  // namespace
}  // namespace kernweave

// Rows and columns of which borders of blocks are multiples, on which axis; 0 where there are no such blocks: for
// tests.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector r_grain(SEXP plan, Rcpp::List data, Rcpp::NumericVector extents, Rcpp::List settings) {
  return kernweave::at_border([&] {
    kernweave::Dealt dealt(plan, data, extents, settings);
    const kernweave::Grain grain = dealt.execution.grain();
    return Rcpp::NumericVector::create(grain.rows_along_i, static_cast<double>(grain.rows),
                                       static_cast<double>(grain.columns));
  });
}

// The first output of a plan, block by block: rows between borders, in any order; with borders of columns, too, through
// states that are packed, and unpacked in order: for tests.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_run_blocks(SEXP plan, Rcpp::List data, Rcpp::NumericVector extents, Rcpp::List settings,
                        Rcpp::NumericVector rows, Rcpp::NumericVector columns) {
  return kernweave::at_border([&] {
    kernweave::Dealt dealt(plan, data, extents, settings);
    dealt.execution.run_blocks(dealt.ranges(rows), dealt.ranges(columns));
    const auto numbers = [](const auto& all) { return all.empty() ? std::vector<double>() : all[0]; };
    return Rcpp::List::create(Rcpp::_["value"] = numbers(dealt.host.values),
                              Rcpp::_["index"] = numbers(dealt.host.numbers));
  });
}

// The first output as every candidate finds it: for tests.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_candidates(SEXP plan, Rcpp::List data, Rcpp::NumericVector extents, Rcpp::List settings) {
  return kernweave::at_border([&] {
    kernweave::Dealt dealt(plan, data, extents, settings);
    Rcpp::CharacterVector names;
    Rcpp::List values, indices;
    for (const kernweave::Schedule& schedule : dealt.execution.candidates()) {
      const kernweave::Variant& variant = dealt.execution.ran().variants[static_cast<std::size_t>(schedule.variant)];
      const kernweave::Traversal& t = schedule.traversal;
      names.push_back(kernweave::sentence(schedule.backend->name(), " ", kernweave::form_name(variant.form), " ",
                                          t.rows, " x ", t.columns, ", ", t.chunk, ", code ", t.code));
      dealt.execution.take(schedule);
      dealt.execution.run();
      values.push_back(dealt.host.values.empty() ? std::vector<double>() : dealt.host.values[0]);
      indices.push_back(dealt.host.numbers.empty() ? std::vector<double>() : dealt.host.numbers[0]);
    }
    return Rcpp::List::create(Rcpp::_["name"] = names, Rcpp::_["value"] = values, Rcpp::_["index"] = indices);
  });
}

// How the CPU deals restricted pairs out with tiles of so many rows and columns, `grouped` where they may come in any
// order: a rectangle for each span of a unit, with the task that has it, and the rows that the unit is of: for tests.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix r_units(SEXP pairs, bool along_i, int rows, int columns, bool grouped) {
  return kernweave::at_border([&] {
    const kernweave::ExistingPairs existing = kernweave::pairs_from_r(pairs);
    constexpr std::int64_t kRowStep = 8, kColumnStep = 4, kMostTasks = 64, kOfTask = 8;
    const kernweave::Units units(existing.along(along_i), {rows, kRowStep, columns, kColumnStep},
                                 {kMostTasks, kOfTask, true, grouped});
    std::vector<double> found;
    for (std::int64_t task = 0; task < units.tasks(); ++task) {
      const kernweave::Range mine = units.of_task(task);
      for (std::int64_t u = mine.from; u < mine.to; ++u)
        for (const kernweave::PairSpan* span = units.begin(units[u]); span != units.end(units[u]); ++span)
          for (const std::int64_t number :
               {task + 1, units[u].rows.from + 1, units[u].rows.to, span->columns.from + 1, span->columns.to,
                std::int64_t{span->partial}, units[u].of.from + 1, units[u].of.to})
            found.push_back(static_cast<double>(number));
    }
    constexpr int kNumbers = 8;
    return Rcpp::NumericMatrix(kNumbers, static_cast<int>(found.size()) / kNumbers, found.begin());
  });
}
