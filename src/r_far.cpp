// Approximated matrices for R: turns a formula and its data into far and near pairs, weights into sums and bounds.
#include <algorithm>

#include "device/driver.hpp"
#include "device/nvrtc.hpp"
#include "execute/data.hpp"
#include "far/approximation.hpp"
#include "r_arrays.hpp"
#include "r_call.hpp"

namespace kernweave {
namespace {

using far::Approximation;

constexpr const char* kApproximationTag = "kernweave_approximation";

// `written`: the plan of a formula as it is written, with data and operands.
Verdict radial_form_of(const List& written, const NumericVector& extent, const Workers& workers,
                       distance::RadialForm* form) {
  const Plan& plan = plan_behind(written["plan"])->plan;
  const Given given{written["data"], written["operands"]};
  const std::vector<OperandData> operands = operands_of(given);
  RHost host(given, {});
  Data data(plan, operands, &host);
  data.all_on_host();
  return distance::recognise_radial(plan, data.views(), static_cast<std::int64_t>(extent[0]),
                                    static_cast<std::int64_t>(extent[1]), workers, form);
}

// Returns places counted from 1.
template <class Numbers>
IntegerVector order_to_r(const Numbers& order) {
  return column(order, [](std::int64_t number) { return static_cast<int>(number + 1); });
}

List near_to_r(const std::vector<Rectangle>& near) {
  const auto i_from = [](const Rectangle& r) { return static_cast<double>(r.rows.from + 1); };
  const auto i_to = [](const Rectangle& r) { return static_cast<double>(r.rows.to); };
  const auto j_from = [](const Rectangle& r) { return static_cast<double>(r.columns.from + 1); };
  const auto j_to = [](const Rectangle& r) { return static_cast<double>(r.columns.to); };
  return table(near, {"i_from", "i_to", "j_from", "j_to"}, i_from, i_to, j_from, j_to);
}

}  // namespace

far::Approximation& approximation_behind(SEXP pointer) {
  return object_behind<Approximation>(pointer, kApproximationTag, "approximation");
}

// Approximates a formula for GPU number `device`, or for the CPU (-1); returns a text if it is not one of a distance.
// [[Rcpp::export(rng = false)]]
SEXP r_far_plan(List written, NumericVector extent, double tol, bool proof, NumericVector prices, int threads,
                int device) {
  distance::RadialForm form;
  const Verdict verdict = radial_form_of(written, extent, workers_from_r(threads), &form);
  if (!verdict.yes) return wrap(verdict.why);
  if (form.width > 3) return wrap(form.width);
  const far::ApproximationRequest request{tol,
                                          proof ? far::Grade::proof : far::Grade::audit,
                                          {prices[0], prices[1]},
                                          device < 0 ? nullptr : &device::open(device)};
  auto made = Approximation::make(std::move(form), request, {allowed_threads(threads), poll_r});
  const Approximation& a = *made;
  const XPtr<Approximation> pointer(made.release(), true, Rf_install(kApproximationTag));
  using Level = far::LevelReport;
  const Names columns = {"half", "degrees", "terms", "far", "skipped", "split", "far_pairs", "skipped_pairs", "work"};
  const DataFrame levels(table(a.levels(), columns, &Level::half, &Level::degrees, &Level::terms, &Level::far,
                               &Level::skipped, &Level::split, &Level::pairs_far, &Level::pairs_skipped, &Level::work));
  return listed({"pointer", "levels", "scale", "same", "near_pairs", "bytes", "outliers", "rough", "formula", "factors",
                "no_series"}, pointer, levels, a.scale, a.same, a.near_pairs(), a.bytes(), a.outliers(), a.rough,
                a.formula(), a.factors(), a.why_no_series());
}

// Returns the numbers of points in the order of boxes, for rows and for columns.
// [[Rcpp::export(rng = false)]]
List r_far_orders(SEXP pointer) {
  const Approximation& a = approximation_behind(pointer);
  const bool one = &a.order_of_rows() == &a.order_of_columns();
  const IntegerVector i = order_to_r(a.order_of_rows()), j = one ? i : order_to_r(a.order_of_columns());
  return listed({"i", "j"}, i, j);
}

// Returns the points of a formula that falls with the distance of points of one set, scaled so that the formula needs
// their plain distance; NULL for any other formula.
// [[Rcpp::export(rng = false)]]
SEXP r_far_points(List written, NumericVector extent) {
  distance::RadialForm form;
  const Workers workers = workers_from_r(0);
  const Verdict verdict = radial_form_of(written, extent, workers, &form);
  if (!verdict.yes || !distance::falls_between_same(form, workers)) return R_NilValue;
  NumericMatrix points(static_cast<int>(extent[0]), form.width);
  std::copy(form.rows.points->begin(), form.rows.points->end(), points.begin());
  return points;
}

// Finds the pairs that remain when a formula's small values are left out; else returns a text, as above.
// [[Rcpp::export(rng = false)]]
SEXP r_far_truncated(List written, NumericVector extent, double tol, bool relative, int threads) {
  distance::RadialForm form;
  const Workers workers = workers_from_r(threads);
  const Verdict verdict = radial_form_of(written, extent, workers, &form);
  if (!verdict.yes) return wrap(verdict.why);
  if (form.power > 0 || form.components > 1) return wrap("a difference or a vector multiplies it");
  const auto found = far::truncated(form, {tol, relative}, workers);
  const IntegerVector i = order_to_r(found.rows), j = order_to_r(found.columns);
  return listed({"i", "j", "near", "kept", "left_out", "scale"}, i, j, near_to_r(found.kept), found.kept_pairs,
                found.largest_left_out, found.scale);
}

// Returns the near pairs of an approximation, in the order of its boxes, for another process: ends of rectangles.
// [[Rcpp::export(rng = false)]]
List r_far_near(SEXP pointer) { return near_to_r(approximation_behind(pointer).near()); }

// Returns the places, from 1, of points on both sides whose pairs with themselves are not near pairs.
// [[Rcpp::export(rng = false)]]
IntegerVector r_far_from_themselves(SEXP pointer) {
  return order_to_r(approximation_behind(pointer).far_from_themselves());
}

// Bounds the errors of products: a column for each column of weights and each component of the formula.
// [[Rcpp::export(rng = false)]]
NumericMatrix r_far_bounds(SEXP pointer, NumericMatrix weights, int threads) {
  const Approximation& a = approximation_behind(pointer);
  const auto rows = static_cast<int>(a.order_of_rows().size());
  const int columns = weights.ncol() * a.components();
  NumericMatrix bounds(rows, columns);
  std::vector<double> sorted(static_cast<std::size_t>(weights.size())), sums(static_cast<std::size_t>(bounds.size()));
  const Workers workers{allowed_threads(threads), poll_r};
  far::check_finite(a.sort(weights.begin(), weights.ncol(), workers, sorted.data()));
  a.multiply(sorted.data(), nullptr, weights.ncol(), workers, sums.data(), bounds.begin());
  return bounds;
}

// --- on a GPU -------------------------------------------------------------------------------------------------------

// Returns the number of the GPU that computes far pairs if `device` is wanted; -1 for the CPU. Kernels for far pairs
// are compiled when first used.
// [[Rcpp::export(rng = false)]]
int r_far_device(std::string device) {
  if (device == "cpu" || device == "reference") return -1;
  const bool named = !device.empty() && std::isdigit(static_cast<unsigned char>(device[0]));
  const int number = named ? std::stoi(device) : 0;
  return device::probe(number).yes && device::compiler().found ? number : -1;
}

// Returns a plan's axes of each operand: 1 for i, 2 for j, 3 for both, or if rows are gathered.
// [[Rcpp::export(rng = false)]]
IntegerVector r_far_sides(SEXP plan, int operands) {
  const Plan& written = plan_behind(plan)->plan;
  IntegerVector sides(operands);
  const auto note = [&](const Variable& v, int bits) {
    if (v.source == Source::data) sides[v.operand] |= bits;
  };
  for (const Variable& v : written.variables) note(v, v.axis == Axis::i ? 1 : v.axis == Axis::j ? 2 : 0);
  for (const GatherBound& bound : written.gathers) note(written.variables[static_cast<std::size_t>(bound.variable)], 3);
  return sides;
}

// Puts numbers of the matrix's rows or columns into the order of boxes: a matrix that lies on a GPU. The facts about
// points that products in float32 need are found here, before such products run.
// [[Rcpp::export(rng = false)]]
SEXP r_far_in_order_gpu(SEXP pointer, int device, int threads, bool of_rows, SEXP numbers, int columns) {
  const auto put_in_order = [&]() -> SEXP {
    far::Approximation& a = approximation_behind(pointer);
    OnDevice here(&device::open(device));
    const auto& order = of_rows ? a.order_of_rows() : a.order_of_columns();
    const auto rows = static_cast<Index>(order.size()), count = rows * columns;
    const Shield<SEXP> made(waited_for(here, [&](OnDevice&) {
      auto sorted = here.room_for<double>(count);
      a.on(&here.gpu(), workers_from_r(threads))
          .sort(of_rows, here.whole(numbers).doubles, columns, here.at<double>(sorted), false);
      return here.vector(REALSXP, std::move(sorted), count);
    }));
    find_middle_and_reach({nullptr, rows, columns, resident(made)});
    Rf_setAttrib(made, R_DimSymbol, IntegerVector::create(static_cast<int>(rows), columns));
    return made;
  };
  return with_second_try(put_in_order);
}

}  // namespace kernweave
