// Parses by recursive descent. Depth is bounded, so no text can exhaust the stack.
#include "expr/parse.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "expr/build.hpp"
#include "expr/grad.hpp"
#include "expr/type.hpp"

namespace kernweave {
namespace {

// An exponent of this size takes 2 x 10 multiplications; larger ones are surely mistakes.
constexpr int kLargestExponent = 1024;
constexpr int kDeepest = 500;
// The longest call that a message repeats; a longer call is only named.
constexpr std::size_t kLongestShown = 60;
constexpr double kLargestNumber = 1e9;  // of components, places and the like

bool is_named(const Derivation& how, const char* name) { return how.name == std::string(name); }

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const OpRow& r : op_rows()) {
    if (r.form == Form::structural) continue;
    names.push_back(r.fn);
    names.push_back(r.name);
  }
  for (const Derivation& d : derivations()) names.push_back(d.name);
  return names;
}

class Parser {
 public:
  // If there is no grammar, the text is a side of a rule, and letters stand for attributes.
  Parser(const std::string& text, Pool* pool, const NameLookup& scope, const Grammar* grammar)
      : text_(text),
        scan_(text),
        pool_(pool),
        scope_(scope),
        pattern_(!grammar),
        keops_(grammar && *grammar == Grammar::keops) {}

  Parsed whole() {
    Parsed parsed;
    if (reduces()) read_outer(&parsed);
    else parsed.formula = inner();
    if (scan_.peek().is != Token::Is::end) scan_.fail_here("expected the formula to end");
    return parsed;
  }

 private:
  Expr inner() { return infix(kOr); }

  // Reads operators of one tightness, from left to right, with tighter operators within.
  Expr infix(Tightness level) {
    const auto tighter = [&] { return level == kProduct ? signed_power() : infix(static_cast<Tightness>(level + 1)); };
    Expr f = tighter();
    while (scan_.peek().is == Token::Is::symbol && tightness_of(scan_.peek().text) == level) {
      const std::string symbol = scan_.take().text;
      f = joined(symbol, f, tighter());
      if (level == kCompare) break;  // comparisons do not chain
    }
    return f;
  }

  Expr joined(const std::string& symbol, Expr f, Expr g) {
    if (symbol == ">") return joined("<", g, f);
    if (symbol == ">=") return joined("<=", g, f);
    if (symbol == "|" && !pattern_) return bar(f, g);
    Op op;
    internal_check(find_operator(symbol, &op), "no operation for ", symbol);
    return pool_->make(op, {f, g});
  }

  Expr signed_power() {
    Deeper deeper(this);
    if (scan_.take_if("+")) return signed_power();
    if (!scan_.take_if("-")) return power();
    const bool literal = scan_.peek().is == Token::Is::number;
    const Expr f = signed_power();
    return literal && f->op == Op::Number ? pool_->number(-f->number) : -f;
  }

  Expr power() {
    const Expr base = atom();
    if (!scan_.at_symbol("^") && !scan_.at_symbol("**")) return base;
    const std::size_t at = scan_.take().at;
    const bool negative = scan_.take_if("-");
    const Token exponent = scan_.take();
    if (exponent.is != Token::Is::number) scan_.fail_at(at, "expected a number as exponent");
    const double value = negative ? -exponent.number : exponent.number;
    if (scan_.at_symbol("^") || scan_.at_symbol("**")) scan_.fail_here("powers of powers need parentheses");
    return raised(base, value, at);
  }

  Expr raised(Expr base, double exponent, std::size_t at) {
    const bool whole = exponent == std::floor(exponent) && std::fabs(exponent) <= kLargestExponent && exponent != 0;
    if (whole) return whole_power(base, static_cast<int>(exponent));
    if (!std::isfinite(exponent)) scan_.fail_at(at, "an exponent must be finite");
    return powf(base, pool_->number(exponent));
  }

  Expr atom() {
    Deeper deeper(this);
    const Token token = scan_.take();
    if (token.is == Token::Is::number) return pool_->number(token.number);
    if (token.is == Token::Is::name) return scan_.take_if("(") ? call(token) : named(token);
    if (token.is == Token::Is::symbol && token.text == "(") {
      const Expr f = inner();
      scan_.expect(")", "to close the parenthesis");
      return f;
    }
    scan_.fail_at(token.at, token.is == Token::Is::end ? "the formula ends too early" : "expected a value");
  }

  Expr named(const Token& token) {
    const Expr f = scope_(token.text);
    if (!f) scan_.fail_at(token.at, sentence("`", token.text, "` is not among the arguments"));
    return f;
  }

  // Reads KeOps' words for numbers; null for other words.
  Expr constant(const Token& name) {
    if (name.text == "IntCst") return pool_->number(attribute());
    if (name.text == "IntInv") return pool_->number(1.0 / attribute());
    if (name.text == "RatCst") {
      const double above = attribute();
      scan_.expect(",", "and the number below");
      return pool_->number(above / attribute());
    }
    if (name.text != "Zero") return Expr();
    const int width = attribute();
    if (width < 1) scan_.fail_at(name.at, "Zero() needs a positive number of components");
    return width == 1 ? pool_->number(0) : sumt(pool_->number(0), width);
  }

  // Reads KeOps' words for derivatives: Grad(f, x, cotangent) and its kin.
  Expr derived(const Derivation& how) { return derived(how, inner()); }

  // Derives a formula that has been read; `in` becomes the variable of the derivative.
  Expr derived(const Derivation& how, Expr f, Expr* in = nullptr) {
    scan_.expect(",", "and the variable to derive in");
    const Expr variable = inner();
    if (how.along) scan_.expect(",", "and the formula along which to derive");
    const Expr along = how.along ? inner() : Expr();
    scan_.expect(")", "to close the derivative");
    if (in) *in = variable;
    const Expr out = how.apply(f, variable, along);
    return keops_ && is_named(how, "GradMatrix") ? by_rows(out, width(f)) : out;
  }

  // KeOps' word for an argument by its place: Var(place, components, category), where 0 is i, 1 j, 2 a parameter.
  Expr placed(const Token& name) {
    const int place = attribute();
    scan_.expect(",", "and the number of components");
    const int width = attribute();
    scan_.expect(",", "and the category");
    const int category = attribute();
    scan_.expect(")", "to close the variable");
    return named({name.is, sentence("Var(", place, ",", width, ",", category, ")"), 0, name.at});
  }

  Expr call(const Token& name) {
    const Derivation* const how = pattern_ ? nullptr : find_derivation(name.text);
    if (how) return derived(*how);
    if (name.text == "Var" && !pattern_) return placed(name);
    if (const Expr number = constant(name)) {
      scan_.expect(")", "to close the number");
      return number;
    }
    Op op;
    const bool found = find_op(name.text, &op) && row(op).form != Form::structural;
    if (!found) unknown(name);
    std::vector<Expr> args;
    for (int k = 0; k < row(op).arity; ++k) {
      if (k > 0) scan_.expect(",", needs(op).c_str());
      args.push_back(inner());
    }
    const std::vector<int> attributes = attributes_of(op);
    // KeOps' third argument is the beginning of a period.
    const Expr from = op == Op::Mod && scan_.take_if(",") ? inner() : Expr();
    const std::size_t length = scan_.peek().at + 1 - name.at;
    if (!scan_.take_if(")")) scan_.fail_here(sentence("expected ')' ", needs(op)));
    if (from) return mod(args[0] - from, args[1]) + from;
    const std::string shown = length > kLongestShown ? name.text + "()" : text_.substr(name.at, length);
    return made(op, args, attributes, sentence("`", shown, "`"));
  }

  std::vector<int> attributes_of(Op op) {
    std::vector<int> attributes;
    for (const char letter : row(op).attributes) {
      if (letter == kMaybeList && scan_.at_symbol(")")) {
        keep(std::vector<int>(), &attributes);
        continue;
      }
      scan_.expect(",", needs(op).c_str());
      if (letter == kNumber) attributes.push_back(attribute());
      else keep(attribute_list(), &attributes);
    }
    return attributes;
  }

  // Makes an operation. Errors name the operation as it is written.
  Expr made(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes, const std::string& written) {
    if (pattern_) return pool_->make(op, args, attributes);
    try {
      if (keops_) return make_keops(op, args, attributes, written);
      check_places(op, args, attributes, written);
      return pool_->make(op, args, attributes);
    } catch (Failure& failure) {
      std::string& said = failure.message;
      const std::string own = std::string(row(op).fn) + "()";
      const std::size_t colon = said.find(": ");
      if (said.compare(0, own.size(), own) == 0 && colon != std::string::npos) said.replace(0, colon, written);
      else if (said.compare(0, written.size(), written) != 0) said.insert(0, written + ": ");
      throw;
    }
  }

  static std::string needs(Op op) {
    const OpRow& r = row(op);
    const std::string more = !r.attributes.empty() ? sentence(" and the whole numbers ", r.attribute_names) : "";
    return sentence("as ", r.fn, "() takes ", r.arity, r.arity == 1 ? " formula" : " formulas", more);
  }

  [[noreturn]] void unknown(const Token& name) const {
    const std::string near = nearest_name(name.text, known_names());
    const std::string hint = near.empty() ? "; see kernweave_operations()" : "; did you mean `" + near + "`?";
    fail(Fault::unknown_op, "unknown operation `", name.text, "` at character ", name.at + 1, hint);
  }

  int attribute() {
    const bool negative = scan_.take_if("-");
    const Token token = scan_.take();
    if (pattern_ && token.is == Token::Is::name) return pattern_attribute(token.text[0]);
    const bool whole =
        token.is == Token::Is::number && token.number == std::floor(token.number) && token.number <= kLargestNumber;
    if (!whole) scan_.fail_at(token.at, "expected a whole number");
    return static_cast<int>(negative ? -token.number : token.number);
  }

  // c(2, 3), or in KeOps' words Ind(2, 3), [2, 3] or (2, 3), where a comma may come last; a number is a list of one.
  std::vector<int> attribute_list() {
    const Token& next = scan_.peek();
    const bool named = next.is == Token::Is::name && (next.text == "c" || next.text == "Ind");
    const bool opened = scan_.at_symbol("[") || scan_.at_symbol("(");
    if (!named && !opened) return {attribute()};
    const char* const close = scan_.take().text == "[" ? "]" : ")";
    if (named) scan_.expect("(", "before a list of whole numbers");
    std::vector<int> list;
    while (!scan_.take_if(close)) {
      if (!list.empty()) scan_.expect(",", "between whole numbers");
      if (opened && scan_.take_if(close)) break;
      list.push_back(attribute());
    }
    return list;
  }

  // Tells whether the text is a reduction, "Sum_Reduction(...)" and its kin, or a derivative of a reduction.
  bool reduces() const {
    if (pattern_) return false;
    Lexer ahead = scan_;
    while (ahead.peek().is == Token::Is::name && find_derivation(ahead.peek().text)) {
      ahead.take();
      if (!ahead.take_if("(")) return false;
    }
    return ahead.peek().is == Token::Is::name && !stem_of(ahead.peek().text).empty();
  }

  // Returns the name of a reduction without its ending; empty if the name does not have this ending.
  static std::string stem_of(const std::string& name) {
    const std::string ending = "_Reduction";
    const std::size_t at = name.size() > ending.size() ? name.size() - ending.size() : 0;
    return at > 0 && name.compare(at, ending.size(), ending) == 0 ? name.substr(0, at) : "";
  }

  void read_outer(Parsed* parsed) {
    Deeper deeper(this);
    const Token name = scan_.take();
    const Derivation* const how = find_derivation(name.text);
    scan_.expect("(", "after the name");
    if (!how) return read_reduction(stem_of(name.text), parsed);
    read_outer(parsed);
    derive_sum(name, *how, parsed);
  }

  // Derives a sum: the derivative is the sum of its terms' derivatives. A gradient keeps the axis of its variable.
  void derive_sum(const Token& name, const Derivation& how, Parsed* parsed) {
    user_check(parsed->reduction == "Sum" && !parsed->weight && how.along, Fault::unsupported, name.text, "() of ",
               parsed->reduction, "_Reduction() in a text is not built; keops_grad() and vjp() take more");
    Expr variable;
    parsed->formula = derived(how, parsed->formula, &variable);
    const Axes axes = variable->type.axes.pairs();
    if (!is_named(how, "Diff")) parsed->folded = axes == Axes::i() ? "j" : axes == Axes::j() ? "i" : "ij";
    else if (parsed->axis == 1 || parsed->axis == kUnsaid) parsed->folded = "j";
    else if (parsed->axis == 0) parsed->folded = "i";
  }

  // Reads Name_Reduction(f [, K] [, axis] [, weight]). In KeOps the axis comes last; whole numbers are no weights.
  void read_reduction(const std::string& stem, Parsed* parsed) {
    parsed->reduction = stem;
    parsed->formula = inner();
    Red red;
    std::string name = stem;  // Min_ArgMin is MinArgMin
    name.erase(std::remove(name.begin(), name.end(), '_'), name.end());
    if (find_base(name, &red) && row(red).inputs == Inputs::value_k) {
      scan_.expect(",", "and K");
      parsed->places = attribute();
    }
    while (scan_.take_if(",")) {
      const std::size_t at = scan_.peek().at;
      const Expr given = inner();
      const bool number = given->op == Op::Number && std::fabs(given->number) <= kLargestNumber &&
                          given->number == std::floor(given->number);
      if (number && parsed->axis == kUnsaid) parsed->axis = static_cast<int>(given->number);
      else if (!parsed->weight) parsed->weight = given;
      else scan_.fail_at(at, "a reduction takes one weight and one axis");
    }
    scan_.expect(")", "to close the reduction");
  }

  struct Deeper {
    explicit Deeper(Parser* parser) : parser(parser) {
      if (++parser->depth_ > kDeepest) parser->scan_.fail_here("the formula is nested too deeply");
    }
    ~Deeper() { --parser->depth_; }
    Parser* parser;
  };

  const std::string& text_;
  Lexer scan_;
  Pool* pool_;
  const NameLookup& scope_;
  bool pattern_, keops_;
  int depth_ = 0;
};

// A letter of a rule: a variable known by its name alone.
Expr letter_variable(const std::string& name, Pool* pool) {
  const int letter = name[0];
  internal_check(name.size() == 1 && letter >= 'a' && letter <= 'z', "a rule with the letter `", name, "`");
  return pool->variable({name, Axis::param, Source::data, 0, Kind::real, Axes::none(), letter});
}

}  // namespace

Parsed parse(const std::string& text, Pool* pool, const NameLookup& scope, Grammar grammar) {
  return Parser(text, pool, scope, &grammar).whole();
}

Expr parse_pattern(const std::string& text, Pool* pool) {
  const NameLookup letters = [&](const std::string& name) { return letter_variable(name, pool); };
  return Parser(text, pool, letters, nullptr).whole().formula;
}

Declaration parse_declaration(const std::string& text) {
  Lexer scan(text);
  const Token name = scan.take();
  if (name.is != Token::Is::name) scan.fail_at(name.at, "expected a name, as in \"x = Vi(3)\"");
  scan.expect("=", "after the name, as in \"x = Vi(3)\"");
  const Token axis = scan.take();
  Axis where = Axis::param;
  if (axis.text == "Vi" || axis.text == "Vx") where = Axis::i;
  else if (axis.text == "Vj" || axis.text == "Vy") where = Axis::j;
  else if (axis.text != "Pm" && axis.text != "Var") scan.fail_at(axis.at, "expected Vi, Vj or Pm");
  scan.expect("(", "after Vi, Vj or Pm");
  const auto whole_number = [&](double least, double most, const char* what) {
    const Token token = scan.take();
    const bool whole = token.is == Token::Is::number && token.number == std::floor(token.number) &&
                       token.number >= least && token.number <= most;
    if (!whole) scan.fail_at(token.at, what);
    return static_cast<int>(token.number);
  };
  int width = whole_number(0, kLargestNumber, "expected the number of components"), place = kUnsaid;
  if (axis.text == "Var" || scan.at_symbol(",")) {
    scan.expect(",", "and the number of components");
    place = width;
    width = whole_number(1, kLargestNumber, "expected the number of components");
  }
  if (axis.text == "Var") {
    scan.expect(",", "and the category");
    where = static_cast<Axis>(whole_number(0, 2, "expected the category: 0 for i, 1 for j, 2 for a parameter"));
  }
  if (width < 1) scan.fail_here("expected the number of components, at least 1");
  scan.expect(")", "after the number of components");
  if (scan.peek().is != Token::Is::end) scan.fail_here("expected the declaration to end");
  return {name.text, where, width, place};
}

}  // namespace kernweave
