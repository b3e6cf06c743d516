// The difference of a row's point and a column's, component by component: which data of either side it is made of.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "distance/polynomial.hpp"
#include "plan/plan.hpp"

namespace kernweave {
namespace distance {

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

}  // namespace distance
}  // namespace kernweave
