// Finds the neutral element of a reduction from its row, and gives it to pairs that do not exist.
#include "plan/existing.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "expr/build.hpp"

namespace kernweave {
namespace {

// Computes the result of a state without terms.
double empty_result(const RedRow& r) {
  std::vector<std::int64_t> memory(static_cast<std::size_t>(r.state.bytes(1) / 8 + 1));
  r.state.init(memory.data(), reinterpret_cast<char*>(memory.data()) + r.state.size, 1);
  Lane value(0.0);
  Index index = 0;
  r.state.finish(memory.data(), &value, &index);
  return value.v;
}

// A logical stays one where its neutral element is.
Expr or_else(Expr allowed, Expr f, double otherwise) {
  const double as_logical = otherwise != 0 ? 1 : 0;
  const bool logical = f->type.kind == Kind::logical && !std::isnan(otherwise);
  Pool* const pool = f->pool;
  return lazy_if(allowed, f, logical ? pool->number(as_logical, Kind::logical) : pool->number(otherwise, Kind::real));
}

}  // namespace

// Row numbers skip NaN; an exponential of -Inf is 0.
double neutral_value(Red red) {
  const RedRow& r = row(red);
  if (r.results == Results::value_index) return std::numeric_limits<double>::quiet_NaN();
  return r.exponents ? -std::numeric_limits<double>::infinity() : empty_result(r);
}

std::vector<OutputFormula> where_allowed(const std::vector<OutputFormula>& outputs, Expr allowed) {
  std::vector<OutputFormula> out = outputs;
  for (OutputFormula& o : out) {
    o.value = or_else(allowed, o.value, neutral_value(o.red));
    if (o.weight) o.weight = or_else(allowed, o.weight, 0);
  }
  return out;
}

}  // namespace kernweave
