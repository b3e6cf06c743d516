// R's way to approximated matrices: a formula and its data to far and near pairs, weights to sums and bounds.
#include "r_far.hpp"

#include "border.hpp"
#include "far/approximation.hpp"
#include "r_arrays.hpp"
#include "r_data.hpp"
#include "r_host.hpp"
#include "r_plan.hpp"
#include "r_preconditioner.hpp"

namespace kernweave {
namespace {

using far::Approximation;

SEXP approximation_tag() { return Rf_install("kernweave_approximation"); }

std::vector<View> views_of(const Plan& plan, const Given& given) {
  const std::vector<OperandData> operands = operands_of(given);
  RHost host(given, {});
  Data data(plan, operands, &host);
  data.all_on_host();
  return data.views();
}

Verdict radial_form_of(SEXP plan, const Given& given, double rows, double columns, int threads,
                       distance::RadialForm* form) {
  const Plan& written = plan_behind(plan)->plan;
  return distance::recognise_radial(written, views_of(written, given), static_cast<std::int64_t>(rows),
                         static_cast<std::int64_t>(columns), workers_from_r(threads), form);
}

// Places from 1.
template <class Numbers>
Rcpp::IntegerVector order_to_r(const Numbers& order) {
  Rcpp::IntegerVector out = Rcpp::no_init(static_cast<R_xlen_t>(order.size()));
  std::transform(order.begin(), order.end(), out.begin(),
                 [](std::int64_t number) { return static_cast<int>(number + 1); });
  return out;
}

Rcpp::List near_to_r(const std::vector<Rectangle>& near) {
  const auto n = static_cast<R_xlen_t>(near.size());
  Rcpp::NumericVector i_from(n), i_to(n), j_from(n), j_to(n);
  for (R_xlen_t k = 0; k < n; ++k) {
    const Rectangle& r = near[static_cast<std::size_t>(k)];
    i_from[k] = static_cast<double>(r.rows.from + 1);
    i_to[k] = static_cast<double>(r.rows.to);
    j_from[k] = static_cast<double>(r.columns.from + 1);
    j_to[k] = static_cast<double>(r.columns.to);
  }
  return Rcpp::List::create(Rcpp::_["i_from"] = i_from, Rcpp::_["i_to"] = i_to, Rcpp::_["j_from"] = j_from,
                            Rcpp::_["j_to"] = j_to);
}

Rcpp::DataFrame levels_to_r(const std::vector<far::LevelReport>& levels) {
  Rcpp::NumericVector half, far_pairs, skipped_pairs, work;
  Rcpp::IntegerVector degrees, terms, far, skipped, split;
  for (const far::LevelReport& level : levels) {
    half.push_back(level.half);
    degrees.push_back(level.degrees);
    terms.push_back(level.terms);
    far.push_back(level.far);
    skipped.push_back(level.skipped);
    split.push_back(level.split);
    far_pairs.push_back(level.pairs_far);
    skipped_pairs.push_back(level.pairs_skipped);
    work.push_back(level.work);
  }
  return Rcpp::DataFrame::create(Rcpp::_["half"] = half, Rcpp::_["degrees"] = degrees, Rcpp::_["terms"] = terms,
                                 Rcpp::_["far"] = far, Rcpp::_["skipped"] = skipped, Rcpp::_["split"] = split,
                                 Rcpp::_["far_pairs"] = far_pairs, Rcpp::_["skipped_pairs"] = skipped_pairs,
                                 Rcpp::_["work"] = work);
}

}  // namespace

far::Approximation& approximation_behind(SEXP pointer) {
  const bool ours = TYPEOF(pointer) == EXTPTRSXP && R_ExternalPtrTag(pointer) == approximation_tag();
  internal_check(ours && R_ExternalPtrAddr(pointer) != nullptr, "this is no approximation of this session");
  return *static_cast<Approximation*>(R_ExternalPtrAddr(pointer));
}

}  // namespace kernweave

// Approximates the plan of a formula as it is written, for a GPU by its number, or for the CPU (-1). Returns a text
// with the reason if it is no formula of a distance.
// [[Rcpp::export(rng = false)]]
SEXP r_far_plan(SEXP plan, Rcpp::List data, Rcpp::List operands, Rcpp::NumericVector extents, double tol, bool proof,
                Rcpp::NumericVector prices, int threads, int device) {
  return kernweave::at_border([&]() -> SEXP {
    kernweave::distance::RadialForm form;
    const kernweave::Verdict verdict =
        kernweave::radial_form_of(plan, {data, operands}, extents[0], extents[1], threads, &form);
    if (!verdict.yes) return Rcpp::wrap(verdict.why);
    if (form.width > 3) return Rcpp::wrap(form.width);
    const kernweave::far::ApproximationRequest request{
        tol, proof ? kernweave::far::Grade::proof : kernweave::far::Grade::audit, {prices[0], prices[1]},
        device < 0 ? nullptr : &kernweave::device::open(device)};
    const kernweave::arrays::Workers workers{kernweave::allowed_threads(threads), kernweave::poll_r};
    auto made = kernweave::Approximation::make(std::move(form), request, workers);
    const kernweave::Approximation& a = *made;
    const Rcpp::XPtr<kernweave::Approximation> pointer(made.release(), true, kernweave::approximation_tag());
    return Rcpp::List::create(
        Rcpp::_["pointer"] = pointer,
        Rcpp::_["levels"] = kernweave::levels_to_r(a.levels()), Rcpp::_["scale"] = a.scale, Rcpp::_["same"] = a.same,
        Rcpp::_["near_pairs"] = a.near_pairs(), Rcpp::_["bytes"] = a.bytes(),
        Rcpp::_["outliers"] = a.outliers(), Rcpp::_["rough"] = a.rough,
        Rcpp::_["formula"] = a.formula(), Rcpp::_["factors"] = a.factors(),
        Rcpp::_["no_series"] = a.why_no_series());
  });
}

// The numbers of points in the order of boxes, of rows and of columns.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_far_orders(SEXP pointer) {
  return kernweave::at_border([&] {
    const kernweave::Approximation& a = kernweave::approximation_behind(pointer);
    const bool one = &a.order_of_rows() == &a.order_of_columns();
    const Rcpp::IntegerVector i = kernweave::order_to_r(a.order_of_rows()),
                              j = one ? i : kernweave::order_to_r(a.order_of_columns());
    return Rcpp::List::create(Rcpp::_["i"] = i, Rcpp::_["j"] = j);
  });
}

// The points, scaled so that their distance is a plain one, of a formula that falls with the distance of points to
// themselves; NULL where it is another.
// [[Rcpp::export(rng = false)]]
SEXP r_far_points(SEXP plan, Rcpp::List data, Rcpp::List operands, double n) {
  return kernweave::at_border([&]() -> SEXP {
    kernweave::distance::RadialForm form;
    const kernweave::Verdict verdict = kernweave::radial_form_of(plan, {data, operands}, n, n, 0, &form);
    if (!verdict.yes || !kernweave::distance::falls_between_same(form, kernweave::workers_from_r(0))) return R_NilValue;
    Rcpp::NumericMatrix points(static_cast<int>(n), form.width);
    std::copy(form.rows.points->begin(), form.rows.points->end(), points.begin());
    return points;
  });
}

// Finds the pairs that are left of a formula as it is written without small values; else a text, as above.
// [[Rcpp::export(rng = false)]]
SEXP r_far_truncated(SEXP plan, Rcpp::List data, Rcpp::List operands, Rcpp::NumericVector extents, double tol,
                     bool relative, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    kernweave::distance::RadialForm form;
    const kernweave::Verdict verdict =
        kernweave::radial_form_of(plan, {data, operands}, extents[0], extents[1], threads, &form);
    if (!verdict.yes) return Rcpp::wrap(verdict.why);
    if (form.power > 0 || form.components > 1) return Rcpp::wrap("a difference or a vector multiplies it");
    const auto found = kernweave::far::truncated(form, {tol, relative}, kernweave::workers_from_r(threads));
    return Rcpp::List::create(
        Rcpp::_["i"] = kernweave::order_to_r(found.rows), Rcpp::_["j"] = kernweave::order_to_r(found.columns),
        Rcpp::_["near"] = kernweave::near_to_r(found.kept), Rcpp::_["kept"] = found.kept_pairs,
        Rcpp::_["left_out"] = found.largest_left_out, Rcpp::_["scale"] = found.scale);
  });
}

// The near pairs of an approximation, in the order of its boxes, for another process: ends of rectangles.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_far_near(SEXP pointer) {
  return kernweave::at_border([&] { return kernweave::near_to_r(kernweave::approximation_behind(pointer).near()); });
}

// The points on both sides whose pair with themselves is none of the near ones: places from 1.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector r_far_from_themselves(SEXP pointer) {
  return kernweave::at_border(
      [&] { return kernweave::order_to_r(kernweave::approximation_behind(pointer).far_from_themselves()); });
}

// Bounds the errors of products: a matrix with a column for each column of weights and each
// component of the formula.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix r_far_bounds(SEXP pointer, Rcpp::NumericMatrix weights, int threads) {
  return kernweave::at_border([&] {
    const kernweave::Approximation& a = kernweave::approximation_behind(pointer);
    const auto rows = static_cast<int>(a.order_of_rows().size());
    const int columns = weights.ncol() * a.components();
    Rcpp::NumericMatrix bounds(rows, columns);
    std::vector<double> sorted(static_cast<std::size_t>(weights.size())), sums(static_cast<std::size_t>(bounds.size()));
    const kernweave::arrays::Workers workers{kernweave::allowed_threads(threads), kernweave::poll_r};
    kernweave::far::check_finite(a.sort(weights.begin(), weights.ncol(), workers, sorted.data()));
    a.multiply(sorted.data(), nullptr, weights.ncol(), workers, sums.data(), bounds.begin());
    return bounds;
  });
}
