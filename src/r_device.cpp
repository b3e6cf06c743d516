// Tells R about this installation, machine, process and the engine's tables, and sets options for all calls.
#include "base/system.hpp"
#include "base/threads.hpp"
#include "border.hpp"
#include "device/driver.hpp"
#include "device/nvrtc.hpp"
#include "distance/radial_table.hpp"
#include "execute/kept_plan.hpp"
#include "expr/rewrite.hpp"
#include "expr/table.hpp"
#include "lanes/isa.hpp"

void register_windows(DllInfo* dll);  // tests/windows/

namespace kernweave {

// Lists the devices that are ready.
// [[Rcpp::export(rng = false)]]
CharacterVector r_devices() {
  CharacterVector names;
  for (const Backend* backend : backends())
    if (backend->ready().yes) names.push_back(backend->name());
  return names;
}

// Reports on CUDA. This starts the driver.
// [[Rcpp::export(rng = false)]]
List r_gpu_report() {
  const device::Report report = device::report();
  return listed({"driver", "compiler", "ahead", "devices", "problem"}, report.driver, report.compiler, report.ahead,
                report.devices, report.problem);
}

// Called once, at loading: `worker` names the worker that this process is, "" for none; `headers`: kernels' folder.
// [[Rcpp::export(rng = false)]]
void r_begin(std::string worker, std::string headers) {
  note_process(worker);
  device::set_header_folder(headers);
}

// Sets the folder in which compiled kernels are kept from now on; "" for none.
// [[Rcpp::export(rng = false)]]
void r_set_cache(std::string folder, double bytes) {
  device::finish_compiling();  // running compilations use the old folder
  device::set_cache(folder, bytes);
}

// Waits for compilations at the end of the process.
// [[Rcpp::export(rng = false)]]
void r_finish_compiling() { device::finish_compiling(); }

// [[Rcpp::export(rng = false)]]
List r_cache_report() {
  const device::CacheReport report = device::cache_report();
  return listed({"folder", "files", "bytes", "writable"}, report.folder, report.files, report.bytes, report.writable);
}

// Returns the threads of a call that asks for `asked` threads, or for 0, with the reason; and this process's cores.
// [[Rcpp::export(rng = false)]]
List r_allowance(int asked) {
  const TeamSize had = team_size(asked);
  return listed({"threads", "why", "cores"}, had.threads, had.why, cores_given().count);
}

// Notes the value of R's option `mc.cores` from now on, negative for none.
// [[Rcpp::export(rng = false)]]
void r_note_cores(int count) { note_cores_of_user(count); }

// [[Rcpp::export(rng = false)]]
std::string r_compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "g++ " __VERSION__;
#else
  return "unknown";
#endif
}

// Chooses an instruction set by name ("" for the best, "present" for no change), and returns the one in use.
// [[Rcpp::export(rng = false)]]
std::string r_use_instructions(std::string name) {
  if (name != "present") use_instruction_set(name);
  return instruction_set();
}

// Returns the present values of R's options, as a list, and of environment variables, NA for none. It is called at
// every call, so it does not go by way of R.
// [[Rcpp::export(rng = false)]]
List r_raw_options(CharacterVector names, CharacterVector twins) {
  List options(names.size());
  for (R_xlen_t k = 0; k < names.size(); ++k) options[k] = Rf_GetOption1(Rf_installTrChar(names[k]));
  CharacterVector environment(twins.size());
  for (R_xlen_t k = 0; k < twins.size(); ++k) {
    const char* const value = std::getenv(twins[k]);
    environment[k] = value ? Rf_mkChar(value) : NA_STRING;
  }
  return List::create(options, environment);
}

// Ends waiting threads, which must not outlive their code.
// [[Rcpp::export(rng = false)]]
void r_dismiss_threads() { crew::dismiss(); }

// [[Rcpp::init]]
void open_windows(DllInfo* dll) { register_windows(dll); }

// --- tables: of operations, reductions and rules, and of radial functions -------------------------------------------
// [[Rcpp::export(rng = false)]]
std::string r_nearest(std::string typed, std::vector<std::string> known) { return nearest_name(typed, known); }

// [[Rcpp::export(rng = false)]]
DataFrame r_operations() {
  constexpr const char* forms[] = {"structural", "elementwise", "fold", "loop", "alias"};
  std::vector<OpRow> rows;
  for (const OpRow& row : op_rows())
    if (row.form != Form::structural) rows.push_back(row);
  const auto form = [&](const OpRow& row) { return forms[static_cast<int>(row.form)]; };
  const auto attributes = [](const OpRow& row) { return row.attribute_names; };
  return DataFrame(table(rows, {"name", "fn", "form", "arity", "attributes", "commutes"}, &OpRow::name, &OpRow::fn,
                         form, &OpRow::arity, attributes, &OpRow::commutes));
}

// [[Rcpp::export(rng = false)]]
DataFrame r_reductions() {
  constexpr const char *inputs[] = {"value", "value_weight", "value_k"}, *results[] = {"value", "index", "value_index"},
                       *saves[] = {"nothing", "result",  "winner",  "nan_or_winner",
                                   "winners", "softmax", "cofactor"};
  struct Shown {
    const char *name, *fn, *inputs, *results, *saves, *of;
  };
  std::vector<Shown> all;
  const auto show = [&](const auto& r, Inputs inputs_of, const RedRow& of) {
    all.push_back({r.name, r.fn, inputs[static_cast<int>(inputs_of)], results[static_cast<int>(r.results)],
                   saves[static_cast<int>(of.saves)], of.name});
  };
  for (const RedRow& r : red_rows()) show(r, r.inputs, r);
  for (const DerivedRow& r : derived_rows())
    show(r, row(r.of).inputs == Inputs::value_k ? Inputs::value_k : Inputs::value, row(r.of));
  return DataFrame(
      table(all, {"name", "fn", "inputs", "results", "saves", "of"}, &Shown::name, &Shown::fn, &Shown::inputs,
            &Shown::results, &Shown::saves, &Shown::of));
}

// [[Rcpp::export(rng = false)]]
DataFrame r_rules() {
  return DataFrame(table(rules(), {"name", "from", "to", "exactness", "when"}, &Rule::name, &Rule::from, &Rule::to,
                         &Rule::exactness, &Rule::when));
}

// --- tables from the smoothness of a Matern kernel, or from the values of a function --------------------------------

// [[Rcpp::export(rng = false)]]
std::vector<double> r_matern_table(double nu, int most) { return distance::matern_table(nu, most); }

// [[Rcpp::export(rng = false)]]
std::vector<double> r_matern_slope_table(double nu) { return distance::matern_slope_table(nu); }

// [[Rcpp::export(rng = false)]]
std::vector<double> r_table_nodes(int first, int end) { return distance::table_nodes(first, end); }

// `worst` is the squared distance at which polynomials have the largest error.
// [[Rcpp::export(rng = false)]]
List r_values_table(std::vector<double> values, double at_zero, int first, int most, bool is_mixture) {
  const auto table = distance::values_table(values, at_zero, first, most, is_mixture);
  return listed({"numbers", "error", "worst"}, table.numbers, table.error, table.worst);
}

// [[Rcpp::export(rng = false)]]
std::vector<double> r_look_up(std::vector<double> table, int order, std::vector<double> squares) {
  for (double& s : squares) s = distance::look_up(table, order, s);
  return squares;
}

}  // namespace kernweave
