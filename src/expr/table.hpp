// ops.def and reductions.def as run-time tables: names, arity, attributes, kind rule, value. Knows no formula.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>
#include "expr/type.hpp"
#include "kernweave/names.hpp"
#include "kernweave/read.hpp"
#include "kernweave/red/state.hpp"

namespace kernweave {

enum class Form { structural, elementwise, fold, loop, alias };

// Structural operations have the rule `same` and never use it.
enum class KindRule { real, arith, same, logical };

using Lane = Scalar<double>;
using LoopFn = void (*)(const Read<Lane>* in, Lane* out, int width, const int* attributes);

// A product of powers: number * x^p * y^q for positive arguments; its sign turns with the signs of some arguments. For
// a row that takes differences, a product of powers of the difference; for a fold that adds up, each term is a product.
struct PowerLaw {
  struct Power {
    int power;
    bool turns;
  };
  double number = 0;  // 0: the value is no product of powers
  std::vector<Power> powers;

  explicit operator bool() const { return number != 0; }
  // Tells whether the powers are of the arguments, not of their sizes.
  bool plain() const {
    return std::all_of(powers.begin(), powers.end(), [](Power p) { return p.turns == (p.power % 2 != 0); });
  }
};

struct OpRow {
  const char* name;
  const char* fn;
  Form form;
  int arity;
  std::string attributes;  // their form, see attribute_form()
  KindRule kind;
  std::string kind_args;                   // letters of the arguments that make the kind; empty: all
  std::string symbol;                      // R's operator, if there is one
  Lane (*value)(const Lane* in);           // element-wise
  Lane (*start)();                         // fold
  Lane (*next)(Lane acc, const Lane* in);  // fold
  LoopFn loop;                             // loop
  const char* attribute_names;
  bool looks_up = false;         // of a loop: it reads its second argument by place, and takes one number of the first
  bool has_own_adjoint = false;  // of an alias: its derivative is not the derivative of its formula
  // Found by trying, not declared:
  bool commutes = false;     // f(x, y) = f(y, x)
  bool differences = false;  // f(x + c, y + c) = f(x, y)
  // Never negative nor -0, but maybe NaN: for any arguments; for arguments that are not negative; for equal arguments.
  bool not_negative = false, not_negative_of_such = false, not_negative_of_same = false;
  int cost = 1;  // instructions for one component, about
  // For each argument, letters of the arguments that its adjoint reads, r for the result; all if nothing flows back.
  std::vector<std::string> adjoint_reads{};
  // Found by trying as well:
  bool adds_up = false;  // of a fold: does it add its terms to the earlier result?
  PowerLaw law{};
  double log_base = 0;  // of a function with f(x + y) = f(x) f(y): the logarithm of f(1)

  // Tells whether the value is a product of powers of the arguments.
  bool multiplies() const { return form == Form::elementwise && law && law.plain() && !differences; }
};

const OpRow& row(Op op);
const std::vector<OpRow>& op_rows();
// Finds an operation by either name; false if none.
bool find_op(const std::string& name, Op* found);
// Finds an operation by R's operator.
bool find_operator(const std::string& symbol, Op* found);

enum class Inputs { value, value_weight, value_k };
enum class Results { value, index, value_index };
enum class Saves { nothing, result, winner, nan_or_winner, winners, softmax, cofactor };

// The state of one component, as an engine without templates sees it.
struct StateRow {
  std::size_t size;
  long long (*storage)(int k);
  void (*init)(void* state, void* storage, int k);
  void (*step)(void* state, Lane value, Lane weight, Index index, bool valid);
  void (*merge)(void* state, const void* later);
  void (*finish)(const void* state, Lane* values, Index* indices);

  // Counts the bytes of a state and of its storage, which lies behind the state. Both are multiples of 8.
  std::int64_t bytes(int places) const { return static_cast<std::int64_t>(size) + (storage(places) + 7) / 8 * 8; }
};

struct RedRow {
  const char* name;
  const char* fn;
  Inputs inputs;
  Results results;
  KindRule kind;
  Saves saves;
  StateRow state;
  bool adds;       // does it add numbers up?
  bool exponents;  // are the values exponents, so that an absolute error in them is a relative error of a term?
  red::Matters matters;
  bool is_short;  // is there a short way for most terms?

  bool picks() const { return is_short && !adds; }  // does it ignore most terms, once it has seen some?
};

const RedRow& row(Red red);
const std::vector<RedRow>& red_rows();
bool find_red(const std::string& name, Red* found);

// A derived reduction: the reduction `of` of a formula.
struct DerivedRow {
  const char* name;
  const char* fn;
  Red of;
  Results results;
};

const std::vector<DerivedRow>& derived_rows();
// Finds a reduction by name; for a derived reduction, its base.
bool find_base(const std::string& name, Red* found);

// --- attributes ----------------------------------------------------------------------------------------------------
// The whole numbers of an operation, in one list: a number is kept as it is, a list behind its length.

// The kinds of attributes, by a letter: the column `c(list(places), width)` of ops.def has the form "ln".
constexpr char kNumber = 'n', kList = 'l', kMaybeList = 'm';  // a list that is empty if nothing is given
std::string attribute_form(const std::string& column);

bool have_form(const std::vector<int>& kept, const std::string& form);
// Writes attributes as R would: "3, c(1, 2)"; a list that is missing is left out.
std::string show_attributes(const std::vector<int>& kept, const std::string& form);

// Reads attributes one after the other. Their form must be right.
class Attributes {
 public:
  explicit Attributes(const std::vector<int>& kept) : kept_(kept) {}
  int number() { return kept_[next_++]; }
  std::vector<int> list();

 private:
  const std::vector<int>& kept_;
  std::size_t next_ = 0;
};

// Returns the first list of attributes whose form begins with a list; else empty.
std::vector<int> first_list(const std::vector<int>& kept, const std::string& form);

inline void keep(int number, std::vector<int>* kept) { kept->push_back(number); }
void keep(const std::vector<int>& list, std::vector<int>* kept);

}  // namespace kernweave
