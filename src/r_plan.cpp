// The tag of a pointer says whose it is; what has another, or nothing behind it, is no plan.
#include "r_plan.hpp"

#include "base/error.hpp"

namespace kernweave {
namespace {

using SharedPlan = std::shared_ptr<Prepared>;

SEXP plan_tag() { return Rf_install("kernweave_plan"); }

}  // namespace

SEXP plan_to_r(std::shared_ptr<Prepared> plan) {
  return Rcpp::XPtr<SharedPlan>(new SharedPlan(std::move(plan)), true, plan_tag());
}

const std::shared_ptr<Prepared>& plan_behind(SEXP pointer) {
  const bool ours = TYPEOF(pointer) == EXTPTRSXP && R_ExternalPtrTag(pointer) == plan_tag();
  internal_check(ours && R_ExternalPtrAddr(pointer) != nullptr, "this is no plan of this session");
  return *static_cast<SharedPlan*>(R_ExternalPtrAddr(pointer));
}

}  // namespace kernweave
