// Writes a formula in R's infix, with as few parentheses as precedence allows. A variable is written by the name of its
// operand, or as `Vi(x)` or `Vj(x)` if the name leaves open along which axis its points are read.
#include "expr/parse.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>

namespace kernweave {
namespace {

// Tells whether f is t() of points along one axis: the points along the other. t() of pairs transposes the matrix.
bool turns_points(Expr f) { return f->op == Op::Swap && !f->type.axes.has(Axes::ij()); }

// Tells whether f has row numbers, which stay as they are if the points are turned.
bool takes_rows(Expr f) { return f->op == Op::Take || f->op == Op::Gather; }

// Returns the operands that are read along both axes, or within turned points.
std::unordered_set<int> read_both_ways(Expr root) {
  std::unordered_set<const Node*> turned;
  std::unordered_map<int, Axes> along;
  std::unordered_set<int> out;
  const std::vector<Expr> parts = reachable({root});
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    const Expr f = *part;
    const bool within = turned.count(f.get()) > 0;
    if (within || turns_points(f)) turned.insert(f->args.begin(), takes_rows(f) ? f->args.begin() + 1 : f->args.end());
    if (f->op != Op::Var) continue;
    const int operand = variable(f).operand;
    along[operand] = along[operand].with(f->type.axes.pairs());
    if (within || along[operand].has(Axes::ij())) out.insert(operand);
  }
  return out;
}

class FormulaWriter {
 public:
  explicit FormulaWriter(std::size_t budget) : budget_(budget) {}

  std::string text(Expr f) {
    both_ways_ = read_both_ways(f);
    write(f, kLoose);
    if (cut_) out_.resize(out_.size() < budget_ ? out_.size() : budget_);
    return cut_ ? out_ + "..." : out_;
  }

 private:
  // Bounds the recursion: the text of a deeper formula has long passed any budget.
  static constexpr int kDeepest = 400;

  // An argument is put in parentheses when it binds less tightly than its place asks.
  void write(Expr f, Tightness place) {
    if (cut_ || out_.size() > budget_ || depth_ > kDeepest) {
      cut_ = true;
      return;
    }
    ++depth_;
    if (turns_points(f)) write_turned(f.arg(0), place);
    else write_wrapped(f, place);
    --depth_;
  }

  void write_turned(Expr points, Tightness place) {
    turned_ = !turned_;
    write(points, place);
    turned_ = !turned_;
  }

  void write_wrapped(Expr f, Tightness place) {
    const bool wrap = tightness(f) < place;
    if (wrap) out_ += '(';
    write_bare(f);
    if (wrap) out_ += ')';
  }

  static Tightness tightness(Expr f) {
    if (f->op == Op::Number) return f->number < 0 ? kSign : kAtom;
    if (f->op == Op::Minus) return kSign;
    return tightness_of(row(f->op).symbol);
  }

  void write_bare(Expr f) {
    if (!row(f->op).symbol.empty()) return write_infix(f);
    switch (f->op) {
      case Op::Var: return write_variable(variable(f));
      case Op::Number: out_ += show_number(f->number); return;
      case Op::Minus: out_ += '-'; return write(f.arg(0), kAtom);
      case Op::Swap: return write_call("t", f);
      case Op::Take: return (f->attributes[0] == 0) != turned_ ? write_rows(f, "[", ", ]") : write_rows(f, "[, ", "]");
      case Op::Gather: return write_rows(f, "[", ", ]");
      default: return write_call(row(f->op).fn, f);
    }
  }

  void write_variable(Variable v) {
    if (turned_) v.axis = swapped(v.axis);
    out_ += show_variable(v, both_ways_.count(v.operand) > 0);
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
    const bool turned = turned_;
    turned_ = false;
    write(f.arg(1), kLoose);
    turned_ = turned;
    out_ += close;
  }

  std::size_t budget_;
  std::unordered_set<int> both_ways_;
  std::string out_;
  bool turned_ = false;
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

std::string show_variable(const Variable& v, bool with_axis) {
  if (v.source == Source::counter) return v.axis == Axis::i ? "row_index()" : "col_index()";
  if (v.axis == Axis::pair_swapped) return "t(" + v.name + ")";
  if (v.axis == Axis::pair || v.axis == Axis::param || !with_axis) return v.name;
  return (v.axis == Axis::i ? "Vi(" : "Vj(") + v.name + ")";
}

std::string show(Expr f, std::size_t budget) { return FormulaWriter(budget).text(f); }

std::string show_short(Expr f) { return show(f, 40); }

}  // namespace kernweave
