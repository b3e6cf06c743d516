// Blocks of a call, for whoever has all of its data and is told what was decided: some rows, or states of some rows.
#include "base/threads.hpp"
#include "border.hpp"
#include "execute/run.hpp"
#include "r_host.hpp"
#include "r_plan.hpp"

#include <memory>

namespace kernweave {
namespace {

// A call on its data, as decided elsewhere, or not yet.
struct RCall {
  RCall(SEXP plan, const Rcpp::List& data, const Rcpp::List& operands, const Rcpp::NumericVector& extents,
        const Rcpp::List& settings, SEXP pairs, SEXP decision = R_NilValue)
      : prepared(plan_behind(plan)),
        given{data, operands},
        host(given, names_of(prepared->plan, given)),
        execution(prepared, operands_of(given), known_from_r(extents, pairs), settings_from_r(settings), &host) {
    if (Rf_isNull(decision)) return;
    const Rcpp::RawVector bytes(decision);
    execution.take(from_bytes({bytes.begin(), bytes.end()}));
  }

  const std::shared_ptr<Prepared>& prepared;
  const Given given;
  RHost host;
  Execution execution;
};

Range range_from_r(const Rcpp::NumericVector& rows) {
  internal_check(rows.size() == 2, "a range of ", rows.size(), " numbers");
  return {static_cast<std::int64_t>(rows[0]) - 1, static_cast<std::int64_t>(rows[1])};
}

// First and last row of an output, from 1, or the numbers of its rows where they do not follow each other.
SEXP rows_to_r(const ResultRows::OfOutput& rows) {
  if (!rows.ordered)
    return Rcpp::NumericVector::create(static_cast<double>(rows.range.from + 1), static_cast<double>(rows.range.to));
  Rcpp::NumericVector numbers(static_cast<R_xlen_t>(rows.order.size()));
  for (std::size_t k = 0; k < rows.order.size(); ++k)
    numbers[static_cast<R_xlen_t>(k)] = static_cast<double>(rows.order[k] + 1);
  return Rcpp::List::create(numbers);
}

Rcpp::RawVector raw(const std::vector<char>& bytes) { return Rcpp::RawVector(bytes.begin(), bytes.end()); }

}  // namespace
}  // namespace kernweave

// Decides a call and tells how it may be dealt out. Returns the bytes of the decision; the number of rows (points of
// the kept axis, of i if both are folded; points of both axes if outputs are kept along i and others along j); the
// number that borders of blocks are multiples of, or 0 and the reason; whether blocks leave states; the number of
// columns, and the number that their borders are multiples of, or 0; the operands of which a block reads its own rows
// only, or columns; seconds of one thread.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_decide(SEXP plan, Rcpp::List data, Rcpp::List operands, Rcpp::NumericVector extents, Rcpp::List settings,
                    SEXP pairs) {
  return kernweave::at_border([&] {
    kernweave::RCall call(plan, data, operands, extents, settings, pairs);
    const kernweave::Grain grain = call.execution.grain();
    const kernweave::Schedule schedule = call.execution.schedule();
    // The CPU's are those of all threads.
    const int threads = schedule.decision.backend == "cpu" ? kernweave::allowed_threads(0) : 1;
    return Rcpp::List::create(
        Rcpp::_["decision"] = kernweave::raw(kernweave::to_bytes(schedule.decision)),
        Rcpp::_["rows"] = static_cast<double>(grain.all), Rcpp::_["grain"] = static_cast<double>(grain.rows),
        Rcpp::_["folded"] = grain.folded, Rcpp::_["why"] = grain.why,
        Rcpp::_["columns"] = Rcpp::NumericVector::create(grain.all_columns, grain.columns),
        Rcpp::_["by_rows"] = call.execution.read_by_rows(), Rcpp::_["by_columns"] = call.execution.read_by_columns(),
        Rcpp::_["seconds"] = schedule.seconds * threads, Rcpp::_["device"] = schedule.decision.backend);
  });
}

// Rows from the first to the last, by number. Results of these rows alone, and which they are: a first and a last one
// for each output, or a list of their numbers. `plainly`: these rows cannot be told in the usual way, and all are to be
// computed with `plainly` set. Where no rows are kept, the states that they leave, a list of bytes; and so of rows in
// some columns, unless `columns` is NULL.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_run_rows(SEXP plan, Rcpp::List data, Rcpp::List operands, Rcpp::NumericVector extents, Rcpp::List settings,
                      SEXP pairs, SEXP decision, Rcpp::NumericVector rows, bool plainly, SEXP columns = R_NilValue) {
  return kernweave::at_border([&] {
    kernweave::RCall call(plan, data, operands, extents, settings, pairs, decision);
    const kernweave::Range range = kernweave::range_from_r(rows);
    const bool some = !Rf_isNull(columns);
    if (some || call.execution.grain().folded) {
      const kernweave::Range across = some ? kernweave::range_from_r(columns) : kernweave::Range{};
      Rcpp::List states;
      for (const std::vector<char>& bytes : call.execution.run_states(range, across))
        states.push_back(kernweave::raw(bytes));
      return Rcpp::List::create(Rcpp::_["states"] = states, Rcpp::_["plainly"] = false);
    }
    const kernweave::ResultRows block = call.execution.run_rows(range, plainly);
    if (!block.told) return Rcpp::List::create(Rcpp::_["plainly"] = true);
    Rcpp::List found;
    for (const auto& of_output : block.found) found.push_back(kernweave::rows_to_r(of_output));
    return Rcpp::List::create(Rcpp::_["results"] = call.host.results(block), Rcpp::_["rows"] = found,
                              Rcpp::_["plainly"] = false);
  });
}

// Results from the states of all blocks, in order of their rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_merge_states(SEXP plan, Rcpp::List data, Rcpp::List operands, Rcpp::NumericVector extents,
                          Rcpp::List settings, SEXP pairs, SEXP decision, Rcpp::List states) {
  return kernweave::at_border([&] {
    kernweave::RCall call(plan, data, operands, extents, settings, pairs, decision);
    std::vector<kernweave::Execution::PackedStates> blocks;
    for (R_xlen_t b = 0; b < states.size(); ++b) {
      const Rcpp::List of_block = states[b];
      blocks.emplace_back();
      for (R_xlen_t k = 0; k < of_block.size(); ++k) {
        const Rcpp::RawVector bytes = of_block[k];
        blocks.back().emplace_back(bytes.begin(), bytes.end());
      }
    }
    call.execution.finish(blocks);
    return call.host.results();
  });
}

// Some rows put into a matrix of so many, or, where that is NULL, into a new one. Nothing but its rows is ever read of
// it, and the memory of others is never touched, so it takes none.
// [[Rcpp::export(rng = false)]]
SEXP r_rows_of_whole(SEXP whole, double count, double from, SEXP rows) {
  return kernweave::at_border([&]() -> SEXP {
    const R_xlen_t some = Rf_isMatrix(rows) ? Rf_nrows(rows) : Rf_xlength(rows), all = static_cast<R_xlen_t>(count);
    const R_xlen_t columns = some == 0 ? 0 : Rf_xlength(rows) / some, first = static_cast<R_xlen_t>(from) - 1;
    Rcpp::Shield<SEXP> place(Rf_isNull(whole) ? Rf_allocVector(REALSXP, all * columns) : whole);
    kernweave::internal_check(Rf_xlength(place) == all * columns && first + some <= all, "rows of another matrix");
    for (R_xlen_t c = 0; c < columns; ++c)
      std::copy_n(REAL_RO(rows) + c * some, some, REAL(place) + c * all + first);
    if (Rf_isMatrix(rows) && Rf_isNull(whole))
      Rf_setAttrib(place, R_DimSymbol, Rcpp::IntegerVector::create(static_cast<int>(all), static_cast<int>(columns)));
    return place;
  });
}
