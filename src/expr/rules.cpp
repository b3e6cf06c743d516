// The table of rules; tests walk it.
// No rule drops a NaN: 0 * a and a - a stay as they are.
#include "expr/rewrite.hpp"

#include <iterator>

namespace kernweave {
namespace {

constexpr Rule kTable[] = {
    // Neutral elements
    {"add-zero", "a + 0", "a", "exact", ""},
    {"subtract-zero", "a - 0", "a", "exact", ""},
    {"multiply-one", "1 * a", "a", "exact", ""},
    {"divide-one", "a / 1", "a", "exact", ""},
    {"sum-one", "sum(s)", "s", "exact", ""},
    {"repeat-one", "sumt(s, 1)", "s", "exact", ""},
    // Signs
    {"minus-minus", "-(-a)", "a", "exact", ""},
    {"add-minus", "a + -b", "a - b", "exact", ""},
    {"subtract-minus", "a - -b", "a + b", "exact", ""},
    {"multiply-minus", "(-a) * b", "-(a * b)", "exact", ""},
    {"divide-minus", "(-a) / b", "-(a / b)", "exact", ""},
    {"divide-by-minus", "a / (-b)", "-(a / b)", "exact", ""},
    {"minus-number", "-(m * a)", "(-m) * a", "exact", ""},
    {"minus-one", "-1 * a", "-a", "exact", ""},
    {"square-minus", "square(-a)", "square(a)", "exact", ""},
    {"sum-minus", "sum(-a)", "-sum(a)", "exact", ""},
    {"scalprod-minus", "scalprod(-a, b)", "-scalprod(a, b)", "exact", ""},
    // Numbers
    {"numbers-together", "m * (n * a)", "(m * n) * a", "rounding", ""},
    {"number-out", "(m * a) * b", "m * (a * b)", "rounding", ""},
    {"number-to-parameter", "m * (p * a)", "(m * p) * a", "rounding", "saves work"},
    // Powers and exponentials
    {"square", "a * a", "square(a)", "exact", ""},
    {"power-two", "powf(a, 2)", "square(a)", "rounding", ""},
    {"power-three", "powf(a, 3)", "a * square(a)", "rounding", ""},
    {"power-four", "powf(a, 4)", "square(square(a))", "rounding", ""},
    {"power-half", "powf(u, 0.5)", "sqrt(u)", "rounding", ""},
    {"power-one-and-a-half", "powf(u, 1.5)", "u * sqrt(u)", "rounding", ""},
    {"power-minus-half", "powf(u, -0.5)", "inv_sqrt(u)", "rounding", ""},
    {"power-minus-one-and-a-half", "powf(u, -1.5)", "inv_sqrt(u) * square(inv_sqrt(u))", "rounding", ""},
    {"power-minus-one", "powf(a, -1)", "inv(a)", "rounding", ""},
    {"power-minus-two", "powf(a, -2)", "inv(square(a))", "rounding", ""},
    {"divide-by-root", "a / sqrt(b)", "a * inv_sqrt(b)", "rounding", ""},
    {"inverse", "1 / a", "inv(a)", "exact", ""},
    {"exp-product", "exp(a) * exp(b)", "exp(a + b)", "rounding", ""},
    {"exp2-number", "exp(m * a)", "exp2((m * 1.4426950408889634) * a)", "rounding", ""},
    {"exp2-minus", "exp(-a)", "exp2(-1.4426950408889634 * a)", "rounding", ""},
    {"exp2-parameter", "exp(p * a)", "exp2((p * 1.4426950408889634) * a)", "rounding", ""},
    {"exp2-minus-root", "exp2(m * sqrt(a))", "exp2_minus((-m) * sqrt(a))", "exact", "m is negative"},
    {"inverse-root", "inv(sqrt(a))", "inv_sqrt(a)", "rounding", ""},
    {"root-of-positive", "rsqrt(w)", "inv_sqrt(w)", "exact", ""},
    {"root-by-root", "sqrt(u) * rsqrt(u)", "sign(u)", "rounding", ""},
    {"root-by-root-apart", "(sqrt(u) * a) * rsqrt(u)", "sign(u) * a", "rounding", ""},
    // Common factors
    {"add-common-factor", "a * b + c * b", "(a + c) * b", "rounding", ""},
    {"subtract-common-factor", "a * b - c * b", "(a - c) * b", "rounding", ""},
    {"less-more-than-itself", "a - a * (1 + b)", "-(a * b)", "rounding", ""},
    // Divisions done less often
    {"divide-by-less", "a / b", "a * (1 / b)", "rounding", ""},
    // Repeated components
    {"repeat-multiply", "sumt(s, k) * a", "s * a", "exact", ""},
    {"repeat-divide", "sumt(s, k) / a", "s / a", "exact", ""},
    {"repeat-add", "sumt(s, k) + a", "s + a", "exact", ""},
    {"repeat-scalprod", "scalprod(sumt(s, k), a)", "s * sum(a)", "rounding", "a has k components"},
    // Sums of components
    {"sum-factor", "sum(s * a)", "s * sum(a)", "rounding", ""},
    {"scalprod-factor", "scalprod(s * a, b)", "s * scalprod(a, b)", "rounding", ""},
    {"sum-product", "sum(a * b)", "scalprod(a, b)", "exact", ""},
    {"sum-square", "sum(square(a))", "scalprod(a, a)", "exact", ""},
    {"manhattan", "sum(abs(a - b))", "manhattan(a, b)", "exact", ""},
    {"square-distance", "scalprod(a - b, a - b)", "sqdist(a, b)", "exact", ""},
};

}  // namespace

const std::vector<Rule>& rules() {
  static const std::vector<Rule> table(std::begin(kTable), std::end(kTable));
  return table;
}

}  // namespace kernweave
