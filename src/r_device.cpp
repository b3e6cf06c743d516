// Tells R about this installation and this machine, and sets what calls use of them.
#include "border.hpp"
#include "execute/prepared.hpp"

#include "base/system.hpp"
#include "base/threads.hpp"
#include "device/driver.hpp"
#include "device/nvrtc.hpp"
#include "lanes/isa.hpp"

// Lists the devices that are ready.
// [[Rcpp::export(rng = false)]]
Rcpp::CharacterVector r_devices() {
  Rcpp::CharacterVector names;
  for (const kernweave::Backend* backend : kernweave::backends())
    if (backend->ready().yes) names.push_back(backend->name());
  return names;
}

// Reports on CUDA. This starts the driver.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_gpu_report() {
  return kernweave::at_border([&] {
    const kernweave::device::Report report = kernweave::device::report();
    return Rcpp::List::create(Rcpp::_["driver"] = report.driver, Rcpp::_["compiler"] = report.compiler,
                              Rcpp::_["ahead"] = report.ahead, Rcpp::_["devices"] = report.devices,
                              Rcpp::_["problem"] = report.problem);
  });
}

// Sets the folder of the headers that kernels include, once, when the package is loaded.
// [[Rcpp::export(rng = false)]]
void r_set_header_folder(std::string folder) { kernweave::device::set_header_folder(folder); }

// Sets the folder in which compiled kernels are kept from now on; "" for none.
// [[Rcpp::export(rng = false)]]
void r_set_cache(std::string folder, double bytes) {
  kernweave::at_border([&] {
    kernweave::device::finish_compiling();  // compilers at work know the folder there was
    kernweave::device::set_cache(folder, bytes);
  });
}

// Waits for compilations at the end of the process.
// [[Rcpp::export(rng = false)]]
void r_finish_compiling() { kernweave::device::finish_compiling(); }

// [[Rcpp::export(rng = false)]]
Rcpp::List r_cache_report() {
  return kernweave::at_border([&] {
    const kernweave::device::CacheReport report = kernweave::device::cache_report();
    return Rcpp::List::create(Rcpp::_["folder"] = report.folder, Rcpp::_["files"] = report.files,
                              Rcpp::_["bytes"] = report.bytes, Rcpp::_["writable"] = report.writable);
  });
}

// Threads of a call that asks for so many, 0 for none in particular.
// [[Rcpp::export(rng = false)]]
int r_threads(int asked) { return kernweave::allowed_threads(asked); }

// Returns the number of threads with the reason, and the cores that this process may use.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_allowance(int asked) {
  const kernweave::TeamSize had = kernweave::team_size(asked);
  return Rcpp::List::create(Rcpp::_["threads"] = had.threads, Rcpp::_["why"] = had.why,
                            Rcpp::_["cores"] = kernweave::cores_given().count);
}

// Said once, when the package is loaded: what this process is a worker of, "" for none.
// [[Rcpp::export(rng = false)]]
void r_note_process(std::string worker) { kernweave::note_process(worker); }

// Notes the value of R's option `mc.cores` from now on, negative for none.
// [[Rcpp::export(rng = false)]]
void r_note_cores(int count) { kernweave::note_cores_of_user(count); }

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
  return kernweave::at_border([&] {
    if (name != "present") kernweave::use_instruction_set(name);
    return kernweave::instruction_set();
  });
}
