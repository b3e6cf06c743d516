// Parses text to a formula by our own grammar: R's infix, calls of operations by either name, nothing else.
#pragma once
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>
#include "expr/node.hpp"
#include "expr/table.hpp"

namespace kernweave {

// The meaning of a formula's names; a null Expr for a name that means nothing.
using NameLookup = std::function<Expr(const std::string& name)>;

// The grammar of a text. Both grammars know the names of all operations; KeOps counts places from 0 and stores matrices
// by rows.
enum class Grammar { ours, keops };

// The value that stands for a number that a text does not give; in R it is NA.
constexpr int kUnsaid = std::numeric_limits<int>::min();

// A formula, and the reduction around it if the text has one: `Sum_Reduction(f, 1)`.
struct Parsed {
  Expr formula;
  std::string reduction;  // as written; empty: none
  int places = 0;         // K, if given
  Expr weight;
  int axis = kUnsaid;  // the axis summed away: 0 i, 1 j
  std::string folded;  // the axes summed away by a derivative around the reduction, which override `axis`: i, j or ij
};

// Parses a text. Fails with Fault::syntax or Fault::unknown_op, pointing at the place.
Parsed parse(const std::string& text, Pool* pool, const NameLookup& scope, Grammar grammar);

// Parses a side of a rewrite rule, in an untyped pool; letters stand for attributes too.
Expr parse_pattern(const std::string& text, Pool* pool);
constexpr int pattern_attribute(char letter) { return -static_cast<int>(letter); }
constexpr char pattern_letter(int attribute) { return static_cast<char>(-attribute); }

// "x = Vi(3)" and its kin; "x = Vi(0, 3)" and KeOps' "x = Var(0, 3, 0)" also give the place, from 0.
struct Declaration {
  std::string name;
  Axis axis;
  int width;
  int place;  // or kUnsaid
};
Declaration parse_declaration(const std::string& text);

// --- infix ---------------------------------------------------------------------------------------------------------
// The tightness with which R's operators bind. The operation of an operator is in its row.

// The precedence of R's operators, from the lowest.
enum Tightness { kLoose, kOr, kCompare, kSum, kProduct, kSign, kAtom };

inline Tightness tightness_of(const std::string& symbol) {
  struct OperatorTightness {
    const char* symbol;
    Tightness tightness;
  };
  constexpr OperatorTightness levels[] = {{"|", kOr},       {"<", kCompare},  {"<=", kCompare}, {">", kCompare},
                              {">=", kCompare}, {"==", kCompare}, {"!=", kCompare}, {"+", kSum},
                              {"-", kSum},      {"*", kProduct},  {"/", kProduct}};
  for (const OperatorTightness& level : levels)
    if (symbol == level.symbol) return level.tightness;
  return kAtom;
}

// --- scan.cpp ------------------------------------------------------------------------------------------------------
// Splits text into tokens.

struct Token {
  enum class Is { name, number, symbol, end } is;
  std::string text;
  double number;
  std::size_t at;  // place in the text
};

class Lexer {
 public:
  explicit Lexer(const std::string& text) : text_(text) { advance(); }

  const Token& peek() const { return token_; }
  Token take();
  bool take_if(const char* symbol);
  void expect(const char* symbol, const char* where);
  bool at_symbol(const char* symbol) const { return token_.is == Token::Is::symbol && token_.text == symbol; }
  // Fails with a syntax error that shows the text and a mark under the place.
  [[noreturn]] void fail_here(const std::string& what) const { fail_at(token_.at, what); }
  [[noreturn]] void fail_at(std::size_t at, const std::string& what) const;

 private:
  void advance();
  void read_number();

  const std::string& text_;
  std::size_t next_ = 0;
  Token token_{Token::Is::end, "", 0, 0};
};

// --- keops.cpp -----------------------------------------------------------------------------------------------------
// Makes operations as a text in KeOps' words means them: places count from 0, matrices and tensors lie by rows.

// Returns the formula of an operation whose arguments and whole numbers are given in KeOps' form. Messages call the
// operation `written`.
Expr make_keops(Op op, std::vector<Expr> args, std::vector<int> attributes, const std::string& written);

// Returns a matrix of `rows` rows, which lies by columns, in order by rows.
Expr by_rows(Expr matrix, int rows);

// --- show.cpp ------------------------------------------------------------------------------------------------------
// Writes formulas as text, which parse.hpp reads back unless it has transposes, row subsets or infinite numbers.

// Writes a formula, cut with "..." beyond `budget` characters: shared parts are written out each time they are used.
std::string show(Expr f, std::size_t budget = 2000);
// Writes a variable as in a formula. `with_axis`: as `Vi(x)` or `Vj(x)`, since `x` alone would leave the axis open.
std::string show_variable(const Variable& v, bool with_axis);
// Writes a formula as a name in a message.
std::string show_short(Expr f);
std::string show_number(double value);

}  // namespace kernweave
