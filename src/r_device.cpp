// Tells R about this installation, this machine and this process, and sets what calls use of them.
#include <cstdlib>

#include "base/system.hpp"
#include "base/threads.hpp"
#include "border.hpp"
#include "device/driver.hpp"
#include "device/nvrtc.hpp"
#include "execute/kept_plan.hpp"
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
  return List::create(_["driver"] = report.driver, _["compiler"] = report.compiler, _["ahead"] = report.ahead,
                      _["devices"] = report.devices, _["problem"] = report.problem);
}

// Said once, when the package is loaded: what this process is a worker of, "" for none, and the folder of the headers
// that kernels include.
// [[Rcpp::export(rng = false)]]
void r_begin(std::string worker, std::string headers) {
  note_process(worker);
  device::set_header_folder(headers);
}

// Sets the folder in which compiled kernels are kept from now on; "" for none.
// [[Rcpp::export(rng = false)]]
void r_set_cache(std::string folder, double bytes) {
  device::finish_compiling();  // compilers at work know the folder there was
  device::set_cache(folder, bytes);
}

// Waits for compilations at the end of the process.
// [[Rcpp::export(rng = false)]]
void r_finish_compiling() { device::finish_compiling(); }

// [[Rcpp::export(rng = false)]]
List r_cache_report() {
  const device::CacheReport report = device::cache_report();
  return List::create(_["folder"] = report.folder, _["files"] = report.files, _["bytes"] = report.bytes,
                      _["writable"] = report.writable);
}

// Returns the number of threads of a call that asks for so many, 0 for none in particular, with the reason; and the
// cores that this process may use.
// [[Rcpp::export(rng = false)]]
List r_allowance(int asked) {
  const TeamSize had = team_size(asked);
  return List::create(_["threads"] = had.threads, _["why"] = had.why, _["cores"] = cores_given().count);
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

// The one in use, after choosing it by name: "" for the best, "present" for no change.
// [[Rcpp::export(rng = false)]]
std::string r_use_instructions(std::string name) {
  if (name != "present") use_instruction_set(name);
  return instruction_set();
}

// R's options and the environment as they stand, asked for at every call, so not by way of R: a list of the options'
// values, and the variables of the environment, NA where there is none.
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

// Threads that wait for work must not outlive their code.
// [[Rcpp::export(rng = false)]]
void r_dismiss_threads() { crew::dismiss(); }

// [[Rcpp::init]]
void open_windows(DllInfo* dll) { register_windows(dll); }

}  // namespace kernweave
