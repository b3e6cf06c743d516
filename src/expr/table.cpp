// Builds the tables from the rows: every column an engine without templates needs, as a function pointer. Turns the
// words of an attributes column into letters, and reads attributes by these letters.
#include "expr/table.hpp"

#include <cctype>
#include <iterator>
#include <new>
#include <unordered_map>

#include "expr/on_lane.hpp"
#include "kernweave/cost_lane.hpp"
#include "kernweave/ops.hpp"
#include "kernweave/reductions.hpp"

namespace kernweave {
namespace {

template <class F>
Lane start() {
  return F::template start<Lane>();
}
template <class F>
Lane next1(Lane acc, const Lane* in) {
  return F::next(acc, in[0]);
}
template <class F>
Lane next2(Lane acc, const Lane* in) {
  return F::next(acc, in[0], in[1]);
}
template <class F>
void loop1(const Read<Lane>* in, Lane* out, int width, const int* attributes) {
  F::loop(in[0], out, width, attributes);
}
template <class F>
void loop2(const Read<Lane>* in, Lane* out, int width, const int* attributes) {
  F::loop(in[0], in[1], out, width, attributes);
}

KindRule kind_rule(const std::string& column) {
  const std::string word = column.substr(0, column.find('('));
  if (word == "real") return KindRule::real;
  if (word == "arith") return KindRule::arith;
  if (word == "logical") return KindRule::logical;
  return KindRule::same;
}

// "same(y, z)" -> "yz"
std::string kind_arguments(const std::string& column) {
  const std::size_t open = column.find('(');
  std::string letters;
  for (std::size_t k = open; open != std::string::npos && k < column.size(); ++k)
    if (std::isalpha(static_cast<unsigned char>(column[k]))) letters += column[k];
  return letters;
}

// Returns R's operator for a row: "Ops(\"+\")" among the last columns -> "+"
std::string operator_symbol(const std::string& columns) {
  const std::string opening = "Ops(\"";
  const std::size_t at = columns.find(opening);
  if (at == std::string::npos) return "";
  const std::size_t first = at + opening.size();
  return columns.substr(first, columns.find('"', first) - first);
}

// Returns the arguments that an adjoint reads: "g * y" -> "y". A width is no value of an argument.
std::string letters_read(const std::string& adjoint) {
  if (adjoint == "none()") return "xyzr";
  std::string letters, word, before;
  for (const char c : adjoint + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
    } else if (!word.empty()) {
      if (word.find_first_not_of("xyzr") == std::string::npos && before != "width") letters += word;
      before = word;
      word.clear();
    }
  }
  return letters;
}

// Makes the members that every row has; the forms add their functions.
OpRow plain_row(const char* name, const char* fn, Form form, int arity, const char* attributes, const char* kind,
                const char* columns, const std::vector<std::string>& adjoints = {}) {
  OpRow row{name, fn, form, arity, attribute_form(attributes), kind_rule(kind), kind_arguments(kind),
            operator_symbol(columns), nullptr, nullptr, nullptr, nullptr, attributes};
  std::transform(adjoints.begin(), adjoints.end(), std::back_inserter(row.adjoint_reads), letters_read);
  return row;
}
OpRow structural(const char* name, int arity, const char* attributes) {
  return plain_row(name, name, Form::structural, arity, attributes, "same", "");
}
OpRow own_adjoint(OpRow row) {
  row.has_own_adjoint = true;
  return row;
}
OpRow elementwise(OpRow row, CostLane cost) {
  row.cost = cost.cost;
  return row;
}
OpRow fold(OpRow row, Lane (*first)(), Lane (*next)(Lane, const Lane*), CostLane cost) {
  row.cost = cost.cost;
  row.start = first;
  row.next = next;
  return row;
}
OpRow looped(OpRow row, LoopFn loop) {
  row.loop = loop;
  return row;
}
// The cost is a polynomial of degree 5, and as much again to find its coefficients.
OpRow looking_up(OpRow row, LoopFn loop) {
  row.looks_up = true;
  row.cost = 24;
  return looped(std::move(row), loop);
}

std::vector<OpRow> make_op_rows() {
  const CostLane counted(0.0);
  std::vector<OpRow> rows = {
      structural("Var", 0, "none"),  structural("Number", 0, "none"), structural("Swap", 1, "none"),
      structural("Take", 2, "axis"), structural("Gather", 2, "none"),
#define UNARY(Name, fn, kind, value, dx, ...) \
  elementwise(plain_row(#Name, #fn, Form::elementwise, 1, "none", #kind, #__VA_ARGS__, {#dx}), op::Name::eval(counted)),
#define BINARY(Name, fn, kind, value, dx, dy, ...) \
  elementwise(plain_row(#Name, #fn, Form::elementwise, 2, "none", #kind, #__VA_ARGS__, {#dx, #dy}), \
              op::Name::eval(counted, counted)),
#define TERNARY(Name, fn, kind, value, dx, dy, dz, ...) \
  elementwise(plain_row(#Name, #fn, Form::elementwise, 3, "none", #kind, #__VA_ARGS__, {#dx, #dy, #dz}), \
              op::Name::eval(counted, counted, counted)),
#define FOLD1(Name, fn, kind, first, following, dx, ...) \
  fold(plain_row(#Name, #fn, Form::fold, 1, "none", #kind, #__VA_ARGS__, {#dx}), start<op::Name>, next1<op::Name>, \
       op::Name::next(counted, counted)),
#define FOLD2(Name, fn, kind, first, following, dx, dy, ...) \
  fold(plain_row(#Name, #fn, Form::fold, 2, "none", #kind, #__VA_ARGS__, {#dx, #dy}), start<op::Name>, \
       next2<op::Name>, op::Name::next(counted, counted, counted)),
#define LOOP1(Name, fn, kind, width, attributes, dx, ...) \
  looped(plain_row(#Name, #fn, Form::loop, 1, #attributes, #kind, #__VA_ARGS__, {#dx}), loop1<op::Name>),
#define LOOP2(Name, fn, kind, width, attributes, dx, dy, ...) \
  looped(plain_row(#Name, #fn, Form::loop, 2, #attributes, #kind, #__VA_ARGS__, {#dx, #dy}), loop2<op::Name>),
#define LOOKUP(Name, fn, kind, width, attributes, dx, ...) \
  looking_up(plain_row(#Name, #fn, Form::loop, 2, #attributes, #kind, #__VA_ARGS__, {#dx, "none()"}), loop2<op::Name>),
#define SMOOTH1(Name, fn, ...) own_adjoint(plain_row(#Name, #fn, Form::alias, 1, "none", "same", #__VA_ARGS__)),
#define ALIAS1(Name, fn, attributes, ...) plain_row(#Name, #fn, Form::alias, 1, #attributes, "same", #__VA_ARGS__),
#define ALIAS2(Name, fn, attributes, ...) plain_row(#Name, #fn, Form::alias, 2, #attributes, "same", #__VA_ARGS__),
#define ALIAS3(Name, fn, attributes, ...) plain_row(#Name, #fn, Form::alias, 3, #attributes, "same", #__VA_ARGS__),
#include "kernweave/ops.def"
  };
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (rows[k].form == Form::elementwise) rows[k].value = on_lane<Lane>(static_cast<Op>(k));
    find_traits(&rows[k]);
  }
  return rows;
}

template <class State>
StateRow state_row() {
  static_assert(alignof(State) == 8, "a state and its storage lie side by side");
  return {
      sizeof(State),
      &State::storage,
      [](void* state, void* storage, int k) { (new (state) State)->init(storage, k); },
      [](void* state, Lane value, Lane weight, Index index, bool valid) {
        static_cast<State*>(state)->step(value, weight, index, valid);
      },
      [](void* state, const void* later) {
        static_cast<State*>(state)->merge(*static_cast<const State*>(later), 0);
      },
      [](const void* state, Lane* values, Index* indices) {
        static_cast<const State*>(state)->finish(values, indices);
      },
  };
}

// Maps both names of every row to its place.
template <class Row>
std::unordered_map<std::string, std::size_t> places_of(const std::vector<Row>& rows) {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t k = 0; k < rows.size(); ++k)
    for (const char* name : {rows[k].name, rows[k].fn}) places.emplace(name, k);
  return places;
}

}  // namespace

const std::vector<OpRow>& op_rows() {
  static const std::vector<OpRow> rows = make_op_rows();
  return rows;
}

const OpRow& row(Op op) { return op_rows()[static_cast<std::size_t>(op)]; }

bool find_op(const std::string& name, Op* found) {
  static const std::unordered_map<std::string, std::size_t> places = places_of(op_rows());
  const auto at = places.find(name);
  if (at != places.end()) *found = static_cast<Op>(at->second);
  return at != places.end();
}

bool find_operator(const std::string& symbol, Op* found) {
  for (std::size_t k = 0; k < op_rows().size(); ++k)
    if (op_rows()[k].symbol == symbol) {
      *found = static_cast<Op>(k);
      return true;
    }
  return false;
}

const std::vector<RedRow>& red_rows() {
  static const std::vector<RedRow> rows = {
#define REDUCTION(Name, fn, inputs, results, kind, saves, ...) \
  {#Name, #fn, Inputs::inputs, Results::results, KindRule::kind, Saves::saves, \
   state_row<red::Name<Lane>>(), red::Name<Lane>::kAdds, \
   red::Name<Lane>::kExponents, red::Name<Lane>::kMatters, red::Name<Lane>::kShort},
#include "kernweave/reductions.def"
  };
  return rows;
}

const RedRow& row(Red red) { return red_rows()[static_cast<std::size_t>(red)]; }

bool find_red(const std::string& name, Red* found) {
  static const std::unordered_map<std::string, std::size_t> places = places_of(red_rows());
  const auto at = places.find(name);
  if (at != places.end()) *found = static_cast<Red>(at->second);
  return at != places.end();
}

const std::vector<DerivedRow>& derived_rows() {
  static const std::vector<DerivedRow> rows = {
#define DERIVED(Name, fn, of, kind, formula, results, ...) {#Name, #fn, Red::of, Results::results},
#include "kernweave/reductions.def"
  };
  return rows;
}

bool find_base(const std::string& name, Red* found) {
  for (const DerivedRow& r : derived_rows()) {
    if (name != r.name && name != r.fn) continue;
    *found = r.of;
    return true;
  }
  return find_red(name, found);
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::logical: return "logical";
    case Kind::integer: return "integer";
    case Kind::real: return "real";
    case Kind::complex: return "complex";
  }
  return "unknown";
}

// --- attributes ----------------------------------------------------------------------------------------------------

std::string attribute_form(const std::string& column) {
  std::string form;
  if (column == "none") return form;
  for (std::size_t at = 0; at < column.size();) {
    std::size_t end = at;
    while (end < column.size() && (std::isalnum(static_cast<unsigned char>(column[end])) || column[end] == '_')) ++end;
    const std::string word = column.substr(at, end - at);
    const bool opens = end < column.size() && column[end] == '(';
    if (opens && word == "list") form += kList;
    if (opens && word == "maybe") form += kMaybeList;
    // The word inside list() or maybe() is the list's name.
    const bool named =
        at >= 5 && (column.compare(at - 5, 5, "list(") == 0 || (at >= 6 && column.compare(at - 6, 6, "maybe(") == 0));
    if (!word.empty() && !opens && !named) form += kNumber;
    at = end + 1;
  }
  return form;
}

bool have_form(const std::vector<int>& kept, const std::string& form) {
  std::size_t at = 0;
  for (const char letter : form) {
    if (at >= kept.size()) return false;
    if (letter == kNumber) {
      ++at;
      continue;
    }
    const std::size_t left = kept.size() - at - 1;
    if (kept[at] < 0 || static_cast<std::size_t>(kept[at]) > left) return false;
    at += static_cast<std::size_t>(kept[at]) + 1;
  }
  return at == kept.size();
}

std::string show_attributes(const std::vector<int>& kept, const std::string& form) {
  std::string out;
  Attributes read(kept);
  const auto say = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  for (const char letter : form) {
    if (letter == kNumber) {
      say(std::to_string(read.number()));
      continue;
    }
    const std::vector<int> list = read.list();
    if (list.empty() && letter == kMaybeList) continue;
    std::string inside;
    for (int value : list) inside += (inside.empty() ? "" : ", ") + std::to_string(value);
    say("c(" + inside + ")");
  }
  return out;
}

std::vector<int> Attributes::list() {
  const auto first = kept_.begin() + static_cast<std::ptrdiff_t>(next_) + 1;
  const std::vector<int> found(first, first + kept_[next_]);
  next_ += found.size() + 1;
  return found;
}

std::vector<int> first_list(const std::vector<int>& kept, const std::string& form) {
  return form.empty() || form[0] == kNumber ? std::vector<int>() : Attributes(kept).list();
}

void keep(const std::vector<int>& list, std::vector<int>* kept) {
  kept->push_back(static_cast<int>(list.size()));
  kept->insert(kept->end(), list.begin(), list.end());
}

}  // namespace kernweave
