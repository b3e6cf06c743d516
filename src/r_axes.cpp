// R's way to the loops of index formulas: places as lists of subscripts, axes by name.
#include "axes/paths.hpp"
#include "border.hpp"

#include <string>

namespace kernweave {
namespace {

// The axes of a formula, numbered as they are named.
class AxisNames {
 public:
  explicit AxisNames(SEXP named) : names_(Rf_getAttrib(named, R_NamesSymbol)) {}

  int number(SEXP name) const {
    const auto text = [](SEXP word) { return std::string(Rf_translateCharUTF8(word)); };
    for (R_xlen_t k = 0; k < Rf_xlength(names_); ++k)
      if (STRING_ELT(names_, k) == name || text(STRING_ELT(names_, k)) == text(name)) return static_cast<int>(k);
    return axes::kNone;
  }
  // An axis that has no number lies inside.
  std::vector<int> numbers(SEXP names) const {
    std::vector<int> found;
    for (R_xlen_t k = 0; k < Rf_xlength(names); ++k)
      if (const int axis = number(STRING_ELT(names, k)); axis != axes::kNone) found.push_back(axis);
    return found;
  }
  axes::AxisSet set(SEXP names) const {
    axes::AxisSet found = 0;
    for (const int axis : numbers(names)) found |= axes::set_of(axis);
    return found;
  }
  RObject name(int axis) const { return axis == axes::kNone ? R_NilValue : Rf_ScalarString(STRING_ELT(names_, axis)); }

 private:
  const RObject names_;  // NULL without axes
};

axes::Place place_from_r(const List& from, const AxisNames& names) {
  axes::Place place;
  place.axes = names.set(from["axes"]);
  const List specs = from["specs"];
  const NumericVector dim = from["dim"];
  for (R_xlen_t k = 0; k < specs.size(); ++k) {
    const List spec = specs[k];
    const std::string kind = spec["kind"];
    place.numbers *= dim[k];
    if (kind == "component") place.has_components = true, place.width *= dim[k];
    if (kind == "axis") place.dimensions.push_back(names.number(STRING_ELT(spec["axes"], 0)));
  }
  return place;
}

RObject path_to_r(const axes::Path& path) {
  if (!path.left) return wrap(path.factor + 1);
  return List::create(path_to_r(*path.left), path_to_r(*path.right));
}

}  // namespace

// The nests of a formula with places, and the seconds expected of each. `allowed`: the fold needs no order, an axis may
// become components, two kept axes may be lane and columns.
// [[Rcpp::export(rng = false)]]
List r_nests(List places, NumericVector extents, SEXP kept, SEXP inside, LogicalVector allowed, double operations,
             bool product) {
  const AxisNames names(extents);
  axes::IndexFormula formula{{extents.begin(), extents.end()}, names.numbers(kept), {}, allowed[0] == TRUE,
                             allowed[1] == TRUE, allowed[2] == TRUE, operations, product};
  for (R_xlen_t k = 0; k < places.size(); ++k) formula.places.push_back(place_from_r(places[k], names));
  const std::vector<axes::Nest> found = axes::nests_of(formula);
  List nests(static_cast<R_xlen_t>(found.size()));
  NumericVector seconds(nests.size());
  for (R_xlen_t k = 0; k < nests.size(); ++k) {
    const axes::Nest& nest = found[static_cast<std::size_t>(k)];
    nests[k] = List::create(_["lane"] = names.name(nest.lane), _["sweep"] = names.name(nest.sweep),
                            _["components"] = names.name(nest.components), _["columns"] = names.name(nest.columns),
                            _["inside"] = inside);
    seconds[k] = nest.seconds;
  }
  return List::create(_["nests"] = nests, _["seconds"] = seconds);
}

// The cheapest path of factors with these axes, as pairs within pairs; NULL if one pass, which takes so many seconds,
// is as good.
// [[Rcpp::export(rng = false)]]
RObject r_path(List factors, SEXP kept, NumericVector extents, double seconds) {
  const AxisNames names(extents);
  std::vector<axes::AxisSet> sets;
  for (R_xlen_t k = 0; k < factors.size(); ++k) sets.push_back(names.set(factors[k]));
  const auto path = axes::cheapest_path(sets, names.set(kept), {extents.begin(), extents.end()}, seconds);
  return path ? path_to_r(*path) : RObject();
}

}  // namespace kernweave
