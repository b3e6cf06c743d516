// Text to tokens.
#pragma once
#include <string>

namespace kernweave {

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
  // A syntax error with the text and a mark under the place.
  [[noreturn]] void fail_here(const std::string& what) const { fail_at(token_.at, what); }
  [[noreturn]] void fail_at(std::size_t at, const std::string& what) const;

 private:
  void advance();
  void read_number();

  const std::string& text_;
  std::size_t next_ = 0;
  Token token_{Token::Is::end, "", 0, 0};
};

}  // namespace kernweave
