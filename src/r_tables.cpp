// Tables, as R shows them and asks for them: of operations, reductions and rules, and of radial functions.
#include "border.hpp"
#include "distance/radial_table.hpp"
#include "expr/rewrite.hpp"
#include "expr/table.hpp"

namespace kernweave {
namespace {

constexpr const char *kForms[] = {"structural", "elementwise", "fold", "loop", "alias"},
                     *kInputs[] = {"value", "value_weight", "value_k"}, *kResults[] = {"value", "index", "value_index"},
                     *kSaves[] = {"nothing", "result", "winner", "nan_or_winner", "winners", "softmax", "cofactor"};

template <std::size_t count, class Value>
std::string name_of(const char* const (&names)[count], Value value) {
  return names[static_cast<std::size_t>(value)];
}

}  // namespace

// [[Rcpp::export(rng = false)]]
std::string r_nearest(std::string typed, std::vector<std::string> known) { return nearest_name(typed, known); }

// [[Rcpp::export(rng = false)]]
DataFrame r_operations() {
  std::vector<OpRow> rows;
  for (const OpRow& row : op_rows())
    if (row.form != Form::structural) rows.push_back(row);
  return DataFrame::create(_["name"] = column(rows, &OpRow::name), _["fn"] = column(rows, &OpRow::fn),
                           _["form"] = column(rows, [](const OpRow& row) { return name_of(kForms, row.form); }),
                           _["arity"] = column(rows, &OpRow::arity),
                           _["attributes"] = column(rows, &OpRow::attribute_names),
                           _["commutes"] = column(rows, &OpRow::commutes));
}

// [[Rcpp::export(rng = false)]]
DataFrame r_reductions() {
  struct Shown {
    std::string name, fn, inputs, results, saves, of;
  };
  std::vector<Shown> all;
  const auto show = [&](const char* name, const char* fn, Inputs inputs, Results results, const RedRow& of) {
    all.push_back({name, fn, name_of(kInputs, inputs), name_of(kResults, results), name_of(kSaves, of.saves), of.name});
  };
  for (const RedRow& r : red_rows()) show(r.name, r.fn, r.inputs, r.results, r);
  for (const DerivedRow& r : derived_rows()) {
    const bool listed = row(r.of).inputs == Inputs::value_k;
    show(r.name, r.fn, listed ? Inputs::value_k : Inputs::value, r.results, row(r.of));
  }
  return DataFrame::create(_["name"] = column(all, &Shown::name), _["fn"] = column(all, &Shown::fn),
                           _["inputs"] = column(all, &Shown::inputs), _["results"] = column(all, &Shown::results),
                           _["saves"] = column(all, &Shown::saves), _["of"] = column(all, &Shown::of));
}

// [[Rcpp::export(rng = false)]]
DataFrame r_rules() {
  const std::vector<Rule>& all = rules();
  return DataFrame::create(_["name"] = column(all, &Rule::name), _["from"] = column(all, &Rule::from),
                           _["to"] = column(all, &Rule::to), _["exactness"] = column(all, &Rule::exactness),
                           _["when"] = column(all, &Rule::when));
}

// --- the smoothness of a Matern kernel, or the values of a function, to numbers -------------------------------------

// [[Rcpp::export(rng = false)]]
std::vector<double> r_matern_table(double nu, int most) { return distance::matern_table(nu, most); }

// [[Rcpp::export(rng = false)]]
std::vector<double> r_matern_slope_table(double nu) { return distance::matern_slope_table(nu); }

// [[Rcpp::export(rng = false)]]
std::vector<double> r_table_nodes(int first, int end) { return distance::table_nodes(first, end); }

// `worst` is the squared distance at which polynomials are off most.
// [[Rcpp::export(rng = false)]]
List r_values_table(std::vector<double> values, double at_zero, int first, int most, bool is_mixture) {
  const auto table = distance::values_table(values, at_zero, first, most, is_mixture);
  return List::create(_["numbers"] = table.numbers, _["error"] = table.error, _["worst"] = table.worst);
}

// [[Rcpp::export(rng = false)]]
std::vector<double> r_look_up(std::vector<double> table, int order, std::vector<double> squares) {
  for (double& s : squares) s = distance::look_up(table, order, s);
  return squares;
}

}  // namespace kernweave
