// R's way to index_add(): a copy of the array, its numbers and those of the source where they lie, and the index.
#include "arrays/index_add.hpp"

#include <cmath>

#include "border.hpp"
#include "r_arrays.hpp"

namespace kernweave {
namespace {

using arrays::Grouping;
using arrays::IndexAdd;
using arrays::Indices;

// What is asked, as R says it.
struct Asked {
  IndexAdd task;
  bool mean, include;
  double alpha;
  SEXP source, array;
};

arrays::Combine combine_named(const std::string& name) {
  if (name == "prod") return arrays::Combine::prod;
  if (name == "min") return arrays::Combine::min;
  if (name == "max") return arrays::Combine::max;
  return arrays::Combine::sum;
}

void check_index(const arrays::Whole& given, const IndexAdd& task) {
  const Index extent = task.shape.extent;
  Index at = 0;
  with_array(given, [&](auto numbers) { at = first_outside(numbers, given.count, extent, task.workers); });
  if (at == 0) return;
  const double wrong = given.integers ? given.integers[at - 1] : given.doubles[at - 1];
  const bool missing = wrong != wrong || (given.integers && given.integers[at - 1] == NA_INTEGER);
  const bool whole = std::abs(wrong) < 0x1p53 && wrong == std::trunc(wrong);
  const std::string shown = missing ? "NA" : whole ? sentence(static_cast<Index>(wrong)) : sentence(wrong);
  fail(Fault::index, "`index` must be whole numbers of at least 1 and at most ", extent, ", the extent of `x`; number ",
       at, " of ", given.count, " is ", shown);
}

template <class Number>
std::vector<Number> whole_numbers(const arrays::Whole& whole) {
  std::vector<Number> numbers(static_cast<std::size_t>(whole.count));
  with_array(whole, [&](auto from) {
    std::transform(from, from + whole.count, numbers.begin(), [](auto number) { return static_cast<Number>(number); });
  });
  return numbers;
}

template <class Number>
Grouping<Number> grouping_from_r(const Rcpp::List& plan, const Indices<Number>& index, Index extent) {
  Grouping<Number> grouping{whole_numbers<Number>(whole_from_r(plan["order"])),
                            whole_numbers<Index>(whole_from_r(plan["offsets"]))};
  const Index mixed = first_mixed(grouping, index, extent);
  user_check(mixed == 0, Fault::input, "`plan` must be par_segments(by = index): it is of another index, as its group ",
             mixed, " shows");
  return grouping;
}

// Tells whether a total was too large for an integer.
template <class Number>
bool add_into(const Asked& asked, const Indices<Number>& index, SEXP plan) {
  const bool whole = TYPEOF(asked.array) == INTSXP;
  const bool planned = !Rf_isNull(plan) && serves_grouping(asked.task, index.count, whole);
  Grouping<Number> given;
  if (planned) given = grouping_from_r(Rcpp::List(plan), index, asked.task.shape.extent);
  const Grouping<Number>* const grouping = planned ? &given : nullptr;
  if (whole)
    return index_add(asked.task, index, grouping, static_cast<int>(asked.alpha), INTEGER_RO(asked.source),
                     INTEGER(asked.array));
  const double* const source = REAL_RO(asked.source);
  if (asked.mean)
    index_mean(asked.task, index, grouping, asked.include, asked.alpha, source, REAL(asked.array));
  else index_add(asked.task, index, grouping, asked.alpha, source, REAL(asked.array));
  return false;
}

// The index where it lies, if it can be.
bool add_into(const Asked& asked, const arrays::Whole& given, SEXP plan) {
  if (asked.task.shape.extent > kMostInt || given.count > kMostInt) {
    const std::vector<Index> numbers = whole_numbers<Index>(given);
    return add_into(asked, Indices<Index>{numbers.data(), given.count}, plan);
  }
  if (given.integers) return add_into(asked, Indices<std::int32_t>{given.integers, given.count}, plan);
  const std::vector<std::int32_t> numbers = whole_numbers<std::int32_t>(given);
  return add_into(asked, Indices<std::int32_t>{numbers.data(), given.count}, plan);
}

SEXP copy_of(SEXP x, const arrays::Workers& workers) {
  const R_xlen_t n = Rf_xlength(x);
  const SEXP out = PROTECT(Rf_allocVector(TYPEOF(x), n));
  const auto copy = [&](auto from, auto to) {
    each_piece(workers, n, [&](Index, Index first, Index last) { std::copy(from + first, from + last, to + first); });
  };
  if (TYPEOF(x) == INTSXP) copy(INTEGER_RO(x), INTEGER(out));
  else copy(REAL_RO(x), REAL(out));
  SHALLOW_DUPLICATE_ATTRIB(out, x);
  UNPROTECT(1);
  return out;
}

}  // namespace
}  // namespace kernweave

// `extents` are those of `x` before, along and after the indexed dimension, `steps` the source's; both are of one type.
// An array that nobody else has (`own`) is written to where it is.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_index_add(SEXP x, bool own, SEXP index, SEXP source, Rcpp::NumericVector extents,
                       Rcpp::NumericVector steps, double alpha, std::string op, bool include, bool reproducible,
                       SEXP plan, int threads) {
  return kernweave::at_border([&] {
    using kernweave::Index;
    kernweave::Asked asked;
    kernweave::IndexAdd& task = asked.task;
    task.shape = {static_cast<Index>(extents[0]), static_cast<Index>(extents[1]), static_cast<Index>(extents[2])};
    task.steps = {static_cast<Index>(steps[0]), static_cast<Index>(steps[1]), static_cast<Index>(steps[2])};
    task.op = kernweave::combine_named(op);
    task.reproducible = reproducible;
    task.workers = kernweave::workers_from_r(threads);
    const kernweave::arrays::Whole given = kernweave::whole_from_r(index);
    kernweave::check_index(given, task);
    const Rcpp::Shield<SEXP> out(own ? x : kernweave::copy_of(x, task.workers));
    asked.mean = op == "mean";
    asked.include = include;
    asked.alpha = alpha;
    asked.source = source;
    asked.array = out;
    const bool overflow = task.shape.slice() > 0 && kernweave::add_into(asked, given, plan);
    return Rcpp::List::create(Rcpp::_["x"] = static_cast<SEXP>(out), Rcpp::_["overflow"] = overflow);
  });
}
