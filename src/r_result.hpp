// The result of one output, as an array of R.
#pragma once
#include <Rcpp.h>
#include <vector>
#include "r_job.hpp"
#include "schedule/backend.hpp"

namespace kernweave {

class OutputBuffer {
 public:
  // `stays`: shall numbers be left on the device that finds them?
  OutputBuffer(const Output& o, const Sizes& sizes, const PointNames& names, bool stays);

  Result result();  // where a back end writes
  SEXP to_r();      // an array; for a value with its index a list of two

 private:
  SEXP shaped(Rcpp::RObject array) const;
  SEXP values_to_r() const;
  bool numbers_fit() const;

  const Output& output_;
  const Sizes& sizes_;
  const PointNames& names_;
  Rcpp::RObject values_;
  Rcpp::RObject numbers_;  // of rows
};

}  // namespace kernweave
