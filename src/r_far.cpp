// R's way to approximated matrices: a formula and its data to far and near pairs, weights to sums and bounds.
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

Verdict radial_form_of(SEXP plan, const Given& given, double rows, double columns, int threads,
                       distance::RadialForm* form) {
  const Plan& written = plan_behind(plan)->plan;
  const std::vector<OperandData> operands = operands_of(given);
  RHost host(given, {});
  Data data(written, operands, &host);
  data.all_on_host();
  return distance::recognise_radial(written, data.views(), static_cast<std::int64_t>(rows),
                                    static_cast<std::int64_t>(columns), workers_from_r(threads), form);
}

// Places from 1.
template <class Numbers>
IntegerVector order_to_r(const Numbers& order) {
  return column(order, [](std::int64_t number) { return static_cast<int>(number + 1); });
}

List near_to_r(const std::vector<Rectangle>& near) {
  const auto ends = [&](auto end) {
    return column(near, [&](const Rectangle& r) { return static_cast<double>(end(r)); });
  };
  return List::create(_["i_from"] = ends([](const Rectangle& r) { return r.rows.from + 1; }),
                      _["i_to"] = ends([](const Rectangle& r) { return r.rows.to; }),
                      _["j_from"] = ends([](const Rectangle& r) { return r.columns.from + 1; }),
                      _["j_to"] = ends([](const Rectangle& r) { return r.columns.to; }));
}

DataFrame levels_to_r(const std::vector<far::LevelReport>& levels) {
  using Level = far::LevelReport;
  return DataFrame::create(_["half"] = column(levels, &Level::half), _["degrees"] = column(levels, &Level::degrees),
                           _["terms"] = column(levels, &Level::terms), _["far"] = column(levels, &Level::far),
                           _["skipped"] = column(levels, &Level::skipped), _["split"] = column(levels, &Level::split),
                           _["far_pairs"] = column(levels, &Level::pairs_far),
                           _["skipped_pairs"] = column(levels, &Level::pairs_skipped),
                           _["work"] = column(levels, &Level::work));
}

}  // namespace

far::Approximation& approximation_behind(SEXP pointer) {
  return object_behind<Approximation>(pointer, kApproximationTag, "approximation");
}

// Approximates the plan of a formula as it is written, for a GPU by its number, or for the CPU (-1). Returns a text
// with the reason if it is no formula of a distance.
// [[Rcpp::export(rng = false)]]
SEXP r_far_plan(SEXP plan, List data, List operands, NumericVector extents, double tol, bool proof,
                NumericVector prices, int threads, int device) {
  distance::RadialForm form;
  const Verdict verdict = radial_form_of(plan, {data, operands}, extents[0], extents[1], threads, &form);
  if (!verdict.yes) return wrap(verdict.why);
  if (form.width > 3) return wrap(form.width);
  const far::ApproximationRequest request{tol,
                                          proof ? far::Grade::proof : far::Grade::audit,
                                          {prices[0], prices[1]},
                                          device < 0 ? nullptr : &device::open(device)};
  const Workers workers{allowed_threads(threads), poll_r};
  auto made = Approximation::make(std::move(form), request, workers);
  const Approximation& a = *made;
  const XPtr<Approximation> pointer(made.release(), true, Rf_install(kApproximationTag));
  return List::create(_["pointer"] = pointer, _["levels"] = levels_to_r(a.levels()), _["scale"] = a.scale,
                      _["same"] = a.same, _["near_pairs"] = a.near_pairs(), _["bytes"] = a.bytes(),
                      _["outliers"] = a.outliers(), _["rough"] = a.rough, _["formula"] = a.formula(),
                      _["factors"] = a.factors(), _["no_series"] = a.why_no_series());
}

// The numbers of points in the order of boxes, of rows and of columns.
// [[Rcpp::export(rng = false)]]
List r_far_orders(SEXP pointer) {
  const Approximation& a = approximation_behind(pointer);
  const bool one = &a.order_of_rows() == &a.order_of_columns();
  const IntegerVector i = order_to_r(a.order_of_rows()), j = one ? i : order_to_r(a.order_of_columns());
  return List::create(_["i"] = i, _["j"] = j);
}

// The points, scaled so that their distance is a plain one, of a formula that falls with the distance of points to
// themselves; NULL where it is another.
// [[Rcpp::export(rng = false)]]
SEXP r_far_points(SEXP plan, List data, List operands, double n) {
  distance::RadialForm form;
  const Verdict verdict = radial_form_of(plan, {data, operands}, n, n, 0, &form);
  if (!verdict.yes || !distance::falls_between_same(form, workers_from_r(0))) return R_NilValue;
  NumericMatrix points(static_cast<int>(n), form.width);
  std::copy(form.rows.points->begin(), form.rows.points->end(), points.begin());
  return points;
}

// Finds the pairs that are left of a formula as it is written without small values; else a text, as above.
// [[Rcpp::export(rng = false)]]
SEXP r_far_truncated(SEXP plan, List data, List operands, NumericVector extents, double tol, bool relative,
                     int threads) {
  distance::RadialForm form;
  const Verdict verdict = radial_form_of(plan, {data, operands}, extents[0], extents[1], threads, &form);
  if (!verdict.yes) return wrap(verdict.why);
  if (form.power > 0 || form.components > 1) return wrap("a difference or a vector multiplies it");
  const auto found = far::truncated(form, {tol, relative}, workers_from_r(threads));
  return List::create(_["i"] = order_to_r(found.rows), _["j"] = order_to_r(found.columns),
                      _["near"] = near_to_r(found.kept), _["kept"] = found.kept_pairs,
                      _["left_out"] = found.largest_left_out, _["scale"] = found.scale);
}

// The near pairs of an approximation, in the order of its boxes, for another process: ends of rectangles.
// [[Rcpp::export(rng = false)]]
List r_far_near(SEXP pointer) { return near_to_r(approximation_behind(pointer).near()); }

// The points on both sides whose pair with themselves is none of the near ones: places from 1.
// [[Rcpp::export(rng = false)]]
IntegerVector r_far_from_themselves(SEXP pointer) {
  return order_to_r(approximation_behind(pointer).far_from_themselves());
}

// Bounds the errors of products: a matrix with a column for each column of weights and each
// component of the formula.
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

// The number of the GPU that far pairs go to where that device is wanted; -1 for the CPU. Kernels for them are compiled
// when first used.
// [[Rcpp::export(rng = false)]]
int r_far_device(std::string device) {
  if (device == "cpu" || device == "reference") return -1;
  const bool named = !device.empty() && std::isdigit(static_cast<unsigned char>(device[0]));
  const int number = named ? std::stoi(device) : 0;
  if (device::opened_by_parent() || !device::gpu_is_here()) return -1;
  return device::probe(number).yes && device::compiler().found ? number : -1;
}

// Along which axes the plan of a formula has each of so many operands: 1 for i, 2 for j, 3 for both, and for
// points that are read by row numbers.
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

// Numbers of rows or columns of the matrix in the order of boxes: a matrix that lies on a GPU. What products in float32
// ask of points is found before these are at work.
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
