// The difference of a row's point and a column's: of which numbers, made of the data of either side.
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

// A component of data, or of what a step has made of data of one side.
struct Atom {
  Ref ref;
  int component;

  bool operator<(const Atom& other) const { return key() < other.key(); }
  bool operator==(const Atom& other) const { return key() == other.key(); }

 private:
  std::tuple<int, int, int> key() const { return {static_cast<int>(ref.from), ref.index, component}; }
};

// Components of rows and of columns, each times a number, and a number.
struct Mixture {
  std::map<Atom, double> rows, columns;
  double constant = 0;

  void add(const Mixture& other, double times);
};
// Of a value: one for all components, or one for each.
using Mixtures = std::vector<Mixture>;

class Difference {
 public:
  // A component of it, of a row less one of a column; the constant is the row's.
  const std::vector<Mixture>& components() const { return components_; }

  // A value with rows and columns in each component, by components of the difference, which are added as they are met.
  // None of one that stands on one side, or on neither.
  std::optional<Polynomials> of(const Mixtures& value);
  // The component that is one of these less the other.
  std::optional<int> find(const Atom& row, const Atom& column) const;

 private:
  std::optional<Polynomials> of_same_on_both(const Mixtures& value);
  std::optional<int> find(const Mixture& component) const;
  int add(const Mixture& component);

  std::vector<Mixture> components_;
  std::multimap<Atom, int> by_row_;
};

}  // namespace distance
}  // namespace kernweave
