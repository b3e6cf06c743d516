// Windows on proofs about formulas: operations on balls, and their values.
#include "window.hpp"

#include "distance/ball.hpp"
#include "distance/radial_table.hpp"
#include "expr/table.hpp"
#include "far/device_product.hpp"

namespace kernweave::windows {
namespace {

// The ball that an element-wise operation makes of balls, of an infinite radius where nothing is known; and its values:
// of each row of numbers, those of its arguments.
Rcpp::List ball(std::string op, Rcpp::ComplexVector centre, Rcpp::NumericVector radius, Rcpp::LogicalVector real,
                Rcpp::NumericMatrix args) {
  using distance::Ball;
  Op found{};
  internal_check(find_op(op, &found), "no operation ", op);
  Ball in[3];
  for (R_xlen_t k = 0; k < centre.size(); ++k) in[k] = Ball({centre[k].r, centre[k].i}, radius[k], real[k] != 0);
  const Ball out = distance::bounded(found)(in);
  Rcpp::NumericVector values(args.nrow());
  for (int r = 0; r < args.nrow(); ++r) {
    Lane numbers[3];
    for (int k = 0; k < args.ncol(); ++k) numbers[k] = Lane(args(r, k));
    values[r] = row(found).value(numbers).v;
  }
  Rcomplex middle;
  middle.r = out.centre.real();
  middle.i = out.centre.imag();
  return Rcpp::List::create(Rcpp::_["centre"] = middle, Rcpp::_["radius"] = out.radius, Rcpp::_["values"] = values);
}

// The ball of one order of a table on a ball of squared distances.
Rcpp::List table_ball(Rcpp::NumericVector table, int order, Rcpp::ComplexVector centre, double radius, bool real) {
  const distance::Ball out = distance::bound_of_look_up({table.begin(), table.end()}, order,
                                                        {{centre[0].r, centre[0].i}, radius, real});
  return Rcpp::List::create(Rcpp::_["centre"] = out.centre.real(), Rcpp::_["radius"] = out.radius);
}

std::string far_kernels(int components) { return far::kernels_text(components); }

const WindowTable of_far({window<ball>("ball"), window<table_ball>("table_ball"), window<far_kernels>("far_kernels")});

}  // namespace
}  // namespace kernweave::windows
