// The scanner: names, numbers, and the symbols of the grammar. Every other character is an error.
#include "expr/parse.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"

namespace kernweave {
namespace {

// The symbols, longest first.
const char* const kSymbols[] = {"**", "<=", ">=", "==", "!=", "+", "-", "*", "/", "^",
                                "|",  "<",  ">",  "(",  ")",  "[", "]", ",", "="};

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '.' || c == '_'; }
bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_'; }
bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
// Replaces a byte that is not printable ASCII, which would garble a message.
char printable(char c) { return c >= ' ' && c <= '~' ? c : '?'; }

}  // namespace

void Lexer::fail_at(std::size_t at, const std::string& what) const {
  const std::size_t around = 30;
  const std::size_t first = at > around ? at - around : 0;
  std::string shown = text_.substr(first, 2 * around);
  std::transform(shown.begin(), shown.end(), shown.begin(), printable);
  fail(Fault::syntax, what, " at character ", at + 1, ":\n  ", shown, "\n  ", std::string(at - first, ' '), "^");
}

void Lexer::read_number() {
  const char* start = text_.c_str() + next_;
  const char* p = start;
  while (digit(*p)) ++p;
  if (*p == '.') ++p;
  while (digit(*p)) ++p;
  const char* exponent = p;
  if (*p == 'e' || *p == 'E') {
    ++p;
    if (*p == '+' || *p == '-') ++p;
    if (!digit(*p)) p = exponent;
    while (digit(*p)) ++p;
  }
  const std::string digits(start, p);
  token_ = {Token::Is::number, digits, std::strtod(digits.c_str(), nullptr), next_};
  next_ += digits.size();
}

void Lexer::advance() {
  while (next_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[next_]))) ++next_;
  token_ = {Token::Is::end, "", 0, next_};
  if (next_ >= text_.size()) return;
  const char c = text_[next_];
  const char following = next_ + 1 < text_.size() ? text_[next_ + 1] : '\0';
  if (digit(c) || (c == '.' && digit(following))) return read_number();
  if (starts_name(c)) {
    std::size_t last = next_;
    while (last < text_.size() && in_name(text_[last])) ++last;
    token_ = {Token::Is::name, text_.substr(next_, last - next_), 0, next_};
    next_ = last;
    return;
  }
  for (const char* symbol : kSymbols)
    if (text_.compare(next_, std::strlen(symbol), symbol) == 0) {
      token_ = {Token::Is::symbol, symbol, 0, next_};
      next_ += std::strlen(symbol);
      return;
    }
  fail_at(next_, sentence("unexpected character '", printable(c), "'"));
}

Token Lexer::take() {
  Token taken = token_;
  advance();
  return taken;
}

bool Lexer::take_if(const char* symbol) {
  if (!at_symbol(symbol)) return false;
  advance();
  return true;
}

void Lexer::expect(const char* symbol, const char* where) {
  if (!take_if(symbol)) fail_here(sentence("expected '", symbol, "' ", where));
}

}  // namespace kernweave
