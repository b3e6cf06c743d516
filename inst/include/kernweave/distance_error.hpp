// Of a squared distance told from an inner product: how much too large it may be.
#pragma once
#include "lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

// How far |x|^2 + |y|^2 - 2 <x, y> may lie above |x - y|^2 as it is computed, as a share of |x|^2 + |y|^2 in units of
// the rounding: inner product, squares and differences are rounded once or twice a component, at the size of no more
// than twice the two squares.
KW_FN constexpr double expansion_error(int width) { return 6.0 * width + 32.0; }

}  // inline namespace KW_ISA
}  // namespace kernweave
