// R's way to results: prepare a plan, run it on data, explain it.
#include "border.hpp"
#include "r_device.hpp"
#include "r_formula.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plan/lower.hpp"
#include "schedule/choose.hpp"

namespace kernweave {
namespace {

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

// options: list(precision =, rewrite =, checks =, pairs =)
Job job_from_r(const Rcpp::List& outputs, const Rcpp::List& extents, const Rcpp::List& options, Formulas* formulas) {
  Job job;
  for (R_xlen_t k = 0; k < outputs.size(); ++k) {
    const Rcpp::List o = outputs[k];
    Red red;
    internal_check(find_red(o["op"], &red), "no such reduction");
    job.outputs.push_back({red, formulas->read(o["value"]), formulas->read_optional(o["weight"]),
                           keep_named(o["keep"]), Rcpp::as<int>(o["K"])});
  }
  job.extents = formulas->read_all(extents);
  job.precision = precision_named(options["precision"]);
  job.pairs = Rcpp::as<bool>(options["pairs"]) ? Pairs::restricted : Pairs::all;
  job.rewrite = options["rewrite"];
  job.checks = options["checks"];
  return job;
}

// Plans live behind external pointers with this tag; what has another, or nothing behind it, is no plan.
SEXP plan_tag() { return Rf_install("kernweave_plan"); }

const Plan& plan_behind(SEXP pointer) {
  const bool ours = TYPEOF(pointer) == EXTPTRSXP && R_ExternalPtrTag(pointer) == plan_tag();
  internal_check(ours && R_ExternalPtrAddr(pointer) != nullptr, "this is no plan of this session");
  return *static_cast<const Plan*>(R_ExternalPtrAddr(pointer));
}

// A vector is one column, or, for a parameter, one row.
View view_of(SEXP data, const Variable& v) {
  user_check(TYPEOF(data) == REALSXP, Fault::shape, "`", v.name, "` has no data");
  const std::int64_t n = Rf_xlength(data);
  if (v.axis == Axis::param) return {REAL(data), 1, n};
  const SEXP dim = Rf_getAttrib(data, R_DimSymbol);
  if (Rf_length(dim) < 2) return {REAL(data), n, 1};
  const std::int64_t rows = INTEGER(dim)[0];
  return {REAL(data), rows, INTEGER(dim)[1]};
}

std::vector<View> views_of(const Plan& plan, const Rcpp::List& data) {
  std::vector<View> views;
  for (const Variable& v : plan.variables) {
    if (v.source == Source::counter) {
      views.emplace_back();
      continue;
    }
    internal_check(v.operand < data.size(), "data for ", data.size(), " operands where `", v.name, "` is another");
    const View view = view_of(data[v.operand], v);
    const bool pairwise = v.axis == Axis::pair || v.axis == Axis::pair_swapped;
    internal_check(!pairwise || v.width == 1, "a matrix of pairs with ", v.width, " components");
    user_check(pairwise || view.columns == v.width, Fault::shape, "`", v.name, "` has ", view.columns,
               view.columns == 1 ? " column" : " columns", ", but the formula was built for ", v.width);
    views.push_back(view);
  }
  return views;
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

Sizes sizes_of(const Plan& plan, const std::vector<View>& views, const Rcpp::NumericVector& known) {
  Extents extents(known);
  for (std::size_t k = 0; k < views.size(); ++k)
    if (plan.direct[k] && plan.variables[k].source == Source::data) extents.note(plan.variables[k], views[k]);
  return extents.sizes();
}

std::vector<Facts> facts_for(const Plan& plan, const std::vector<View>& views) {
  const std::vector<bool> wanted = wanted_facts(plan);
  std::vector<Facts> facts(views.size());
  for (std::size_t k = 0; k < views.size(); ++k) {
    if (wanted[k]) facts[k] = facts_of(views[k]);
    facts[k].rows = views[k].rows;
  }
  return facts;
}

// A vector of R. Its allocator leaves by a long jump, and its error has no class of ours: a large request
// is made under R's tryCatch (some microseconds), a small one under Rcpp's unwinding.
SEXP allocate(SEXPTYPE type, double length) {
  constexpr double small = 1e6;
  auto make = [&] { return Rf_allocVector(type, static_cast<R_xlen_t>(length)); };
  if (length < small) return Rcpp::unwindProtect(make);
  const auto run = [](void* data) { return (*static_cast<decltype(make)*>(data))(); };
  const auto refuse = [](SEXP, void*) { return R_NilValue; };
  const bool countable = length <= static_cast<double>(R_XLEN_T_MAX);
  const SEXP made = countable ? R_tryCatchError(run, &make, refuse, nullptr) : R_NilValue;
  user_check(!Rf_isNull(made), Fault::memory, "not enough memory for a result of ", length, " numbers (",
             std::ceil(length * 8 / 1048576), " MB)");
  return made;
}

// rows x components, rows x K, or rows x K x components; pairs keep their two axes.
Rcpp::IntegerVector result_dim(const Output& o, const Sizes& sizes) {
  std::vector<std::int64_t> dim = {kept_rows(o.keep, sizes)};
  if (o.keep == Keep::both) dim = {sizes.i, sizes.j};
  const bool listed = row(o.red).inputs == Inputs::value_k;
  if (listed) dim.push_back(o.places);
  if (o.width > 1 || (!listed && o.keep != Keep::both)) dim.push_back(o.width);
  for (std::int64_t extent : dim)
    user_check(extent <= std::numeric_limits<int>::max(), Fault::unsupported, "a result of ", extent, " rows");
  return Rcpp::IntegerVector(dim.begin(), dim.end());
}

class OutputBuffer {
 public:
  OutputBuffer(const Output& o, const Sizes& sizes) : output_(o), sizes_(sizes) {
    const double n = static_cast<double>(kept_rows(o.keep, sizes)) * o.width * o.places;
    const Results results = row(o.red).results;
    if (results != Results::index) values_ = allocate(REALSXP, n);
    if (results != Results::value) indices_.resize(static_cast<std::size_t>(n));
  }

  Result result() {
    Result r;
    if (!values_.isNULL()) r.values = REAL(values_);
    if (row(output_.red).results != Results::value) r.indices = indices_.data();
    return r;
  }

  SEXP to_r() {
    const Results results = row(output_.red).results;
    if (results == Results::value) return values_to_r();
    if (results == Results::index) return indices_to_r();
    const Rcpp::RObject value = values_to_r(), index = indices_to_r();
    return Rcpp::List::create(Rcpp::_["value"] = value, Rcpp::_["index"] = index);
  }

 private:
  SEXP shaped(Rcpp::RObject array) const {
    array.attr("dim") = result_dim(output_, sizes_);
    return array;
  }

  SEXP values_to_r() const {
    if (output_.kind != Kind::logical) return shaped(values_);
    const Rcpp::RObject truth = allocate(LGLSXP, static_cast<double>(Rf_xlength(values_)));
    for (R_xlen_t k = 0; k < Rf_xlength(values_); ++k) LOGICAL(truth)[k] = REAL(values_)[k] != 0;
    return shaped(truth);
  }

  // Integers where every row number fits one, else doubles.
  SEXP indices_to_r() const {
    const double largest = output_.keep == Keep::i ? static_cast<double>(sizes_.j)
                         : output_.keep == Keep::j ? static_cast<double>(sizes_.i) : sizes_.pairs();
    const bool fits = largest <= std::numeric_limits<int>::max();
    const Rcpp::RObject out = allocate(fits ? INTSXP : REALSXP, static_cast<double>(indices_.size()));
    for (std::size_t k = 0; k < indices_.size(); ++k) {
      if (fits) INTEGER(out)[k] = indices_[k] == 0 ? NA_INTEGER : static_cast<int>(indices_[k]);
      else REAL(out)[k] = indices_[k] == 0 ? NA_REAL : static_cast<double>(indices_[k]);
    }
    return shaped(out);
  }

  const Output& output_;
  const Sizes& sizes_;
  Rcpp::RObject values_;
  std::vector<Index> indices_;
};

Rcpp::List run_plan(const Plan& plan, const Rcpp::List& data, const Rcpp::NumericVector& extents, const std::string& device,
                    int threads) {
  const std::vector<View> views = views_of(plan, data);
  const Sizes sizes = sizes_of(plan, views, extents);
  const std::vector<Facts> facts = facts_for(plan, views);
  check_gathers(plan, sizes, facts);
  const Schedule schedule = choose(plan, sizes, facts, device, backends());
  const std::vector<Output>& outputs = plan.variants[schedule.variant].outputs;
  std::vector<OutputBuffer> buffers;
  buffers.reserve(outputs.size());
  Task task{&plan, &schedule, views, {}, threads, poll_interrupt};
  for (const Output& o : outputs) {
    buffers.emplace_back(o, sizes);
    task.results.push_back(buffers.back().result());
  }
  schedule.backend->run(task);
  Rcpp::List out(buffers.size());
  for (std::size_t k = 0; k < buffers.size(); ++k) out[k] = buffers[k].to_r();
  return out;
}

std::string show_ref(const Ref& ref, const Plan& plan, const Program& program) {
  switch (ref.from) {
    case Ref::From::number: return sentence(program.numbers[ref.index]);
    case Ref::From::variable: return plan.variables[ref.index].name;
    case Ref::From::slot: break;
  }
  return sentence("s", ref.index);
}

Rcpp::DataFrame steps_to_r(const Plan& plan, const Program& program) {
  Rcpp::CharacterVector when, what, slot;
  Rcpp::IntegerVector width;
  for (const Step& step : program.steps) {
    std::string call = std::string(row(step.op).fn) + "(";
    for (std::size_t k = 0; k < step.in.size(); ++k) call += (k ? ", " : "") + show_ref(step.in[k], plan, program);
    for (int a : step.attributes) call += sentence(", ", a);
    when.push_back(region_name(step.region));
    slot.push_back(sentence("s", step.out));
    what.push_back(call + ")");
    width.push_back(step.width);
  }
  return Rcpp::DataFrame::create(Rcpp::_["when"] = when, Rcpp::_["slot"] = slot, Rcpp::_["step"] = what,
                                 Rcpp::_["width"] = width, Rcpp::_["stringsAsFactors"] = false);
}

// 64 bits of the plan key, enough to tell plans apart at a glance.
std::string short_key(const Plan& plan) {
  char text[20];
  std::snprintf(text, sizeof text, "%016zx", std::hash<std::string>()(plan_key(plan)));
  return text;
}

Rcpp::DataFrame trace_to_r(const Trace& trace) {
  Rcpp::CharacterVector pass, outcome;
  Rcpp::NumericVector time;
  for (const Trace::Entry& e : trace.entries) {
    pass.push_back(e.pass);
    time.push_back(e.microseconds);
    outcome.push_back(e.outcome);
  }
  return Rcpp::DataFrame::create(Rcpp::_["pass"] = pass, Rcpp::_["microseconds"] = time,
                                 Rcpp::_["outcome"] = outcome, Rcpp::_["stringsAsFactors"] = false);
}

SEXP schedule_to_r(const Plan& plan, const Rcpp::List& data, const Rcpp::NumericVector& extents, const std::string& device) {
  const std::vector<View> views = views_of(plan, data);
  const Sizes sizes = sizes_of(plan, views, extents);
  const Schedule s = choose(plan, sizes, facts_for(plan, views), device, backends());
  return Rcpp::List::create(Rcpp::_["device"] = s.backend->name(), Rcpp::_["why"] = s.reason,
                            Rcpp::_["M"] = static_cast<double>(sizes.i), Rcpp::_["N"] = static_cast<double>(sizes.j),
                            Rcpp::_["seconds"] = s.seconds, Rcpp::_["bytes"] = s.working_bytes);
}

}  // namespace
}  // namespace kernweave

// [[Rcpp::export(rng = false)]]
Rcpp::List r_prepare(Rcpp::List outputs, Rcpp::List extents, Rcpp::List options) {
  return kernweave::at_border([&] {
    kernweave::Formulas formulas;
    const kernweave::Job job = kernweave::job_from_r(outputs, extents, options, &formulas);
    const Rcpp::XPtr<kernweave::Plan> plan(new kernweave::Plan(kernweave::lower(job)), true, kernweave::plan_tag());
    return Rcpp::List::create(Rcpp::_["plan"] = plan, Rcpp::_["operands"] = formulas.operands());
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List r_run(SEXP plan, Rcpp::List data, Rcpp::NumericVector extents, std::string device, int threads) {
  return kernweave::at_border([&] {
    return kernweave::run_plan(kernweave::plan_behind(plan), data, extents, device, threads);
  });
}

// `data` is NULL for a formula with placeholders: then there is no schedule yet.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_explain(Rcpp::List outputs, Rcpp::List extents, Rcpp::List options, SEXP data, Rcpp::NumericVector sizes,
                     std::string device) {
  return kernweave::at_border([&] {
    kernweave::Formulas formulas;
    kernweave::Trace trace;
    const kernweave::Job job = kernweave::job_from_r(outputs, extents, options, &formulas);
    const kernweave::Plan plan = kernweave::lower(job, &trace);
    const kernweave::Program& program = plan.variants.back().program;
    const SEXP schedule = Rf_isNull(data) ? R_NilValue : kernweave::schedule_to_r(plan, data, sizes, device);
    const Rcpp::RObject safe(schedule);
    return Rcpp::List::create(Rcpp::_["passes"] = kernweave::trace_to_r(trace),
                              Rcpp::_["steps"] = kernweave::steps_to_r(plan, program),
                              Rcpp::_["key"] = kernweave::short_key(plan), Rcpp::_["schedule"] = safe);
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List r_facts(Rcpp::NumericMatrix data) {
  const kernweave::Facts f = kernweave::facts_of({data.begin(), data.nrow(), data.ncol()});
  return Rcpp::List::create(Rcpp::_["rows"] = static_cast<double>(f.rows), Rcpp::_["least"] = f.least,
                            Rcpp::_["largest"] = f.largest, Rcpp::_["finite"] = f.finite, Rcpp::_["centre"] = f.centre);
}

// Adds the rows of `values` into a matrix of n rows at `rows`, in order: the same bits every time.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix r_scatter_add(Rcpp::NumericMatrix values, Rcpp::NumericVector rows, double n) {
  return kernweave::at_border([&] {
    kernweave::internal_check(rows.size() == values.nrow(), "row numbers for ", values.nrow(), " rows: ", rows.size());
    for (double row : rows) kernweave::internal_check(row >= 1 && row <= n, "no row ", row, " among ", n);
    Rcpp::NumericMatrix out(static_cast<int>(n), values.ncol());
    for (int c = 0; c < values.ncol(); ++c)
      for (R_xlen_t k = 0; k < rows.size(); ++k) out(static_cast<int>(rows[k]) - 1, c) += values(static_cast<int>(k), c);
    return out;
  });
}

// One reduction over given numbers, cut into pieces that are folded apart and merged in order: for tests.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_fold(std::string op, Rcpp::NumericVector values, Rcpp::NumericVector weights, int K, Rcpp::IntegerVector cuts) {
  return kernweave::at_border([&] {
    kernweave::Red red;
    kernweave::internal_check(kernweave::find_red(op, &red), "no reduction ", op);
    const kernweave::StateRow& row = kernweave::row(red).state;
    const std::size_t words = row.size / sizeof(double) + 2 + static_cast<std::size_t>(row.storage(K)) / sizeof(double);
    struct Piece {
      std::vector<double> state, storage;
    };
    const auto fresh = [&] {
      Piece piece{std::vector<double>(words), std::vector<double>(words)};
      row.init(piece.state.data(), piece.storage.data(), K);
      return piece;
    };
    Piece total = fresh(), piece = fresh();
    for (R_xlen_t k = 0; k < values.size(); ++k) {
      row.step(piece.state.data(), kernweave::Lane(values[k]), kernweave::Lane(weights[k]), k + 1, true);
      row.step(piece.state.data(), kernweave::Lane(-1e6), kernweave::Lane(1.0), k + 1, false);
      if (std::find(cuts.begin(), cuts.end(), static_cast<int>(k) + 1) == cuts.end()) continue;
      row.merge(total.state.data(), piece.state.data());
      piece = fresh();
    }
    row.merge(total.state.data(), piece.state.data());
    std::vector<kernweave::Lane> value(K, kernweave::Lane(0.0));
    std::vector<kernweave::Index> index(K, 0);
    row.finish(total.state.data(), value.data(), index.data());
    Rcpp::NumericVector numbers(K), places(K);
    for (int k = 0; k < K; ++k) {
      numbers[k] = value[k].v;
      places[k] = index[k] == 0 ? NA_REAL : static_cast<double>(index[k]);
    }
    return Rcpp::List::create(Rcpp::_["value"] = numbers, Rcpp::_["index"] = places);
  });
}
