// index_add(): a copy of the array, its numbers and those of the source where they lie, and the index.
#include "arrays/index_add.hpp"

#include <cmath>
#include <numeric>

#include "r_arrays.hpp"

namespace kernweave {
namespace {

using arrays::Grouping;
using arrays::IndexAdd;
using arrays::Indices;

// The request as R states it.
struct Asked {
  IndexAdd task;
  bool mean, include;
  double alpha;
  SEXP source, array;
};

// Item `at`, from 1, of an index is none of the slices; 0: all are.
void check_index(Index at, SEXP index, Index extent) {
  if (at == 0) return;
  const double wrong = number_at(index, at - 1);
  const bool whole = std::abs(wrong) < 0x1p53 && wrong == std::trunc(wrong);
  const std::string shown = wrong != wrong ? "NA" : whole ? sentence(static_cast<Index>(wrong)) : sentence(wrong);
  fail(Fault::index, "`index` must be whole numbers of at least 1 and at most ", extent, ", the extent of `x`; number ",
       at, " of ", Rf_xlength(index), " is ", shown);
}

Index first_outside(const Whole& given, const IndexAdd& task) {
  Index at = 0;
  with_array(given, [&](auto numbers) { at = first_outside(numbers, given.count, task.shape.extent, task.workers); });
  return at;
}

template <class Number>
std::vector<Number> whole_numbers(const Whole& whole) {
  std::vector<Number> numbers(static_cast<std::size_t>(whole.count));
  with_array(whole, [&](auto from) {
    std::transform(from, from + whole.count, numbers.begin(), [](auto number) { return static_cast<Number>(number); });
  });
  return numbers;
}

template <class Number>
Grouping<Number> grouping_from_r(SEXP segments, const Indices<Number>& index, const IndexAdd& task) {
  SegmentPlan plan(segments, task.workers);
  Grouping<Number> grouping{whole_numbers<Number>(whole_from_r(plan.order())),
                            whole_numbers<Index>(whole_from_r(plan.offsets()))};
  if (Rf_isNull(plan.order())) {
    grouping.order.resize(static_cast<std::size_t>(index.count));
    std::iota(grouping.order.begin(), grouping.order.end(), Number{1});
  }
  const Index extent = task.shape.extent;
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
  if (planned) given = grouping_from_r(plan, index, asked.task);
  const Grouping<Number>* const grouping = planned ? &given : nullptr;
  if (whole)
    return index_add(asked.task, index, grouping, static_cast<int>(asked.alpha), INTEGER_RO(asked.source),
                     INTEGER(asked.array));
  const double* const source = REAL_RO(asked.source);
  if (asked.mean) index_mean(asked.task, index, grouping, asked.include, asked.alpha, source, REAL(asked.array));
  else index_add(asked.task, index, grouping, asked.alpha, source, REAL(asked.array));
  return false;
}

// The index where it lies, if it can be.
bool add_into(const Asked& asked, const Whole& given, SEXP plan) {
  if (asked.task.shape.extent > kMostInt || given.count > kMostInt) {
    const std::vector<Index> numbers = whole_numbers<Index>(given);
    return add_into(asked, Indices<Index>{numbers.data(), given.count}, plan);
  }
  if (given.integers) return add_into(asked, Indices<std::int32_t>{given.integers, given.count}, plan);
  const std::vector<std::int32_t> numbers = whole_numbers<std::int32_t>(given);
  return add_into(asked, Indices<std::int32_t>{numbers.data(), given.count}, plan);
}

SEXP copy_of(SEXP x, const Workers& workers) {
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

SEXP of_type(SEXP x, SEXPTYPE type) { return TYPEOF(x) == static_cast<int>(type) ? x : Rf_coerceVector(x, type); }

List added_here(Asked* asked, SEXP x, bool own, SEXP index, SEXP source, SEXPTYPE type, SEXP plan) {
  read_here(x);
  read_here(source);
  own = own || TYPEOF(x) != static_cast<int>(type);
  const Shield<SEXP> typed(of_type(x, type)), terms(of_type(source, type));
  const Whole given = whole_from_r(index);
  check_index(first_outside(given, asked->task), index, asked->task.shape.extent);
  const Shield<SEXP> out(own ? static_cast<SEXP>(typed) : copy_of(typed, asked->task.workers));
  asked->source = terms;
  asked->array = out;
  const bool overflow = asked->task.shape.slice() > 0 && add_into(*asked, given, plan);
  return List::create(_["x"] = static_cast<SEXP>(out), _["overflow"] = overflow);
}

// --- on a device ----------------------------------------------------------------------------------------------------

// An index as integers, each the number of a slice.
SEXP index_on_gpu(SEXP index, const IndexAdd& task, SEXP like) {
  const Index extent = task.shape.extent;
  const double most = static_cast<double>(extent);
  const bool there = plain_on_gpu(index);
  if (there) check_index(first_not_whole_on_gpu(index, 1, most), index, extent);
  else check_index(first_outside(whole_from_r(index), task), index, extent);
  if (!there) return sent_to(Shield<SEXP>(of_type(index, INTSXP)), like);
  if (TYPEOF(index) == INTSXP) return index;
  return on_device_of(index, [&](OnDevice& here) {
    const Whole given = here.whole(index);
    return here.filled<int>(given.count, [&](int* out) {
      here.verbs().to_integers(here.gpu(), given.doubles, given.count, NA_INTEGER, out);
    });
  });
}

// An index sorted, and its items in that order.
List sorted_on_gpu(SEXP index, Index extent) {
  return on_device_of(index, [&](OnDevice& here) {
    const Index n = Rf_xlength(index);
    device::Block keys = here.room_for<int>(n), order = here.room_for<int>(n);
    here.verbs().sort_index(here.gpu(), here.whole(index).integers, n, extent, here.at<int>(keys), here.at<int>(order));
    return List::create(_["keys"] = here.integers(std::move(keys), n), _["order"] = here.integers(std::move(order), n));
  });
}

// Integers as doubles, on the device of another vector.
SEXP doubles_on_gpu(SEXP x, SEXP like) {
  return on_device_of(like, [&](OnDevice& here) {
    const Whole numbers = here.whole(x);
    return here.filled<double>(numbers.count, [&](double* out) {
      here.verbs().to_doubles(here.gpu(), numbers.integers, numbers.count, NA_INTEGER, NA_REAL, out);
    });
  });
}

// `index` is of integers that are known to be right; `sorted` is that index sorted, or NULL.
List added_there(const Asked& asked, SEXP x, SEXP index, SEXP source, SEXP sorted) {
  return on_device_of(x, [&](OnDevice& here) {
    arrays::cuda::AddTask task{};
    task.shape = asked.task.shape;
    task.steps = asked.task.steps;
    task.op = asked.task.op;
    task.mean = asked.mean;
    task.include = asked.include;
    task.alpha = asked.alpha;
    const Whole numbers = here.whole(index), terms = here.whole(source);
    task.index = numbers.integers;
    task.count = numbers.count;
    if (!Rf_isNull(sorted)) {
      task.sorted_keys = here.whole(VECTOR_ELT(sorted, 0)).integers;
      task.order = here.whole(VECTOR_ELT(sorted, 1)).integers;
    }
    const Shield<SEXP> out(here.copied(x));
    SHALLOW_DUPLICATE_ATTRIB(out, x);
    const Whole array = here.whole(out);
    bool overflow = false;
    if (array.integers)
      overflow = here.verbs().add_integers(here.gpu(), task, terms.integers, const_cast<int*>(array.integers));
    else here.verbs().add_doubles(here.gpu(), task, terms.doubles, const_cast<double*>(array.doubles));
    return List::create(_["x"] = static_cast<SEXP>(out), _["overflow"] = overflow);
  });
}

// Adds on the GPU. If a plan is given, the order of its index is kept with the plan.
List added_on_gpu(const Asked& asked, SEXP x, SEXP index, SEXP source, SEXPTYPE type, SEXP whole_plan) {
  RObject array = x, at, sorted, terms = source;
  const Index extent = asked.task.shape.extent;
  if (Rf_isNull(whole_plan)) {
    at = index_on_gpu(index, asked.task, x);
  } else {
    Environment kept = List(whole_plan)["kept"];
    if (!kept.exists("sorted")) {
      kept["index"] = RObject(index_on_gpu(index, asked.task, x));
      kept["sorted"] = sorted_on_gpu(kept["index"], extent);
    }
    at = kept["index"];
    sorted = kept["sorted"];
  }
  if (TYPEOF(x) != static_cast<int>(type)) {
    array = doubles_on_gpu(x, x);
    SHALLOW_DUPLICATE_ATTRIB(array, x);
  }
  if (TYPEOF(terms) == LGLSXP) terms = Rf_coerceVector(terms, INTSXP);
  if (TYPEOF(terms) != static_cast<int>(type)) terms = doubles_on_gpu(terms, x);
  return added_there(asked, array, at, terms, sorted);
}

}  // namespace

// `extents` are those of `x` before, along and after the indexed dimension, `steps` the source's. `type` is that of the
// result, to which both are brought. An array that nobody else has (`own`) is written to where it is. `plan_alone`: the
// plan is all that is known of the index.
// [[Rcpp::export(rng = false)]]
List r_index_add(SEXP x, bool own, std::string type, SEXP index, SEXP source, NumericVector extents,
                 NumericVector steps, double alpha, std::string op, bool include, bool reproducible, SEXP plan,
                 bool plan_alone, int threads) {
  Asked asked;
  IndexAdd& task = asked.task;
  task.shape = {static_cast<Index>(extents[0]), static_cast<Index>(extents[1]), static_cast<Index>(extents[2])};
  task.steps = {static_cast<Index>(steps[0]), static_cast<Index>(steps[1]), static_cast<Index>(steps[2])};
  using arrays::Combine;
  task.op = op == "prod" ? Combine::prod : op == "min" ? Combine::min : op == "max" ? Combine::max : Combine::sum;
  task.reproducible = reproducible;
  task.workers = workers_from_r(threads);
  asked.mean = op == "mean";
  asked.include = include;
  asked.alpha = alpha;
  const SEXPTYPE kind = type == "double" ? REALSXP : INTSXP;
  if (on_gpu(x) && Rf_xlength(x) <= kMostInt)
    return added_on_gpu(asked, x, index, source, kind, plan_alone ? plan : R_NilValue);
  return added_here(&asked, x, own, index, source, kind, plan);
}

}  // namespace kernweave
