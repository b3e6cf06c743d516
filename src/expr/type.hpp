// The type of a formula: its number of components, its kind of number, and the axes along which it varies.
// Knows no number of points.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "kernweave/names.hpp"

namespace kernweave {

// The kinds of numbers, in order of promotion. `complex` is reserved: no operand of this kind can be made yet.
enum class Kind : std::uint8_t { logical, integer, real, complex };

const char* kind_name(Kind kind);

// The set of axes along which a value varies.
struct Axes {
  std::uint32_t bits = 0;

  static constexpr Axes none() { return {0}; }
  static constexpr Axes i() { return {1}; }
  static constexpr Axes j() { return {2}; }
  static constexpr Axes ij() { return {3}; }

  constexpr bool has(Axes other) const { return (bits & other.bits) == other.bits; }
  constexpr Axes with(Axes other) const { return {bits | other.bits}; }
  constexpr Axes without(Axes other) const { return {bits & ~other.bits}; }
  constexpr Axes pairs() const { return {bits & 3u}; }
  constexpr bool empty() const { return bits == 0; }
  constexpr Axes swapped() const { return {(bits & ~3u) | (bits & 1u) << 1 | (bits & 2u) >> 1}; }
  friend constexpr bool operator==(Axes a, Axes b) { return a.bits == b.bits; }
  friend constexpr bool operator!=(Axes a, Axes b) { return a.bits != b.bits; }
};

struct Type {
  int width = 0;
  Kind kind = Kind::real;
  Axes axes;

  friend bool operator==(const Type& a, const Type& b) {
    return a.width == b.width && a.kind == b.kind && a.axes == b.axes;
  }
};

// --- shape and kind of an operation's result -----------------------------------------------------------------------

class Expr;

// Fails with Fault::shape or Fault::kind, naming the operation, its arguments and their widths.
Type infer(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes);

// Checks that the components exist that an operation reads or fills. Fails with Fault::shape, naming the operation as
// it was written and the number `from` which its places count.
void check_places(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes, const std::string& written,
                  int from = 1);

}  // namespace kernweave
