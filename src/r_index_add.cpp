// index_add(): a copy of the array, its numbers and those of the source where they lie, and the index.
#include <cmath>

#include "r_arrays.hpp"

namespace kernweave {
namespace {

// Item `at`, from 1, of an index is none of the slices; 0: all are.
void check_index(Index at, SEXP index, Index extent) {
  if (at == 0) return;
  const double wrong = number_at(index, at - 1);
  const bool whole = std::abs(wrong) < 0x1p53 && wrong == std::trunc(wrong);
  const std::string shown = wrong != wrong ? "NA" : whole ? sentence(static_cast<Index>(wrong)) : sentence(wrong);
  fail(Fault::index, "`index` must be whole numbers of at least 1 and at most ", extent, ", the extent of `x`; number ",
       at, " of ", Rf_xlength(index), " is ", shown);
}

}  // namespace

// `extents` are those of `x` before, along and after the indexed dimension, `steps` the source's. `type` is that of the
// result, to which both are brought. An array that nobody else has (`own`) is written to where it is. `plan_alone`: the
// plan is all that is known of the index.
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
