// Text to formula, by our own grammar: R's infix, calls of operations by either name, nothing else.
#pragma once
#include <functional>
#include <limits>
#include <string>
#include "expr/node.hpp"

namespace kernweave {

// The meaning of a formula's names; a null Expr for a name that means nothing.
using NameLookup = std::function<Expr(const std::string& name)>;

// The grammar of a text. Both grammars know the names of all operations; KeOps counts places from 0 and stores matrices
// by rows.
enum class Grammar { ours, keops };

// The value of a number that a text does not say; in R it is NA.
constexpr int kUnsaid = std::numeric_limits<int>::min();

// A formula, and the reduction around it where the text has one: `Sum_Reduction(f, 1)`.
struct Parsed {
  Expr formula;
  std::string reduction;  // as written; empty: none
  int places = 0;         // K, where given
  Expr weight;
  int axis = kUnsaid;  // the axis summed away: 0 i, 1 j
  std::string folded;  // the axes summed away by what is around the reduction, which then has the last word: i, j or ij
};

// Fails with Fault::syntax or Fault::unknown_op, pointing at the place.
Parsed parse(const std::string& text, Pool* pool, const NameLookup& scope, Grammar grammar);

// A side of a rewrite rule: in an untyped pool, where letters stand for attributes too.
Expr parse_pattern(const std::string& text, Pool* pool);
constexpr int pattern_attribute(char letter) { return -static_cast<int>(letter); }
constexpr char pattern_letter(int attribute) { return static_cast<char>(-attribute); }

// "x = Vi(3)" and its kin; "x = Vi(0, 3)" and KeOps' "x = Var(0, 3, 0)" say at which place, from 0.
struct Declaration {
  std::string name;
  Axis axis;
  int width;
  int place;  // or kUnsaid
};
Declaration parse_declaration(const std::string& text);

}  // namespace kernweave
