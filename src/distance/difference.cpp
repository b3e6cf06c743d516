// Finds the difference of points in a formula's values. A common factor stays outside: x s - y s is s times x - y.
#include "distance/difference.hpp"

#include <algorithm>
#include <cmath>

namespace kernweave {
namespace distance {
namespace {

Combination plain(const Atom& row, const Atom& column) { return {{{row, 1.0}}, {{column, -1.0}}, 0}; }

Combination divided(Combination m, double by) {
  for (auto* side : {&m.rows, &m.columns})
    for (auto& [atom, number] : *side) number /= by;
  m.constant /= by;
  return m;
}

// The order of atoms, in which components meet them.
struct AtomOrder {
  std::map<Atom, int> places;
  std::vector<Atom> atoms;

  void meet(const std::map<Atom, double>& side) {
    for (const auto& [atom, number] : side)
      if (places.emplace(atom, static_cast<int>(atoms.size())).second) atoms.push_back(atom);
  }
};

}  // namespace

void Combination::add(const Combination& other, double times) {
  for (const auto& [atom, number] : other.rows) rows[atom] += times * number;
  for (const auto& [atom, number] : other.columns) columns[atom] += times * number;
  constant += times * other.constant;
}

std::optional<Polynomials> PointDifference::of(const Combinations& value) {
  for (const Combination& m : value) {
    const bool nothing = m.rows.empty() && m.columns.empty() && m.constant == 0;
    if (!nothing && (m.rows.empty() || m.columns.empty())) return {};
  }
  if (std::optional<Polynomials> same = of_same_on_both(value)) return same;
  Polynomials out;
  for (const Combination& m : value) {
    if (m.rows.empty()) {
      out.emplace_back();
      continue;
    }
    const double number = m.rows.begin()->second;
    if (number == 0) return {};
    out.push_back(Polynomial::component(add(divided(m, number)), number));
  }
  return out;
}

// Each atom of rows has one of columns that is multiplied by the opposite wherever it stands. Not where that would be
// more components than the value has, of which some would not count.
std::optional<Polynomials> PointDifference::of_same_on_both(const Combinations& value) {
  AtomOrder rows, columns;
  for (const Combination& m : value) {
    rows.meet(m.rows);
    columns.meet(m.columns);
    if (m.constant != 0 || m.rows.size() != m.columns.size()) return {};
  }
  const std::size_t many = rows.atoms.size();
  if (many != columns.atoms.size()) return {};
  for (const Combination& m : value)
    for (const auto& [atom, number] : m.rows) {
      const auto other = m.columns.find(columns.atoms[static_cast<std::size_t>(rows.places[atom])]);
      if (other == m.columns.end() || other->second != -number) return {};
    }
  std::vector<std::optional<int>> known(many);
  for (std::size_t k = 0; k < many; ++k) known[k] = find(rows.atoms[k], columns.atoms[k]);
  const bool all_known = std::all_of(known.begin(), known.end(), [](const auto& k) { return k.has_value(); });
  if (many > value.size() && !all_known) return {};
  for (std::size_t k = 0; k < many; ++k)
    if (!known[k]) known[k] = add(plain(rows.atoms[k], columns.atoms[k]));
  Polynomials out(value.size());
  for (std::size_t c = 0; c < value.size(); ++c)
    for (const auto& [atom, number] : value[c].rows)
      out[c].add(Polynomial::component(*known[static_cast<std::size_t>(rows.places[atom])], number), 1);
  return out;
}

std::optional<int> PointDifference::find(const Atom& row, const Atom& column) const { return find(plain(row, column)); }

std::optional<int> PointDifference::find(const Combination& component) const {
  const auto among = by_row_.equal_range(component.rows.begin()->first);
  for (auto at = among.first; at != among.second; ++at) {
    const Combination& known = components_[static_cast<std::size_t>(at->second)];
    if (known.rows == component.rows && known.columns == component.columns && known.constant == component.constant)
      return at->second;
  }
  return {};
}

int PointDifference::add(const Combination& component) {
  if (const std::optional<int> known = find(component)) return *known;
  const int place = static_cast<int>(components_.size());
  components_.push_back(component);
  by_row_.emplace(component.rows.begin()->first, place);
  return place;
}

}  // namespace distance
}  // namespace kernweave
