// Makes formulas of operations: each operation is a function or an operator on Expr, so that rows and rules read as
// algebra. Makes formulas of several operations, as products of tensors.
#pragma once
#include <vector>
#include "base/error.hpp"
#include "expr/node.hpp"
#include "expr/table.hpp"

namespace kernweave {

// A formula, or a number that becomes one beside a formula.
class Term {
 public:
  Term(Expr f) : f_(f), number_(0) {}
  Term(double number) : number_(number) {}
  Expr in(Pool* pool) const { return f_ ? f_ : pool->number(number_); }
  Pool* pool() const { return f_ ? f_->pool : nullptr; }

 private:
  Expr f_;
  double number_;
};

template <class... Terms>
Expr make(Op op, const std::vector<int>& attributes, const Terms&... terms) {
  Pool* pool = nullptr;
  ((pool = pool ? pool : terms.pool()), ...);
  internal_check(pool != nullptr, "an operation on numbers alone: ", row(op).name);
  return pool->make(op, {terms.in(pool)...}, attributes);
}

template <class... Numbers>
std::vector<int> kept(const Numbers&... attributes) {
  std::vector<int> out;
  (keep(attributes, &out), ...);
  return out;
}

// `...` takes the attributes, numbers and lists, if the row has any.
#define UNARY(Name, fn, ...) \
  inline Expr fn(Term x) { return make(Op::Name, {}, x); }
#define BINARY(Name, fn, ...) \
  inline Expr fn(Term x, Term y) { return make(Op::Name, {}, x, y); }
#define TERNARY(Name, fn, ...) \
  inline Expr fn(Term x, Term y, Term z) { return make(Op::Name, {}, x, y, z); }
#define FOLD1(Name, fn, ...) \
  inline Expr fn(Term x) { return make(Op::Name, {}, x); }
#define FOLD2(Name, fn, ...) \
  inline Expr fn(Term x, Term y) { return make(Op::Name, {}, x, y); }
#define LOOP1(Name, fn, ...) \
  template <class... Numbers> \
  Expr fn(Term x, const Numbers&... a) { return make(Op::Name, kept(a...), x); }
#define LOOP2(Name, fn, ...) \
  template <class... Numbers> \
  Expr fn(Term x, Term y, const Numbers&... a) { return make(Op::Name, kept(a...), x, y); }
#define ALIAS1(Name, fn, ...) \
  template <class... Numbers> \
  Expr fn(Term x, const Numbers&... a) { return make(Op::Name, kept(a...), x); }
#define ALIAS2(Name, fn, ...) \
  template <class... Numbers> \
  Expr fn(Term x, Term y, const Numbers&... a) { return make(Op::Name, kept(a...), x, y); }
#define ALIAS3(Name, fn, ...) \
  template <class... Numbers> \
  Expr fn(Term x, Term y, Term z, const Numbers&... a) { return make(Op::Name, kept(a...), x, y, z); }
#include "kernweave/ops.def"

inline Expr operator+(Term x, Term y) { return add(x, y); }
inline Expr operator-(Term x, Term y) { return subtract(x, y); }
inline Expr operator*(Term x, Term y) { return multiply(x, y); }
inline Expr operator/(Term x, Term y) { return divide(x, y); }
inline Expr operator-(Expr x) { return minus(x); }

// Makes a | b: the inner product of two formulas of numbers, "or" of two logical ones; one of each is a mistake.
Expr bar(Expr a, Expr b);

// Makes x^n for a whole n other than 0, by squaring: exact for negative x, with shared parts.
Expr whole_power(Expr x, int n);

// --- tensors -------------------------------------------------------------------------------------------------------
// Tensors of components, laid out by columns as R's arrays are.

// Transposes a matrix of `rows` rows.
Expr transpose(Expr matrix, int rows);

// Computes R's kronecker() of two arrays, which have equal numbers of dimensions.
Expr kronecker(Expr x, Expr y, const std::vector<int>& dims_x, const std::vector<int>& dims_y);

// The arguments of tensordot(), axes counted from 1. Without an order, the axes left of x come before the axes left of
// y.
struct Contraction {
  std::vector<int> dims_x, dims_y;
  std::vector<int> axes_x, axes_y;  // to be summed over, pair by pair
  std::vector<int> order;           // of the axes of the result, as for R's aperm()
};
Expr tensor_dot(Expr x, Expr y, const Contraction& wanted);

// --- long formulas -------------------------------------------------------------------------------------------------
// Formulas that are made step by step, each step from the step before.

// Makes all basis splines of a degree on knots in ascending order.
Expr b_spline(Expr knots, Expr x, int degree);

// Makes the least cost of going through two series side by side, a step along one or both at a time, by squared
// differences. It is smoothed: instead of the least cost of three ways, -gamma log(sum(exp(-cost / gamma))) counts.
Expr soft_dtw(Expr x, Expr y, Expr gamma);

}  // namespace kernweave
