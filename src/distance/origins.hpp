// The origins of the values of a formula's steps: the side that a value depends on, and the data that a value is a sum
// or product of.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>
#include "base/view.hpp"
#include "distance/polynomial.hpp"
#include "distance/radial_product.hpp"
#include "plan/plan.hpp"
#include "reference/reference.hpp"

namespace kernweave {
namespace distance {

// --- difference -----------------------------------------------------------------------------------------------------
// The difference of a row's and a column's point, component by component, and the data that make up each component.

// A component of data, or of a step's value that depends on the data of one side.
struct Atom {
  Ref ref;
  int component;

  bool operator<(const Atom& other) const { return key() < other.key(); }
  bool operator==(const Atom& other) const { return key() == other.key(); }

 private:
  std::tuple<int, int, int> key() const { return {static_cast<int>(ref.from), ref.index, component}; }
};

// The sum of a constant and of atoms of rows and columns, each times a number.
struct Combination {
  std::map<Atom, double> rows, columns;
  double constant = 0;

  void add(const Combination& other, double times);
};
// The components of a value; if all are equal, one stands for all.
using Combinations = std::vector<Combination>;

class PointDifference {
 public:
  // The components found so far: sums of row atoms minus sums of column atoms. The constant belongs to the row.
  const std::vector<Combination>& components() const { return components_; }

  // Returns a value as polynomials of degree 1 in components of the difference, and adds new components. Returns
  // nothing if a component of the value has no data of rows, or no data of columns.
  std::optional<Polynomials> of(const Combinations& value);
  // Returns the number of the component that equals `row` - `column`.
  std::optional<int> find(const Atom& row, const Atom& column) const;

 private:
  std::optional<Polynomials> of_same_on_both(const Combinations& value);
  std::optional<int> find(const Combination& component) const;
  int add(const Combination& component);

  std::vector<Combination> components_;
  std::multimap<Atom, int> by_row_;
};

class Origins {
 public:
  // Takes an evaluator that has already run the steps of parameters.
  Origins(const Plan& plan, const std::vector<View>& data, const Evaluator& evaluator)
      : plan_(plan), program_(plan.variants.back().program), data_(data), evaluator_(evaluator) {}

  enum class Depends { param, row, column, pair };
  Depends depends(const Ref& ref) const;
  const Step* maker(const Ref& ref) const { return program_.maker(ref); }
  // Returns the name of a value in an error: the data in the value.
  std::string name_of(const Ref& ref) const;

  // Returns the numbers of a parameter.
  std::vector<double> numbers(const Ref& ref) const;
  // Returns a value as sums of atoms of both sides. A value of one side that is no sum of atoms is an atom itself; for
  // another value, returns nothing.
  std::optional<Combinations> combination(const Ref& ref, int depth = 0);
  // Returns a value of one side as a product of data, so that the same factor is found again in other values.
  RadialProduct factors(const Ref& ref, int depth = 0);

  // Return the arguments in which a step is linear if all others are parameters, and the linear map of an argument.
  std::optional<std::vector<bool>> linear(const Step& step) const;
  LinearMap map(const Step& step, std::size_t argument) const;

 private:
  bool on_one_side(const Ref& ref) const;
  Ref first_known(const Ref& ref) const;
  std::optional<Combinations> combination_of(const Step& step, int depth);
  RadialProduct factors_of(const Step& step, int depth);

  const Plan& plan_;
  const Program& program_;
  const std::vector<View>& data_;
  const Evaluator& evaluator_;
  std::map<int, std::optional<Combinations>> combinations_;  // by slot; factors_, too
  std::map<int, RadialProduct> factors_;
};

}  // namespace distance
}  // namespace kernweave
