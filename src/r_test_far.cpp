// A window for the tests into what is proved of formulas: operations on discs, and their values.
#include "border.hpp"
#include "distance/disc.hpp"
#include "expr/table.hpp"
#include "far/device_kernels.hpp"

// The disc that an element-wise operation makes of discs, of an infinite radius where nothing is known; and its values:
// of each row of numbers, those of its arguments.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_test_disc(std::string op, Rcpp::ComplexVector centre, Rcpp::NumericVector radius, Rcpp::LogicalVector real,
                       Rcpp::NumericMatrix args) {
  return kernweave::at_border([&] {
    using kernweave::distance::Disc;
    kernweave::Op found{};
    kernweave::internal_check(kernweave::find_op(op, &found), "no operation ", op);
    Disc in[3];
    for (R_xlen_t k = 0; k < centre.size(); ++k) in[k] = Disc({centre[k].r, centre[k].i}, radius[k], real[k] != 0);
    const Disc out = kernweave::distance::bounded(found)(in);
    Rcpp::NumericVector values(args.nrow());
    for (int r = 0; r < args.nrow(); ++r) {
      kernweave::Lane numbers[3];
      for (int k = 0; k < args.ncol(); ++k) numbers[k] = kernweave::Lane(args(r, k));
      values[r] = kernweave::row(found).value(numbers).v;
    }
    Rcomplex middle;
    middle.r = out.centre.real();
    middle.i = out.centre.imag();
    return Rcpp::List::create(Rcpp::_["centre"] = middle, Rcpp::_["radius"] = out.radius, Rcpp::_["values"] = values);
  });
}

// [[Rcpp::export(rng = false)]]
std::string r_far_kernels(int components) { return kernweave::far::kernels_text(components); }
