// The border to R, compiled as one: what its files include takes the compiler longer than what they say.
#include "r_api.cpp"
#include "r_arrays.cpp"
#include "r_call.cpp"
#include "r_data.cpp"
#include "r_device.cpp"
#include "r_expr.cpp"
#include "r_far.cpp"
#include "r_formula.cpp"
#include "r_host.cpp"
#include "r_index_add.cpp"
#include "r_map.cpp"
#include "r_move.cpp"
#include "r_operator.cpp"
#include "r_order.cpp"
#include "r_resident.cpp"
#include "r_solve.cpp"
#include "r_sorted.cpp"
#include "r_trees.cpp"

// Rcpp's wrappers are compiled in the doors' own namespace, and hand the failures of a door to R. RcppEigen's header
// counts as read: it takes the compiler long, and no wrapper asks for it.
#define RcppEigen__RcppEigen__h
#undef BEGIN_RCPP
#undef END_RCPP
#define BEGIN_RCPP return called_from_r([&]() -> SEXP {
#define END_RCPP });
namespace kernweave {
#include "RcppExports.cpp"
}
