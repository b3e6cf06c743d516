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
// The difference of a row's point and a column's, component by component: which data of either side it is made of.

// One component of data, or of what a step has made of one side's data.
struct Atom {
  Ref ref;
  int component;

  bool operator<(const Atom& other) const { return key() < other.key(); }
  bool operator==(const Atom& other) const { return key() == other.key(); }

 private:
  std::tuple<int, int, int> key() const { return {static_cast<int>(ref.from), ref.index, component}; }
};

// A sum of atoms of rows and of columns, each times a number, and of a number.
struct Combination {
  std::map<Atom, double> rows, columns;
  double constant = 0;

  void add(const Combination& other, double times);
};
// A value's components; one stands for all of the same.
using Combinations = std::vector<Combination>;

class PointDifference {
 public:
  // Components met so far: sums of rows' atoms less sums of columns'. The constant belongs to the row.
  const std::vector<Combination>& components() const { return components_; }

  // A value as polynomials of degree 1 in components of the difference, to which new ones are added. None where one of
  // its components has no data of rows, or none of columns.
  std::optional<Polynomials> of(const Combinations& value);
  // The number of the component that is just this atom less that one.
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
  // An evaluator that has run the steps of parameters already.
  Origins(const Plan& plan, const std::vector<View>& data, const Evaluator& evaluator)
      : plan_(plan), program_(plan.variants.back().program), data_(data), evaluator_(evaluator) {}

  enum class Depends { param, row, column, pair };
  Depends depends(const Ref& ref) const;
  const Step* maker(const Ref& ref) const { return program_.maker(ref); }
  // Returns the name of a value in an error: the data in the value.
  std::string name_of(const Ref& ref) const;

  // The numbers of a parameter.
  std::vector<double> numbers(const Ref& ref) const;
  // A value as sums of atoms of both sides. One side's value that is no such sum is an atom itself; of others there is
  // none.
  std::optional<Combinations> combination(const Ref& ref, int depth = 0);
  // One side's value as a product of data, so that the same factor is found again in other values.
  RadialProduct factors(const Ref& ref, int depth = 0);

  // The arguments that a step is linear in, all others being parameters, and its map of one of these.
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
  std::map<int, std::optional<Combinations>> combinations_;  // by slots, as factors are
  std::map<int, RadialProduct> factors_;
};

}  // namespace distance
}  // namespace kernweave
