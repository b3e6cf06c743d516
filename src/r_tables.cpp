// The tables of operations, reductions and rules, as R shows them.
#include "border.hpp"

#include "base/error.hpp"
#include "expr/rewrite.hpp"
#include "expr/table.hpp"

namespace kernweave {
namespace {

const char* inputs_name(Inputs inputs) {
  switch (inputs) {
    case Inputs::value: return "value";
    case Inputs::value_weight: return "value_weight";
    case Inputs::value_k: return "value_k";
  }
  return "";
}

const char* results_name(Results results) {
  switch (results) {
    case Results::value: return "value";
    case Results::index: return "index";
    case Results::value_index: return "value_index";
  }
  return "";
}

const char* saves_name(Saves saves) {
  switch (saves) {
    case Saves::nothing: return "nothing";
    case Saves::result: return "result";
    case Saves::winner: return "winner";
    case Saves::nan_or_winner: return "nan_or_winner";
    case Saves::winners: return "winners";
    case Saves::softmax: return "softmax";
    case Saves::cofactor: return "cofactor";
  }
  return "";
}

}  // namespace
}  // namespace kernweave

// [[Rcpp::export(rng = false)]]
std::string r_nearest(std::string typed, std::vector<std::string> known) {
  return kernweave::nearest_name(typed, known);
}

// [[Rcpp::export(rng = false)]]
Rcpp::DataFrame r_operations() {
  Rcpp::CharacterVector name, fn, form, attributes;
  Rcpp::IntegerVector arity;
  Rcpp::LogicalVector commutes;
  const char* forms[] = {"structural", "elementwise", "fold", "loop", "alias"};
  for (const kernweave::OpRow& r : kernweave::op_rows()) {
    if (r.form == kernweave::Form::structural) continue;
    name.push_back(r.name);
    fn.push_back(r.fn);
    form.push_back(forms[static_cast<int>(r.form)]);
    arity.push_back(r.arity);
    attributes.push_back(r.attribute_names);
    commutes.push_back(r.commutes);
  }
  return Rcpp::DataFrame::create(Rcpp::_["name"] = name, Rcpp::_["fn"] = fn, Rcpp::_["form"] = form,
                                 Rcpp::_["arity"] = arity, Rcpp::_["attributes"] = attributes,
                                 Rcpp::_["commutes"] = commutes, Rcpp::_["stringsAsFactors"] = false);
}

// [[Rcpp::export(rng = false)]]
Rcpp::DataFrame r_reductions() {
  Rcpp::CharacterVector name, fn, inputs, results, saves, of;
  for (const kernweave::RedRow& r : kernweave::red_rows()) {
    name.push_back(r.name);
    fn.push_back(r.fn);
    inputs.push_back(kernweave::inputs_name(r.inputs));
    results.push_back(kernweave::results_name(r.results));
    saves.push_back(kernweave::saves_name(r.saves));
    of.push_back(r.name);
  }
  for (const kernweave::DerivedRow& r : kernweave::derived_rows()) {
    const bool listed = kernweave::row(r.of).inputs == kernweave::Inputs::value_k;
    name.push_back(r.name);
    fn.push_back(r.fn);
    inputs.push_back(kernweave::inputs_name(listed ? kernweave::Inputs::value_k : kernweave::Inputs::value));
    results.push_back(kernweave::results_name(r.results));
    saves.push_back(kernweave::saves_name(kernweave::row(r.of).saves));
    of.push_back(kernweave::row(r.of).name);
  }
  return Rcpp::DataFrame::create(Rcpp::_["name"] = name, Rcpp::_["fn"] = fn, Rcpp::_["inputs"] = inputs,
                                 Rcpp::_["results"] = results, Rcpp::_["saves"] = saves, Rcpp::_["of"] = of,
                                 Rcpp::_["stringsAsFactors"] = false);
}

// [[Rcpp::export(rng = false)]]
Rcpp::DataFrame r_rules() {
  Rcpp::CharacterVector name, from, to, exactness, when;
  for (const kernweave::Rule& rule : kernweave::rules()) {
    name.push_back(rule.name);
    from.push_back(rule.from);
    to.push_back(rule.to);
    exactness.push_back(rule.exactness);
    when.push_back(rule.when);
  }
  return Rcpp::DataFrame::create(Rcpp::_["name"] = name, Rcpp::_["from"] = from, Rcpp::_["to"] = to,
                                 Rcpp::_["exactness"] = exactness, Rcpp::_["when"] = when,
                                 Rcpp::_["stringsAsFactors"] = false);
}
