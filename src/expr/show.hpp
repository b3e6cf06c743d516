// Formula to text. What has no transposes, row subsets or infinite numbers, parse.hpp reads back.
#pragma once
#include <cstddef>
#include <string>
#include "expr/node.hpp"

namespace kernweave {

// Cut with "..." beyond `budget` characters: shared parts are written out each time they are used.
std::string show(Expr f, std::size_t budget = 2000);
// Writes a variable as in a formula. `with_axis`: as `Vi(x)` or `Vj(x)`, since `x` alone would leave the axis open.
std::string show_variable(const Variable& v, bool with_axis);
// Writes a formula as a name in a message.
std::string show_short(Expr f);
std::string show_number(double value);

}  // namespace kernweave
