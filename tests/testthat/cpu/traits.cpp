// Prints the traits found from each operation's row, as R code: the arguments that it is linear in for the arguments
// that are fixed, its law of powers, what it is the exponential of.
#include <cstdio>

#include "expr/on_lane.hpp"

using kernweave::Form;
using kernweave::OpRow;

void print(const std::vector<bool>& some) {
  for (std::size_t k = 0; k < some.size(); ++k) std::printf("%s%s", k ? ", " : "", some[k] ? "TRUE" : "FALSE");
}

void print_linear(const OpRow& r) {
  const auto op = static_cast<kernweave::Op>(&r - kernweave::op_rows().data());
  std::printf("linear = list(");
  const char* between = "";
  for (int code = 0; code + 1 < 1 << r.arity; ++code) {
    std::vector<bool> fixed;
    for (int k = 0; k < r.arity; ++k) fixed.push_back((code >> k) % 2 != 0);
    const auto linear = kernweave::linear_arguments(op, fixed);
    if (!linear) continue;
    std::printf("%slist(fixed = c(", between);
    print(fixed);
    std::printf("), linear = c(");
    print(*linear);
    std::printf("))");
    between = ", ";
  }
  std::printf(")");
}

int main() {
  for (const OpRow& r : kernweave::op_rows()) {
    if (r.form == Form::structural || r.form == Form::alias) continue;
    std::printf("%s = list(", r.name);
    print_linear(r);
    std::printf(", number = %.17g, powers = c(", r.law.number);
    for (std::size_t k = 0; k < r.law.powers.size(); ++k) std::printf("%s%d", k ? ", " : "", r.law.powers[k].power);
    std::printf("), turns = c(");
    std::vector<bool> turns;
    for (const auto& power : r.law.powers) turns.push_back(power.turns);
    print(turns);
    std::printf("), differences = %s, adds_up = %s, log_base = %.17g)\n", r.differences ? "TRUE" : "FALSE",
                r.adds_up ? "TRUE" : "FALSE", r.log_base);
  }
}
