// index_add(): copies the array, and finds its numbers, the source's numbers and the index.
#include <cmath>

#include "r_arrays.hpp"

namespace kernweave {
namespace {

// Refuses item `at`, counted from 1, of an index, as it is not the number of a slice; 0: all items are.
void check_index(Index at, SEXP index, Index extent) {
  if (at == 0) return;
  const double wrong = number_at(index, at - 1);
  const bool whole = std::abs(wrong) < 0x1p53 && wrong == std::trunc(wrong);
  const std::string shown = wrong != wrong ? "NA" : whole ? sentence(static_cast<Index>(wrong)) : sentence(wrong);
  fail(Fault::index, "`index` must be whole numbers of at least 1 and at most ", extent, ", the extent of `x`; number ",
       at, " of ", Rf_xlength(index), " is ", shown);
}

}  // namespace

// `extents` are the extents of `x` before, along and after the indexed dimension, `steps` the steps of the source.
// `type` is the type of the result; array and source are converted to it. An array without another owner (`own`) is
// written in place. `plan_alone`: the index is known by its plan alone.
// [[Rcpp::export(rng = false)]]
SEXP r_index_add(SEXP x, bool own, std::string type, SEXP index, SEXP source, NumericVector extents,
                 NumericVector steps, double alpha, std::string op, bool include, bool reproducible, SEXP plan,
                 bool plan_alone, int threads) {
  using arrays::Combine;
  const auto number = [](const NumericVector& v, int k) { return static_cast<Index>(v[k]); };
  arrays::AddTask task;
  task.how.shape = {number(extents, 0), number(extents, 1), number(extents, 2)};
  task.how.steps = {number(steps, 0), number(steps, 1), number(steps, 2)};
  task.how.op = op == "prod" ? Combine::prod : op == "min" ? Combine::min : op == "max" ? Combine::max : Combine::sum;
  task.how.reproducible = reproducible;
  task.mean = op == "mean";
  task.include = include;
  task.alpha = alpha;
  task.plan_alone = plan_alone;
  const SEXPTYPE kind = type == "double" ? REALSXP : INTSXP;
  return carried_out({x}, threads, [&](Call& here) {
    const Index extent = task.how.shape.extent;
    task.index = here.column(plan_alone ? here.lent(plan, "index", index) : index);
    check_index(here.verbs().first_not_whole(task.index, 1, static_cast<double>(extent)), index, extent);
    if (!Rf_isNull(plan)) task.plan = [&] { return here.segments(plan); };
    const Whole terms = here.of_type(source, kind);
    const Numbers array = Call::numbers_at(kind, here.copy_of("x", x, kind, own));
    here.tell("overflow", wrap(here.verbs().index_add(task, terms, array)));
  });
}

}  // namespace kernweave
