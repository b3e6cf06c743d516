// Preconditioners behind pointers are bound to data anew in each call.
#include "r_preconditioner.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "border.hpp"
#include "pairs/box_tree.hpp"
#include "r_data.hpp"
#include "r_host.hpp"
#include "r_plan.hpp"
#include "solve/vecchia.hpp"

namespace kernweave {
namespace {

solve::EntriesPlan entries_plan(const Rcpp::List& from) {
  return {plan_behind(from["plan"]), operands_of({from["data"], from["operands"]}), Rcpp::as<int>(from["rows"]),
          Rcpp::as<int>(from["columns"])};
}

solve::Thin thin_from_r(const Rcpp::List& description) {
  if (landmarks_from_r(description).empty()) return {};
  return {operator_from_r(description["from"], poll_r), operator_from_r(description["to"], poll_r)};
}

}  // namespace

void poll_r(double) {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point next;
  poll_interrupt();
  if (Clock::now() < next) return;
  next = Clock::now() + std::chrono::milliseconds(500);
  progress_polled(NA_REAL, NA_REAL);
}

solve::Entries entries_from_r(const Rcpp::List& from) {
  return {entries_plan(from["block"]), entries_plan(from["pairs"]), settings_from_r(from["settings"]), poll_r};
}

solve::RowIndices landmarks_from_r(const Rcpp::List& description) {
  return Rcpp::as<solve::RowIndices>(description["landmarks"]);
}

solve::ConditioningSets neighbours_from_r(const Rcpp::List& description) {
  const Rcpp::IntegerMatrix at = description["neighbours"];
  solve::ConditioningSets neighbours{Rcpp::as<solve::RowIndices>(description["order"]), {}, {}};
  for (const double place : Rcpp::as<solve::RowIndices>(description["sequence"]))
    neighbours.sequence.push_back(static_cast<int>(place) - 1);
  neighbours.at.resize(at.nrow(), at.ncol());
  for (R_xlen_t k = 0; k < at.size(); ++k) neighbours.at.data()[k] = at[k] == NA_INTEGER ? -1 : at[k] - 1;
  return neighbours;
}

device::Device* home_from_r(const Rcpp::List& description) {
  const solve::Thin thin = thin_from_r(description);
  return thin.to ? thin.to->home() : nullptr;
}

solve::Preconditioner* preconditioner_behind(SEXP pointer) {
  if (Rf_isNull(pointer)) return nullptr;
  internal_check(TYPEOF(pointer) == EXTPTRSXP && R_ExternalPtrAddr(pointer), "a preconditioner of another session");
  auto* const found = static_cast<solve::Preconditioner*>(R_ExternalPtrAddr(pointer));
  found->bind(thin_from_r(description_behind(pointer)));
  return found;
}

// Pointer -> weak reference, which is not saved -> pointer, since R_MakeWeakRef duplicates a shared value ->
// description.
SEXP preconditioner_to_r(solve::PreconditionerPointer made, const Rcpp::List& description) {
  const Rcpp::XPtr<solve::Preconditioner> pointer(made.release(), true);
  const Rcpp::Shield<SEXP> holder(R_MakeExternalPtr(nullptr, R_NilValue, description));
  R_SetExternalPtrProtected(pointer, R_MakeWeakRef(pointer, holder, R_NilValue, FALSE));
  return pointer;
}

Rcpp::List description_behind(SEXP pointer) {
  return Rcpp::List(R_ExternalPtrProtected(R_WeakRefValue(R_ExternalPtrProtected(pointer))));
}

}  // namespace kernweave

// A pointer that was saved and loaded has what another one had that was made in its place.
// [[Rcpp::export(rng = false)]]
void r_take_place(SEXP empty, SEXP made) {
  kernweave::at_border([&] {
    const Rcpp::XPtr<kernweave::solve::Preconditioner> filled(made);
    const Rcpp::Shield<SEXP> holder(R_WeakRefValue(R_ExternalPtrProtected(made)));
    R_SetExternalPtrAddr(empty, filled.get());
    R_ClearExternalPtr(made);
    R_SetExternalPtrProtected(empty, R_MakeWeakRef(empty, holder, R_NilValue, FALSE));
    Rcpp::XPtr<kernweave::solve::Preconditioner>(empty).setDeleteFinalizer();
  });
}

// Gives pages of the heap back that hold nothing, where the C library can.
// [[Rcpp::export(rng = false)]]
void r_trim_heap() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// Gives the memory back of one that hardly will be asked again: then it is made anew, as one that was saved.
// [[Rcpp::export(rng = false)]]
void r_empty_preconditioner(SEXP pointer) {
  kernweave::at_border([&] {
    delete static_cast<kernweave::solve::Preconditioner*>(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
  });
}

// The first m of the points in each column that come before it, column k being point first + k of the order; missing
// ones last. `place`: the points' numbers where some are left out, which have 0.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix r_first_neighbours(Rcpp::IntegerMatrix at, Rcpp::Nullable<Rcpp::IntegerVector> place, double first,
                                       int m) {
  return kernweave::at_border([&] {
    const Rcpp::IntegerVector places = place.isNull() ? Rcpp::IntegerVector() : Rcpp::IntegerVector(place.get());
    Rcpp::IntegerMatrix found(m, at.ncol());
    std::fill(found.begin(), found.end(), NA_INTEGER);
    for (int column = 0; column < at.ncol(); ++column) {
      int* to = &found(0, column);
      int* const end = to + m;
      for (const int* from = &at(0, column); from != &at(0, column) + at.nrow() && to != end; ++from) {
        if (*from == NA_INTEGER || *from >= first + column) continue;
        const int number = place.isNull() ? *from : places[*from - 1];
        if (number) *to++ = number;
      }
    }
    return found;
  });
}

// Finds for each row of `points` the m nearest rows before it: a column of their numbers, missing numbers last. The
// attribute `along` has the rows as they lie in boxes.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix r_nearest_before(Rcpp::NumericMatrix points, int m, int threads) {
  return kernweave::at_border([&] {
    kernweave::Coordinates<double> axes;
    for (int axis = 0; axis < points.ncol(); ++axis)
      axes.emplace_back(points.column(axis).begin(), points.column(axis).end());
    Rcpp::IntegerVector along(points.nrow());
    const std::vector<int> found =
        kernweave::nearest_before(axes, m, kernweave::allowed_threads(threads), kernweave::poll_r, along.begin());
    Rcpp::IntegerMatrix numbers(m, points.nrow());
    std::transform(found.begin(), found.end(), numbers.begin(), [](int at) { return at < 0 ? NA_INTEGER : at + 1; });
    for (int& at : along) ++at;
    numbers.attr("along") = along;
    return numbers;
  });
}

// Row 1 of the means, row 2 of the variances, after data whose numbers (from 1) `near` has in a column for each place.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix r_conditional_local(Rcpp::List entries, Rcpp::List data, Rcpp::List places) {
  return kernweave::at_border([&] {
    kernweave::solve::Entries numbers = kernweave::entries_from_r(entries);
    const kernweave::solve::SeenData seen{Rcpp::as<kernweave::solve::RowIndices>(data["at"]),
                                          kernweave::vector_from_r(data["ridge"]),
                                          kernweave::block_from_r(data["numbers"]), Rcpp::as<int>(data["responses"])};
    const Rcpp::IntegerMatrix near = places["near"];
    const kernweave::solve::Slots slots =
        Eigen::Map<const kernweave::solve::Slots>(near.begin(), near.nrow(), near.ncol()).array() - 1;
    return kernweave::block_to_r(kernweave::solve::conditional_local(
        &numbers, seen,
        {Rcpp::as<kernweave::solve::RowIndices>(places["at"]), slots, kernweave::block_from_r(places["regressors"])},
        kernweave::poll_r));
  });
}
