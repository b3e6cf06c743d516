// R's way to approximated matrices on a GPU: weights to the far part of their sums, which stays there.
#include <algorithm>

#include "border.hpp"
#include "device/nvrtc.hpp"
#include "device/probe.hpp"
#include "execute/facts.hpp"
#include "r_device_arrays.hpp"
#include "r_far.hpp"
#include "r_plan.hpp"
#include "r_resident.hpp"

namespace kernweave {
namespace {

SEXP product_tag() { return Rf_install("kernweave_far_there"); }

// The far part of products, on its device.
struct There {
  device::Device* gpu;
  std::unique_ptr<far::DeviceProduct> product;
  Index rows, columns;
  int components;
};

There& there_behind(SEXP pointer) {
  internal_check(TYPEOF(pointer) == EXTPTRSXP && R_ExternalPtrTag(pointer) == product_tag() &&
                     R_ExternalPtrAddr(pointer) != nullptr,
                 "this is no product of this session");
  return *static_cast<There*>(R_ExternalPtrAddr(pointer));
}

// Calls work(what is there, OnDevice), with a second try once R has given memory back.
template <class Work>
SEXP with_product(SEXP pointer, Work work) {
  return at_border([&]() -> SEXP {
    There& there = there_behind(pointer);
    const auto once = [&] {
      OnDevice here(there.gpu);
      return waited_for(here, [&](OnDevice& lent) { return work(there, lent); });
    };
    try {
      return once();
    } catch (const Failure& failure) {
      if (failure.fault != Fault::memory) throw;
    }
    R_gc();
    return once();
  });
}

SEXP as_matrix(SEXP vector, Index rows, int columns) {
  const Rcpp::Shield<SEXP> held(vector);
  Rf_setAttrib(held, R_DimSymbol, Rcpp::IntegerVector::create(static_cast<int>(rows), columns));
  return held;
}

}  // namespace
}  // namespace kernweave

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

// Along which axes the plan of a formula has each of so many operands: 1 for i, 2 for j, 3 for both, and for points
// that are read by row numbers.
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

// What a GPU has of an approximation.
// [[Rcpp::export(rng = false)]]
SEXP r_far_there(SEXP pointer, int device, int threads) {
  return kernweave::at_border([&]() -> SEXP {
    const kernweave::far::Approximation& a = kernweave::approximation_behind(pointer);
    kernweave::device::Device* const gpu = &kernweave::device::open(device);
    auto product = a.on(gpu, kernweave::workers_from_r(threads));
    auto made = std::make_unique<kernweave::There>(
        kernweave::There{gpu, std::move(product), static_cast<kernweave::Index>(a.order_of_rows().size()),
                         static_cast<kernweave::Index>(a.order_of_columns().size()), a.components()});
    return Rcpp::XPtr<kernweave::There>(made.release(), true, kernweave::product_tag());
  });
}

// Numbers of rows or columns of the matrix in the order of boxes: a matrix that lies there. What products in float32
// ask of points is found before these are at work.
// [[Rcpp::export(rng = false)]]
SEXP r_far_in_order_there(SEXP pointer, bool of_rows, SEXP numbers, int columns) {
  return kernweave::with_product(pointer, [&](kernweave::There& there, kernweave::OnDevice& here) -> SEXP {
    const kernweave::Index rows = of_rows ? there.rows : there.columns, count = rows * columns;
    auto sorted = here.room_for<double>(count);
    there.product->sort(of_rows, here.whole(numbers).doubles, columns, here.at<double>(sorted), false);
    const Rcpp::Shield<SEXP> made(here.vector(REALSXP, std::move(sorted), count));
    kernweave::find_middle_and_reach({nullptr, rows, columns, kernweave::resident(made)});
    return kernweave::as_matrix(made, rows, columns);
  });
}

// Weights in the order of boxes, and the far part of their sums: matrices that lie there. With `by`, a matrix with as
// many columns, also that in the order of boxes, and the sums over columns of sums times these numbers of rows. NULL
// where one of the numbers is not finite.
// [[Rcpp::export(rng = false)]]
SEXP r_far_product_there(SEXP pointer, SEXP weights, SEXP by, int columns) {
  return kernweave::with_product(pointer, [&](kernweave::There& there, kernweave::OnDevice& here) -> SEXP {
    const bool has_rows = !Rf_isNull(by);
    const int found = there.product->sums() * (has_rows ? 1 : columns);
    kernweave::far::DeviceProduct& product = *there.product;
    auto sorted = here.room_for<double>(there.columns * columns), sums = here.room_for<double>(there.rows * found),
         rows = here.room_for<double>(has_rows ? there.rows * columns : 1);
    double *const in_order = here.at<double>(sorted), *const of_rows = has_rows ? here.at<double>(rows) : nullptr;
    if (!product.sort(false, here.whole(weights).doubles, columns, in_order, true)) return R_NilValue;
    if (has_rows && !product.sort(true, here.whole(by).doubles, columns, of_rows, true)) return R_NilValue;
    product.multiply(in_order, columns, of_rows, here.at<double>(sums));
    const auto matrix = [&](kernweave::device::Block block, kernweave::Index count, int width) -> Rcpp::RObject {
      const Rcpp::RObject vector = here.vector(REALSXP, std::move(block), count * width);
      return kernweave::as_matrix(vector, count, width);
    };
    const Rcpp::RObject a = matrix(std::move(sorted), there.columns, columns),
                        b = has_rows ? matrix(std::move(rows), there.rows, columns) : Rcpp::RObject(R_NilValue),
                        c = matrix(std::move(sums), there.rows, found);
    return Rcpp::List::create(Rcpp::_["sorted"] = a, Rcpp::_["by"] = b, Rcpp::_["sums"] = c);
  });
}

// Both parts of the sums of so many columns in the order of points; `near` may be NULL.
// [[Rcpp::export(rng = false)]]
SEXP r_far_put_back_there(SEXP pointer, SEXP sums, SEXP near, int columns) {
  return kernweave::with_product(pointer, [&](kernweave::There& there, kernweave::OnDevice& here) -> SEXP {
    const int found = there.components * columns;
    auto out = here.room_for<double>(there.rows * found);
    there.product->put_back(here.whole(sums).doubles, here.whole(near).doubles, columns, here.at<double>(out));
    return kernweave::as_matrix(here.vector(REALSXP, std::move(out), there.rows * found), there.rows, found);
  });
}
