// The type of an operation's result, by rules. Broadcasting knows one case: an argument of one component goes with any
// width.
#include "expr/type.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "expr/parse.hpp"
#include "expr/rewrite.hpp"

namespace kernweave {
namespace {

using Width = long long;

// 128 MB of components for one pair: surely a mistake, and small enough that a plan's slots can be counted.
constexpr Width kWidest = 1 << 24;

// The words of the `width` column in ops.def. Negative: the arguments do not fit.
constexpr Width kMisfit = -1;
Width repeated(Width x, Width n) { return x == 1 && n >= 1 ? n : kMisfit; }
Width within(Width start, Width length, Width x) {
  return start >= 1 && length >= 1 && start + length - 1 <= x ? length : kMisfit;
}
Width placed(Width x, Width start, Width result) { return start >= 1 && start + x - 1 <= result ? result : kMisfit; }
// Places count from 1.
bool are_inside(const std::vector<int>& places, Width x) {
  return std::all_of(places.begin(), places.end(), [&](int place) { return place >= 1 && place <= x; });
}
Width picked(Width x, const std::vector<int>& places) {
  return !places.empty() && are_inside(places, x) ? static_cast<Width>(places.size()) : kMisfit;
}
Width unpicked(Width x, const std::vector<int>& places, Width result) {
  return static_cast<Width>(places.size()) == x && are_inside(places, result) ? result : kMisfit;
}
Width matrices(Width x, Width y, Width inner) {
  return inner >= 1 && x % inner == 0 && y % inner == 0 ? (x / inner) * (y / inner) : kMisfit;
}
Width quotient(Width matrix, Width vector) {
  return vector >= 1 && matrix >= vector && matrix % vector == 0 ? matrix / vector : kMisfit;
}

// Returns the width, 1, of the value or of a derivative that a table has.
Width looked_up(Width x, Width table, Width order, Width most) {
  user_check(order <= most, Fault::no_gradient, "the table of a radial function has ", most,
             " derivatives by the squared distance (of one by `nu` fewer), and number ", order, " is needed");
  return x == 1 && order >= 0 && table > 4 * (most + 2) ? 1 : kMisfit;
}

// States the needs of a width column, known by its first letters.
std::string wants(const std::string& column) {
  if (column.rfind("repeated", 0) == 0) return "one component and a positive number of repeats are needed";
  if (column.rfind("within", 0) == 0) return "start and length must lie inside";
  if (column.rfind("placed", 0) == 0) return "the components must lie inside the result's width";
  if (column.rfind("picked", 0) == 0) return "places must lie inside, and be at least one";
  if (column.rfind("unpicked", 0) == 0) return "each component needs a place inside the result's width";
  if (column.rfind("matrices", 0) == 0) return "the components of both must be multiples of the number of inner places";
  if (column.rfind("quotient", 0) == 0) return "the matrix must have a multiple of the vector's components";
  if (column.rfind("looked_up", 0) == 0) return "one component, and the numbers of a table, are needed";
  return "they must fit together";
}

const char* width_column(Op op) {
  switch (op) {
#define LOOP1(Name, fn, kind, width, ...) \
  case Op::Name: return #width;
#define LOOP2(Name, fn, kind, width, ...) \
  case Op::Name: return #width;
#include "kernweave/ops.def"
    default: return "";
  }
}

Width loop_width(Op op, const std::vector<Expr>& args, const std::vector<int>& a) {
  [[maybe_unused]] const Width wx = width(args[0]);
  [[maybe_unused]] const Width wy = args.size() > 1 ? width(args[1]) : 0;
  [[maybe_unused]] const Width a0 = a.empty() ? 0 : a[0];
  [[maybe_unused]] const Width a1 = a.size() > 1 ? a[1] : 0;
  [[maybe_unused]] const Width last = a.empty() ? 0 : a.back();
  [[maybe_unused]] const std::vector<int> places = first_list(a, row(op).attributes);
  user_check(!row(op).looks_up || (args[1]->op == Op::Var && args[1]->type.axes == Axes::none()), Fault::unsupported,
             row(op).fn, "(): the table must be a parameter, as Pm() makes it");
  switch (op) {
#define LOOP1(Name, fn, kind, width, ...) \
  case Op::Name: return width;
#define LOOP2(Name, fn, kind, width, ...) \
  case Op::Name: return width;
#include "kernweave/ops.def"
    default: return kMisfit;
  }
}

// "`x - y` has 3 components and `z` has 2"
std::string widths(const std::vector<Expr>& args) {
  std::string out;
  for (std::size_t k = 0; k < args.size(); ++k) {
    const char* joint = k == 0 ? "" : k + 1 == args.size() ? " and " : ", ";
    const int w = width(args[k]);
    out += sentence(joint, "`", show_short(args[k]), "` has ", w, w == 1 ? " component" : " components");
  }
  return out;
}

int broadcast(Op op, const std::vector<Expr>& args) {
  int widest = 1;
  for (Expr arg : args) widest = std::max(widest, width(arg));
  for (Expr arg : args)
    if (width(arg) != widest && width(arg) != 1)
      fail(Fault::shape, row(op).fn, "(): ", widths(args), "; widths must be equal, or one of them 1");
  return widest;
}

std::string with_attributes(Op op, const std::vector<int>& a) {
  return a.empty() ? "" : sentence(" with (", show_attributes(a, row(op).attributes), ")");
}

int result_width(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes) {
  if (row(op).form == Form::elementwise) return broadcast(op, args);
  if (row(op).form == Form::fold) {
    broadcast(op, args);
    return 1;
  }
  const Width w = loop_width(op, args, attributes);
  if (w == kMisfit)
    fail(Fault::shape, row(op).fn, "()", with_attributes(op, attributes), ": ", widths(args), "; ",
         wants(width_column(op)));
  if (w > kWidest)
    fail(Fault::shape, row(op).fn, "(): ", widths(args), "; the result would have ", w, " components, more than ",
         kWidest);
  return static_cast<int>(w);
}

// Tells whether the k-th argument determines the kind of the result. The other arguments are tests.
bool makes_kind(Op op, std::size_t k) {
  const std::string& letters = row(op).kind_args;
  return letters.empty() || letters.find("xyz"[k]) != std::string::npos;
}

Kind result_kind(Op op, const std::vector<Expr>& args) {
  Kind widest = Kind::logical;
  for (std::size_t k = 0; k < args.size(); ++k) {
    const Kind kind = args[k]->type.kind;
    if (makes_kind(op, k)) widest = std::max(widest, kind);
    else if (kind != Kind::logical)
      fail(Fault::kind, row(op).fn, "(): the test `", show_short(args[k]), "` is ", kind_name(kind),
           ", not logical; write the comparison out, e.g. `", show_short(args[k]), " > 0`");
  }
  switch (row(op).kind) {
    case KindRule::real: return std::max(widest, Kind::real);
    case KindRule::arith: return std::max(widest, Kind::integer);
    case KindRule::logical: return Kind::logical;
    case KindRule::same: break;
  }
  return widest;
}

Axes all_axes(const std::vector<Expr>& args) {
  Axes axes;
  for (Expr arg : args) axes = axes.with(arg->type.axes);
  return axes;
}

Type structural_type(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes) {
  Type type = args[0]->type;
  if (op == Op::Swap) {
    type.axes = type.axes.swapped();
    return type;
  }
  const Type& rows = args[1]->type;
  if (rows.width != 1 || rows.kind != Kind::integer)
    fail(Fault::index, "row numbers `", show_short(args[1]), "` must be whole numbers in one column");
  Axes gone = type.axes.pairs();
  if (op == Op::Take) gone = attributes[0] == 0 ? Axes::i() : Axes::j();
  if (type.axes.has(gone)) type.axes = type.axes.without(gone).with(rows.axes);
  return type;
}

// The first and the last component that an operation reads or fills, counted from 1, among `among` components.
struct ComponentRange {
  Width first, last, among;
};

ComponentRange components_of(Op op, Width width, const std::vector<int>& a) {
  switch (op) {
    case Op::Elem: return {a[0], a[0], width};
    case Op::ElemT: return {a[1], a[1], a[0]};
    case Op::Extract: return {a[0], Width{a[0]} + a[1] - 1, width};
    case Op::ExtractT: return {a[0], a[0] + width - 1, a[1]};
    default: return {1, 1, 1};
  }
}

}  // namespace

void check_places(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes, const std::string& written,
                  int from) {
  const ComponentRange at = components_of(op, width(args[0]), attributes);
  const Width wrong = at.first < 1 ? at.first : at.last;
  if (at.last < at.first || at.among < 1 || (wrong >= 1 && wrong <= at.among)) return;
  const bool fills = op == Op::ElemT || op == Op::ExtractT;
  const std::string whose = fills ? "the result" : sentence("`", show_short(args[0]), "`");
  fail(Fault::shape, written, ": no component ", wrong + from - 1, "; those of ", whose, " count from ", from, " to ",
       at.among + from - 1);
}

Type infer(Op op, const std::vector<Expr>& args, const std::vector<int>& attributes) {
  const OpRow& r = row(op);
  internal_check(static_cast<int>(args.size()) == r.arity, r.name, " takes ", r.arity, " arguments, got ", args.size());
  internal_check(have_form(attributes, r.attributes), r.name, " takes other attributes: ", r.attribute_names);
  if (r.form == Form::structural) return structural_type(op, args, attributes);
  check_places(op, args, attributes, sentence(r.fn, "()"));
  if (r.form == Form::alias) return expanded_alias(op, args, attributes)->type;
  return {result_width(op, args, attributes), result_kind(op, args), all_axes(args)};
}

}  // namespace kernweave
