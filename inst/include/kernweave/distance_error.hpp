// Error bound of a squared distance that is computed from an inner product.
#pragma once
#include "lane.hpp"

namespace kernweave {
inline namespace KW_ISA {

// Error bound: how far |x|^2 + |y|^2 - 2 <x, y> may lie above |x - y|^2 made of differences, in roundings of |x|^2 +
// |y|^2. Inner product, squares and differences are rounded once or twice a component, at numbers of no more than twice
// the two squares.
KW_FN constexpr double expansion_error(int width) { return 6.0 * width + 32.0; }

}  // inline namespace KW_ISA
}  // namespace kernweave
