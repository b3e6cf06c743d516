// R's way to approximated matrices on a GPU: which one, and points in the order of boxes there.
#include <algorithm>

#include "border.hpp"
#include "device/driver.hpp"
#include "device/nvrtc.hpp"
#include "execute/data.hpp"
#include "r_device_arrays.hpp"
#include "r_far.hpp"
#include "r_plan.hpp"
#include "r_resident.hpp"

// The number of the GPU that far pairs go to where that device is wanted; -1 for the CPU. Kernels for them are compiled
// when first used.
// [[Rcpp::export(rng = false)]]
int r_far_device(std::string device) {
  return kernweave::at_border([&]() -> int {
    if (device == "cpu" || device == "reference") return -1;
    const bool named = !device.empty() && std::isdigit(static_cast<unsigned char>(device[0]));
    const int number = named ? std::stoi(device) : 0;
    if (kernweave::device::opened_by_parent() || !kernweave::device::gpu_is_here()) return -1;
    return kernweave::device::probe(number).yes && kernweave::device::compiler().found ? number : -1;
  });
}

// Along which axes the plan of a formula has each of so many operands: 1 for i, 2 for j, 3 for both, and for
// points that are read by row numbers.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector r_far_sides(SEXP plan, int operands) {
  return kernweave::at_border([&] {
    const kernweave::Plan& written = kernweave::plan_behind(plan)->plan;
    Rcpp::IntegerVector sides(operands);
    const auto note = [&](const kernweave::Variable& v, int bits) {
      if (v.source == kernweave::Source::data) sides[v.operand] |= bits;
    };
    for (const kernweave::Variable& v : written.variables)
      note(v, v.axis == kernweave::Axis::i ? 1 : v.axis == kernweave::Axis::j ? 2 : 0);
    for (const kernweave::GatherBound& bound : written.gathers)
      note(written.variables[static_cast<std::size_t>(bound.variable)], 3);
    return sides;
  });
}

// Numbers of rows or columns of the matrix in the order of boxes: a matrix that lies on a GPU. What products in float32
// ask of points is found before these are at work.
// [[Rcpp::export(rng = false)]]
SEXP r_far_in_order_gpu(SEXP pointer, int device, int threads, bool of_rows, SEXP numbers, int columns) {
  const auto put_in_order = [&]() -> SEXP {
    kernweave::far::Approximation& a = kernweave::approximation_behind(pointer);
    kernweave::OnDevice here(&kernweave::device::open(device));
    const auto& order = of_rows ? a.order_of_rows() : a.order_of_columns();
    const auto rows = static_cast<kernweave::Index>(order.size()), count = rows * columns;
    const Rcpp::Shield<SEXP> made(kernweave::waited_for(here, [&](kernweave::OnDevice&) {
      auto sorted = here.room_for<double>(count);
      a.on(&here.gpu(), kernweave::workers_from_r(threads))
          .sort(of_rows, here.whole(numbers).doubles, columns, here.at<double>(sorted), false);
      return here.vector(REALSXP, std::move(sorted), count);
    }));
    kernweave::find_middle_and_reach({nullptr, rows, columns, kernweave::resident(made)});
    Rf_setAttrib(made, R_DimSymbol, Rcpp::IntegerVector::create(static_cast<int>(rows), columns));
    return made;
  };
  return kernweave::at_border([&] { return kernweave::with_second_try(put_in_order); });
}
