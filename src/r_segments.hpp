// The plan of what lies in segments, as R has it (R/array-segments.R).
#pragma once
#include "r_arrays.hpp"

namespace kernweave {

class SegmentPlan {
 public:
  SegmentPlan(SEXP plan, const arrays::Workers& workers) : plan_(plan), kept_(plan_["kept"]), workers_(workers) {}

  SEXP offsets() const { return plan_["offsets"]; }
  SEXP codes() const { return plan_["codes"]; }
  Index segments() const { return Rf_xlength(offsets()) - 1; }
  Index items() const;

  // The numbers of items, segment after segment, each segment's ascending; NULL where items lie so. Found out once.
  SEXP order();

  // Both on the device of an array, where they are kept.
  struct There {
    SEXP offsets, order;
  };
  There there(SEXP like);

 private:
  const Rcpp::List plan_;
  Rcpp::Environment kept_;
  const arrays::Workers& workers_;
};

}  // namespace kernweave
