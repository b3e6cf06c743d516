// A call in R's form: formulas, jobs, plans, data, pairs, approximations; and R as the host of a call.
#pragma once
#include "border.hpp"
#include "execute/host.hpp"
#include "execute/kept_plan.hpp"
#include "execute/run.hpp"
#include "expr/node.hpp"
#include "far/approximation.hpp"
#include "pairs/box_tree.hpp"
#include "pairs/pair_map.hpp"
#include "plan/plan.hpp"

namespace kernweave {

// --- formulas -------------------------------------------------------------------------------------------------------
// Nested lists of (op, args, attributes, type), plain data all the way.
//   Var     args: the operand (an environment; NULL for a row number), attributes: its axis
//   Number  args: the number
//   others  args: a list of formulas, attributes: whole numbers

// Reads R formulas into one pool, and writes formulas of that pool back.
class Formulas {
 public:
  Expr read(SEXP formula);
  std::vector<Expr> read_all(const List& formulas);
  // Returns a null Expr for R's NULL.
  Expr read_optional(SEXP formula);
  SEXP write(Expr f);

  Pool& pool() { return pool_; }
  // Returns the operands met so far, in order.
  List operands() const { return List(operands_.begin(), operands_.end()); }
  int operand_number(SEXP operand);
  // Replaces an operand in all formulas that are written from now on.
  void replace_operand(SEXP operand, SEXP other) { operands_[operand_number(operand)] = other; }

 private:
  Expr read_node(SEXP formula);
  Expr read_variable(SEXP formula);
  Expr read_literal(SEXP operand, const Type& type);
  SEXP write_node(Expr f);
  std::string unique_name(std::string name);

  Pool pool_;
  std::unordered_map<SEXP, Expr> exprs_;  // the Expr that each R formula was read as
  std::unordered_map<const Node*, SEXP> written_;
  std::vector<SEXP> operands_;
  std::unordered_map<SEXP, int> numbers_;  // place of each operand
  std::vector<std::string> names_;
  std::unordered_map<std::string, int> taken_;  // how often a name was asked for
  std::vector<RObject> keep_;                   // R objects that were written, safe from the collector
};

// --- jobs and plans -------------------------------------------------------------------------------------------------

// A list of outputs, each list(value, weight, op, keep, K), extents, precision, rewrite, checks, pairs, allowed.
Job job_from_r(const List& from, Formulas* formulas);

// Returns the plan behind a pointer of this session. Other pointers, and empty pointers, are refused.
const std::shared_ptr<KeptPlan>& plan_behind(SEXP pointer);

far::Approximation& approximation_behind(SEXP pointer);

// `pairs` is NULL, or a list of a map and of whether i and j are swapped.
ExistingPairs pairs_from_r(SEXP pairs);

// --- data and sizes, none of which is copied ------------------------------------------------------------------------

// The inputs of a call: data in the order of the plan's operands, and the operands, which own the kept copies of data.
struct Given {
  List data, operands;
};
std::vector<OperandData> operands_of(const Given& given);

// The points along i and along j, NA if the formula does not know; the pairs, NULL for all.
Known known_from_r(const NumericVector& extent, SEXP pairs);

// The options of a call, as R has checked them: device, threads, gpu_mb.
Settings settings_from_r(const List& options);

// The names of the points along i and j, from the first operand that has names there; NULL if no operand has names.
struct PointNames {
  RObject i, j;
};
PointNames names_of(const Plan& plan, const Given& given);

// --- the host: R's interrupt, its messages, its memory for results --------------------------------------------------

class OutputBuffer;  // one output

class RHost : public Host {
 public:
  RHost(const Given& given, PointNames names);
  ~RHost() override;

  void poll(double share) override;
  void collect() override;
  void say(const std::string& message) override;
  const double* on_host(int operand) override;
  Result allocate(std::size_t k, const Output& output, const Sizes& sizes, bool stays) override;

  List results();

 private:
  using Clock = std::chrono::steady_clock;

  const Given& given_;
  const PointNames names_;
  std::vector<OutputBuffer> buffers_;
  const Clock::time_point start_;
  Clock::time_point next_;  // time of the next progress message
  bool shown_ = false;
};

// Checks for an interrupt, and has R show the progress of its own calls: for work that does not know its share.
void poll_r(double);

// Returns the columns of a matrix as coordinates.
Coordinates<double> axes_of(const NumericMatrix& points);

}  // namespace kernweave
