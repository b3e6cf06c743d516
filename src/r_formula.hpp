// Formulas as R holds them: nested lists of (op, args, attributes, type), plain data all the way.
//   Var     args: the operand (an environment; NULL for a row number), attributes: its axis
//   Number  args: the number
//   others  args: a list of formulas, attributes: whole numbers
#pragma once
#include "border.hpp"
#include <unordered_map>
#include <string>
#include <vector>
#include "expr/node.hpp"

namespace kernweave {

// Reads R formulas into one pool, and writes formulas of that pool back.
class Formulas {
 public:
  Expr read(SEXP formula);
  std::vector<Expr> read_all(const Rcpp::List& formulas);
  // Null Expr for R's NULL.
  Expr read_optional(SEXP formula);
  SEXP write(Expr f);

  Pool& pool() { return pool_; }
  // The operands met so far, in order.
  Rcpp::List operands() const;
  int operand_number(SEXP operand);
  // Replaces an operand in all that is written from now on.
  void replace_operand(SEXP operand, SEXP other) { operands_[operand_number(operand)] = other; }

 private:
  Expr read_node(SEXP formula);
  Expr read_variable(SEXP formula);
  Expr read_literal(SEXP operand, const Type& type);
  SEXP write_node(Expr f);
  std::string unique_name(std::string name);

  Pool pool_;
  std::unordered_map<SEXP, Expr> exprs_;  // what each R formula was read as
  std::unordered_map<const Node*, SEXP> written_;
  std::vector<SEXP> operands_;
  std::unordered_map<SEXP, int> numbers_;  // place of each operand
  std::vector<std::string> names_;
  std::unordered_map<std::string, int> taken_;  // how often a name was asked for
  std::vector<Rcpp::RObject> keep_;             // what was written, safe from the collector
};

// The type of a formula without reading it.
Type type_of(SEXP formula);
SEXP type_to_r(const Type& type);
SEXP formula_to_r(const char* op, SEXP args, SEXP attributes, const Type& type);

// An operation on R formulas, typed; its failures show the arguments.
SEXP applied(const char* op, const Rcpp::List& args, SEXP attributes);

}  // namespace kernweave
