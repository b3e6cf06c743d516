// Writes a formula in R's infix, with as few parentheses as precedence allows.
#include "expr/show.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "expr/attributes.hpp"
#include "expr/infix.hpp"

namespace kernweave {
namespace {

class Writer {
 public:
  explicit Writer(std::size_t budget) : budget_(budget) {}

  std::string text(Expr f) {
    write(f, kLoose);
    if (cut_) out_.resize(out_.size() < budget_ ? out_.size() : budget_);
    return cut_ ? out_ + "..." : out_;
  }

 private:
  // Deeper than this a text has long passed any budget; it bounds the recursion.
  static constexpr int kDeepest = 400;

  // An argument is put in parentheses when it binds less tightly than its place asks.
  void write(Expr f, Tightness place) {
    if (cut_ || out_.size() > budget_ || depth_ > kDeepest) {
      cut_ = true;
      return;
    }
    ++depth_;
    const Tightness own = tightness(f);
    const bool wrap = own < place;
    if (wrap) out_ += '(';
    write_bare(f);
    if (wrap) out_ += ')';
    --depth_;
  }

  static Tightness tightness(Expr f) {
    if (f->op == Op::Number) return f->number < 0 ? kSign : kAtom;
    if (f->op == Op::Minus) return kSign;
    return tightness_of(row(f->op).symbol);
  }

  void write_bare(Expr f) {
    if (!row(f->op).symbol.empty()) return write_infix(f);
    switch (f->op) {
      case Op::Var: out_ += variable(f).name; return;
      case Op::Number: out_ += show_number(f->number); return;
      case Op::Minus: out_ += '-'; return write(f.arg(0), kAtom);
      case Op::Swap: return write_call("t", f);
      case Op::Take: return write_rows(f, f->attributes[0] == 0 ? "[" : "[, ", f->attributes[0] == 0 ? ", ]" : "]");
      case Op::Gather: return write_rows(f, "[", ", ]");
      default: return write_call(row(f->op).fn, f);
    }
  }

  // Left-associative: the right argument must bind more tightly. Comparisons do not chain.
  void write_infix(Expr f) {
    const Tightness own = tightness(f), next = static_cast<Tightness>(own + 1);
    write(f.arg(0), own == kCompare ? next : own);
    out_ += " " + row(f->op).symbol + " ";
    write(f.arg(1), next);
  }

  void write_call(const char* name, Expr f) {
    out_ += name;
    out_ += '(';
    for (std::size_t k = 0; k < f->args.size(); ++k) {
      if (k > 0) out_ += ", ";
      write(f.arg(k), kLoose);
    }
    if (!f->attributes.empty()) out_ += ", " + show_attributes(f->attributes, row(f->op).attributes);
    out_ += ')';
  }

  void write_rows(Expr f, const char* open, const char* close) {
    write(f.arg(0), kAtom);
    out_ += open;
    write(f.arg(1), kLoose);
    out_ += close;
  }

  std::size_t budget_;
  std::string out_;
  int depth_ = 0;
  bool cut_ = false;
};

}  // namespace

std::string show_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "Inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  if (std::strtod(text, nullptr) != value) std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string show(Expr f, std::size_t budget) { return Writer(budget).text(f); }

std::string show_short(Expr f) { return show(f, 40); }

}  // namespace kernweave
