// From R's lists and matrices to jobs, views, sizes and facts. Copies no data.
#include "r_job.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/sparse.hpp"
#include "r_resident.hpp"
#include "reference/evaluate.hpp"
#include "schedule/choose.hpp"

namespace kernweave {
namespace {

bool is_pairwise(const Variable& v) { return v.axis == Axis::pair || v.axis == Axis::pair_swapped; }

Keep keep_named(const std::string& name) {
  if (name == "i") return Keep::i;
  if (name == "j") return Keep::j;
  if (name == "none") return Keep::none;
  internal_check(name == "both", "no axis to keep named ", name);
  return Keep::both;
}

Format format_named(const std::string& name) {
  if (name == "float64") return Format::float64;
  if (name == "float32") return Format::float32;
  internal_check(name == "tf32", "no precision named ", name);
  return Format::tf32;
}

// float32 results are added up in float64 (between tiles); tf32 is a mode of the products alone.
Precision precision_named(const std::string& name) {
  const Format format = format_named(name);
  const Format load = format == Format::tf32 ? Format::float32 : format;
  return {load, format, Format::float64};
}

Results results_named(const std::string& name) {
  if (name == "value") return Results::value;
  internal_check(name == "index" || name == "value_index", "no results named ", name);
  return name == "index" ? Results::index : Results::value_index;
}

// All results as they are, where nothing else is said.
Finish finish_from_r(const Rcpp::List& output, Results all) {
  Finish finish;
  finish.results = all;
  if (!output.containsElementNamed("finish") || Rf_isNull(output["finish"])) return finish;
  const Rcpp::List from = output["finish"];
  const std::string per = from["per"];
  return {results_named(from["results"]), Rcpp::as<double>(from["sign"]), per.find('i') != std::string::npos,
          per.find('j') != std::string::npos, Rcpp::as<int>(from["less"])};
}

// The entries of a sparse matrix, with what R's Matrix package calls p, i and Dim. Saved data may be damaged: no number
// is believed that would lead out of them.
View sparse_view(SEXP entries, SEXP pattern, const Variable& v) {
  const auto part = [&](R_xlen_t k) {
    internal_check(TYPEOF(pattern) == VECSXP && Rf_xlength(pattern) > k && TYPEOF(VECTOR_ELT(pattern, k)) == INTSXP,
                   "a damaged sparse matrix `", v.name, "`");
    return VECTOR_ELT(pattern, k);
  };
  const SEXP starts = part(0), places = part(1), extent = part(2);
  internal_check(is_pairwise(v), "a sparse matrix that is not one of pairs");
  internal_check(Rf_xlength(extent) == 2 && Rf_xlength(places) == Rf_xlength(entries), "a damaged sparse matrix `",
                 v.name, "`");
  View view;
  view.data = REAL_RO(entries);
  view.rows = INTEGER_RO(extent)[0];
  view.columns = INTEGER_RO(extent)[1];
  view.starts = INTEGER_RO(starts);
  view.places = INTEGER_RO(places);
  internal_check(Rf_xlength(starts) == view.columns + 1 && is_sound(view, Rf_xlength(places)),
                 "a damaged sparse matrix `", v.name, "`");
  return view;
}

// A vector is one column, or, for a parameter, one row. Parameters are always here: schedules depend on them.
View view_of(SEXP data, const Variable& v) {
  user_check(TYPEOF(data) == REALSXP, Fault::shape, "`", v.name, "` has no data");
  const std::int64_t n = Rf_xlength(data);
  if (v.axis == Axis::param) return {numbers_on_host(data), 1, n};
  if (const SEXP pattern = Rf_getAttrib(data, Rf_install("sparse")); !Rf_isNull(pattern))
    return sparse_view(data, pattern, v);
  Kept* kept = resident(data);
  const double* numbers = kept && !kept->copies.empty() ? nullptr : numbers_on_host(data);
  const SEXP dim = Rf_getAttrib(data, R_DimSymbol);
  if (Rf_length(dim) < 2) return {numbers, n, 1, kept};
  const std::int64_t rows = INTEGER_RO(dim)[0];
  return {numbers, rows, INTEGER_RO(dim)[1], kept};
}

// Of rows (0) or columns (1); a vector has rows.
SEXP names_along(SEXP data, int side) {
  const SEXP pattern = Rf_getAttrib(data, Rf_install("sparse"));
  if (TYPEOF(pattern) == VECSXP && Rf_length(pattern) > 3) {
    const SEXP names = VECTOR_ELT(pattern, 3);
    return TYPEOF(names) == VECSXP && Rf_length(names) > side ? VECTOR_ELT(names, side) : R_NilValue;
  }
  if (Rf_isNull(Rf_getAttrib(data, R_DimSymbol))) return side == 0 ? Rf_getAttrib(data, R_NamesSymbol) : R_NilValue;
  const SEXP names = Rf_getAttrib(data, R_DimNamesSymbol);
  return Rf_length(names) > side ? VECTOR_ELT(names, side) : R_NilValue;
}

void forget(SEXP pointer) {
  delete static_cast<Kept*>(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

// Only for data that are the operand's own, and long enough to be worth it. A pointer that has been saved and loaded is
// empty.
Kept* kept_by(SEXP operand, SEXP data) {
  constexpr R_xlen_t kWorthKeeping = 4096;
  static const SEXP own = Rf_install("data"), kept = Rf_install("kept");
  if (TYPEOF(operand) != ENVSXP || Rf_xlength(data) < kWorthKeeping || Rf_findVarInFrame(operand, own) != data)
    return nullptr;
  const SEXP found = Rf_findVarInFrame(operand, kept);
  if (TYPEOF(found) == EXTPTRSXP && R_ExternalPtrAddr(found)) return static_cast<Kept*>(R_ExternalPtrAddr(found));
  const Rcpp::Shield<SEXP> pointer(R_MakeExternalPtr(new Kept, kept, R_NilValue));
  R_RegisterCFinalizer(pointer, forget);
  Rf_defineVar(kept, pointer, operand);
  return static_cast<Kept*>(R_ExternalPtrAddr(pointer));
}

// The extents of i and j, from whoever knows them: R, then each variable read along its own axis.
class Extents {
 public:
  explicit Extents(const Rcpp::NumericVector& known) {
    internal_check(known.size() >= 2, "a damaged extent");
    batch_.assign(known.begin() + 2, known.end());
    if (!ISNAN(known[0])) note(0, static_cast<std::int64_t>(known[0]), "the formula");
    if (!ISNAN(known[1])) note(1, static_cast<std::int64_t>(known[1]), "the formula");
  }

  void note(const Variable& v, const View& view) {
    if (v.axis == Axis::i) note(0, view.rows, v.name);
    if (v.axis == Axis::j) note(1, view.rows, v.name);
    const bool across = v.axis == Axis::pair_swapped;
    if (v.axis != Axis::pair && !across) return;
    note(0, across ? view.columns : view.rows, v.name);
    note(1, across ? view.rows : view.columns, v.name);
  }

  Sizes sizes() const { return {extent_[0] < 0 ? 1 : extent_[0], extent_[1] < 0 ? 1 : extent_[1], batch_}; }

 private:
  void note(int axis, std::int64_t extent, const std::string& name) {
    const char* letter = axis == 0 ? "i" : "j";
    user_check(extent_[axis] < 0 || extent_[axis] == extent, Fault::shape, "`", name, "` has ", extent,
               " points along ", letter, ", but `", who_[axis], "` has ", extent_[axis]);
    extent_[axis] = extent;
    who_[axis] = name;
  }

  std::int64_t extent_[2] = {-1, -1};
  std::vector<std::int64_t> batch_;
  std::string who_[2];
};

}  // namespace

Job job_from_r(const Rcpp::List& outputs, const Rcpp::List& extents, const Rcpp::List& options, Formulas* formulas) {
  Job job;
  for (R_xlen_t k = 0; k < outputs.size(); ++k) {
    const Rcpp::List o = outputs[k];
    Red red;
    internal_check(find_red(o["op"], &red), "no such reduction");
    job.outputs.push_back({red, formulas->read(o["value"]), formulas->read_optional(o["weight"]), keep_named(o["keep"]),
                           Rcpp::as<int>(o["K"]), finish_from_r(o, row(red).results)});
  }
  job.extents = formulas->read_all(extents);
  job.precision = precision_named(options["precision"]);
  job.pairs = Rcpp::as<bool>(options["pairs"]) ? Pairs::restricted : Pairs::all;
  job.rewrite = options["rewrite"];
  job.checks = options["checks"];
  return job;
}

Views::Views(const Plan& plan, const Given& given) : plan_(plan), given_(given) {
  for (const Variable& v : plan.variables) {
    if (v.source == Source::counter || v.operand >= Variable::kResults) {
      views_.emplace_back();
      continue;
    }
    internal_check(v.operand < given.data.size(), "data for ", given.data.size(), " operands where `", v.name,
                   "` is another");
    const SEXP data = given.data[v.operand];
    View view = view_of(data, v);
    if (!view.kept && !view.sparse() && v.operand < given.operands.size())
      view.kept = kept_by(given.operands[v.operand], data);
    const bool pairwise = is_pairwise(v);
    internal_check(!pairwise || v.width == 1, "a matrix of pairs with ", v.width, " components");
    user_check(pairwise || view.columns == v.width, Fault::shape, "`", v.name, "` has ", view.columns,
               view.columns == 1 ? " column" : " columns", ", but the formula was built for ", v.width);
    views_.push_back(view);
  }
}

const View& Views::on_host(std::size_t k) {
  View& view = views_[k];
  const Variable& v = plan_.variables[k];
  if (!view.data && v.source == Source::data && v.operand < Variable::kResults) {
    const SEXP data = given_.data[v.operand];
    view.data = numbers_on_host(data);
  }
  return view;
}

void Views::all_on_host() {
  for (std::size_t k = 0; k < views_.size(); ++k) on_host(k);
}

bool Views::resident() const {
  bool any = false;
  for (const Variable& v : plan_.variables) {
    if (v.source == Source::counter || v.axis == Axis::param || v.operand >= Variable::kResults) continue;
    const SEXP data = given_.data[v.operand];
    if (!kernweave::resident(data)) return false;
    any = true;
  }
  return any;
}

// By the operands' numbers, which no rewriting changes.
PointNames names_of(const Plan& plan, const Given& given) {
  PointNames names;
  int first_i = Variable::kResults, first_j = Variable::kResults;
  const auto note = [&](const Variable& v, int side, int* first, Rcpp::RObject* found) {
    if (v.operand >= *first) return;
    const SEXP here = names_along(given.data[v.operand], side);
    if (Rf_isNull(here)) return;
    *first = v.operand;
    *found = here;
  };
  for (std::size_t k = 0; k < plan.variables.size(); ++k) {
    const Variable& v = plan.variables[k];
    if (!plan.direct[k] || v.source != Source::data || v.operand >= Variable::kResults) continue;
    const bool pairwise = is_pairwise(v);
    if (v.axis == Axis::i || pairwise) note(v, v.axis == Axis::pair_swapped ? 1 : 0, &first_i, &names.i);
    if (v.axis == Axis::j || pairwise) note(v, v.axis == Axis::pair ? 1 : 0, &first_j, &names.j);
  }
  return names;
}

Sizes sizes_of(const Plan& plan, const std::vector<View>& views, const Rcpp::NumericVector& known) {
  Extents extents(known);
  for (std::size_t k = 0; k < views.size(); ++k)
    if (plan.direct[k] && plan.variables[k].source == Source::data) extents.note(plan.variables[k], views[k]);
  return extents.sizes();
}

namespace {

// Looked for once where the data are whose they were. All numbers of pairs are one cloud.
std::vector<double> middle_of(const Plan& plan, std::size_t k, Views* views) {
  const View& view = views->all()[k];
  if (view.sparse()) return {0.0};
  const std::int64_t components = is_pairwise(plan.variables[k]) ? 1 : view.columns;
  if (view.kept && view.kept->middle.size() == static_cast<std::size_t>(components)) return view.kept->middle;
  const View& here = views->on_host(k);
  std::vector<double> middle = centre_of(components == 1 ? View{here.data, here.rows * here.columns, 1} : here);
  if (here.kept) here.kept->middle = middle;
  return middle;
}

}  // namespace

std::vector<std::vector<double>> centres_for(const Plan& plan, Views* views) {
  std::vector<std::vector<double>> centres(plan.variables.size());
  for (std::size_t k = 0; k < centres.size(); ++k) {
    if (plan.variables[k].centre == Variable::kAsItIs) continue;
    std::size_t owner = 0;
    while (plan.variables[owner].operand != plan.variables[k].centre) ++owner;
    centres[k] = middle_of(plan, owner, views);
  }
  return centres;
}

namespace {

// Of a value that depends on parameters alone.
Span span_of(const Evaluator& evaluator, const Ref& ref) {
  const Read<Lane> read = evaluator.read(ref);
  Span span{read[0].v, read[0].v};
  for (int d = 0; d < ref.width; ++d) {
    if (!(span.least <= read[d].v)) span.least = read[d].v;
    if (!(span.most >= read[d].v)) span.most = read[d].v;
    if (std::isnan(read[d].v)) return {read[d].v, read[d].v};
  }
  return span;
}

// Looked up where the data are whose they were.
void note_kept_reach(std::size_t k, const std::vector<double>& centre, Views* views, Facts* facts) {
  Kept* kept = views->all()[k].kept;
  if (!kept) return note_reach(views->on_host(k), centre, facts);
  if (kept->centre != centre) {
    note_reach(views->on_host(k), centre, facts);
    kept->centre = centre;
    kept->reach = facts->reach;
  }
  facts->reach = kept->reach;
}

}  // namespace

Findings findings_for(const Plan& plan, const Sizes& sizes, const std::vector<std::vector<double>>& centres,
                      Views* views) {
  const Wanted wanted = wanted_facts(plan, sizes);
  Findings found;
  found.home = views->resident() ? Home::device : Home::host;
  for (std::size_t k = 0; k < plan.variables.size(); ++k) {
    Facts facts;
    facts.rows = views->all()[k].rows;
    if (wanted.range[k]) note_range(views->on_host(k), &facts);
    if (wanted.reach[k]) note_kept_reach(k, centres[k], views, &facts);
    found.variables.push_back(facts);
  }
  for (const Variant& variant : plan.variants) {
    found.factors.emplace_back();
    if (variant.condition.empty() || !wanted.reach[variant.condition[0].variables[0]]) continue;
    Evaluator evaluator(plan, variant.program, views->all());
    evaluator.run(Region::param);
    for (const Requirement& r : variant.condition) found.factors.back().push_back(span_of(evaluator, r.factor));
  }
  return found;
}

}  // namespace kernweave
