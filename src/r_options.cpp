// R's options and the environment as they stand, asked for at every call, so not by way of R; and the end of it all.
#include <cstdlib>

#include "base/threads.hpp"
#include "border.hpp"

// A list of the options' values, and the variables of the environment, NA where there is none.
// [[Rcpp::export(rng = false)]]
Rcpp::List r_raw_options(Rcpp::CharacterVector names, Rcpp::CharacterVector twins) {
  return kernweave::at_border([&] {
    Rcpp::List options(names.size());
    for (R_xlen_t k = 0; k < names.size(); ++k) options[k] = Rf_GetOption1(Rf_installTrChar(names[k]));
    Rcpp::CharacterVector environment(twins.size());
    for (R_xlen_t k = 0; k < twins.size(); ++k) {
      const char* const value = std::getenv(twins[k]);
      environment[k] = value ? Rf_mkChar(value) : NA_STRING;
    }
    return Rcpp::List::create(options, environment);
  });
}

// Threads that wait for work must not outlive their code.
// [[Rcpp::export(rng = false)]]
void r_dismiss_threads() { kernweave::crew::dismiss(); }

void register_windows(DllInfo* dll);  // tests/windows/

// [[Rcpp::init]]
void open_windows(DllInfo* dll) { register_windows(dll); }
