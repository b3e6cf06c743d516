// Leaves are made anew with the operand in whose middle they are to be seen.
#include "expr/centre.hpp"

#include <algorithm>

namespace kernweave {

bool is_reading(Expr f) {
  if (f->op == Op::Gather) return is_reading(f.arg(0));
  return f->op == Op::Var && variable(f).source == Source::data && variable(f).kind == Kind::real;
}

Expr variable_read(Expr reading) { return reading->op == Op::Gather ? reading.arg(0) : reading; }

namespace {

// A parameter is one point: it has no middle.
bool has_middle(Expr reading) { return variable(variable_read(reading)).axis != Axis::param; }

}  // namespace

bool have_common_centre(Expr a, Expr b) {
  return is_reading(a) && is_reading(b) && width(a) == width(b) && (has_middle(a) || has_middle(b));
}

int common_centre(Expr a, Expr b) {
  const int of_a = variable(variable_read(a)).operand, of_b = variable(variable_read(b)).operand;
  if (!has_middle(a)) return of_b;
  return has_middle(b) ? std::min(of_a, of_b) : of_a;
}

Expr centred(Expr reading, int centre) {
  if (reading->op == Op::Gather)
    return reading->pool->make(Op::Gather, {centred(reading.arg(0), centre), reading.arg(1)});
  Variable v = variable(reading);
  v.centre = centre;
  return reading->pool->variable(v);
}

bool is_parameter(Expr f) { return f->type.axes.empty(); }

ScaledPoints side_of(Expr f) {
  if (f->op != Op::Mult) return {f, Expr()};
  return is_parameter(f.arg(0))   ? ScaledPoints{f.arg(1), f.arg(0)}
         : is_parameter(f.arg(1)) ? ScaledPoints{f.arg(0), f.arg(1)}
                                  : ScaledPoints{f, Expr()};
}

bool is_distance_across(Expr f) {
  if (f->op != Op::SqDist) return false;
  const ScaledPoints a = side_of(f.arg(0)), b = side_of(f.arg(1));
  const auto along = [](const ScaledPoints& side, Axes axes) { return side.reading->type.axes == axes; };
  const bool across = (along(a, Axes::i()) && along(b, Axes::j())) || (along(a, Axes::j()) && along(b, Axes::i()));
  return across && a.scale == b.scale && have_common_centre(a.reading, b.reading);
}

std::vector<Expr> centre_differences(const std::vector<Expr>& formulas) {
  return rebuild(formulas, [](Expr f, const std::vector<Expr>& args) {
    if (!row(f->op).differences || !have_common_centre(args[0], args[1])) return remade(f, args);
    const int centre = common_centre(args[0], args[1]);
    return f->pool->make(f->op, {centred(args[0], centre), centred(args[1], centre)}, f->attributes);
  });
}

}  // namespace kernweave
